"""One query of an explainer, with what is needed to ask about it again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssba.arguments import listing
from ssba.columns.space import Matrix
from ssba.constraints.constraint import Constraint
from ssba.constraints.lists import constraint_list
from ssba.constraints.regions.compile import Compiled, compile_query
from ssba.constraints.regions.region import Region
from ssba.engine import Engine
from ssba.errors import ArgumentError
from ssba.models.targets import Goal, resolve
from ssba.options import Budget, Options
from ssba.pipeline.answer import Request, compiled_states, explain_requests
from ssba.pipeline.asking import goal_reply, predictions_and_scores, shown_answers, verdicts
from ssba.pipeline.state import Limits, QueryState
from ssba.pipeline.verify import are_feasible
from ssba.results.column import Column
from ssba.results.explanation import Explanation


@dataclass(frozen=True)
class Scored:
    """What the model says about some rows: predictions, scores of the target, and which rows reach it.

    Scores are None where the model gives none, as in `Explanation.score`.
    """

    predictions: list[Any]
    scores: list[float | None]
    reached: NDArray[np.bool_]


@dataclass(frozen=True)
class Context:
    """One query: the encoded row `x`, its constraints, and what was asked for.

    `rows` is how many model rows one search may spend.
    """

    engine: Engine
    x: Matrix
    constraints: tuple[Constraint, ...] = ()
    options: Options = field(default_factory=Options)
    rows: int = 15_000
    known_goal: Goal | None = None

    @cached_property
    def goal(self) -> Goal:
        """The goal of this query; the model is asked about the query where it is not known yet."""
        if self.known_goal is not None:
            return self.known_goal
        output = verdicts(self.engine.judging, self.x[None, :], self.x)
        return resolve(self.engine.target, shown_answers(output)[0])

    @cached_property
    def regions(self) -> tuple[Region, ...]:
        """The feasible rows around the query; none where the constraints contradict each other."""
        return self.compiled.regions

    @cached_property
    def compiled(self) -> Compiled:
        """The same, and whether no way to meet the constraints was left out."""
        return compile_query(self.engine.space, self.engine.metric, self.x, self.constraints)

    def request(self, goal: Goal | None = None) -> Request:
        """Return the query as the pipeline takes it, with the goal where that is known."""
        return Request(self.x, self.constraints, self.options, self.compiled, goal)

    @cached_property
    def state(self) -> QueryState:
        """The query as the pipeline's checks take it, without any search."""
        return compiled_states(self.engine, [self.request(self.goal)], Limits())[0]

    @property
    def query(self) -> dict[str, Any]:
        """The query in the user's values."""
        return self.engine.space.row_values(self.x)

    def encode(self, values: Mapping[str, Any]) -> Matrix:
        """Return a whole row of the user's values, encoded."""
        return self.engine.space.encode_row(values)

    def decode(self, z: Matrix) -> dict[str, Any]:
        """Return an encoded row in the user's values."""
        return self.engine.space.row_values(z)

    def written(self, Z: Matrix) -> Matrix:
        """Return rows as they are once written in the user's columns and dtypes."""
        return self.engine.space.encode(self.engine.space.decode(Z))

    def score(self, Z: Matrix, *, as_given: bool = False) -> Scored:
        """Ask the model about rows; those that a user gave may miss cells that the query has."""
        if not len(Z):
            return Scored([], [], np.zeros(0, dtype=bool))
        judging = self.engine.judging
        answers = verdicts(judging, Z, Z if as_given else self.x)
        both = predictions_and_scores(judging, self.goal, answers)
        reached = np.asarray(goal_reply(self.state, answers).reached)
        return Scored([one for one, _ in both], [one for _, one in both], reached)

    def is_feasible(self, Z: Matrix) -> NDArray[np.bool_]:
        """Tell which finished rows meet every constraint in user units and hold legal values."""
        return are_feasible([self.state], np.zeros(len(Z), dtype=np.int64), Z)

    def with_constraints(
        self, constraints: Sequence[Constraint], options: Options | None = None
    ) -> "Context":
        """Return the same query under other constraints, and where given other options."""
        return replace(self, constraints=tuple(constraints), options=options or self.options)

    def explain(self) -> Explanation:
        """Search for this query's counterfactuals."""
        return explain_requests(self.engine, [self.request()], Budget(self.rows))[0]


def of_another_model(engine: Engine, explanation: Explanation) -> ArgumentError:
    """Return the refusal of an explanation that is not of an engine's model and data."""
    return ArgumentError(
        f"this explanation is of another model or of other background data (fingerprint "
        f"{explanation.model_fingerprint!r}, here {engine.judging.model.fingerprint!r}); explain its "
        "query anew: explainer.explain(explanation.query)"
    )


def context_of(engine: Engine, explanation: Explanation) -> Context:
    """Return the query of an explanation, maybe read from a file; refuse one of another model."""
    if explanation.model_fingerprint != engine.judging.model.fingerprint:
        raise of_another_model(engine, explanation)
    metric, columns = engine.metric, explanation.columns
    if differing := _differing(engine.columns, columns):
        raise ArgumentError(
            f"this explanation is of other columns ({differing}); explain its query anew, with the columns "
            "and features of this explainer"
        )
    scales, weights = [one.scale for one in columns], [one.weight for one in columns]
    same = metric.norm == explanation.metric
    if not (same and np.allclose(metric.scale, scales) and np.allclose(metric.weight, weights)):
        raise ArgumentError(
            "this explanation measured distances differently; build the explainer with the distance, scale "
            "and weights that it was made with"
        )
    constraints = constraint_list(explanation.constraints, engine.space.by_name)
    x = engine.space.encode_row(explanation.query)
    return Context(engine, x, constraints, explanation.options, explanation.budget.rows, explanation.goal)


def _differing(own: Sequence[Column], other: Sequence[Column]) -> str:
    """Say which columns of an explanation are not as here: in name, order, kind or levels; empty for none."""
    here, there = [one.name for one in own], [one.name for one in other]
    if here != there:
        return f"{listing(there) or 'none'}; here {listing(here)}"
    meant = [
        f"{mine.name!r} is {theirs.kind}, here {mine.kind}"
        + (", with other levels" * (mine.kind == theirs.kind))
        for mine, theirs in zip(own, other, strict=True)
        if (mine.kind, mine.levels) != (theirs.kind, theirs.levels)
    ]
    return "; ".join(meant)

"""One query of an explainer, with what is needed to ask about it again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssba.columns.space import Matrix
from ssba.constraints.constraint import Constraint
from ssba.constraints.regions.compile import Compiled, compile_query
from ssba.constraints.regions.region import Region
from ssba.engine import Engine
from ssba.models.targets import Goal, resolve
from ssba.pipeline import Case, Request, answer_queries, limits_from_now
from ssba.pipeline.asking import goal_reply, told, verdicts
from ssba.pipeline.verify import is_feasible
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
    request: Request = field(default_factory=Request)
    rows: int = 15_000

    @cached_property
    def goal(self) -> Goal:
        """The target of this query: without one, to leave the class it is in."""
        labels = self.engine.oracle().verdict(self.x[None, :], np.isnan(self.x)).labels
        return resolve(self.engine.target, None if labels is None else labels[0])

    @cached_property
    def regions(self) -> tuple[Region, ...]:
        """The feasible rows around the query; none where the constraints contradict each other."""
        return self.compiled.regions

    @cached_property
    def compiled(self) -> Compiled:
        """The same, and whether no way to meet the constraints was left out."""
        return compile_query(self.engine.space, self.engine.metric, self.x, self.constraints)

    def case(self, goal: Goal | None = None) -> Case:
        """Return the query as the answering room knows it; the model is asked for a goal only without one."""
        return Case(
            x=self.x,
            constraints=self.constraints,
            request=self.request,
            regions=self.regions,
            knows_all_regions=self.compiled.complete,
            goal=self.goal if goal is None else goal,
        )

    @cached_property
    def _case(self) -> Case:
        return self.case()

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
        answers = verdicts(self.engine, Z, Z if as_given else self.x)
        both = [told(self.engine, self.goal, one) for one in answers]
        reached = [bool(goal_reply(self.engine, self._case, one).reached[0]) for one in answers]
        return Scored([one for one, _ in both], [one for _, one in both], np.array(reached))

    def is_feasible(self, Z: Matrix) -> NDArray[np.bool_]:
        """Tell which finished rows meet every constraint in user units and hold legal values."""
        return np.array([is_feasible(self.engine, self._case, z) for z in Z], dtype=bool)

    def with_constraints(
        self, constraints: Sequence[Constraint], request: Request | None = None
    ) -> "Context":
        """Return the same query under other constraints, and where given another request."""
        return replace(self, constraints=tuple(constraints), request=request or self.request)

    def explain(self) -> Explanation:
        """Search for this query's counterfactuals."""
        return explain_all([self])[0]


def explain_all(contexts: Sequence[Context], boundary: Any = None) -> list[Explanation]:
    """Search for the counterfactuals of several contexts of one engine, in shared model calls."""
    if not contexts:
        return []
    cases = [Case(one.x, one.constraints, one.request) for one in contexts]
    limits = limits_from_now(contexts[0].rows, None)
    return answer_queries(contexts[0].engine, cases, limits, boundary, lambda: None)

"""The way in: an `Explainer` around a trained model and background rows."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from ssba.answer.result import Explanation, Explanations
from ssba.answering import Case, Request, answer_queries, limits_from_now
from ssba.arguments import listed, number, whole
from ssba.boundary.points import BoundarySet
from ssba.engine import Engine, Wishes, build_engine
from ssba.errors import ArgumentError, SchemaError, SsbaWarning
from ssba.problem.constraints import Constraint, check, constraint
from ssba.problem.distance import Norm, ScaleName
from ssba.problem.features import Declaration
from ssba.problem.space import Matrix
from ssba.search.pick import Diversity
from ssba.search.robust import Ball, Margin, ScoreMargin
from ssba.search.sparse import Sparsity

Constraints = Iterable[Constraint | str] | Constraint | str


@dataclass(frozen=True)
class Budget:
    """What a call may spend: model rows for the search of each query, and seconds for the whole call.

    The best answer so far is returned when it runs out. Checking the query and its answers takes a few
    rows more, and what an explainer does once is not counted: predicting its background rows, and 500
    boundary points when the first bounded move needs them. Seconds depend on the machine, rows do not.

    >>> Budget(rows=500)
    Budget(rows=500, seconds=None)
    """

    rows: int = 10_000
    seconds: float | None = None

    def __post_init__(self) -> None:
        whole("Budget(rows=...)", self.rows, at_least=1)
        if self.seconds is not None:
            number("Budget(seconds=...)", self.seconds, "a number of seconds above 0, or None", low=0)


class Explainer:
    """Finds the smallest feasible change of a row that gives a trained model's wished answer.

    The model is only ever asked, never fitted, copied or changed, and it gets rows in the very form of
    `data`: same frame library, columns, order and dtypes.

    Parameters
    ----------
    model
        Anything with ``predict`` (scikit-learn, XGBoost, LightGBM, CatBoost, pipelines on raw columns), a
        ``torch.nn.Module``, an ``onnxruntime.InferenceSession``, or a function from rows to labels,
        probabilities or numbers.
    data
        Background rows: a pandas, polars or pyarrow frame, or a 2-D NumPy array (columns ``x0``, ``x1``,
        ...). Their labels are not needed. Answers stay in the range they show, unless constraints say more.
    target
        The wished outcome: None for any class but the predicted one, a class label,
        ``ssba.probability(label, at_least=0.7)``, or ``ssba.value_between(low, high)`` for a regressor.
    features : mapping, optional
        Columns whose kind the dtype does not tell: ``{"cp": ssba.categorical(), "age": ssba.integer()}``.
    distance : {"l2", "l1", "gower"}
        How changes add up; one changed category counts 1 in each. ``"gower"`` is ``"l1"`` with the
        range as its usual scale, also where `scale` is left at ``"std"``.
    scale : {"std", "mad", "range", "none"} or mapping
        What a number's change is divided by; ``"none"`` is the paper's raw units.
    weights : mapping, optional
        Factors for columns whose change is harder (above 1) or easier (below 1).
    seed : int
        Same input and seed, same answer.

    Examples
    --------
    >>> import numpy as np, ssba
    >>> data = np.random.default_rng(0).normal(size=(200, 2))
    >>> def model(rows):
    ...     return rows[:, 0] + rows[:, 1] > 1
    >>> explainer = ssba.Explainer(model, data, target=True, scale="none")
    >>> best = explainer.explain([0.0, 0.0]).best
    >>> best.prediction, round(best.distance, 2)
    (True, 0.71)
    """

    def __init__(
        self,
        model: Any,
        data: Any,
        target: Any = None,
        *,
        features: Mapping[str, Declaration] | None = None,
        distance: Norm = "l2",
        scale: ScaleName | Mapping[str, float] = "std",
        weights: Mapping[str, float] | None = None,
        seed: int = 0,
    ) -> None:
        self._engine: Engine = build_engine(
            model, data, Wishes(target, features, distance, scale, weights, whole("seed", seed, at_least=0))
        )
        constant = [one.name for one in self._engine.space.features if one.is_constant]
        if constant:
            warnings.warn(
                f"column {', '.join(map(repr, constant))} holds a single value in the background data and is "
                "held fixed; give data in which it varies if it may change",
                SsbaWarning,
                stacklevel=2,
            )

    def explain(
        self,
        row: Any,
        constraints: Constraints = (),
        k: int = 1,
        budget: Budget | None = None,
        *,
        sparsity: Sparsity = "none",
        diversity: Diversity = "distance",
        max_changes: int | None = None,
        plausible: bool = False,
        margin: float | Margin | None = None,
        evidence: int = 59,
        prove: bool = False,
        boundary: BoundarySet | None = None,
    ) -> Explanation:
        """Return the nearest feasible counterfactuals of one row.

        Parameters
        ----------
        row
            The query: a dict, a Series, a one-row frame or a 1-D array.
        constraints
            Constraint objects or texts, such as ``ssba.fixed("sex")`` or ``"age >= x.age"``; all always hold.
        k : int
            How many different answers to return at most, nearest first.
        budget : Budget, optional
            How many model rows, and seconds, to spend at most.
        sparsity : {"none", "balanced", "strong"}
            Whether to look for fewer changed columns, at a price: an answer at most 10% ("balanced") or 50%
            ("strong") longer than the nearest one found. A changed category counts as a column.
        diversity : {"distance", "levers"}
            What makes `k` answers different: that they lie apart, or that no answer's set of changed
            columns contains another's. For the latter superfluous columns are left out as by
            ``sparsity="balanced"``.
        max_changes : int, optional
            How many columns may change at most.
        plausible : bool
            Whether answers must lie where the data live: no further from the nearest background row on the
            target's side than 95% of these rows are from their own nearest neighbours.
        margin : float, ``ssba.ball(radius)`` or ``ssba.score_margin(amount)``, optional
            Room to spare: every row within this distance of an answer must reach the target, too (a
            number is the radius of a ball), as checked in over 100 directions; or the score must pass the
            threshold by some amount.
        evidence : int
            How many feasible rows nearer than the best answer to draw at random and ask about once the
            search has ended: 59 bound the share of them that reaches the target below 5% (at 95%
            confidence), 1000 below 0.3%. Where there are few such rows all are asked. 0: no evidence.
        prove : bool
            Whether to open tree ensembles and prove their answers, which takes seconds a query (with the
            extra ``exact`` also for many free columns). Linear models are always opened.
        boundary : BoundarySet, optional
            Points from `sample_boundary`, as further starts and for bounded moves.
        """
        x = self._engine.space.encode_row(row)
        request = Request(
            k, sparsity, diversity, max_changes, plausible, self._margin(margin), evidence, prove
        )
        return self._answer([x], [self._constraints(constraints)], request, budget, boundary, False)[0]

    def explain_many(
        self,
        rows: Any,
        constraints: Constraints | Sequence[Constraints] = (),
        k: int = 1,
        budget: Budget | None = None,
        *,
        sparsity: Sparsity = "none",
        diversity: Diversity = "distance",
        max_changes: int | None = None,
        plausible: bool = False,
        margin: float | Margin | None = None,
        evidence: int = 59,
        prove: bool = False,
        boundary: BoundarySet | None = None,
        progress: bool | None = None,
    ) -> Explanations:
        """Explain every row of a frame or 2-D array, side by side in shared model calls.

        Each answer is the one that `explain` would give with the same arguments. `constraints` is one
        list for all rows, or a list of lists, one a row. `progress` shows a bar; by default in a terminal
        or notebook only.
        """
        X = self._engine.space.encode(rows)
        by_row = self._constraints_by_row(constraints, len(X))
        request = Request(
            k, sparsity, diversity, max_changes, plausible, self._margin(margin), evidence, prove
        )
        return Explanations(tuple(self._answer(list(X), by_row, request, budget, boundary, progress)))

    def sample_boundary(
        self,
        n: int = 10_000,
        tolerance: float = 1e-3,
        *,
        labels: Any = None,
        progress: bool | None = None,
    ) -> BoundarySet:
        """Find points on the decision boundary between background rows (paper, algorithms 1 and 2).

        Parameters
        ----------
        n : int
            How many pairs of rows to bisect; all pairs there are if that is fewer, with a warning.
        tolerance : float
            Bisection stops when the bracket is narrower than this share of its segment.
        labels : array, optional
            True labels of the background rows: only pairs of correctly predicted rows are used then.
        progress : bool, optional
            Whether to show a progress bar; by default in a terminal or notebook only.
        """
        n = whole("sample_boundary(n=...)", n, at_least=1)
        tolerance = number("tolerance", tolerance, "a share of the segment, between 0 and 1", low=0, high=1)
        with _bar(n, "boundary points", progress) as bar:
            found = self._engine.sample_boundary(n, tolerance, labels, bar.update)
        if found.pairs < n:
            warnings.warn(
                f"{n:,} boundary points were asked for, but the background rows make only {found.pairs:,} "
                "pairs; all of them were used",
                SsbaWarning,
                stacklevel=2,
            )
        return found

    def _answer(
        self,
        X: Sequence[Matrix],
        constraints: Sequence[tuple[Constraint, ...]],
        request: Request,
        budget: Budget | None,
        boundary: BoundarySet | None,
        progress: bool | None,
    ) -> list[Explanation]:
        if budget is not None and not isinstance(budget, Budget):
            raise ArgumentError(f"budget is {budget!r:.80}; give ssba.Budget(rows=..., seconds=...)")
        budget = budget or Budget()
        request = _checked(request)
        cases = [Case(x, own, request) for x, own in zip(X, constraints, strict=True)]
        with _bar(len(cases), "queries", progress) as bar:
            limits = limits_from_now(budget.rows, budget.seconds)
            return answer_queries(self._engine, cases, limits, self._points(boundary), bar.update)

    def _margin(self, margin: Any) -> Margin | None:
        if margin is None or isinstance(margin, Ball):
            return margin
        if not isinstance(margin, ScoreMargin):
            allowed = "a distance above 0, ssba.ball(radius) or ssba.score_margin(amount)"
            return Ball(number("margin", margin, allowed, low=0, high=1e300))
        model = self._engine.model
        if not model.has_scores and model.classes is not None:
            raise ArgumentError(
                f"margin is {margin.text}, but {model.name} gives labels only; use ssba.ball(radius), which "
                "asks about rows around the answer, or a model with scores"
            )
        return margin

    def _points(self, boundary: BoundarySet | None) -> Matrix | None:
        if boundary is None:
            return None
        if not isinstance(boundary, BoundarySet):
            raise ArgumentError(f"boundary is {boundary!r:.80}; give a BoundarySet from sample_boundary()")
        if boundary.schema_hash != self._engine.space.schema_hash:
            raise SchemaError("this boundary set was made for other columns; sample it with this explainer")
        if boundary.model_fingerprint != self._engine.model.fingerprint:
            raise ArgumentError("this boundary set is of another model; sample it with this explainer")
        if boundary.target != self._engine.target_text:
            raise ArgumentError(
                f"this boundary set leads to {boundary.target}, this explainer to {self._engine.target_text}"
            )
        return np.asarray(boundary.inside)

    def _constraints(self, given: Any) -> tuple[Constraint, ...]:
        parsed = tuple(constraint(one) for one in _members(given))
        for one in parsed:
            check(one, self._engine.space.by_name)
        return parsed

    def _constraints_by_row(self, given: Any, count: int) -> list[tuple[Constraint, ...]]:
        members = _members(given)
        if not any(isinstance(one, list | tuple) for one in members):
            return [self._constraints(members)] * count
        if len(members) != count or not all(isinstance(one, list | tuple) for one in members):
            raise ArgumentError(
                f"constraints holds {len(members)} entries for {count} rows; give one flat list for all "
                "rows, or a list with one list of constraints a row"
            )
        return [self._constraints(one) for one in members]

    def __repr__(self) -> str:
        engine = self._engine
        return (
            f"<Explainer of {engine.model.name} toward {engine.target_text}, "
            f"{len(engine.space.features)} columns, {len(engine.background):,} background rows>"
        )


def _one_of(who: str, value: Any, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise ArgumentError(f"{who} is {value!r:.80}; choose one of {', '.join(map(repr, choices))}")


def _checked(request: Request) -> Request:
    """Refuse what is no request, by the argument's name."""
    if not isinstance(request.plausible, bool):
        raise ArgumentError(f"plausible is {request.plausible!r:.80}; give True or False")
    if not isinstance(request.prove, bool):
        raise ArgumentError(f"prove is {request.prove!r:.80}; give True or False")
    _one_of("sparsity", request.sparsity, get_args(Sparsity))
    _one_of("diversity", request.diversity, get_args(Diversity))
    most = request.max_changes
    return replace(
        request,
        k=whole("k", request.k, at_least=1),
        max_changes=None if most is None else whole("max_changes", most, at_least=1),
        evidence=whole("evidence", request.evidence, at_least=0),
    )


def _members(given: Any) -> list[Any]:
    if isinstance(given, Constraint | str):
        return [given]
    return listed(
        "constraints",
        given,
        """give a list of constraints or texts, such as [ssba.fixed("sex"), "age >= x.age"]""",
    )


def _bar(total: int, what: str, progress: bool | None) -> Any:
    from tqdm.auto import tqdm

    # tqdm's own rule for None: no bar where nobody watches.
    return tqdm(total=total, desc=what, disable=None if progress is None else not progress, leave=False)

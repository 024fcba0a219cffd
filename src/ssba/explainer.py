"""The way in: an `Explainer` around a trained model and background rows."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path as FilePath
from typing import Any, Literal, get_args

from ssba.advice.advisor import QueryAdvisor, attached
from ssba.advice.certify import check_certificate
from ssba.advice.context import Context
from ssba.advice.report_parts import parts_of, population
from ssba.advice.scan_line import walk
from ssba.arguments import file_to_write, mapping, number, one_of, whole
from ssba.columns.distance import Norm, ScaleName
from ssba.columns.features import Declaration
from ssba.columns.space import Matrix
from ssba.constraints.constraint import Constraint
from ssba.constraints.language.lists import Constraints, constraint_list, constraints_by_row
from ssba.engine import Engine, Wishes, build_engine
from ssba.errors import ArgumentError, SsbaWarning
from ssba.index.boundary_set import BoundarySet
from ssba.index.identity import identity_of, refuse_another
from ssba.index.open_index import open_set, read_set, sample, verify_set
from ssba.index.sampling import Growth, Part
from ssba.index.verify_index import Verified
from ssba.pipeline import Case, Request, answer_queries, limits_from_now
from ssba.progress import bar
from ssba.results.certificate.document import Certificate, CertificateCheck
from ssba.results.explanation import Explanation, Explanations
from ssba.results.line_scan import Way
from ssba.search.pick import Diversity
from ssba.search.robust import Ball, Margin, ScoreMargin
from ssba.search.sparse import Sparsity
from ssba.views.charts.tracks import Surroundings
from ssba.views.report.page import ReportParts, write_report

Crossings = Literal["one", "all"]


@dataclass(frozen=True)
class Budget:
    """What a call may spend: model rows for the search of each query, and seconds for the whole call.

    The best answer so far is returned when it runs out, and with more rows the nearest row found is never
    farther. Checking the query and its answers takes a few rows more, and what an explainer does once is not
    counted: predicting its background rows, and 500 boundary points when the first bounded move needs them.
    Time ends within about one model call and a second; it depends on the machine, rows do not.

    >>> Budget(rows=500)
    Budget(rows=500, seconds=None)
    """

    rows: int = 15_000
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
        space = self._engine.space
        x, given = space.encode_row(row), constraint_list(constraints, space.by_name)
        request = Request(
            k, sparsity, diversity, max_changes, plausible, self._margin(margin), evidence, prove
        )
        return self._answer([x], [given], request, budget, boundary, False)[0]

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
        by_row = constraints_by_row(constraints, len(X), self._engine.space.by_name)
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
        path: str | PathLike[str] | None = None,
        crossings: Crossings = "one",
        resolution: int = 32,
        part: tuple[int, int] = (0, 1),
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
        path : str or path, optional
            A folder to stream the points to. Called again, also after an interruption, only what is missing
            of `n` is computed; several processes may do so at once. See ``docs/boundary.md``.
        crossings : {"one", "all"}
            Whether each pair gives the one crossing that bisection runs into, or every crossing that shows
            when its segment is cut into `resolution` parts.
        resolution : int
            For ``crossings="all"``: two crossings nearer to each other than this part of the segment may be
            missed.
        part : (int, int)
            This process's share of the work, such as ``(0, 4)`` for the first of four that share a path.
        progress : bool, optional
            Whether to show a progress bar; by default in a terminal or notebook only.
        """
        n = whole("sample_boundary(n=...)", n, at_least=1)
        tolerance = number("tolerance", tolerance, "a share of the segment, between 0 and 1", low=0, high=1)
        one_of("crossings", crossings, get_args(Crossings))
        resolution = 1 if crossings == "one" else whole("resolution", resolution, at_least=2, at_most=10_000)
        growth = Growth(self._engine.streams(tolerance, labels, resolution), n, _part(part))
        if growth.pairs < n:
            warnings.warn(
                f"{n:,} boundary points were asked for, but the background rows make only {growth.pairs:,} "
                "pairs; all of them are used",
                SsbaWarning,
                stacklevel=2,
            )
        return sample(self._engine, growth, path, progress)

    def open_boundary(
        self, path: str | PathLike[str], *, adopt: bool = False, progress: bool | None = None
    ) -> BoundarySet:
        """Open an index of boundary points that `sample_boundary` wrote, for this model and target.

        Parameters
        ----------
        path
            The folder of the index.
        adopt : bool
            Whether an index of another model, such as an older one, may be taken over: this model is
            asked about all points, those that still reach the target stay, and the index is this model's from
            then on. Without it such an index is refused.
        progress : bool, optional
            Whether to show a progress bar while points are asked about.
        """
        if not isinstance(adopt, bool):
            raise ArgumentError(f"adopt is {adopt!r:.80}; give True or False")
        return open_set(self._engine, path, adopt, progress)

    def verify_boundary(
        self, path: str | PathLike[str], n: int | None = None, *, progress: bool | None = None
    ) -> Verified:
        """Ask this model whether the points of an index, maybe made with another model, reach the target.

        The index stays as it is. ``open_boundary(path, adopt=True)`` keeps what holds.

        Parameters
        ----------
        path
            The folder of the index.
        n : int, optional
            How many points to ask about, drawn by seed; all by default.
        progress : bool, optional
            Whether to show a progress bar.
        """
        n = None if n is None else whole("verify_boundary(n=...)", n, at_least=1)
        return verify_set(self._engine, path, n, progress)

    def read_boundary(self, source: Any, path: str | PathLike[str] | None = None) -> BoundarySet:
        """Take boundary points from a frame or a Parquet file, and keep those that reach the target.

        Parameters
        ----------
        source
            A frame with the explainer's columns, or the name of a Parquet file (extra ``arrow``).
        path : str or path, optional
            The folder of an index to add them to; without it they stay in memory.
        """
        return read_set(self._engine, source, path)

    def path(self, x: Any, y: Any, points: int = 101) -> Way:
        """Return what the model says on the straight way between two rows, and where its decision turns.

        Parameters
        ----------
        x, y
            The rows at both ends: a dict, a Series, a one-row frame or a 1-D array each.
        points : int
            How many rows on the way to ask about. Two turns between neighbours may be missed.
        """
        space = self._engine.space
        return walk(self._engine, space.encode_row(x), space.encode_row(y), points)

    def write_report(
        self,
        file: str | PathLike[str],
        results: Explanation | Explanations,
        *,
        meanings: Mapping[str, str] | None = None,
        title: str = "",
        pictures: Mapping[str, bytes] | None = None,
    ) -> FilePath:
        """Write a self-contained HTML page about one result, or about many, and return its path.

        For one result the plan, the ranges and the levers are asked for, or what to relax where no answer was
        found; each value is shown against the background data.

        Parameters
        ----------
        file : str or path
            Where to write; an existing file is replaced.
        results : Explanation or Explanations
            What `explain` or `explain_many` returned.
        meanings : mapping, optional
            What columns mean, for a person: ``{"chol": "serum cholesterol"}``.
        title : str
            The heading of the page.
        pictures : mapping, optional
            Further pictures: captions to PNG bytes.
        """
        file_to_write("file", file)
        known = {
            str(name): str(text) for name, text in mapping("meanings", meanings, '{"chol": "..."}').items()
        }
        if isinstance(results, Explanation):
            told = results if results.advisor is not None else self.attach(results)
            assert isinstance(told.advisor, QueryAdvisor)
            parts = parts_of(told.advisor.context, told, known)
        else:
            parts = ReportParts(surroundings=Surroundings(population(self._engine), meanings=known))
        return write_report(file, results, replace(parts, pictures=dict(pictures or {})), title)

    def attach(self, explanation: Explanation) -> Explanation:
        """Return an explanation that was read from a file, so that it can be asked for plans and the like.

        Parameters
        ----------
        explanation : Explanation
            One of this model, as its fingerprint tells.
        """
        if not isinstance(explanation, Explanation):
            raise ArgumentError(
                f"explanation is {explanation!r:.80}; give what Explanation.from_json returned"
            )
        return attached(self._engine, explanation)

    def check_certificate(self, certificate: Certificate) -> CertificateCheck:
        """Check a certificate: what it shows by itself, and what this explainer's model says to it.

        Parameters
        ----------
        certificate : Certificate
            What `Explanation.certificate` made, maybe read from a file.
        """
        return check_certificate(self._engine, certificate)

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
        with bar(len(cases), "queries", progress) as shown:
            limits = limits_from_now(budget.rows, budget.seconds)
            answers = answer_queries(self._engine, cases, limits, self._checked_set(boundary), shown.update)
        contexts = [
            Context(self._engine, x, own, request, budget.rows) for x, own in zip(X, constraints, strict=True)
        ]
        return [
            replace(one, advisor=QueryAdvisor(asked)) for one, asked in zip(answers, contexts, strict=True)
        ]

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

    def _checked_set(self, boundary: Any) -> BoundarySet | None:
        if boundary is None:
            return None
        if not isinstance(boundary, BoundarySet):
            raise ArgumentError(
                f"boundary is {boundary!r:.80}; give a BoundarySet from sample_boundary() or open_boundary()"
            )
        refuse_another(boundary.identity, identity_of(self._engine), "this boundary set")
        return boundary

    def __repr__(self) -> str:
        engine = self._engine
        return (
            f"<Explainer of {engine.model.name} toward {engine.target_text}, "
            f"{len(engine.space.features)} columns, {len(engine.background):,} background rows>"
        )


def _checked(request: Request) -> Request:
    """Refuse what is no request, by the argument's name."""
    if not isinstance(request.plausible, bool):
        raise ArgumentError(f"plausible is {request.plausible!r:.80}; give True or False")
    if not isinstance(request.prove, bool):
        raise ArgumentError(f"prove is {request.prove!r:.80}; give True or False")
    one_of("sparsity", request.sparsity, get_args(Sparsity))
    one_of("diversity", request.diversity, get_args(Diversity))
    most = request.max_changes
    return replace(
        request,
        k=whole("k", request.k, at_least=1),
        max_changes=None if most is None else whole("max_changes", most, at_least=1),
        evidence=whole("evidence", request.evidence, at_least=0),
    )


def _part(given: Any) -> Part:
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise ArgumentError(f"part is {given!r:.80}; give two whole numbers: (0, 4) is the first of four")
    number, of = whole("part[0]", given[0], at_least=0), whole("part[1]", given[1], at_least=1)
    if number >= of:
        raise ArgumentError(f"part is {given!r:.80}; of {of} parts the last is ({of - 1}, {of})")
    return Part(number, of)

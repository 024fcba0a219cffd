"""The way in: an `Explainer` around a trained model and background rows."""

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path as FilePath
from typing import Any, Literal, Self, Unpack, get_args

from ssba.advice.certify import check_certificate
from ssba.advice.check_constraints import check_constraints
from ssba.advice.context import Context, context_of, of_another_model
from ssba.advice.levers import lever_table
from ssba.advice.plan.make_plan import make_plan
from ssba.advice.predict import predict_rows
from ssba.advice.ranges.find_ranges import find_ranges
from ssba.advice.report_parts import population, report_parts
from ssba.advice.scan_line import scan_line
from ssba.advice.try_values import try_values
from ssba.advice.why_not import why_not
from ssba.arguments import file_to_write, instance, mapping, number, one_of, whole
from ssba.columns.distance import Distance, Norm, distance_from, refuse_too_far
from ssba.columns.features import Declaration
from ssba.columns.frames import row_name
from ssba.columns.layout import RowLabel, row_label, row_labels
from ssba.constraints.lists import (
    Constraints,
    constraint_list,
    constraints_by_row,
    refuse_targets,
    small_percents,
)
from ssba.engine import Engine, Settings, build_engine
from ssba.errors import ArgumentError, ModelError, SsbaWarning, TargetError
from ssba.index.boundary_set import BoundarySet, encoded_points
from ssba.index.encoded_points import EncodedPoints
from ssba.index.identity import identity_of, refuse_another
from ssba.index.open_index import open_set, read_set, sample, verify_set
from ssba.index.sampling import Growth, Part
from ssba.index.verify_index import Verified
from ssba.interrupts import ctrl_c_ends, is_interrupted
from ssba.models.answers import plain
from ssba.models.model import refuse_unpicklable
from ssba.models.targets import OWN_TARGET, target_of
from ssba.options import Budget, OptionFields, Options, ScoreMargin, options_from
from ssba.pipeline.answer import Request, explain_requests
from ssba.pipeline.ask import Ask
from ssba.pipeline.asking import naming_failing_row
from ssba.pipeline.blueprint import Blueprint
from ssba.progress import bar, query_bar
from ssba.results.certificate import Certificate, CertificateCheck, certified
from ssba.results.column_table import ColumnTable
from ssba.results.constraint_check import ConstraintCheck
from ssba.results.explanation import (
    Counterfactual,
    Explanation,
    Explanations,
    Status,
    refuse_no_explanation,
)
from ssba.results.levers import LeverTable
from ssba.results.line_scan import LineScan
from ssba.results.plan import Plan
from ssba.results.prediction import Prediction
from ssba.results.ranges import Ranges
from ssba.results.text import interrupted
from ssba.results.trial import Trial
from ssba.results.why_not import WhyNot
from ssba.results.words import constant_columns
from ssba.views.charts.tracks import DataContext
from ssba.views.report.page import ReportParts, write_report

Crossings = Literal["one", "all"]

_REMEDIES = dict.fromkeys(
    (Status.BOUNDED, Status.INFEASIBLE), " explainer.why_not(explanation) tells what to relax"
)
"""What may help where there is no answer; other sentences say it themselves, such as a larger budget."""

_MOST_TARGETS = 16
"""Explainers of other targets that are kept, the last that were asked for."""


class Explainer:
    """Finds the smallest feasible change of a row that gives a trained model's desired answer.

    The model is only ever asked, never fitted, copied or changed, and it gets rows in the very form of
    `data`: same frame library, columns, order and dtypes.

    Parameters
    ----------
    model
        Anything with ``predict`` (scikit-learn, XGBoost, LightGBM, CatBoost, pipelines on raw columns), a
        ``torch.nn.Module``, an ``onnxruntime.InferenceSession``, or a function from rows to labels,
        probabilities or numbers.
    data
        Background rows: a pandas, polars or pyarrow frame, or a 2-D NumPy array. Their labels are not needed.
        Answers stay in the range they show, unless constraints say more; a column with a single value in
        them stays fixed.
    target
        The desired outcome: None for any class but the predicted one, a class label,
        ``ssba.probability(label, at_least=0.7)``; for a regressor ``ssba.value_between(low, high)`` or
        ``ssba.value_change(at_least=10)``. `toward` gives an explainer of another one.
    features : mapping, optional
        Kinds that dtypes and values do not show: ``{"cp": ssba.categorical(), "dose": ssba.numeric()}``. The
        property `columns` shows what was decided about each column, and why.
    columns : sequence of str, optional
        The names of the columns of a NumPy array; ``x0``, ``x1``, ... without them.
    distance : {"l2", "l1", "gower"} or Distance
        How changes are measured: a norm, with numbers in standard deviations (``"gower"``: in ranges), or
        ``ssba.Distance("l1", scale="mad", weights={"chol": 2.0})``.
    background_rows : int
        How many background rows queries may ask the model about, as starts and as neighbours of answers; a
        fixed choice if there are more. `sample_boundary` asks about all.
    seed : int
        Same input and seed, same answer.

    Examples
    --------
    >>> import numpy as np, ssba
    >>> data = np.random.default_rng(0).normal(size=(200, 2))
    >>> def model(rows):
    ...     return rows[:, 0] + rows[:, 1] > 1
    >>> explainer = ssba.Explainer(model, data, target=True, distance=ssba.Distance(scale="none"))
    >>> best = explainer.explain([0.0, 0.0]).best
    >>> best.prediction, round(best.distance, 2)
    (True, 0.71)

    An explainer can be pickled where its model can. It is built anew when it is read, from model and data as
    they were when it was pickled.
    """

    def __init__(
        self,
        model: Any,
        data: Any,
        target: Any = None,
        *,
        features: Mapping[str, Declaration] | None = None,
        columns: Sequence[str] | None = None,
        distance: Norm | Distance = "l2",
        background_rows: int = 2000,
        seed: int = 0,
    ) -> None:
        seed = whole("seed", seed, at_least=0)
        asked = whole("background_rows", background_rows, at_least=1)
        settings = Settings(target, features, columns, distance_from(distance), asked, seed)
        self._build(model, data, settings)
        constant = [one.name for one in self._engine.space.features if one.is_constant]
        if constant:
            held = f"{constant_columns(constant)}: bounds, declared or in constraints, do not free "
            warnings.warn(f"{held}{'it' if len(constant) == 1 else 'them'}", SsbaWarning, stacklevel=2)

    def _build(self, model: Any, data: Any, settings: Settings) -> None:
        self._given = model, data, settings
        self._engine: Engine = build_engine(model, data, settings)
        self._others: dict[Any, Self] = {}

    def __getstate__(self) -> tuple[Any, Any, Settings]:
        """Return what the explainer was built from; a model that cannot be pickled is refused by its name."""
        refuse_unpicklable(self._given[0], self._engine.judging.model.name)
        return self._given

    def __setstate__(self, given: tuple[Any, Any, Settings]) -> None:
        self._build(*given)

    def __copy__(self) -> Self:
        # Nothing about an explainer ever changes, and a model is not copied.
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    @property
    def columns(self) -> ColumnTable:
        """What was decided about each column: kind, range, step, levels, scale, and why."""
        return ColumnTable(self._engine.columns, self._engine.space.layout)

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The classes that the model tells apart; None for a model of numbers."""
        found = self._engine.judging.model.classes
        return None if found is None else tuple(plain(one) for one in found)

    @property
    def target(self) -> str:
        """The desired outcome, in words."""
        return self._engine.target_text

    @property
    def fingerprint(self) -> str:
        """A digest of the model's answers to background rows, which identifies the model."""
        return self._engine.judging.model.fingerprint

    def toward(self, target: Any) -> Self:
        """Return the explainer of another target, with the same model, columns, distance and background rows.

        It is quick, and asked again it is the same one: ``explainer.toward("no disease").explain(row)``.

        Parameters
        ----------
        target
            The desired outcome, as `Explainer` takes it.
        """
        own, key = self._engine.target, (type(target), target)
        if key == (type(own), own):
            return self
        try:
            found = self._others.get(key)
        except TypeError:
            # What cannot be a key is no target, and is refused with its name.
            return self._aimed(target)
        if found is None:
            found = self._aimed(target)
            if len(self._others) >= _MOST_TARGETS:
                self._others.pop(next(iter(self._others)))
            self._others[key] = found
        return found

    def _aimed(self, target: Any) -> Self:
        model, data, settings = self._given
        made = object.__new__(type(self))
        made._given = model, data, replace(settings, target=target)
        made._engine = self._engine.toward(target)
        made._others = {}
        return made

    def predict(self, row: Any) -> Prediction:
        """Return what the model says about a row, and whether that is the target already.

        Parameters
        ----------
        row
            A dict, a Series, a one-row frame or a 1-D array.
        """
        engine = self._engine
        return predict_rows(engine, engine.space.encode_row(row)[None, :])[0]

    def predict_many(self, rows: Any) -> tuple[Prediction, ...]:
        """Return what the model says about every row of a frame, a 2-D array or a list of dicts."""
        engine = self._engine
        return tuple(predict_rows(engine, engine.space.encode(rows)))

    def check_constraints(self, row: Any, constraints: Constraints) -> ConstraintCheck:
        """Say what constraints leave of a row, and whether they contradict each other; no model call.

        Parameters
        ----------
        row
            The query: a dict, a Series, a one-row frame or a 1-D array.
        constraints
            Constraint objects or texts, as `explain` takes them.
        """
        space = self._engine.space
        x = space.encode_row(row)
        return check_constraints(self._engine, x, constraint_list(constraints, space.by_name))

    def explain(
        self,
        row: Any,
        constraints: Constraints = (),
        *,
        target: Any = OWN_TARGET,
        options: Options | None = None,
        budget: Budget | None = None,
        boundary: BoundarySet | None = None,
        **fields: Unpack[OptionFields],
    ) -> Explanation:
        """Return the nearest feasible counterfactuals of one row.

        Parameters
        ----------
        row
            The query: a dict, a Series, a one-row frame or a 1-D array.
        constraints
            Constraint objects or texts, such as ``ssba.fixed("sex")`` or ``"age >= x.age"``; all always hold.
        target : optional
            Another desired outcome than the explainer's, for this call only; for several calls use `toward`.
        options : Options, optional
            What to ask of the answers: how many, how sparse, how robust, how well proved.
        budget : Budget, optional
            How many model rows, and seconds, to spend at most.
        boundary : BoundarySet, optional
            Points from `sample_boundary`, as further starts and for bounded moves.
        **fields
            Single options by name, such as ``k=3`` or ``max_changes=2``; see `Options`.
        """
        asked = self if target is OWN_TARGET else self.toward(target)
        engine = asked._engine
        refuse_targets(constraints, engine.judging.model.classes)
        x = engine.space.encode_row(row)
        refuse_too_far(engine.space.features, engine.metric, x[None, :])
        given = constraint_list(constraints, engine.space.by_name)
        for hint in small_percents(x[None, :], [given], engine.space.features):
            warnings.warn(hint, SsbaWarning, stacklevel=2)
        request = Request(x, given, self._checked(options, fields), row_label=row_label(row))
        return asked._answer([request], budget, boundary, (False, 1))[0]

    def explain_many(
        self,
        rows: Any,
        constraints: Constraints | Sequence[Constraints] = (),
        *,
        options: Options | None = None,
        budget: Budget | None = None,
        boundary: BoundarySet | None = None,
        progress: bool | None = None,
        workers: int | None = None,
        **fields: Unpack[OptionFields],
    ) -> Explanations:
        """Explain every row of a frame, a 2-D array or a list of dicts, side by side in shared model calls.

        Each answer is the one that `explain` would give with the same arguments. `constraints` is one
        list for all rows, or a list of lists, one for each row. `progress` shows a progress bar; by default
        only in a terminal or notebook. `workers` is the number of processes of this machine that share the
        rows, for a model that keeps one process busy by itself. The model must survive being pickled, and a
        script needs ``if __name__ == "__main__":``.

        Ctrl-C ends the call with what was found until then: `stopped` is ``"interrupted"``, rows without
        an answer are ``out_of_budget``. A second one raises `KeyboardInterrupt`.
        """
        engine = self._engine
        refuse_targets(constraints, engine.judging.model.classes)
        X = engine.space.encode(rows)
        refuse_too_far(engine.space.features, engine.metric, X, partial(row_name, rows))
        by_row = constraints_by_row(constraints, len(X), engine.space.by_name)
        for hint in small_percents(X, by_row, engine.space.features):
            warnings.warn(hint, SsbaWarning, stacklevel=2)
        checked = self._checked(options, fields)
        count = 1 if workers is None else whole("explain_many(workers=...)", workers, at_least=1)
        labels: Sequence[RowLabel | None] = row_labels(rows) or [None] * len(X)
        requests = [
            Request(x, own, checked, row_label=label) for x, own, label in zip(X, by_row, labels, strict=True)
        ]
        with naming_failing_row(engine.judging, rows, X):
            found = self._answer(requests, budget, boundary, (progress, count))
        return Explanations(tuple(found), engine.space.layout)

    def plan(
        self,
        explanation: Explanation,
        answer: int = 0,
        *,
        effort: Mapping[str, float] | None = None,
        max_step: Mapping[str, float] | None = None,
    ) -> Plan:
        """Return ordered, feasible steps from the query to an answer, or to the bounded move.

        A query that is at the target already needs no steps.

        Parameters
        ----------
        explanation : Explanation
            What `explain` returned, maybe read from a file.
        answer : int
            Which of the counterfactuals, counted from 0.
        effort : mapping, optional
            What a change of a column takes: ``{"chol": 2.0}`` counts twice, so that it comes later.
        max_step : mapping, optional
            How much a column may change at once: ``{"chol": 20}`` makes several visits of a long change.
        """
        context = self._context(explanation)
        if explanation.status is Status.ALREADY_THERE:
            return _no_steps(explanation)
        chosen = explanation.bounded or _chosen(explanation, answer, "plan")
        return make_plan(context, context.encode(chosen.values), effort, max_step)

    def ranges(self, explanation: Explanation, answer: int = 0, *, n_samples: int = 1000) -> Ranges:
        """Return the widest intervals around an answer that still reach the target and meet the constraints.

        Parameters
        ----------
        explanation : Explanation
            What `explain` returned, maybe read from a file.
        answer : int
            Which of the counterfactuals, counted from 0.
        n_samples : int
            How many rows drawn from the intervals are asked about at last.
        """
        context = self._context(explanation)
        return find_ranges(context, context.encode(_chosen(explanation, answer, "ranges").values), n_samples)

    def why_not(self, explanation: Explanation, *, progress: bool | None = None) -> WhyNot:
        """Say, where no answer was found, which constraints are in the way and what to relax.

        Parameters
        ----------
        explanation : Explanation
            What `explain` returned, maybe read from a file.
        progress : bool, optional
            Whether to count the searches in a progress bar; by default in a terminal or notebook only.
        """
        context = self._context(explanation)
        with bar(None, "searches", progress) as shown:
            return why_not(context, explanation, done=shown.update)

    def levers(
        self, explanation: Explanation, max_columns: int = 3, *, progress: bool | None = None
    ) -> LeverTable:
        """Return which columns, alone, in pairs or in threes, can flip the decision, and which cannot.

        Parameters
        ----------
        explanation : Explanation
            What `explain` returned, maybe read from a file.
        max_columns : int
            How many columns may change together at most, 1 to 3.
        progress : bool, optional
            Whether to count the sets of columns tried in a progress bar; by default in a terminal or
            notebook only.
        """
        context = self._context(explanation)
        with bar(None, "sets of columns", progress) as shown:
            return lever_table(context, max_columns, done=shown.update)

    def try_values(self, explanation: Explanation, values: Mapping[str, Any]) -> Trial:
        """Ask the model about the query with some values changed, and say what is still missing.

        Parameters
        ----------
        explanation : Explanation
            What `explain` returned, maybe read from a file.
        values : mapping
            The columns to change: ``{"chol": 220}``.
        """
        return try_values(self._context(explanation), values)

    def scan_line(self, x: Any, y: Any, n_points: int = 101) -> LineScan:
        """Return what the model says on the straight line between two rows, and where its decision changes.

        Parameters
        ----------
        x, y
            The rows at both ends: a dict, a Series, a one-row frame or a 1-D array each.
        n_points : int
            How many rows on the line to ask about. Two crossings between neighbours may be missed.
        """
        space = self._engine.space
        return scan_line(self._engine, space.encode_row(x), space.encode_row(y), n_points)

    def certificate(self, explanation: Explanation) -> Certificate:
        """Return a result as a document with a digest, which can be checked against the model later.

        Parameters
        ----------
        explanation : Explanation
            What `explain` returned, maybe read from a file; one of another model is refused.
        """
        self._context(explanation)
        return certified(explanation)

    def check_certificate(self, certificate: Certificate) -> CertificateCheck:
        """Check a certificate, by itself and against this explainer's model.

        Parameters
        ----------
        certificate : Certificate
            What `certificate` made, maybe read from a file.
        """
        makers = "explainer.certificate(explanation) or ssba.results.Certificate.from_json(text)"
        instance("certificate", certificate, Certificate, f"give what {makers} returned")
        return check_certificate(self._engine, certificate)

    def report(
        self,
        results: Explanation | Explanations,
        file: str | PathLike[str],
        *,
        meanings: Mapping[str, str] | None = None,
        title: str = "",
        pictures: Mapping[str, bytes] | None = None,
        progress: bool | None = None,
    ) -> FilePath:
        """Write a self-contained HTML page about one result, or about many, and return its path.

        For one result the model is asked again: for the plan, the ranges and the levers, or for what to relax
        where no answer was found (up to 100,000 rows for either of the latter). Each value is shown against
        the background data. For many results the model is not asked.

        Parameters
        ----------
        results : Explanation or Explanations
            What `explain` or `explain_many` returned.
        file : str or path
            Where to write; an existing file is replaced.
        meanings : mapping, optional
            What columns mean, for a person: ``{"chol": "serum cholesterol"}``.
        title : str
            The heading of the page.
        pictures : mapping, optional
            Further pictures: captions to PNG bytes.
        progress : bool, optional
            Whether to show the progress bars of `levers` and `why_not`; by default in a terminal or notebook
            only.
        """
        file_to_write("file", file)
        if not isinstance(results, Explanation | Explanations):
            raise ArgumentError(f"results is {results!r:.80}; give what explain() or explain_many() returned")
        known = {
            str(name): str(text) for name, text in mapping("meanings", meanings, '{"chol": "..."}').items()
        }
        if isinstance(results, Explanation):
            parts = report_parts(self, self._context(results), results, known, progress)
        else:
            parts = ReportParts(data=DataContext(population(self._engine), meanings=known))
        return write_report(file, results, replace(parts, pictures=dict(pictures or {})), title)

    def sample_boundary(
        self,
        n_pairs: int = 10_000,
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
        n_pairs : int
            How many pairs of rows to bisect; all pairs there are if that is fewer, with a warning.
        tolerance : float
            Bisection stops when the bracket is narrower than this share of its segment.
        labels : array, optional
            True labels of the background rows: only pairs of correctly predicted rows are used then.
        path : str or path, optional
            A folder to stream the points to. Called again, also after an interruption, only what is missing
            of `n_pairs` is computed; several processes may do so at once. See ``docs/boundary.md``.
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
        growth = self._growth(n_pairs, tolerance, labels, (crossings, resolution), part)
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
        self, path: str | PathLike[str], n_points: int | None = None, *, progress: bool | None = None
    ) -> Verified:
        """Ask this model whether the points of an index, maybe another model's, reach the target.

        The index stays as it is. ``open_boundary(path, adopt=True)`` keeps what holds.

        Parameters
        ----------
        path
            The folder of the index.
        n_points : int, optional
            How many points to ask about, drawn by seed; all by default.
        progress : bool, optional
            Whether to show a progress bar.
        """
        n_points = None if n_points is None else whole("verify_boundary(n_points=...)", n_points, at_least=1)
        return verify_set(self._engine, path, n_points, progress)

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

    @property
    def rows_used(self) -> int:
        """How many rows the model was asked about so far, when it was tried out and in all calls since.

        A result's own `rows_used` leaves out what belongs to the explainer: background rows and boundary
        points for bounded moves, which later queries share.
        """
        return self._engine.tally.rows

    def _growth(
        self, n_pairs: Any, tolerance: Any, labels: Any, how: tuple[Any, Any], part: Any = (0, 1)
    ) -> Growth:
        """Check what is asked of a set of boundary points, and say which pairs that is."""
        crossings, resolution = how
        n_pairs = whole("sample_boundary(n_pairs=...)", n_pairs, at_least=1)
        tolerance = number("tolerance", tolerance, "a share of the segment, between 0 and 1", low=0, high=1)
        one_of("crossings", crossings, get_args(Crossings))
        resolution = 1 if crossings == "one" else whole("resolution", resolution, at_least=2, at_most=10_000)
        growth = Growth(self._engine.background.streams(tolerance, labels, resolution), n_pairs, _part(part))
        if growth.pairs < n_pairs:
            warnings.warn(
                f"{n_pairs:,} pairs were asked for, but the background rows make only {growth.pairs:,}; all "
                "of them are used",
                SsbaWarning,
                stacklevel=3,
            )
        return growth

    def _context(self, explanation: Any) -> Context:
        """Return the query of an explanation, to be asked about again."""
        refuse_no_explanation(explanation)
        goal = explanation.goal
        try:
            asked = self if goal is None else self.toward(target_of(goal))
        except (TargetError, ModelError) as error:
            # A model that cannot be asked for this target is not the one that was.
            raise of_another_model(self._engine, explanation) from error
        return context_of(asked._engine, explanation)

    def _answer(
        self,
        requests: Sequence[Request],
        budget: Budget | None,
        boundary: BoundarySet | None,
        how: tuple[bool | None, int],
    ) -> list[Explanation]:
        engine, given, (progress, workers) = self._engine, _checked_budget(budget), how
        known = _checked_set(engine, boundary)
        with query_bar(len(requests), progress) as shown, ctrl_c_ends():
            # A bar that nobody sees is not told anything, either.
            tell = None if shown.disable else shown.update
            if min(workers, len(requests)) > 1:
                found = self._shared(requests, (given, known), workers, shown.update)
            else:
                found = explain_requests(engine, requests, given, known, tell)
            if is_interrupted():
                warnings.warn(interrupted(found), SsbaWarning, stacklevel=3)
        return found

    def _shared(
        self,
        requests: Sequence[Request],
        given: tuple[Budget, EncodedPoints | None],
        workers: int,
        tell: Callable[[float], object],
    ) -> list[Explanation]:
        """Have requests explained by other processes, each with an explainer like this one."""
        from ssba.pipeline.sharing import Job, explain_shared

        budget, known = given
        ends = math.inf if budget.seconds is None else time.time() + budget.seconds
        job = Job(Inside(self).blueprint, budget, known, ends)
        return explain_shared(job, self._engine, requests, workers, tell)

    def _checked(self, options: Options | None, fields: Mapping[str, Any]) -> Options:
        checked = options_from(options, fields)
        model = self._engine.judging.model
        if isinstance(checked.margin, ScoreMargin) and not model.has_scores and model.classes is not None:
            raise ArgumentError(
                f"margin is {checked.margin.text}, but {model.name} gives labels only; use "
                "ssba.ball(radius), which asks about rows around the answer, or a model with scores"
            )
        return checked

    def __repr__(self) -> str:
        engine = self._engine
        incomplete = len(engine.background.incomplete)
        gaps = f", {incomplete:,} of them with missing cells" if incomplete else ""
        rows = f"{len(engine.background.complete):,} background rows{gaps}"
        return (
            f"<Explainer of {engine.judging.model.name} toward {engine.target_text}, "
            f"{len(engine.space.features)} columns, {rows}>"
        )


def _engine_of(explainer: Explainer) -> Engine:
    """Return an explainer's engine, in whichever process it is."""
    return explainer._engine


@dataclass(frozen=True)
class Inside:
    """What a run in other processes, or on other machines, needs of an explainer."""

    explainer: Explainer

    @property
    def engine(self) -> Engine:
        """The engine of this process."""
        return self.explainer._engine

    @property
    def blueprint(self) -> Blueprint:
        """What others build theirs from."""
        return Blueprint(partial(_engine_of, self.explainer), self.engine.judging.model.fingerprint)

    @property
    def settings(self) -> Settings:
        """What the explainer was asked to be."""
        return self.explainer._given[2]

    def ask(
        self,
        constraints: Any,
        options: Options | None,
        budget: Budget | None,
        boundary: BoundarySet | None,
        fields: Mapping[str, Any],
    ) -> Ask:
        """Check what is asked about many rows, as `explain_many` does."""
        engine = self.engine
        refuse_targets(constraints, engine.judging.model.classes)
        return Ask(
            constraint_list(constraints, engine.space.by_name),
            self.explainer._checked(options, fields),
            _checked_budget(budget),
            _checked_set(engine, boundary),
        )

    def growth(self, n_pairs: Any, tolerance: Any, labels: Any, how: tuple[Any, Any]) -> Growth:
        """Check what is asked of a set of boundary points, as `sample_boundary` does."""
        return self.explainer._growth(n_pairs, tolerance, labels, how)


def _no_steps(explanation: Explanation) -> Plan:
    """Return the plan of a query that is at the target already."""
    return Plan(
        query=explanation.query,
        prediction=explanation.prediction,
        score=explanation.score,
        target=explanation.target,
        steps=(),
        reached=True,
        units=explanation.units,
    )


def _chosen(explanation: Explanation, answer: int, who: str) -> Counterfactual:
    number = whole(f"{who}(answer=...)", answer, at_least=0)
    found = explanation.counterfactuals
    if number < len(found):
        return found[number]
    if not found:
        raise ArgumentError(
            f"there is no answer, as this query ended as {explanation.status.value}: {explanation.sentence}"
            f"{_REMEDIES.get(explanation.status, '')}"
        )
    raise ArgumentError(f"answer is {number}, but the last of the answers is number {len(found) - 1}, from 0")


def _checked_budget(budget: Any) -> Budget:
    if budget is not None and not isinstance(budget, Budget):
        raise ArgumentError(f"budget is {budget!r:.80}; give ssba.Budget(rows=..., seconds=...)")
    return budget or Budget()


def _checked_set(engine: Engine, boundary: Any) -> EncodedPoints | None:
    if boundary is None:
        return None
    if not isinstance(boundary, BoundarySet):
        raise ArgumentError(
            f"boundary is {boundary!r:.80}; give a BoundarySet from sample_boundary() or open_boundary()"
        )
    refuse_another(boundary.identity, identity_of(engine), "this boundary set")
    return encoded_points(boundary)


def _part(given: Any) -> Part:
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise ArgumentError(f"part is {given!r:.80}; give two whole numbers: (0, 4) is the first of four")
    number, of = whole("part[0]", given[0], at_least=0), whole("part[1]", given[1], at_least=1)
    if number >= of:
        raise ArgumentError(f"part is {given!r:.80}; of {of} parts the last is ({of - 1}, {of})")
    return Part(number, of)

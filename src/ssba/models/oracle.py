"""What stands between a search and the model: encoded rows in, answers out.

Every row is checked and counted on its way, and each cell is one that its column can hold. The model must
answer the same question alike. Small batches get one thread: there, starting threads and waiting for them
costs more than they save. A search asks about few rows at a time; beside another program on two cores,
HistGradientBoosting took up to a thousand times as long for 30 rows with two threads as with one, and 5
times as long for 20,000 (`benchmarks/threads.py`).
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ssba.columns.features import Feature
from ssba.errors import ArgumentError, InternalError, ModelError
from ssba.models.answers import Array, Ask, Model, Output, joined, plain
from ssba.models.calls import example_row
from ssba.models.prepared import ShortWay

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]
_LARGEST = float(np.finfo(np.float64).max)

# Scores that differ by no more than this part of the largest differ by the batch, not by chance.
_ROUNDING = 1e-4
Watcher = Callable[[int], None]
_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)

# Batches of so many rows are left to as many threads as the model likes.
_MANY_ROWS = 10_000


@final
@dataclass(frozen=True)
class RowCheck:
    """What cells a model may be asked about: finite numbers that the column holds, codes of its levels.

    Examples
    --------
    >>> check = RowCheck((Feature("age", "integer"), Feature("sex", "boolean", ("f", "m"))))
    >>> check.check(np.array([[54.0, 1.0]]))
    >>> check.check(np.array([[54.0, 2.0]]))
    Traceback (most recent call last):
    ...
    ssba.errors.InternalError: ssba was about to ask the model about 2.0 in column 'sex', ...
    """

    features: tuple[Feature, ...]

    def check(self, rows: Matrix, missing: Mask | None = None) -> None:
        """Raise InternalError if a cell is none that its column can hold.

        `missing` marks the cells that may be missing, of every row or of each; none where it is not given.
        """
        if self._any_number and self._are_finite(rows):
            return
        low, high = self._ends
        fine = (rows >= low) & (rows <= high)
        whole = self._whole
        if whole.size:
            fine[:, whole] &= rows[:, whole] == np.rint(rows[:, whole])
        if fine.all():
            return
        if missing is not None:
            fine |= np.isnan(rows) & missing
        if not fine.all():
            self._refuse(rows, fine)

    @cached_property
    def _ends(self) -> tuple[Matrix, Matrix]:
        ends = [_ends(one) for one in self.features]
        return np.array([low for low, _ in ends]), np.array([high for _, high in ends])

    @cached_property
    def _any_number(self) -> bool:
        """Whether every column holds any number that is finite."""
        low, high = self._ends
        return not self._whole.size and bool((low == -_LARGEST).all() and (high == _LARGEST).all())

    @staticmethod
    def _are_finite(rows: Matrix) -> bool:
        """Tell quickly that all cells are finite; where their sum is not, they may be all the same."""
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(np.isfinite(rows.sum()))

    @cached_property
    def _whole(self) -> NDArray[np.int64]:
        return np.flatnonzero([one.has_levels or one.kind == "integer" for one in self.features])

    def _refuse(self, rows: Matrix, fine: Mask) -> None:
        row, column = np.argwhere(~fine)[0]
        feature, value = self.features[column], float(rows[row, column])
        raise InternalError(
            f"ssba was about to ask the model about {value!r} in column {feature.name!r}, "
            f"which {_allowed(feature)}; this is a fault of ssba, not of your data or model: please report "
            "it with the query, its constraints and the versions in `explanation.versions`"
        )


def _ends(feature: Feature) -> tuple[float, float]:
    if feature.levels:
        return 0.0, len(feature.levels) - 1.0
    low, high = feature.storable
    return max(low, -_LARGEST), min(high, _LARGEST)


def _allowed(feature: Feature) -> str:
    low, high = _ends(feature)
    if feature.levels:
        return f"has the codes 0 to {high:g}"
    kind = "whole numbers" if feature.kind == "integer" else "finite numbers"
    return f"holds {kind} from {low:g} to {high:g}"


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Tell somebody the number of rows before each model call that is made inside, in this thread.

    Work that asks no model, but may take long, tells of 0 rows now and then (`tell_watcher`). A watcher that
    raises ends the work: a server stops so what takes too long, or what nobody waits for.
    """
    before = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(before)


def tell_watcher(rows: int = 0) -> None:
    """Tell the watcher of this thread, if there is one, how many rows are asked about next.

    >>> with watched(print):
    ...     tell_watcher()
    0
    """
    if (watcher := _WATCHER.get()) is not None:
        watcher(rows)


@final
@dataclass
class Tally:
    """How many rows a model was asked about so far."""

    rows: int = 0


def counted(model: Model, tally: Tally) -> Model:
    """Return the model with every row that it is asked about counted, also those that make it fail."""

    def counting(ask: Ask) -> Ask:
        def ask_and_count(rows: Any) -> Output:
            tell_watcher(len(rows))
            tally.rows += len(rows)
            return ask(rows)

        return ask_and_count

    return model.wrapped(counting)


def refuse_chance(model: Model, rows: Any) -> None:
    """Ask about the first sample rows once more, and refuse a model that answers otherwise than before."""
    # A model that works in place must not spoil the row that a message shows.
    again = model.output(copy(rows))
    before = model.on_sample.take(slice(len(rows)))
    for first, second in zip(_answers(before), _answers(again), strict=True):
        other = _others(first, second)
        if other.any():
            i = int(np.flatnonzero(other)[0])
            raise ModelError(
                f"{model.name} gives different answers to the same row: {_shown(first[i])}, then "
                f"{_shown(second[i])}. Row: {example_row(rows, i)}. An explanation needs a model whose "
                "answer depends on the row alone; take out what is random, such as noise, or fix its seed"
            )


def _answers(output: Output) -> list[Array]:
    """Return what tells two answers apart: scores or numbers, and labels only where there are none."""
    numbers = [part for part in (output.scores, output.values) if part is not None]
    return numbers or [output.labels if output.labels is not None else np.empty(0)]


def _others(first: Array, second: Array) -> Array:
    if first.dtype.kind != "f":
        return np.asarray(first != second)
    size = float(np.abs(first).max(initial=0.0))
    apart = np.abs(first - second) > _ROUNDING * size
    return np.asarray(apart if apart.ndim == 1 else apart.any(axis=1))


def _shown(answer: Any) -> str:
    return str(np.round(answer, 6).tolist()) if isinstance(answer, np.ndarray) else repr(plain(answer))


def with_few_threads(model: Model) -> Model:
    """Return the model, asked with one thread about few rows. The model itself is not changed.

    OpenMP is told by threadpoolctl, where it is installed; joblib, which serves forests with `n_jobs`, by
    its own configuration. Both settings belong to the thread that asks, and are lifted after each call.
    """
    openmp = _openmp()

    def limiting(ask: Ask) -> Ask:
        def ask_with_few(rows: Any) -> Output:
            if len(rows) >= _MANY_ROWS:
                return ask(rows)
            with openmp.limit(limits=1) if openmp else nullcontext(), _joblib_in_sequence():
                return ask(rows)

        return ask_with_few

    return model.wrapped(limiting)


def _openmp() -> Any:
    """Return a controller of the OpenMP libraries that are loaded by now, the model's among them."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController().select(user_api="openmp")


def _joblib_in_sequence() -> AbstractContextManager[Any]:
    """Let joblib run one job after the other, whatever `n_jobs` says; nothing where it is not loaded."""
    joblib: Any = sys.modules.get("joblib")
    if not hasattr(joblib, "parallel_config"):
        return nullcontext()
    in_sequence: AbstractContextManager[Any] = joblib.parallel_config(backend="sequential")
    return in_sequence


@final
@dataclass
class Oracle:
    """Asks a model about encoded rows, in batches of at most `batch_rows`, and keeps count.

    Attributes
    ----------
    model
        The adapted model of the user.
    decode
        From encoded rows to rows in the user's own form.
    row_check
        The check that every row passes before it is decoded. A cell may be missing only where the
        question says so.
    batch_rows
        The most rows that one model call gets.
    short_way
        From encoded rows to what the model's last step gets, where that is known. A search goes this way; the
        last word is asked for in the user's own form.
    rows_asked, calls
        What was spent so far; asking about no rows costs nothing.

    Examples
    --------
    >>> from ssba.columns.features import Feature
    >>> from ssba.models.model import adapt
    >>> rows = np.array([[0.2], [0.9], [0.4]])
    >>> model, row_check = adapt(lambda rows: rows[:, 0] > 0.5, rows), RowCheck((Feature("a", "numeric"),))
    >>> oracle = Oracle(model, lambda rows: rows, row_check, batch_rows=2)
    >>> oracle.labels(rows).labels.tolist(), oracle.rows_asked, oracle.calls
    ([False, True, False], 3, 2)
    """

    model: Model
    decode: Callable[[Array], Any]
    row_check: RowCheck
    batch_rows: int = 65536
    short_way: ShortWay | None = None
    rows_asked: int = field(default=0, init=False)
    calls: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if self.batch_rows < 1:
            raise ArgumentError(f"batch_rows must be at least 1, got {self.batch_rows!r}")

    def labels(self, encoded: Array, missing: Mask | None = None) -> Output:
        """Hard labels only (a regressor: values): the cheapest question.

        `missing` marks the cells that may be missing, of all rows or of each; for the others it is an error.
        """
        self.row_check.check(encoded, missing)
        return self._ask(self.model.labels, encoded, self._prepared, with_scores=False)

    def output(self, encoded: Array, missing: Mask | None = None) -> Output:
        """Labels and scores in one call a batch, where the model's scores can be trusted.

        The model gets a copy, since some work in place. (Rows for `labels` are made to be asked once.)
        """
        self.row_check.check(encoded, missing)
        return self._ask(self.model.output, encoded.copy(), self._prepared, with_scores=self.model.has_scores)

    def verdict(self, encoded: Array, missing: Mask | None = None) -> Output:
        """The model's own labels, with scores for display: the last word on an answer."""
        self.row_check.check(encoded, missing)
        return self._ask(self.model.verdict, encoded.copy(), self.decode, with_scores=self.model.has_scores)

    def alone(self, encoded: Array, missing: Mask | None = None) -> Output:
        """The verdicts on rows as whoever tries one of them will get it, each in a batch of its own."""
        self.row_check.check(encoded, missing)
        if self.model.alone is not None:
            return self._ask(self.model.alone, encoded.copy(), self.decode, with_scores=self.model.has_scores)
        rows = encoded.copy()[:, None]
        return joined([self._one_batch(self.model.verdict, self.decode, row) for row in rows])

    def _prepared(self, encoded: Array) -> Any:
        """Return rows as the model's last step gets them, where that is known, else in the user's form."""
        prepared = None if self.short_way is None else self.short_way(encoded)
        return self.decode(encoded) if prepared is None else prepared

    def _ask(
        self, question: Ask, encoded: Array, write: Callable[[Array], Any], *, with_scores: bool
    ) -> Output:
        if len(encoded) == 0:
            return _nothing(self.model.classes, with_scores=with_scores)
        if len(encoded) <= self.batch_rows:
            return self._one_batch(question, write, encoded)
        starts = range(0, len(encoded), self.batch_rows)
        return joined([self._one_batch(question, write, encoded[i : i + self.batch_rows]) for i in starts])

    def _one_batch(self, question: Ask, write: Callable[[Array], Any], encoded: Array) -> Output:
        # Counted before the call: rows that made the model fail were asked, too.
        self.rows_asked += len(encoded)
        self.calls += 1
        return question(write(encoded))


def _nothing(classes: tuple[Any, ...] | None, *, with_scores: bool) -> Output:
    if classes is None:
        return Output(values=np.empty(0))
    scores = np.empty((0, len(classes))) if with_scores else None
    return Output(labels=np.empty(0, dtype=object), scores=scores)

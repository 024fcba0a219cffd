"""The model as the search sees it: encoded rows in, answers out, every row counted."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from ssba.errors import ArgumentError
from ssba.models.answers import Array, Ask, Model, Output, joined
from ssba.models.row_check import Mask, RowCheck


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
        return self._ask(self.model.labels, encoded, with_scores=False)

    def output(self, encoded: Array, missing: Mask | None = None) -> Output:
        """Labels and scores in one call a batch, where the model's scores can be trusted.

        The model gets a copy, since some work in place. (Rows for `labels` are made to be asked once.)
        """
        self.row_check.check(encoded, missing)
        return self._ask(self.model.output, encoded.copy(), with_scores=self.model.has_scores)

    def verdict(self, encoded: Array, missing: Mask | None = None) -> Output:
        """The model's own labels, with scores for display: the last word on an answer."""
        self.row_check.check(encoded, missing)
        return self._ask(self.model.verdict, encoded.copy(), with_scores=self.model.has_scores)

    def _ask(self, question: Ask, encoded: Array, *, with_scores: bool) -> Output:
        if len(encoded) == 0:
            return _nothing(self.model.classes, with_scores=with_scores)
        if len(encoded) <= self.batch_rows:
            return self._one_batch(question, encoded)
        starts = range(0, len(encoded), self.batch_rows)
        return joined([self._one_batch(question, encoded[i : i + self.batch_rows]) for i in starts])

    def _one_batch(self, question: Ask, encoded: Array) -> Output:
        # Counted before the call: rows that made the model fail were asked, too.
        self.rows_asked += len(encoded)
        self.calls += 1
        return question(self.decode(encoded))


def _nothing(classes: tuple[Any, ...] | None, *, with_scores: bool) -> Output:
    if classes is None:
        return Output(values=np.empty(0))
    scores = np.empty((0, len(classes))) if with_scores else None
    return Output(labels=np.empty(0, dtype=object), scores=scores)

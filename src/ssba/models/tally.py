"""Counting what a model is asked, whoever asks, and making sure that it answers the same question alike."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from ssba.errors import ModelError
from ssba.models.answers import Array, Ask, Model, Output, plain
from ssba.models.calls import example_row

# Scores that differ by no more than this part of the largest differ by the batch, not by chance.
_ROUNDING = 1e-4


Watcher = Callable[[int], None]
_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


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

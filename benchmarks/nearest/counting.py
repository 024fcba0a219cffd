"""Counts the rows that a model is asked about, without changing what it is."""

from collections.abc import Callable
from typing import Any

ASKED = ("predict", "predict_proba", "decision_function")


class Counter:
    """How many rows, in how many calls."""

    def __init__(self) -> None:
        self.rows = 0
        self.calls = 0
        self._within = False

    def counted(self, ask: Callable[..., Any]) -> Callable[..., Any]:
        """The same question, counted, unless the model asks it itself while answering another."""

        def asked(rows: Any, *args: Any, **options: Any) -> Any:
            if self._within:
                return ask(rows, *args, **options)
            self.rows += len(rows)
            self.calls += 1
            self._within = True
            try:
                return ask(rows, *args, **options)
            finally:
                self._within = False

        return asked


def count_rows(model: Any) -> Counter:
    """Count from now on; the model keeps its type, so that methods that open it still can."""
    counter = Counter()
    for name in ASKED:
        if hasattr(model, name):
            setattr(model, name, counter.counted(getattr(model, name)))
    return counter

"""What a model is asked and what that takes, and what the whole process takes."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


class Meter:
    """A model behind a function that counts calls, rows and the seconds spent inside the model."""

    def __init__(self, model: Callable[[Any], Any]) -> None:
        self._model = model
        self.reset()

    def reset(self) -> None:
        self.calls = 0
        self.rows = 0
        self.cpu = 0.0
        self.wall = 0.0

    def predict(self, rows: Any) -> Any:
        """The model's own answer; the reading of the clocks is not part of the seconds."""
        self.calls += 1
        self.rows += len(rows)
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            return self._model(rows)
        finally:
            self.cpu += time.process_time() - cpu
            self.wall += time.perf_counter() - wall


@dataclass
class Spent:
    """CPU seconds of this process, and seconds on the wall."""

    cpu: float = 0.0
    wall: float = 0.0


@contextmanager
def stopwatch() -> Iterator[Spent]:
    """Time a block; the figures are there once it has ended."""
    spent = Spent()
    wall, cpu = time.perf_counter(), time.process_time()
    yield spent
    spent.cpu, spent.wall = time.process_time() - cpu, time.perf_counter() - wall

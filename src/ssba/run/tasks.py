"""What is asked of whoever works: to explain chunks of rows, or to find the boundary points of pairs.

A task is sent as plain data, and becomes work where there is an engine.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from ssba.columns.space import Matrix
from ssba.engine import Engine
from ssba.errors import ModelError
from ssba.index.sampling import find_points
from ssba.models.answers import plain
from ssba.pipeline.ask import Ask
from ssba.run.parts import IN_PYTHON
from ssba.run.table import TableForm, cell_types
from ssba.run.work import ChunkWork, OnError

_ROWS_FOR_TYPES = 1000
"""Background rows that show which types the columns of the output have."""

Work = Callable[[Any], Any]
"""From a piece of the work to its result."""


class Task(Protocol):
    """Something to be done, piece by piece."""

    def begun(self, engine: Engine) -> Work:
        """Return what does the work, in the process of an engine."""
        ...


@dataclass(frozen=True)
class Explaining:
    """Explain chunks of rows."""

    ask: Ask
    on_error: OnError = "stop"
    with_id: bool = False
    with_json: bool = False

    def begun(self, engine: Engine) -> ChunkWork:
        """Return what explains chunks."""
        return ChunkWork(partial(self.ask.explained, engine), self.form(engine), self.on_error, IN_PYTHON)

    def form(self, engine: Engine) -> TableForm:
        """Return the columns of the output."""
        space, classes = engine.space, engine.judging.model.classes
        rows = space.decode(engine.background.rows[:_ROWS_FOR_TYPES])
        return TableForm(
            cell_types(rows, space.names),
            space.layout,
            None if classes is None else [plain(one) for one in classes],
            self.with_id,
            self.with_json,
        )


@dataclass(frozen=True)
class Pairs:
    """A stretch of the pairs of one of the streams."""

    stream: int
    positions: range


@dataclass(frozen=True)
class Points:
    """The boundary points of some pairs, and how many model rows they took."""

    pairs: Pairs
    points: Matrix
    rows_asked: int


@dataclass(frozen=True)
class Growing:
    """Find the boundary points of pairs of background rows; `keys` are those of the streams."""

    keys: Sequence[str]
    tolerance: float
    labels: Any
    resolution: int

    def begun(self, engine: Engine) -> Callable[[Pairs], Points]:
        """Return what finds points; it makes the streams of pairs from the engine's own background rows."""
        streams = engine.background.streams(self.tolerance, self.labels, self.resolution)
        if [one.key for one in streams] != list(self.keys):
            raise ModelError(
                f"{engine.judging.model.name} puts background rows on other sides in another process, so "
                "that its boundary points would be others; use a model that answers alike everywhere"
            )

        def find(pairs: Pairs) -> Points:
            return Points(pairs, *find_points(engine, streams[pairs.stream], pairs.positions))

        return find

"""From encoded rows to what a model's last step sees, where every input depends on one column.

No transformer is computed anew here. The types of the steps tell what kind of map they are together
(`structure.py`), and the map itself is read off by asking them about rows.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import Integers, Matrix, Vector
from ssba.columns.features import is_missing
from ssba.columns.frames import RawColumn
from ssba.columns.space import Space
from ssba.models.tensors import float_array
from ssba.whitebox.check_reading import (
    NotReadable,
    column_rows,
    complete_row,
    probed_values,
    sent_through,
    the_users_code,
)

CellReader = Callable[[Any], float]
"""From a category, as the user writes it, to the number that a model knows it by."""

# More levels do not fit in the 64 bits that a set of them is kept in.
MOST_LEVELS = 63


@final
@dataclass(frozen=True)
class Inputs:
    """What the last step of a model sees of encoded rows.

    `source` names for each input the encoded column it depends on, -1 for a constant; `tables` holds for each
    column of levels what the inputs are at each of its codes; `base` is one row of inputs.
    """

    ask: Callable[[Matrix], Matrix]
    source: Integers
    tables: dict[int, Matrix]
    base: Vector


def read_inputs(
    steps: Sequence[Any], numbers: Callable[[Any], Matrix], space: Space, background: Matrix
) -> Inputs:
    """Find out which input depends on which column; `numbers` makes them of what the steps return.

    `NotReadable` where one depends on several columns, or falls while its column of numbers rises.
    """

    def ask(Z: Matrix) -> Matrix:
        with the_users_code():
            return numbers(sent_through(steps, space.decode(Z)))

    base = complete_row(background)
    answer = ask(base[None, :])[0]
    source = np.full(len(answer), -1, dtype=np.int64)
    tables: dict[int, Matrix] = {}
    for j, feature in enumerate(space.features):
        if feature.has_levels and len(feature.levels) > MOST_LEVELS:
            raise NotReadable(
                f"column {feature.name!r} has {len(feature.levels)} levels, and trees are opened with up to "
                f"{MOST_LEVELS}"
            )
        seen = ask(column_rows(base, j, probed_values(space, background, j)))
        varies = _differs(seen, answer).any(axis=0)
        if (varies & (source >= 0)).any():
            raise NotReadable(f"column {feature.name!r} is mixed with others before the trees see it")
        source[varies] = j
        if feature.has_levels:
            tables[j] = seen
        elif (np.diff(seen, axis=0) < 0).any():
            raise NotReadable(f"what the trees see of column {feature.name!r} does not rise with it")
    return Inputs(ask, source, tables, answer)


def dense(rows: Any) -> Matrix:
    """Return rows as one array of floats."""
    if hasattr(rows, "toarray"):
        rows = rows.toarray()
    return np.asarray(float_array(rows, "the model"), dtype=np.float64)


def coded(columns: Sequence[RawColumn], readers: Mapping[int, CellReader]) -> Matrix:
    """Return columns as one array of floats, some of them by what a reader makes of each cell.

    A missing cell is NaN, and so is a category that its reader does not know.
    """
    return np.stack([_coded(column, readers.get(j)) for j, column in enumerate(columns)], axis=1)


def places(levels: Sequence[Any]) -> CellReader:
    """Return the reader of categories that a model knows by their place in a list.

    >>> read = places(["low", "high"])
    >>> read("high"), read("unheard of")
    (1.0, nan)
    """
    place = {level: float(i) for i, level in enumerate(levels)}
    return lambda cell: place.get(cell, math.nan)


def _coded(column: RawColumn, reader: CellReader | None) -> Vector:
    if reader is None and isinstance(column.cells, np.ndarray):
        return column.cells
    if reader is None and column.family != "boolean":
        raise NotReadable(f"column {column.name!r} holds {column.dtype}, which the model keeps no list of")
    read = reader or float
    return np.array([math.nan if is_missing(cell) else read(cell) for cell in column.cells])


def _differs(seen: Matrix, base: Vector) -> NDArray[np.bool_]:
    return np.asarray((seen != base) & ~(np.isnan(seen) & np.isnan(base)))

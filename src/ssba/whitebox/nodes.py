"""Trees as their libraries keep them, all in one form: a table of nodes, and how the library compares."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from ssba.arrays import Integers, Mask, Matrix, Vector
from ssba.whitebox.inputs import dense
from ssba.whitebox.scoring import Threshold

Rows = Callable[[], Any]
"""Makes rows in the form of a model's last step."""


@final
@dataclass(frozen=True)
class Nodes:
    """The nodes of all trees in one table.

    A row at node i goes to ``left[i]`` if its cell in column ``feature[i]`` is at most ``threshold[i]``,
    and to ``right[i]`` otherwise. Where ``level_set[i]`` is not -1 the cell is a category, which goes left if
    it is in ``sets[level_set[i]]``. A missing cell goes left where `missing_left` says so. Leaves have
    ``left == -1`` and add ``value[i]`` to the raw scores.
    """

    feature: Integers
    threshold: Vector
    left: Integers
    right: Integers
    missing_left: Mask
    value: Matrix
    roots: Integers
    level_set: Integers
    sets: tuple[Vector, ...]


@final
@dataclass(frozen=True)
class TreeSource:
    """Trees as a library keeps them.

    `single` tells that rows are cast to 32-bit floats, `below` that a cell must be under the threshold to
    go left and not just at it, `raw` asks the model for its raw scores [n, columns] of rows in its own
    form, and `averaged` tells that these are means over the trees. `takes_missing` tells that
    `missing_left` can be relied on.
    """

    nodes: Nodes
    single: bool
    below: bool
    raw: Callable[[Any], Matrix]
    averaged: bool = False
    takes_missing: bool = True
    inputs: Callable[[Any], Matrix] = dense
    """Turns rows in the model's own form into the numbers that its nodes compare."""
    threshold: Threshold | None = None
    zero: float = 0.0
    """Cells at most this far from zero are read as zero."""
    vague: float = 0.0
    """How near to a tie probabilities, by which the label is told, may no longer tell raw scores apart."""
    precision: float = 2.0**-45
    """How exact probabilities are."""


@final
@dataclass(frozen=True)
class Shape:
    """One tree's splits and children, node by node; leaves have ``left == -1``.

    `sets` holds, for the nodes that split categories, those that go left.
    """

    feature: Any
    threshold: Any
    left: Any
    right: Any
    missing_left: Any
    sets: Mapping[int, Collection[float]]


def one_tree(shape: Shape, value: Matrix) -> Nodes:
    """Return the table of one tree whose root comes first."""
    level_set = np.full(len(shape.left), -1, dtype=np.int64)
    level_set[list(shape.sets)] = np.arange(len(shape.sets))
    return Nodes(
        feature=np.asarray(shape.feature, dtype=np.int64),
        threshold=np.asarray(shape.threshold, dtype=np.float64),
        left=np.asarray(shape.left, dtype=np.int64),
        right=np.asarray(shape.right, dtype=np.int64),
        missing_left=np.asarray(shape.missing_left, dtype=bool),
        value=np.asarray(value, dtype=np.float64),
        roots=np.zeros(1, dtype=np.int64),
        level_set=level_set,
        sets=tuple(np.array(sorted(one), dtype=np.float64) for one in shape.sets.values()),
    )


def joined(parts: Sequence[Nodes]) -> Nodes:
    """Return one table of several, with children, roots and sets renumbered."""
    nodes = np.cumsum([0, *(len(part.left) for part in parts)])[:-1]
    sets = np.cumsum([0, *(len(part.sets) for part in parts)])[:-1]
    moved = [
        replace(
            part,
            left=np.where(part.left < 0, -1, part.left + shift),
            right=np.where(part.left < 0, -1, part.right + shift),
            roots=part.roots + shift,
            level_set=np.where(part.level_set < 0, -1, part.level_set + set_shift),
        )
        for part, shift, set_shift in zip(parts, nodes, sets, strict=True)
    ]

    def column(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in moved])

    arrays = {name: column(name) for name in Nodes.__dataclass_fields__ if name != "sets"}
    return Nodes(**arrays, sets=tuple(one for part in parts for one in part.sets))


def in_column(value: Any, column: int, width: int) -> Matrix:
    """Return one number a node as a row of raw scores that is 0 but in one column."""
    placed = np.zeros((len(value), width))
    placed[:, column] = value
    return placed


def as_columns(ask: Callable[[Any], Any]) -> Callable[[Any], Matrix]:
    """Return a function whose answers always have columns."""

    def raw(rows: Any) -> Matrix:
        answer = np.asarray(ask(rows), dtype=np.float64)
        return answer[:, None] if answer.ndim == 1 else answer

    return raw

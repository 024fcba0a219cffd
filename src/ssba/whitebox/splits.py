"""From the nodes of trees to splits of encoded columns: a last value, or a set of codes, that goes left."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import Integers, Mask, Vector
from ssba.columns.space import Matrix, Space
from ssba.whitebox.check_reading import NotReadable, complete_row
from ssba.whitebox.floats import last_true
from ssba.whitebox.inputs import Inputs
from ssba.whitebox.nodes import Nodes, TreeSource

Bits = NDArray[np.uint64]

EVERY_CODE = np.uint64(2**64 - 1)
# Beyond this no value is looked for; 32-bit floats end at 3e38.
_FAR = 1e30
# Of a column's range: how near a straight line comes to where a scaled column meets a threshold.
_NEAR = 1e-6


@final
@dataclass(frozen=True)
class Splits:
    """Per node: the encoded column it asks, and the last value that goes left or the codes that do.

    `constant` marks splits of inputs that no column changes, which send every row the same way.
    """

    is_split: Mask
    constant: Mask
    column: Integers
    by_code: Mask
    cut: Vector
    codes: Bits


def splits_of(source: TreeSource, inputs: Inputs, space: Space, background: Matrix) -> Splits:
    """Translate the nodes of trees from what they see to encoded columns."""
    nodes = source.nodes
    is_split = nodes.left >= 0
    # Leaves ask no feature; some libraries number theirs from below zero.
    feature = np.where(is_split, nodes.feature, 0)
    column = np.where(is_split, inputs.source[feature], -1)
    cut = np.full(len(column), np.inf)
    codes = np.full(len(column), EVERY_CODE)
    constant = is_split & (column < 0)
    goes = _goes_left(source, inputs.base[feature], np.arange(len(column)))
    cut[constant & ~goes] = -np.inf
    column[constant] = 0
    levels = np.array([feature.has_levels for feature in space.features], dtype=bool)
    by_code = is_split & levels[column]
    codes[constant & ~goes & by_code] = 0
    for j, table in inputs.tables.items():
        mine = np.flatnonzero(is_split & (column == j) & ~constant)
        left = _goes_left(source, table[:, nodes.feature[mine]], mine)
        bits = np.left_shift(np.uint64(1), np.arange(len(table), dtype=np.uint64))
        codes[mine] = (left * bits[:, None]).sum(axis=0, dtype=np.uint64)
    numeric = is_split & ~constant & ~levels[column]
    _refuse_sets_of_numbers(nodes, numeric, column, space)
    cut[numeric] = _last_left(source, inputs, space, background, np.flatnonzero(numeric), column)
    return Splits(is_split, constant, column, by_code, cut, codes)


def _refuse_sets_of_numbers(nodes: Nodes, numeric: Mask, column: Integers, space: Space) -> None:
    of_sets = np.flatnonzero(numeric & (nodes.level_set >= 0))
    if len(of_sets):
        name = space.names[column[of_sets[0]]]
        raise NotReadable(
            f"column {name!r} holds numbers, but the model splits it as categories; declare it with "
            f"features={{{name!r}: ssba.categorical()}}"
        )


def _goes_left(source: TreeSource, values: Matrix, which: Integers) -> Mask:
    """Tell which inputs [..., n] go left at the n nodes `which`."""
    nodes = source.nodes
    left = _is_left(source, values, nodes.threshold[which])
    for k in np.flatnonzero(nodes.level_set[which] >= 0):
        # Libraries cut off what stands behind a code's point.
        left[..., k] = np.isin(np.trunc(values[..., k]), nodes.sets[nodes.level_set[which[k]]])
    return np.where(np.isnan(values), nodes.missing_left[which], left)


def _is_left(source: TreeSource, values: Matrix, threshold: Vector) -> Mask:
    """Compare numbers with thresholds the way the library does."""
    with np.errstate(over="ignore"):
        compared = values.astype(np.float32).astype(np.float64) if source.single else values
    compared = np.where(np.abs(compared) <= source.zero, 0.0, compared)
    return np.asarray(compared < threshold if source.below else compared <= threshold)


def _last_left(
    source: TreeSource, inputs: Inputs, space: Space, background: Matrix, which: Integers, column: Integers
) -> Vector:
    """Return for each of the nodes the largest value of its column that goes left, by bisection.

    Nodes of different columns share rows, so that the steps before the trees are asked about few of them.
    """
    if not len(which):
        return np.empty(0)
    pairs, inverse = np.unique(
        np.stack([source.nodes.feature[which].astype(float), source.nodes.threshold[which]]),
        axis=1,
        return_inverse=True,
    )
    feature, threshold = pairs[0].astype(np.int64), pairs[1]
    home = inputs.source[feature]
    place = _place_in_column(home)
    scratch = np.tile(complete_row(background), (int(place.max()) + 1, 1))

    def goes_left(values: Vector) -> Mask:
        # Two inputs of one column, as one-hot columns of a scaled one would be, are asked in rows of
        # their own.
        scratch[place, home] = values
        return _is_left(source, inputs.ask(scratch)[place, feature], threshold)

    whole = np.array([one.kind == "integer" for one in space.features], dtype=bool)[home]
    low = np.array([max(-_FAR, one.storable[0]) for one in space.features])[home]
    high = np.array([min(_FAR, one.storable[1]) for one in space.features])[home]
    single = space.grid.single[home]
    near = _guesses(inputs, background, feature, threshold)
    return last_true(goes_left, low, high, whole, single, near)[inverse.ravel()]


def _guesses(inputs: Inputs, background: Matrix, feature: Integers, threshold: Vector) -> list[Vector]:
    """Return values just beside where a straight line through a column's ends meets a threshold."""
    ends = np.stack([np.nanmin(background, axis=0), np.nanmax(background, axis=0)])
    home = inputs.source[feature]
    first, last = inputs.ask(ends)[:, feature]
    width = ends[1, home] - ends[0, home]
    share = (threshold - first) / np.where(last > first, last - first, 1.0)
    guess = ends[0, home] + np.clip(share, -1.0, 2.0) * width
    return [guess - _NEAR * width, guess + _NEAR * width + 1.0, guess + _NEAR * width]


def _place_in_column(home: Integers) -> Integers:
    """Number equal entries from 0: the second entry of a column gets row 1, and so on."""
    order = np.argsort(home, kind="stable")
    starts = np.searchsorted(home[order], home[order])
    place = np.empty(len(home), dtype=np.int64)
    place[order] = np.arange(len(home)) - starts
    return place


def summed_leaves(nodes: Nodes, splits: Splits, Z: Matrix) -> Matrix:
    """Add up the leaves that encoded rows fall into."""
    at = np.tile(nodes.roots, (len(Z), 1))
    while True:
        inner = splits.is_split[at]
        if not inner.any():
            return np.asarray(nodes.value[at].sum(axis=1))
        cells = np.take_along_axis(Z, np.where(inner, splits.column[at], 0), axis=1)
        missing = np.isnan(cells)
        codes = np.clip(np.nan_to_num(cells), 0, 63).astype(np.uint64)
        has_code = ((splits.codes[at] >> codes) & np.uint64(1)).astype(bool)
        left = np.where(splits.by_code[at], has_code, cells <= splits.cut[at])
        left = np.where(missing, nodes.missing_left[at], left)
        at = np.where(inner, np.where(left, nodes.left[at], nodes.right[at]), at)

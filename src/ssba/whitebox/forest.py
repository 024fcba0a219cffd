"""Trees in the encoded space: every leaf is a box of cells between cuts, whatever library grew it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ssba.columns.space import Matrix, Space
from ssba.models.model import Model, Output
from ssba.whitebox.check_reading import (
    complete_row,
    mixed_values,
    probed_values,
    sent_through,
    the_users_code,
)
from ssba.whitebox.floats import last_true
from ssba.whitebox.inputs import Inputs, read_inputs
from ssba.whitebox.scoring import Scoring, agrees, link_of
from ssba.whitebox.structure import are_columnwise, take_apart
from ssba.whitebox.tree_readers import Nodes, TreeSource, read_trees

Vector = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
Bits = NDArray[np.uint64]

# Leaves times columns that are kept as boxes.
_MOST_CELLS = 100_000_000
# Beyond this no value is looked for; 32-bit floats end at 3e38.
_FAR = 1e30
# Of a column's range: how near a straight line comes to where a scaled column meets a threshold.
_NEAR = 1e-6
# Background rows on which the trees, as read, must give the model's own scores, beside unusual ones.
_CHECKED_ROWS = 256
_EVERY_CODE = np.uint64(2**64 - 1)
# Sums of leaves that are multiples of this are exact.
_GRAIN = 2.0**-20


@final
@dataclass(frozen=True)
class Leaves:
    """All leaves of all trees, tree by tree.

    A number in the cell between cuts ``r - 1`` and ``r`` has rank r. A leaf takes ranks from `low` to
    `high`, the codes whose bits are set in `codes`, and a missing cell where `missing` says so; columns
    along the second axis.
    """

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    codes: Bits
    missing: Mask
    value: Matrix
    tree: Integers


@final
@dataclass(frozen=True)
class Trees:
    """An opened tree, forest or boosted ensemble.

    Attributes
    ----------
    cuts
        For each encoded column the values where some tree splits, rising: cells up to a cut go left of it.
        Empty for columns of levels, which `coded` marks.
    scoring
        What the sums of leaf values, plus `offset`, say.
    rounding
        How far a sum of the model's own may be from ours; 0 where all sums are exact.
    grain
        Where sums are exact, what they are multiples of.
    """

    cuts: tuple[Vector, ...]
    coded: Mask
    leaves: Leaves
    offset: Vector
    scoring: Scoring
    rounding: float
    grain: float
    takes_missing: bool


def open_trees(source: Any, model: Model, space: Space, background: Matrix) -> Trees | None:
    """Open a model of trees, alone or behind steps that treat each column alone."""
    steps, last = take_apart(source)
    found = read_trees(last)
    if found is None or not are_columnwise(steps, space):
        return None
    if len(found.nodes.left) * len(space.features) > _MOST_CELLS:
        return None
    inputs = read_inputs(steps, space, background)
    if inputs is None:
        return None
    splits = _in_columns(found, inputs, space, background)
    cuts = tuple(
        np.unique(splits.cut[splits.is_split & (splits.column == j) & np.isfinite(splits.cut)])
        for j in range(len(space.features))
    )
    sample = _checked_rows(space, background, cuts)
    with the_users_code():
        raw = found.raw(sent_through(steps, space.decode(sample)))
        asked = model.verdict(space.decode(sample))
    sums = _sums(found, splits, sample, raw)
    if sums is None:
        return None
    scoring = _scoring(found, sums, model, asked)
    if scoring is None:
        return None
    coded = np.array([feature.has_levels for feature in space.features], dtype=bool)
    return Trees(
        cuts=cuts,
        coded=coded,
        leaves=_leaves(found.nodes, splits, cuts),
        offset=sums.offset,
        scoring=scoring,
        rounding=sums.rounding,
        grain=sums.grain,
        takes_missing=found.takes_missing and not steps,
    )


def _checked_rows(space: Space, background: Matrix, cuts: Sequence[Vector]) -> Matrix:
    """Return background rows, and rows of unusual legal values and values at both sides of cuts."""
    values = []
    for j, mine in enumerate(cuts):
        sides = np.zeros((2 * len(mine), len(cuts)))
        sides[:, j] = np.concatenate([mine, np.nextafter(mine, np.inf)])
        usual = probed_values(space, background, j)
        legal = np.concatenate([space.grid.floor(sides)[:, j], space.grid.ceil(sides)[:, j]])
        values.append(np.concatenate([usual, legal[(legal >= usual[0]) & (legal <= usual[-1])]]))
    return np.concatenate([background[:_CHECKED_ROWS], mixed_values(values)])


@final
@dataclass(frozen=True)
class _Sums:
    """The sums of leaves that rows fall into, with the constant that the model adds to them."""

    raw: Matrix
    offset: Vector
    rounding: float
    grain: float


def _sums(source: TreeSource, splits: "Splits", sample: Matrix, raw: Matrix) -> _Sums | None:
    """Add up the leaves of rows; None where the model's own sums `raw` are others."""
    raw = raw * (len(source.nodes.roots) if source.averaged else 1.0)
    summed = summed_leaves(source.nodes, splits, sample)
    offset = np.median(raw - summed, axis=0)
    largest = _largest_sum(source)
    grain = _grain(source, offset, largest)
    if grain:
        # Sums are exact but for the division that made means of them.
        offset = np.zeros_like(offset)
    error = _rounding(source, largest + float(np.abs(offset).max()))
    if not (np.abs(raw - summed - offset) <= error).all():
        return None
    return _Sums(summed + offset, offset, 0.0 if grain else error + source.vague, grain)


def _scoring(source: TreeSource, sums: _Sums, model: Model, asked: Output) -> Scoring | None:
    total = float(len(source.nodes.roots)) if source.averaged else 1.0
    plain = Scoring(model.classes, sums.raw.shape[1], "none", total, source.precision)
    tolerance = np.full(len(sums.raw), sums.rounding)
    if not agrees(plain, sums.raw, asked, tolerance):
        return None
    link = link_of(plain, sums.raw, asked, tolerance) if model.gives_probabilities else "none"
    return replace(plain, link=link)


def _grain(source: TreeSource, offset: Vector, largest: float) -> float:
    """Return what all sums are exact multiples of; 0 where they are not, or are more than means."""
    leaf = source.nodes.value[source.nodes.left < 0]
    is_exact = bool((leaf == np.round(leaf / _GRAIN) * _GRAIN).all()) and largest < 2.0**52 * _GRAIN
    is_plain = np.abs(offset).max() < _GRAIN / 4
    # Only means are sure to be compared as they are; others may go through a link first.
    return _GRAIN if source.averaged and is_exact and is_plain else 0.0


def _largest_sum(source: TreeSource) -> float:
    """Return what no partial sum of leaves exceeds."""
    nodes = source.nodes
    tree = np.searchsorted(nodes.roots, np.arange(len(nodes.left)), side="right") - 1
    largest = np.zeros(len(nodes.roots))
    np.maximum.at(largest, tree, np.where(nodes.left < 0, np.abs(nodes.value).max(axis=1), 0.0))
    return float(largest.sum())


def _rounding(source: TreeSource, largest: float) -> float:
    """Return how far sums of leaf values may be off: each of the additions rounds once, theirs and ours."""
    # XGBoost adds up in 32 bits; the others in 64.
    unit = 2.0**-24 if source.below else 2.0**-52
    return 2 * largest * (len(source.nodes.roots) + 8) * unit + 1e-300


@final
@dataclass(frozen=True)
class Splits:
    """Per node: the encoded column it asks, and the last value that goes left or the codes that do."""

    is_split: Mask
    column: Integers
    by_code: Mask
    cut: Vector
    codes: Bits


def _in_columns(source: TreeSource, inputs: Inputs, space: Space, background: Matrix) -> Splits:
    nodes = source.nodes
    is_split = nodes.left >= 0
    column = np.where(is_split, inputs.source[nodes.feature], -1)
    cut = np.full(len(column), np.inf)
    codes = np.full(len(column), _EVERY_CODE)
    # An input that never changes sends every row the same way.
    constant = is_split & (column < 0)
    goes = _goes_left(source, inputs.base[nodes.feature], nodes.threshold)
    cut[constant & ~goes] = -np.inf
    column[constant] = 0
    levels = np.array([feature.has_levels for feature in space.features], dtype=bool)
    by_code = is_split & levels[column]
    codes[constant & ~goes & by_code] = 0
    for j, table in inputs.tables.items():
        mine = is_split & (column == j) & ~constant
        left = _goes_left(source, table[:, nodes.feature[mine]], nodes.threshold[mine])
        bits = np.left_shift(np.uint64(1), np.arange(len(table), dtype=np.uint64))
        codes[mine] = (left * bits[:, None]).sum(axis=0, dtype=np.uint64)
    numeric = is_split & ~constant & ~levels[column]
    cut[numeric] = _last_left(source, inputs, space, background, np.flatnonzero(numeric), column)
    return Splits(is_split, column, by_code, cut, codes)


def _goes_left(source: TreeSource, values: Matrix, threshold: Vector) -> Mask:
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
        return _goes_left(source, inputs.ask(scratch)[place, feature], threshold)

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


def _leaves(nodes: Nodes, splits: Splits, cuts: tuple[Vector, ...]) -> Leaves:
    """Walk down all trees at once, level by level, and narrow a box at every split."""
    width, trees = len(cuts), len(nodes.roots)
    rank = np.zeros(len(splits.cut), dtype=np.int32)
    for j, mine in enumerate(cuts):
        asked = splits.is_split & (splits.column == j)
        # A cut at minus infinity sends every number right.
        rank[asked] = np.where(
            splits.cut[asked] == -np.inf, -1, np.searchsorted(mine, splits.cut[asked], side="left")
        )
    last = np.array([len(mine) for mine in cuts], dtype=np.int32)
    front = _Front(
        node=nodes.roots,
        tree=np.arange(trees),
        low=np.zeros((trees, width), dtype=np.int32),
        high=np.tile(last, (trees, 1)),
        codes=np.full((trees, width), _EVERY_CODE),
        missing=np.ones((trees, width), dtype=bool),
    )
    done: list[_Front] = []
    while len(front.node):
        inner = splits.is_split[front.node]
        done.append(front.where(~inner))
        front = _stepped(front.where(inner), nodes, splits, rank)
    joined = _Front.joined(done)
    # Stable, so that the leaves of a tree stay in a fixed order.
    order = np.argsort(joined.tree, kind="stable")
    kept = joined.where(order)
    return Leaves(kept.low, kept.high, kept.codes, kept.missing, nodes.value[kept.node], kept.tree)


@final
@dataclass(frozen=True)
class _Front:
    """Boxes on their way down."""

    node: Integers
    tree: Integers
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    codes: Bits
    missing: Mask

    def where(self, chosen: Any) -> "_Front":
        return _Front(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    @staticmethod
    def joined(parts: list["_Front"]) -> "_Front":
        names = _Front.__dataclass_fields__
        return _Front(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def _stepped(front: _Front, nodes: Nodes, splits: Splits, rank: NDArray[np.int32]) -> _Front:
    """Return the boxes of both children; those that no row can be in are left out."""
    at, n = front.node, np.arange(len(front.node))
    left = replace(front.where(n), node=nodes.left[at])
    right = replace(front.where(n), node=nodes.right[at])
    column = splits.column[at]
    left.missing[n, column] &= nodes.missing_left[at]
    right.missing[n, column] &= ~nodes.missing_left[at]
    coded = splits.by_code[at]
    i, j, codes = n[coded], column[coded], splits.codes[at[coded]]
    left.codes[i, j] &= codes
    right.codes[i, j] &= ~codes
    i, j, last_left = n[~coded], column[~coded], rank[at[~coded]]
    left.high[i, j] = np.minimum(left.high[i, j], last_left)
    right.low[i, j] = np.maximum(right.low[i, j], last_left + 1)
    both = _Front.joined([left, right])
    m, column = np.arange(len(both.node)), np.concatenate([column, column])
    present = (both.low[m, column] <= both.high[m, column]) & (both.codes[m, column] != 0)
    return both.where(present | both.missing[m, column])

"""Trees in the encoded space: every leaf is a box of cells between cuts, whatever library grew it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ssba.opened.inputs import Inputs, are_columnwise, complete_row, read_inputs, take_apart, transformed
from ssba.opened.scoring import Link, Scoring, agrees, link_of
from ssba.opened.tree_readers import Nodes, TreeSource, read_trees
from ssba.problem.models import Model
from ssba.problem.space import Matrix, Space

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
# Background rows on which the trees, as read, must give the model's own scores.
_CHECKED_ROWS = 256
_EVERY_CODE = np.uint64(2**64 - 1)


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
    if found is None or not are_columnwise(steps):
        return None
    inputs = read_inputs(steps, space, background)
    if inputs is None:
        return None
    if len(found.nodes.left) * len(space.features) > _MOST_CELLS:
        return None
    splits = _in_columns(found, inputs, space, background)
    cuts = tuple(
        np.unique(splits.cut[splits.is_split & (splits.column == j) & np.isfinite(splits.cut)])
        for j in range(len(space.features))
    )
    trees = len(found.nodes.roots)
    sample = background[:_CHECKED_ROWS]
    rows = space.decode(sample)
    raw = found.raw(transformed(steps, rows)) * (trees if found.averaged else 1.0)
    summed = summed_leaves(found.nodes, splits, sample)
    offset = np.median(raw - summed, axis=0)
    rounding, grain = _rounding(found, offset)
    if np.abs(raw - summed - offset).max() > max(rounding, 1e-9 * np.abs(raw).max(initial=1e-300)):
        return None
    if grain:
        offset = np.zeros_like(offset)
    scoring = _scoring(summed + offset, model, rows, float(trees) if found.averaged else 1.0)
    if scoring is None:
        return None
    leaves = _leaves(found.nodes, splits, cuts)
    coded = np.array([feature.has_levels for feature in space.features], dtype=bool)
    takes_missing = found.takes_missing and not steps
    return Trees(cuts, coded, leaves, offset, scoring, rounding, grain, takes_missing)


def _scoring(raw: Matrix, model: Model, rows: Any, total: float) -> Scoring | None:
    plain = Scoring(model.classes, raw.shape[1], "none", total)
    if not agrees(plain, raw, model, rows):
        return None
    link: Link = link_of(plain, raw, model, rows)
    return Scoring(model.classes, raw.shape[1], link, total)


def _rounding(source: TreeSource, offset: Vector) -> tuple[float, float]:
    """Return how far sums of leaf values may be off, and what they are multiples of where they are not."""
    leaf = source.nodes.value[source.nodes.left < 0]
    trees = len(source.nodes.roots)
    grain = 2.0**-20
    if np.abs(offset).max() < 1e-9 * trees and (leaf == np.round(leaf / grain) * grain).all():
        return 0.0, grain
    # Every partial sum is at most this large, and each of the additions rounds once.
    tree = np.searchsorted(source.nodes.roots, np.arange(len(source.nodes.left)), side="right") - 1
    largest = np.zeros(trees)
    np.maximum.at(largest, tree, np.where(source.nodes.left < 0, np.abs(source.nodes.value).max(axis=1), 0.0))
    size = float(largest.sum() + np.abs(offset).max())
    # XGBoost adds up in 32 bits; the others in 64.
    return size * (trees + 8) * (2.0**-24 if source.below else 2.0**-52), 0.0


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


def last_true(
    holds: Callable[[Vector], Mask],
    low: Vector,
    high: Vector,
    whole: Mask,
    single: Mask,
    near: Sequence[Vector] = (),
) -> Vector:
    """Return the largest value from `low` to `high` for which a condition holds that holds up to some value.

    Minus infinity where it holds nowhere, plus infinity where it holds at `high`. Exact: all entries are
    bisected at once in the order of 64-bit floats (32-bit ones where `single`), or of whole numbers where
    `whole`. Values `near` the one looked for are tried first.

    Examples
    --------
    >>> no, ends = np.array([False]), (np.array([-10.0]), np.array([10.0]))
    >>> last_true(lambda v: v <= 0.3, *ends, no, no), last_true(lambda v: v < 3.5, *ends, ~no, no)
    (array([0.3]), array([3.]))
    """
    value = _from_keys(whole, single)
    below, above = _keys(low, whole, single), _keys(high, whole, single)
    at_low, at_high = holds(value(below)), holds(value(above))
    for guess in near:
        key = np.clip(_keys(guess, whole, single), below, above)
        left = holds(value(key))
        below, above = np.where(left, key, below), np.where(left, above, key)
    while (below + 1 < above).any():
        # Halved before they are added: the sum of two keys may not fit.
        middle = (below >> 1) + (above >> 1) + (below & above & 1)
        left = holds(value(middle))
        below, above = np.where(left, middle, below), np.where(left, above, middle)
    return np.where(at_high, np.inf, np.where(at_low, value(below), -np.inf))


def _keys(values: Vector, whole: Mask, single: Mask) -> Integers:
    """Return whole numbers in the order of the values, with no value between two successive ones."""
    with np.errstate(over="ignore"):
        narrow = np.clip(values, -3.4e38, 3.4e38).astype(np.float32).view(np.int32).astype(np.int64)
    narrow = np.where(narrow < 0, -(2**31) - narrow, narrow)
    wide = values.view(np.int64)
    wide = np.where(wide < 0, np.int64(-(2**63)) - wide, wide)
    counts = np.clip(values, -(2.0**62), 2.0**62).astype(np.int64)
    return np.asarray(np.where(whole, counts, np.where(single, narrow, wide)))


def _from_keys(whole: Mask, single: Mask) -> Callable[[Integers], Vector]:
    def values(keys: Integers) -> Vector:
        wide = np.where(keys < 0, np.int64(-(2**63)) - keys, keys).view(np.float64)
        kept = np.where(single, keys, 0)
        narrow = np.where(kept < 0, -(2**31) - kept, kept).astype(np.int32).view(np.float32)
        return np.asarray(np.where(whole, keys.astype(np.float64), np.where(single, narrow, wide)))

    return values


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

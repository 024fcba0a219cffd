"""Trees in the encoded space: every leaf is a box of cells between cuts, whatever library grew it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import Integers, Mask, Vector
from ssba.columns.space import Matrix, Space
from ssba.models.model import Model, Output
from ssba.whitebox.check_reading import (
    NotReadable,
    level_rows,
    mixed_values,
    probed_values,
    sent_through,
    the_users_code,
)
from ssba.whitebox.inputs import read_inputs
from ssba.whitebox.nodes import Nodes, TreeSource
from ssba.whitebox.scoring import Scoring, disagreement, settled
from ssba.whitebox.splits import EVERY_CODE, Bits, Splits, splits_of, summed_leaves
from ssba.whitebox.structure import Parts, columnwise_problem
from ssba.whitebox.tree_readers import read_trees

# Leaves times columns that are kept as boxes.
_MOST_CELLS = 100_000_000
# Background rows on which the trees, as read, must give the model's own scores, beside unusual ones.
_CHECKED_ROWS = 256
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
    takes_missing
        Tells of columns whether the model takes their missing cells, and sends them where the trees say.
    """

    cuts: tuple[Vector, ...]
    coded: Mask
    leaves: Leaves
    offset: Vector
    scoring: Scoring
    rounding: float
    grain: float
    takes_missing: Callable[[Mask], bool]


def open_trees(parts: Parts, model: Model, space: Space, background: Matrix) -> Trees:
    """Open a model of trees, alone or behind steps that treat each column alone."""
    found = _read(parts, space, background)
    if problem := columnwise_problem(parts.steps, space):
        raise NotReadable(problem)
    if len(found.nodes.left) * len(space.features) > _MOST_CELLS:
        raise NotReadable(f"its trees have {len(found.nodes.left):,} nodes, too many to open")
    inputs = read_inputs(parts.steps, found.inputs, space, background)
    splits = splits_of(found, inputs, space, background)
    cuts = tuple(
        np.unique(splits.cut[splits.is_split & (splits.column == j) & np.isfinite(splits.cut)])
        for j in range(len(space.features))
    )

    def ask(rows: Matrix) -> tuple[Matrix, Output]:
        with the_users_code():
            return found.raw(sent_through(parts.steps, space.decode(rows))), model.verdict(space.decode(rows))

    sample = _checked_rows(space, background, cuts)
    raw, asked = ask(sample)
    sums = _sums(found, splits, sample, raw)
    scoring = _scoring(found, sums, asked, model)
    return Trees(
        cuts=cuts,
        coded=np.array([feature.has_levels for feature in space.features], dtype=bool),
        leaves=_leaves(found.nodes, splits, cuts),
        offset=sums.offset,
        scoring=scoring,
        rounding=sums.rounding,
        grain=sums.grain,
        takes_missing=_missing_check(_Checked(found, splits, sums, sample, ask), parts),
    )


def _read(parts: Parts, space: Space, background: Matrix) -> TreeSource:
    def rows() -> Any:
        return sent_through(parts.steps, space.decode(level_rows(space, background)))

    found = read_trees(parts.last, rows)
    return found if parts.threshold is None else replace(found, threshold=parts.threshold)


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
    error: float
    """How far the model's own sums may be from these by rounding."""


def _sums(source: TreeSource, splits: Splits, sample: Matrix, raw: Matrix) -> _Sums:
    """Add up the leaves of rows, which must give the model's own sums `raw`."""
    raw = raw * (len(source.nodes.roots) if source.averaged else 1.0)
    summed = summed_leaves(source.nodes, splits, sample)
    offset = np.median(raw - summed, axis=0)
    largest = _largest_sum(source)
    grain = _grain(source, offset, largest)
    if grain:
        # Sums are exact but for the division that made means of them.
        offset = np.zeros_like(offset)
    error = _rounding(source, largest + float(np.abs(offset).max()))
    wrong = ~np.all(np.abs(raw - summed - offset) <= error, axis=1)
    if wrong.any():
        raise disagreement(wrong, "scores")
    return _Sums(summed + offset, offset, 0.0 if grain else error + source.vague, grain, error)


def _scoring(source: TreeSource, sums: _Sums, asked: Output, model: Model) -> Scoring:
    total = float(len(source.nodes.roots)) if source.averaged else 1.0
    plain = Scoring(
        model.classes, sums.raw.shape[1], "none", total, source.precision, threshold=source.threshold
    )
    return settled(plain, sums.raw, asked, np.full(len(sums.raw), sums.rounding), model)


@final
@dataclass(frozen=True)
class _Checked:
    """Trees that gave the model's own sums on the rows `sample`; `ask` asks it about others."""

    source: TreeSource
    splits: Splits
    sums: _Sums
    sample: Matrix
    ask: Callable[[Matrix], tuple[Matrix, Output]]

    def agree_on(self, rows: Matrix) -> bool:
        """Tell whether the model answers rows, and with the sums that were read."""
        try:
            raw, _ = self.ask(rows)
        except NotReadable:
            return False
        raw = raw * (len(self.source.nodes.roots) if self.source.averaged else 1.0)
        summed = summed_leaves(self.source.nodes, self.splits, rows)
        return bool((np.abs(raw - summed - self.sums.offset) <= self.sums.error).all())


def _missing_check(checked: _Checked, parts: Parts) -> Callable[[Mask], bool]:
    """Return what tells whether it is known where missing cells go: by the trees, and by asking the model.

    It is asked about missing cells only once a query has them, and only in the same columns.
    """
    # Of a split whose input no column changes it is not known which column's missing cells it sees.
    is_known = checked.source.takes_missing and not parts.steps and not checked.splits.constant.any()
    answers: dict[bytes, bool] = {}

    def takes_missing(columns: Mask) -> bool:
        key = columns.tobytes()
        if key not in answers:
            answers[key] = is_known and checked.agree_on(np.where(columns, np.nan, checked.sample))
        return answers[key]

    return takes_missing


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
        codes=np.full((trees, width), EVERY_CODE),
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

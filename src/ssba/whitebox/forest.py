"""Trees in the encoded space: every leaf is a box of cells between cuts, whatever library grew it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

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

# Nodes of trees that are read where a proof is asked for, in some ten seconds at most.
_MOST_NODES = 2_000_000
# Background rows on which the trees, as read, must give the model's own scores, beside unusual ones.
_CHECKED_ROWS = 256
# Sums of leaves that are multiples of this are exact.
_GRAIN = 2.0**-20


@final
@dataclass(frozen=True)
class Leaves:
    """All leaves of all trees, tree by tree, each a box: what it asks of the columns that lead to it.

    A number in the cell between cuts ``r - 1`` and ``r`` has rank r. Of `leaf`, a column takes ranks from
    `low` to `high`, the codes whose bits are set in `codes`, and a missing cell where `missing` says so; any
    where it is not named. What column j is asked stands from ``first[j]`` to ``first[j + 1]``.
    """

    value: Matrix
    tree: Integers
    leaf: Integers
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    codes: Bits
    missing: Mask
    first: Integers

    def asked(self, j: int) -> "Asked":
        """Return what leaves ask of a column."""
        some = slice(int(self.first[j]), int(self.first[j + 1]))
        return Asked(*(getattr(self, name)[some] for name in Asked._fields))


class Asked(NamedTuple):
    """What leaves ask of one column; see `Leaves`."""

    leaf: Integers
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    codes: Bits
    missing: Mask

    def renumbered(self, number: Integers) -> "Asked":
        """Return what is asked by the leaves that have a new number; -1 for those that have none."""
        new = number[self.leaf]
        kept = new >= 0
        return Asked(new[kept], self.low[kept], self.high[kept], self.codes[kept], self.missing[kept])


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
    if len(found.nodes.left) > _MOST_NODES:
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
    """Walk up from all leaves at once, and narrow their boxes at every split."""
    rank = np.zeros(len(splits.cut), dtype=np.int32)
    for j, mine in enumerate(cuts):
        asked = splits.is_split & (splits.column == j)
        # A cut at minus infinity sends every number right.
        rank[asked] = np.where(
            splits.cut[asked] == -np.inf, -1, np.searchsorted(mine, splits.cut[asked], side="left")
        )
    of, node, left = _ways_up(nodes, splits)
    column, coded = splits.column[node], splits.by_code[node]
    last = np.array([len(mine) for mine in cuts], dtype=np.int32)[column]
    order = np.lexsort((of, column))
    begin = np.flatnonzero(np.diff(column[order], prepend=-1) | np.diff(of[order], prepend=-1))

    def narrowed(narrow: np.ufunc, each: Any) -> Any:
        return narrow.reduceat(each[order], begin) if len(begin) else each

    codes, missing_left = splits.codes[node], nodes.missing_left[node]
    low = narrowed(np.maximum, np.where(coded | left, np.int32(0), rank[node] + np.int32(1)))
    high = narrowed(np.minimum, np.where(~coded & left, rank[node], last))
    codes = narrowed(np.bitwise_and, np.where(coded, np.where(left, codes, ~codes), EVERY_CODE))
    missing = narrowed(np.logical_and, left == missing_left)
    of, column = of[order][begin], column[order][begin]
    ends = np.flatnonzero(~splits.is_split)
    # No row can be in some of the boxes.
    exists = np.ones(len(ends), dtype=bool)
    exists[of[~((low <= high) & (codes != 0)) & ~missing]] = False
    kept, number = exists[of], np.cumsum(exists) - 1
    return Leaves(
        value=nodes.value[ends[exists]],
        tree=np.searchsorted(nodes.roots, ends[exists], side="right") - 1,
        leaf=number[of[kept]],
        low=low[kept],
        high=high[kept],
        codes=codes[kept],
        missing=missing[kept],
        first=np.searchsorted(column[kept], np.arange(len(cuts) + 1)),
    )


def _ways_up(nodes: Nodes, splits: Splits) -> tuple[Integers, Integers, Mask]:
    """Return the splits above each leaf: the leaf's number, the node, and whether the way goes left there."""
    inner = np.flatnonzero(splits.is_split)
    parent, is_left = np.full(len(nodes.left), -1), np.zeros(len(nodes.left), dtype=bool)
    parent[nodes.left[inner]] = parent[nodes.right[inner]] = inner
    is_left[nodes.left[inner]] = True
    at = np.flatnonzero(~splits.is_split)
    of, found = np.arange(len(at)), []
    while len(at):
        above = parent[at] >= 0
        of, at = of[above], at[above]
        found.append((of, parent[at], is_left[at]))
        at = parent[at]
    return tuple(np.concatenate(one) for one in zip(*found, strict=True))  # type: ignore[return-value]

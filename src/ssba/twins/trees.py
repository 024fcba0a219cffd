"""Trees of any library as one torch module: all trees are walked at once, a level at a time."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ssba.arrays import Integers
from ssba.twins.layers import parts_of, tensor_of
from ssba.whitebox.nodes import Nodes, TreeSource


class Trees(nn.Module):
    """Sums, or means, of the leaves that rows fall into, plus `offset`.

    Nodes are numbered so that a right child follows its left one, and a leaf is its own left child. So a step
    down is ``left + goes_right``, and rows that have arrived stay. Trees stand deepest first: on every level
    only the first ones are still walked.

    Thresholds are kept as the bits of floats: a module that is moved to another dtype would round them, and
    rows beside them would change sides.
    """

    roots: Tensor
    left: Tensor
    asked: Tensor
    threshold_bits: Tensor
    value: Tensor
    offset: Tensor

    def __init__(self, source: TreeSource, offset: NDArray[np.float64]) -> None:
        super().__init__()
        nodes, depth = _numbered(source.nodes)
        is_leaf = nodes.left < 0
        # Whatever is compared with NaN does not go right.
        threshold = np.where(is_leaf, np.nan, nodes.threshold)
        if source.single:
            threshold = _at_most(threshold)
        self.register_buffer("roots", _integers(nodes.roots))
        self.register_buffer("left", _integers(np.where(is_leaf, np.arange(len(is_leaf)), nodes.left)))
        # The column, and in the last bit whether a missing cell goes right.
        missing_right = ~nodes.missing_left & ~is_leaf
        self.register_buffer("asked", _integers(2 * np.where(is_leaf, 0, nodes.feature) + missing_right))
        bits = np.int32 if source.single else np.int64
        self.register_buffer("threshold_bits", torch.tensor(threshold.view(bits)))
        self.register_buffer("value", tensor_of(nodes.value))
        self.register_buffer("offset", tensor_of(offset))
        self.walked = [int((depth > level).sum()) for level in range(int(depth.max()))]
        self.compared = torch.float32 if source.single else torch.float64
        self.below, self.zero = source.below, source.zero
        self.divisor = len(nodes.roots) if source.averaged else 1

    def forward(self, rows: Tensor) -> Tensor:
        cells = rows.to(self.compared)
        if self.zero:
            cells = torch.where(cells.abs() <= self.zero, 0.0, cells)
        per_row = max(len(self.roots) * self.value.shape[1], cells.shape[1])
        sums = torch.cat([self._sums(part) for part in parts_of(cells, per_row)])
        return sums / self.divisor + self.offset

    def _sums(self, cells: Tensor) -> Tensor:
        found = self.value.index_select(0, self._leaves(cells))
        return found.view(len(self.roots), len(cells), self.value.shape[1]).sum(dim=0)

    def _leaves(self, cells: Tensor) -> Tensor:
        """Return the leaves that rows fall into: of all rows in the first tree, then in the next."""
        threshold = self.threshold_bits.view(self.compared)
        # Column by column, since rows beside each other mostly ask for the same column.
        count, by_column = len(cells), cells.T.contiguous().flatten()
        row = torch.arange(count, device=cells.device, dtype=torch.int32).repeat(len(self.roots))
        at = self.roots.repeat_interleave(count)
        for trees in self.walked:
            node = at[: trees * count]
            asked = self.asked.index_select(0, node)
            cell = by_column.index_select(0, (asked >> 1) * count + row[: len(node)])
            limit = threshold.index_select(0, node)
            beyond = cell >= limit if self.below else cell > limit
            goes_right = beyond | (cell.isnan() & (asked & 1).bool())
            at[: trees * count] = self.left.index_select(0, node) + goes_right
        return at


def _integers(numbers: Integers) -> Tensor:
    """Return numbers in 32 bits, in which rows are looked up in half the time."""
    return torch.tensor(numbers, dtype=torch.int32)


def _at_most(threshold: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the largest 32-bit floats at most as large: 32-bit cells are on the same side of them."""
    with np.errstate(over="ignore"):
        single = threshold.astype(np.float32)
    above = single.astype(np.float64) > threshold
    return np.where(above, np.nextafter(single, np.float32(-np.inf)), single)


def _numbered(nodes: Nodes) -> tuple[Nodes, Integers]:
    """Return the nodes in the order of their levels, deepest trees first, and the trees' depths."""
    levels, trees = _levels(nodes)
    depth = np.zeros(len(nodes.roots), dtype=np.int64)
    for level, tree in enumerate(trees):
        depth[tree] = level
    order = np.concatenate(levels)
    place = np.empty(len(nodes.left), dtype=np.int64)
    place[order] = np.arange(len(order))
    left = nodes.left[order]
    moved = Nodes(
        feature=nodes.feature[order],
        threshold=nodes.threshold[order],
        left=np.where(left < 0, -1, place[left]),
        right=np.where(left < 0, -1, place[nodes.right[order]]),
        missing_left=nodes.missing_left[order],
        value=nodes.value[order],
        roots=place[nodes.roots[np.argsort(-depth, kind="stable")]],
        level_set=nodes.level_set[order],
        sets=nodes.sets,
    )
    return moved, np.sort(depth)[::-1]


def _levels(nodes: Nodes) -> tuple[list[Integers], list[Integers]]:
    """Return the nodes of each level, a right child behind its left one, and the trees they belong to."""
    at, tree = nodes.roots, np.arange(len(nodes.roots))
    levels, trees = [at], [tree]
    while len(inner := np.flatnonzero(nodes.left[at] >= 0)):
        parents = at[inner]
        at = np.stack([nodes.left[parents], nodes.right[parents]], axis=1).ravel()
        tree = np.repeat(tree[inner], 2)
        levels.append(at)
        trees.append(tree)
    return levels, trees

"""A look at a LightGBM text file before LightGBM reads it, which follows whatever indices stand there."""

from collections.abc import Iterator
from pathlib import Path

_NUMBERS = ("num_leaves", "split_feature", "left_child", "right_child")
_END = "end of trees"


def broken_tree(path: Path) -> str | None:
    """Return what is wrong with the first tree that points to nodes or columns which are not there, if any.

    What is not looked at is left to LightGBM: this finds damaged files, not every one made to do harm.
    """
    last_column = -1
    for number, (name, lines) in enumerate(_blocks(path)):
        if name == "":
            last_column = lines.get("max_feature_idx", [-1])[0]
        elif problem := _problem(lines, last_column):
            return f"tree {number - 1} {problem}"
    return None


def _blocks(path: Path) -> Iterator[tuple[str, dict[str, list[int]]]]:
    """Yield the head of the file, named "", and each tree, with those lines of whole numbers that matter."""
    name, lines = "", dict[str, list[int]]()
    with path.open(encoding="utf-8", errors="replace") as content:
        for line in content:
            key, _, value = line.strip().partition("=")
            if key in ("Tree", _END):
                yield name, lines
                name, lines = f"tree {value}", {}
            if key == _END:
                return
            if key in _NUMBERS or key == "max_feature_idx":
                lines[key] = [int(one) for one in value.split()]
    yield name, lines


def _problem(lines: dict[str, list[int]], last_column: int) -> str | None:
    leaves, columns, left, right = (lines.get(name, []) for name in _NUMBERS)
    if len(leaves) != 1 or leaves[0] < 1:
        return "does not say how many leaves it has"
    count = leaves[0]
    if not len(columns) == len(left) == len(right) == count - 1:
        return f"has {count} leaves, but not {count - 1} splits"
    # Leaves are counted from -1 downward. Each node but the root has one parent: no path runs in circles.
    if count > 1 and sorted(left + right) != [*range(-count, 0), *range(1, count - 1)]:
        return "has children that are not its nodes, or are there twice"
    if columns and not 0 <= min(columns) <= max(columns) <= last_column:
        return f"splits columns that are not there; the last is {last_column}"
    return None

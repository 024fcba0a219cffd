"""Limits where few columns are free: all combinations of their values, or of a forest's cells, are asked."""

from collections.abc import Iterator, Sequence

import numpy as np
from benchmarks.nearest.cases import Case
from benchmarks.nearest.limit_trees import first_above, last_below
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

_FIRST_PART = 1000
_LARGEST_PART = 16000
_PUSHES = (0.0, *(10.0**power for power in range(-15, -5)))


def enumerate_rows(case: Case, i: int) -> Matrix | None:
    """The nearest of all legal rows of query `i`; None where none of them reaches the target."""
    free = np.flatnonzero(case.free)
    if not case.is_whole[free].all():
        raise TypeError(f"{case.name}: only whole numbers and categories can be enumerated")
    return _nearest(case, i, [np.arange(case.low[i][j], case.high[i][j] + 1) for j in free])


def enumerate_cells(case: Case, i: int) -> Matrix | None:
    """The nearest row of query `i` where the free columns are real numbers that a forest compares.

    The model is a forest behind one-hot and standardized columns. Within a cell of its splits nothing
    changes, and the nearest row of a cell has, in each column, the query's value or the first one beyond a
    split. So these are all.
    """
    free = np.flatnonzero(case.free)
    if case.is_whole[free].any():
        raise TypeError(f"{case.name}: only real numbers have cells")
    return _nearest(case, i, [_values(case, i, int(j)) for j in free])


def _nearest(case: Case, i: int, spans: Sequence[Matrix]) -> Matrix | None:
    """The nearest row that reaches the target, of all combinations of values of the free columns."""
    combined = np.stack(np.meshgrid(*spans, indexing="ij"), axis=-1).reshape(-1, len(spans))
    Z = np.repeat(case.X[i][None], len(combined), axis=0)
    Z[:, case.free] = combined
    Z = Z[np.argsort(case.distance(case.X[i], Z), kind="stable")]
    for part in _parts(Z):
        reached = np.flatnonzero(case.is_target(case.labels(case.rows(part)), i))
        if len(reached):
            return np.asarray(part[reached[0]])
    return None


def _parts(Z: Matrix) -> Iterator[Matrix]:
    """Few rows first: the nearest one is mostly among them."""
    begin, size = 0, _FIRST_PART
    while begin < len(Z):
        yield Z[begin : begin + size]
        begin, size = begin + size, min(2 * size, _LARGEST_PART)


def _values(case: Case, i: int, column: int) -> Matrix:
    """The query's value of a column, and the first one beyond each split of it."""
    encode, forest = case.model[0], case.model[-1]
    scaler, names = encode.named_transformers_["standardscaler"], encode.transformers_[1][2]
    k = list(names).index(case.columns[column].name)
    place = encode.output_indices_["standardscaler"].start + k
    splits = np.unique(
        np.concatenate([one.tree_.threshold[one.tree_.feature == place] for one in forest.estimators_])
    )
    beyond = [_beyond(case.X[i][column], split, scaler.mean_[k], scaler.scale_[k]) for split in splits]
    values = np.array([case.X[i][column], *beyond])
    return np.asarray(values[(values >= case.low[i][column]) & (values <= case.high[i][column])])


def _beyond(x: float, split: float, mean: float, scale: float) -> float:
    """The first value on the other side of a split, which is about 32-bit standardized values."""
    upward = np.float32((x - mean) / scale) <= split
    cell = np.float32(first_above(split, True) if upward else last_below(split, True))
    before = np.nextafter(cell, np.float32(-np.inf if upward else np.inf))
    edge = (float(cell) + float(before)) / 2 * scale + mean
    sign = 1.0 if upward else -1.0
    for push in _PUSHES:
        value = edge + sign * push * max(1.0, abs(edge))
        if (np.float32((value - mean) / scale) > split) == upward:
            return float(value)
    raise ArithmeticError(f"no value is found beyond the split at {edge}")

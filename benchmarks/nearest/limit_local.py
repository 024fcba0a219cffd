"""Limits of models that can neither be opened nor enumerated: local searches from many starts, unproved."""

import numpy as np
from benchmarks.nearest.cases import Case
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

NEAREST_ROWS = 40
_STEPS_OF_A_RANGE = 8


def pull_in(case: Case, i: int, more_starts: Matrix) -> Matrix | None:
    """The nearest row of query `i` that local searches found; None where no start reaches the target.

    Each goes from a target row to the nearest one among its neighbours that still reaches the target, while
    there is a nearer one. Neighbours have one column moved toward the query, and perhaps another one moved
    anywhere.
    """
    best: Matrix | None = None
    for start in _starts(case, i, more_starts):
        z = _descended(case, i, start)
        if best is None or case.distance(case.X[i], z) < case.distance(case.X[i], best):
            best = z
    return best


def put_back(case: Case, i: int, most_starts: int = 4) -> Matrix | None:
    """The nearest row with few changes that was found for query `i`, where columns are many.

    From each of the nearest target rows groups of columns are put back to the query's values while the target
    is still reached, halved where it is not; the columns left are then moved toward the query by bisection.
    """
    rng = np.random.default_rng(i)
    found = []
    for z in _starts(case, i, np.zeros((0, len(case.columns))))[:most_starts].copy():
        groups = [rng.permutation(np.flatnonzero(z != case.X[i]))]
        while groups:
            group = groups.pop()
            back = z.copy()
            back[group] = case.X[i][group]
            if _reaches(case, i, back):
                z = back
            elif len(group) > 1:
                groups += np.array_split(group, 2)
        found.append(_bisected(case, i, z))
    return min(found, key=lambda z: float(case.distance(case.X[i], z)), default=None)


def _bisected(case: Case, i: int, z: Matrix) -> Matrix:
    for j in np.flatnonzero(z != case.X[i]):
        near, far = case.X[i][j], z[j]
        for _ in range(_STEPS_OF_A_RANGE):
            tried = z.copy()
            tried[j] = (near + far) / 2
            near, far = (near, tried[j]) if _reaches(case, i, tried) else (tried[j], far)
            z = tried if far == tried[j] else z
    return z


def _reaches(case: Case, i: int, z: Matrix) -> bool:
    return bool(case.is_target(case.labels(case.rows(z[None])), i)[0])


def _starts(case: Case, i: int, more_starts: Matrix) -> Matrix:
    rows = np.where(case.free, case.background, case.X[i])
    rows = np.concatenate([more_starts, np.clip(rows, case.low[i], case.high[i])])
    rows = rows[case.is_target(case.labels(case.rows(rows)), i)]
    return np.asarray(rows[np.argsort(case.distance(case.X[i], rows), kind="stable")][:NEAREST_ROWS])


def _descended(case: Case, i: int, z: Matrix) -> Matrix:
    while True:
        near = _neighbours(case, i, z)
        near = near[case.distance(case.X[i], near) < case.distance(case.X[i], z)]
        if len(near):
            near = near[case.is_target(case.labels(case.rows(near)), i)]
        if not len(near):
            return z
        z = near[np.argmin(case.distance(case.X[i], near))]


def _neighbours(case: Case, i: int, z: Matrix) -> Matrix:
    """Rows with one column nearer to the query, alone and with another column elsewhere."""
    free = np.flatnonzero(case.free)
    moves = [(j, value) for j in free for value in _values(case, i, z, int(j))]
    nearer = [(j, value) for j, value in moves if abs(value - case.X[i][j]) < abs(z[j] - case.X[i][j])]
    rows = []
    for j, value in nearer:
        first = z.copy()
        first[j] = value
        rows.append(first)
        for k, other in moves:
            if k != j:
                second = first.copy()
                second[k] = other
                rows.append(second)
    return np.array(rows).reshape(-1, len(z))


def _values(case: Case, i: int, z: Matrix, j: int) -> Matrix:
    """Values of a column around that of `z`, by steps that double, and the query's own value."""
    low, high = case.low[i][j], case.high[i][j]
    smallest = 1.0 if case.is_whole[j] else (high - low) / 2**_STEPS_OF_A_RANGE
    steps = smallest * 2.0 ** np.arange(_STEPS_OF_A_RANGE)
    values = np.concatenate([[case.X[i][j]], z[j] - steps, z[j] + steps])
    values = np.unique(values[(values >= low) & (values <= high)])
    return np.asarray(values[values != z[j]])

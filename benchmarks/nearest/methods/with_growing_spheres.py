"""Growing Spheres (Laugel et al. 2017, arXiv 1712.08443), written from the paper: no package holds it.

Labels only, L2. The paper has no constraints; here its spheres lie in the free columns, and rows are capped
at the bounds as they are drawn, as its authors' code can. Columns are in the units of the case's metric.
The paper's last step, undoing small moves while the label holds, makes the answer sparse at a cost in L2;
the answer before it is offered too.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from benchmarks.nearest.cases import Case
from benchmarks.nearest.methods import (
    Answering,
    Matrix,
    NotApplicableError,
    labels_of,
    legal_kinds,
    none,
)
from numpy.typing import NDArray

Ask = Callable[[Matrix], NDArray[np.int64]]

IN_A_LAYER = 1000
LAYERS = 200


def spheres(case: Case) -> Answering:
    if case.is_category[case.free].any():
        raise NotApplicableError("spheres know numbers only")
    ask = labels_of(case)

    def answer(which: Sequence[int]) -> Iterator[Matrix]:
        for i in which:
            yield _search(case, i, ask, np.random.default_rng(i))

    return answer


def _search(case: Case, i: int, ask: Ask, rng: np.random.Generator) -> Matrix:
    x = case.X[i]

    def first_hit(low: float, high: float) -> Matrix | None:
        Z = np.clip(_layer(case, x, low, high, rng), case.low[i], case.high[i])
        Z = legal_kinds(case, Z)
        hits = Z[ask(Z) == case.target]
        return hits[np.argmin(case.distance(x, hits))] if len(hits) else None

    radius = _typical_radius(case, x)
    # halve the first ball until no enemy is left in it, then grow rings outward
    while first_hit(0.0, radius) is not None and radius > 1e-9:
        radius /= 2
    for ring in range(LAYERS):
        found = first_hit(radius * (1 + ring), radius * (2 + ring))
        if found is not None:
            return np.stack([found, _sparse(case, x, found, ask)])
    return none(case)


def _typical_radius(case: Case, x: Matrix) -> float:
    sample = case.background[:: max(1, len(case.background) // 200)]
    free = np.where(case.free, sample, x)
    return float(np.median(case.distance(x, free))) or 1.0


def _layer(case: Case, x: Matrix, low: float, high: float, rng: np.random.Generator) -> Matrix:
    """Rows spread evenly over the ring between two spheres around the query, in its free columns."""
    free = np.flatnonzero(case.free)
    way = rng.normal(size=(IN_A_LAYER, len(free)))
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    power = len(free)
    share = rng.uniform(size=(IN_A_LAYER, 1))
    far = high * ((1 - share) * (low / high) ** power + share) ** (1 / power)
    Z = np.repeat(x[None], IN_A_LAYER, axis=0)
    Z[:, free] += way * far * case.scale[free]
    return Z


def _sparse(case: Case, x: Matrix, z: Matrix, ask: Ask) -> Matrix:
    for j in np.argsort(np.abs(z - x) / case.scale):
        tried = z.copy()
        tried[j] = x[j]
        if z[j] != x[j] and ask(tried[None])[0] == case.target:
            z = tried
    return z

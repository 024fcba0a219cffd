"""Every crossing of a segment at a given resolution, not just the one that bisection runs into.

Bisection between a row on either side finds one crossing; a boundary that winds may have three, five or
more on the way. Here the segment is first asked about at even distances. Wherever two neighbours differ, in
either direction, the piece between them is bisected.
"""

from collections.abc import Callable

import numpy as np

from ssba.arrays import Array, choose, like, namespace, to_numpy
from ssba.boundary.bisection import Asking, Path, bisect


def every_crossing(
    start: Array, end: Array, path: Path, tolerance: float, resolution: int
) -> Asking[tuple[Array, Array]]:
    """Return a row that reaches the target beside every crossing, and the number of its segment.

    Starts miss the target and ends reach it; crossings nearer to each other than one part in `resolution`
    of the segment may be missed in pairs. Each crossing is found to within `tolerance` of its segment.
    """
    count = start.shape[0]
    shares = np.arange(1, resolution) / resolution
    rows, at = namespace(start).concat, path.between(start, end)
    between = rows([at(like(np.full(count, share), start)) for share in shares])
    reply = yield between
    inside = to_numpy(reply.reached).reshape(resolution - 1, count)
    ends = np.zeros((1, count), dtype=bool)
    sides = np.concatenate([ends, inside, ~ends])
    piece, segment = np.nonzero(sides[1:] != sides[:-1])
    # By segment, and along each: the order in which pairs are numbered.
    order = np.lexsort((piece, segment))
    piece, segment = piece[order], segment[order]
    knot = _knots(start, end, between)
    upward = sides[piece + 1, segment]
    missing, reaching = piece + ~upward, piece + upward
    bracket = yield from bisect(
        knot(missing, segment), knot(reaching, segment), path, min(0.5, tolerance * resolution)
    )
    return bracket.inside, segment


def _knots(start: Array, end: Array, between: Array) -> Callable[[Array, Array], Array]:
    """Return the function from numbers of knots and segments to rows; knot 0 is the start."""
    every = namespace(start).concat([start, between, end])
    count = start.shape[0]
    return lambda knot, segment: choose(every, knot * count + segment)

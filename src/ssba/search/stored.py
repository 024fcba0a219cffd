"""What stored boundary points around queries tell before the model is asked: a plane, and where to begin.

Through the points near a query a plane is laid by least squares, the nearest counting most. Where it comes
nearest to the query is a far better beginning than any stored point: on the smooth boundary of a network in
20 columns it lies at 1.2 times the best distance, where the nearest of 100,000 points lies at 1.9.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ssba.search.lanes import Herd
from ssba.search.ledger import Ledger
from ssba.search.planes import feet, unit
from ssba.search.rays import rays_to
from ssba.search.regions import Mask, Matrix, Numbers, Vector
from ssba.search.settings import SETTINGS
from ssba.search.starts import no_ends, reached_of, reaching_ends


@dataclass(frozen=True)
class Stored:
    """Feasible boundary points of a query, the nearest first, and which of them reach its target."""

    rows: Matrix
    reaching: Mask


def stored_ends(ledger: Ledger, stored: Sequence[Stored | None], at: Numbers) -> tuple[Herd, Matrix]:
    """Return rows that reach the target: beyond the foot of a plane through stored points, and some points.

    None for regions where the points are too few to lay a plane. The second array are the planes' normals.
    """
    regions, settings = ledger.regions, SETTINGS.stored
    normals, known = np.zeros_like(regions.start), {}
    for number in at:
        own = stored[number]
        if own is None:
            continue
        inside = regions.contains(own.rows, np.full(len(own.rows), number))
        normal = plane_through(ledger, own.rows[inside], int(number))
        if normal is not None:
            normals[number] = normal
            known[int(number)] = own.rows[inside & own.reaching][: SETTINGS.starts.known]
    laid = np.array(sorted(known), dtype=np.int64)
    if not len(laid):
        return no_ends(ledger), normals
    # The plane is ``normal . u == 1``.
    direction, length = unit(normals[laid])
    start = regions.start[laid]
    there = np.where(regions.moves[laid], start + regions.scale * direction / length[:, None], start)
    rays = rays_to(ledger, feet(ledger, there, direction, laid), laid)
    beyond = np.array(settings.beyond)
    who = np.repeat(np.arange(len(laid)), len(beyond))
    rows, fine = regions.pull_in(rays.rows(who, np.tile(beyond, len(laid))), laid[who])
    ends = reached_of(ledger, rows[fine], laid[who[fine]], only_first=True)
    # With labels only it is known what the model says of the points; margins must be asked for.
    most = SETTINGS.descent.starts if ledger.has_scores else SETTINGS.starts.known
    points = np.concatenate([known[int(number)][:most] for number in laid])
    of = np.repeat(laid, [len(known[int(number)][:most]) for number in laid])
    return ends.and_(reaching_ends(ledger, Herd(points, of))), normals


def plane_through(ledger: Ledger, rows: Matrix, number: int) -> Vector | None:
    """Return n of the plane ``n . u == 1`` through the nearest points, with u the scaled way from the start.

    Only points with the levels of the region's start lie on one plane; None where these are too few.
    """
    regions, settings = ledger.regions, SETTINGS.stored
    start, columns = regions.start[number], np.flatnonzero(regions.moves[number])
    alike = ((rows == start) | ~regions.discrete).all(axis=1)
    moves = ((rows[alike] - start) / regions.scale)[:, columns]
    if len(columns) < 2 or len(moves) < settings.fewest * len(columns):
        return None
    normal = np.zeros(len(start))
    normal[columns] = _fitted(moves)
    return normal if normal.any() and np.isfinite(normal).all() else None


def _fitted(moves: Matrix) -> Vector:
    length = np.maximum(np.sqrt((moves * moves).sum(axis=1)), 1e-300)
    weight = (length.min() / length) ** SETTINGS.stored.fading
    return np.asarray(np.linalg.lstsq(moves * weight[:, None], weight)[0])

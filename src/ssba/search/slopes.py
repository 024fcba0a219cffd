"""The way down the boundary where the model itself tells how its margin rises, as torch modules do.

From each row the boundary is taken for the plane that the margin and its slopes show there; the next row lies
on the way to where that plane is nearest to the query. Nothing has to be decided on the host meanwhile, so
that many ways of many queries are followed in the time of one.
"""

import numpy as np

from ssba.arrays import choose, like, namespace, on_host
from ssba.search.lanes import Herd, rank_within
from ssba.search.ledger import Ledger
from ssba.search.planes import Boxes, edges
from ssba.search.rays import rays_to
from ssba.search.regions import Mask, Matrix, Numbers, Vector
from ssba.search.settings import SETTINGS
from ssba.search.starts import Pools, no_ends

# Ways go from row to row in steps of this share of a column's scale.
_FINE = 2.0**-24
# Of the planes that a way has seen, so many show an edge, where faces of the boundary meet.
_PLANES = 3


def ends_by_slopes(ledger: Ledger, pools: Pools, at: Numbers) -> tuple[Herd, Vector]:
    """Return rows that reach the target where slopes lead from the starts of regions, and from known rows.

    With them comes at what share of the way from the start to each of them the boundary is expected, NaN
    where nobody knows.
    """
    regions, settings = ledger.regions, SETTINGS.beside
    near, known = pools.nearest(at, settings.starts)
    reaching = near.take(np.flatnonzero(known))
    ledger.add_known(reaching.rows, reaching.at)
    begun = namespace(near.rows).concat([choose(regions.start, at), regions.snap(near.rows, near.at)])
    of, shares = np.concatenate([at, near.at]), np.array(settings.shares)
    fine = ledger.can_afford(of, len(shares) + (settings.steps if ledger.is_beside else 0))
    short = of[~fine]
    if len(short):
        begun, of = choose(begun, np.flatnonzero(fine)), of[fine]
    if not len(of):
        return no_ends(ledger), np.empty(0)
    led, fine = _followed(ledger, begun, of)
    order = np.argsort(of, kind="stable")
    order = order[fine[order]]
    rays = rays_to(ledger, choose(led, order), of[order])
    who, share = np.repeat(np.arange(len(order)), len(shares)), np.tile(shares, len(order))
    rows = rays.rows(who, share)
    reply = ledger.ask(rows, rays.at[who])
    # As if one way had been followed after the other: what a smaller budget finds, a larger one does, too.
    ledger.close(short)
    hits = np.flatnonzero(reply.reached)
    first = hits[rank_within(who[hits]) == 0]
    margin = np.asarray(reply.margin)
    # The share before the first that reaches does not; a line between the two tells where the boundary is.
    before = np.maximum(first - 1, 0)
    rise = margin[first] - margin[before]
    known = (share[before] < share[first]) & (rise > 0)
    beyond = margin[first] / np.where(known, rise, 1.0)
    expected = 1 - beyond * (share[first] - share[before]) / share[first]
    ends = Herd(choose(rows, first), rays.at[who[first]], margin[first])
    return ends, np.where(known, expected, np.nan)


def _followed(ledger: Ledger, rows: Matrix, at: Numbers) -> tuple[Matrix, Mask]:
    """Return where slopes lead from rows, and on which ways half of the columns or more have shown some."""
    regions, settings, there = ledger.regions, SETTINGS.beside, like(at, rows)
    xp, boxes = namespace(rows), Boxes.of(ledger, at)
    moves = boxes.moves
    planes: list[tuple[Matrix, Matrix]] = []
    steep, fine = xp.zeros_like(moves), regions.scale * _FINE
    for step in range(settings.steps):
        told = ledger.slopes(rows, at)
        if told is None:
            break
        height, slope = told
        normal = xp.where(moves & xp.isfinite(slope), slope * regions.scale, 0.0)
        steep = steep | (normal != 0)
        square = xp.sum(normal * normal, axis=1)
        down = height / xp.where(square > 0, square, 1.0)
        on_plane = rows - down[:, None] * normal * regions.scale
        aims = boxes.feet(on_plane, normal)
        if ledger.door.has_faces:
            planes = [*planes, (on_plane, normal)][-_PLANES:]
            points, normals = (xp.stack([plane[i] for plane in planes], axis=1) for i in range(2))
            edge, is_edge = edges(ledger, at, points, normals, np.full(len(at), len(planes)))
            fits = like(is_edge, rows) & regions.inside(edge, there)
            aims = xp.where(fits[:, None], edge, aims)
        rows = rows + settings.pace**step * (aims - rows)
        # On a device the last bits of sums depend on what else is summed up: rounded, ways do not.
        rows = xp.round(rows / fine) * fine
    columns, finite = on_host(xp.count_nonzero(steep, axis=1), xp.all(xp.isfinite(rows), axis=1))
    return rows, (2 * columns >= regions.columns_moving[at]) & (columns > 0) & (finite > 0)

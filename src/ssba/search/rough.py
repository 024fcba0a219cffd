"""The search where the boundary has steps, as those of trees: broad normals, columns, exchanges, mixtures."""

import numpy as np

from ssba.boundary.bisection import Asking
from ssba.run.arrays import Array, namespace
from ssba.search import columns
from ssba.search.archive import Archive
from ssba.search.descend import broad_step
from ssba.search.profile import profile_search, shave
from ssba.search.rays import race, rays_to
from ssba.search.together import together

STARTS = 6
# Normals are looked for over ever smaller shares of the distance: first where the steps lead on the whole.
_WIDTHS = (0.3, 0.2, 0.1)
_ROUNDS = 4
_GOOD = 6
_EXCHANGED = 2


def rough_search(
    archive: Archive,
    rows: Array,
    start_margin: float | None,
    rng: np.random.Generator,
) -> Asking[None]:
    """Bring some rows on a stepped boundary nearer, side by side, then exchange or mix the best of them."""
    for width in _WIDTHS:
        steps = [broad_step(archive, row, width, start_margin) for row in rows]
        rows = namespace(rows).stack((yield from together(steps)))
    rows = yield from columns.pull_back(archive, rows, rng)
    if start_margin is None:
        for _ in range(_ROUNDS):
            yield from mix(archive, rng)
        return
    for row in columns.nearest_of(archive, rows, _EXCHANGED):
        yield from shave(archive, row)
        yield from profile_search(archive, row, rng)
    yield from shave(archive, archive.nearest(1)[0, :])
    yield from columns.pull_back(archive, archive.nearest(1), rng)


def mix(archive: Archive, rng: np.random.Generator) -> Asking[None]:
    """Cap, recombine and scatter the best rows; take the columns of the best offspring back."""
    region, metric = archive.region, archive.metric
    good = archive.nearest(_GOOD)
    cut = yield from together([columns.capped(archive, row) for row in good[:2, :]])
    mixed = columns.recombined(region, good, 16, rng)
    drawn = columns.scattered_around(region, good[:4, :], 16, 0.5, rng)
    rows = namespace(good).concat([*cut, mixed, drawn])
    rows = rows[metric.distance(rows, region.x) < 1.5 * archive.best_distance]
    if not rows.shape[0]:
        return
    reply = yield rows
    hits = rows[reply.reached & region.contains(rows)]
    if hits.shape[0]:
        crossings = yield from race(rays_to(region, metric, hits), 2, 0.02)
        yield from columns.pull_back(archive, crossings.rows, rng)

"""Many columns, of which few matter: which of them rows that reach the target cannot do without."""

import numpy as np

from ssba.columns.distance import changed_cells
from ssba.search.columns import as_far_as_possible
from ssba.search.ledger import Ledger, rank_within
from ssba.search.normals import broad_slopes
from ssba.search.rays import race, rays_to
from ssba.search.regions import Mask, Matrix, Numbers, Vector
from ssba.search.settings import SETTINGS
from ssba.search.starts import Ends


def thin_out(ledger: Ledger, ends: Ends) -> Ends:
    """Take columns of the first end of each region back, many at once, while the target stays reached.

    Then go along the ray to each row that is left as far as the boundary.
    """
    regions = ledger.regions
    kept = ends.take(np.flatnonzero(rank_within(ends.at) == 0))
    start = regions.start[kept.at]
    sizes = ledger.metric.parts(kept.rows, start)
    back = np.where(regions.free[kept.at], start, kept.rows)
    rows = as_far_as_possible(ledger, kept.rows, back, kept.at, sizes)
    rays = rays_to(ledger, rows, kept.at)
    race(rays, np.arange(len(rows)), 1, SETTINGS.steps.tolerance)
    margin = None if kept.margin is None else np.asarray(ledger.ask(rows, kept.at).margin)
    return Ends(rows, kept.at, margin)


def columns_that_matter(ledger: Ledger, ends: Ends) -> Mask:
    """Return by region which columns its end changes; all of them where these are not few."""
    regions = ledger.regions
    matter = np.zeros_like(regions.free)
    matter[ends.at] = changed_cells(ends.rows, regions.start[ends.at])
    few = matter.sum(axis=1) <= SETTINGS.narrow.share * regions.free.sum(axis=1)
    return np.asarray(matter | ~few[:, None])


def columns_that_tell(ledger: Ledger, at: Numbers) -> Mask:
    """Return by region the columns that raise the score most at its start, over the width of a small change.

    By labels, those that alone make its best row miss.
    """
    settings, regions = SETTINGS.narrow, ledger.regions
    width = settings.width * ledger.best[at]
    if ledger.has_scores:
        slopes = broad_slopes(ledger, regions.start[at], at, width)
    else:
        slopes = _misses(ledger, at, width)
    size = np.abs(slopes)
    place = np.argsort(np.argsort(-size, axis=1, kind="stable"), axis=1, kind="stable")
    telling = np.zeros_like(regions.free)
    telling[at] = (size > 0) & (place < settings.more)
    return telling


def _misses(ledger: Ledger, at: Numbers, width: Vector) -> Matrix:
    """Return in which columns the best rows of regions miss the target a width away, to either side."""
    regions = ledger.regions
    who, column = np.nonzero(regions.moves[at])
    found = np.zeros((len(at), regions.x.shape[1]))
    for sign in (1.0, -1.0):
        rows = ledger.best_row[at[who]].copy()
        rows[np.arange(len(who)), column] += sign * width[who] * regions.scale[column]
        reached = ledger.ask(regions.snap(rows, at[who]), at[who]).reached
        found[who, column] += ~reached
    return found


def are_wide(ledger: Ledger, at: Numbers) -> Numbers:
    """Return the regions in which very many columns may change."""
    return np.asarray(at[ledger.regions.free[at].sum(axis=1) > SETTINGS.narrow.columns])

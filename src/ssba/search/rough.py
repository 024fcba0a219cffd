"""The search where the boundary has steps, as those of trees: broad normals, columns, exchanges."""

import numpy as np

from ssba.arrays import Array, namespace
from ssba.boundary.bisection import Asking
from ssba.search import columns
from ssba.search.archive import Archive
from ssba.search.descend import broad_step
from ssba.search.profile import exchange_search, priced_search
from ssba.search.swaps import swap_search
from ssba.search.together import together

STARTS = 6
# With scores, so many of the starts go down by labels, and so many by scores: they see different ways.
_BY_LABELS, _BY_SCORES = 2, 4
# Exchanges by scores follow then, so that few by trial will do.
_TRIALS = 4
# Normals are looked for over ever smaller shares of the distance: first where the steps lead on the whole.
_WIDTHS = (0.3, 0.2, 0.1)
# How finely the columns of the best row are taken back at the end.
_SECTIONS = 4


def rough_search(
    archive: Archive,
    rows: Array,
    start_margin: float | None,
    rng: np.random.Generator,
) -> Asking[None]:
    """Bring some rows on a stepped boundary nearer, side by side, then exchange columns between them."""
    xp, donors = namespace(rows), rows
    margins: list[float | None] = [None] * rows.shape[0]
    if start_margin is not None:
        by_labels, by_scores = rows[:_BY_LABELS, :], rows[:_BY_SCORES, :]
        rows = xp.concat([by_labels, by_scores])
        margins = [*[None] * by_labels.shape[0], *[start_margin] * by_scores.shape[0]]
    for width in _WIDTHS:
        ways = zip(rows, margins, strict=True)
        rows = xp.stack((yield from together([broad_step(archive, row, width, way) for row, way in ways])))
    donors = xp.concat([donors, rows])
    rows = yield from columns.pull_back(archive, rows, rng)
    if start_margin is None:
        yield from swap_search(archive, rows, donors, rng)
    else:
        yield from priced_search(archive, columns.nearest_of(archive, rows, 1)[0, :], rng)
        rows = xp.concat([rows, archive.nearest(1)])
        yield from swap_search(archive, rows, donors, rng, _TRIALS)
        yield from exchange_search(archive, rows, rng)
    yield from columns.pull_back(archive, archive.nearest(1), rng, sections=_SECTIONS)

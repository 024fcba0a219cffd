"""The search where the boundary has steps, as those of trees: broad normals, columns, exchanges."""

import numpy as np

from ssba.boundary.bisection import Asking
from ssba.run.arrays import Array, namespace
from ssba.search import columns
from ssba.search.archive import Archive
from ssba.search.descend import broad_step
from ssba.search.profile import profile_search
from ssba.search.swaps import swap_search
from ssba.search.together import together

STARTS = 6
# With scores, so many of the starts go down twice: labels and scores see different ways.
_TWICE = 4
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
        first = rows[:_TWICE, :]
        rows = xp.concat([first, first])
        margins = [*[None] * first.shape[0], *[start_margin] * first.shape[0]]
    for width in _WIDTHS:
        ways = zip(rows, margins, strict=True)
        rows = xp.stack((yield from together([broad_step(archive, row, width, way) for row, way in ways])))
    donors = xp.concat([donors, rows])
    rows = yield from columns.pull_back(archive, rows, rng)
    if start_margin is not None:
        yield from profile_search(archive, columns.nearest_of(archive, rows, 1)[0, :], rng)
        rows = xp.concat([rows, archive.nearest(1)])
    yield from swap_search(archive, rows, donors, rng)
    yield from columns.pull_back(archive, archive.nearest(1), rng, sections=_SECTIONS)

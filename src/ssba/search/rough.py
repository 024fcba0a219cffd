"""Steps toward the query where the boundary has steps, as those of trees: along broad normals."""

import numpy as np

from ssba.search.descend import Stepper, between
from ssba.search.ledger import Ledger, rank_within
from ssba.search.normals import broad_slopes, label_normals, unit
from ssba.search.planes import feet
from ssba.search.regions import Mask, Matrix, Numbers
from ssba.search.settings import SETTINGS
from ssba.search.swaps import Herd


def broad_steps(ledger: Ledger, herd: Herd) -> Herd:
    """Bring rows on a stepped boundary nearer, along normals over ever smaller neighbourhoods."""
    settings, rows, at = SETTINGS.steps, herd.rows, herd.at
    by_scores = np.zeros(len(at), dtype=bool)
    if ledger.has_scores:
        # Ways by labels and by scores see different things.
        place = rank_within(at)
        some, others = np.flatnonzero(place < settings.by_labels), np.flatnonzero(place < settings.by_scores)
        chosen = np.concatenate([some, others])
        by_scores = np.arange(len(chosen)) >= len(some)
        order = np.argsort(at[chosen], kind="stable")
        rows, at, by_scores = rows[chosen[order]], at[chosen[order]], by_scores[order]
    for width in settings.widths:
        rows = _broad_step(ledger, rows, at, by_scores, width)
    return Herd(rows, at)


def _broad_step(ledger: Ledger, rows: Matrix, at: Numbers, by_scores: Mask, width: float) -> Matrix:
    """Step from rows toward normals over a broad neighbourhood; the rows themselves where that fails."""
    regions = ledger.regions
    moves = regions.moves[at]
    fine = (moves.sum(axis=1) > 1) & (moves & (rows != regions.start[at])).any(axis=1)
    normal, far = np.zeros_like(rows), ledger.distance(rows, at)
    scored, labelled = np.flatnonzero(fine & by_scores), np.flatnonzero(fine & ~by_scores)
    if len(scored):
        normal[scored] = unit(broad_slopes(ledger, rows[scored], at[scored], width * far[scored]))[0]
    if len(labelled):
        look = SETTINGS.steps.look
        count = len(labelled)
        how = np.full(count, width), np.full(count, look.steepest), np.full(count, look.halvings)
        seen = label_normals(ledger, rows[labelled], at[labelled], how, np.zeros((count, rows.shape[1])))
        normal[labelled] = unit(seen)[0]
    known = np.flatnonzero((normal != 0).any(axis=1))
    foot = feet(ledger, rows[known], normal[known], at[known])
    fan = np.array(SETTINGS.steps.fan)
    aims, who = between(rows[known], foot, fan), np.repeat(np.arange(len(known)), len(fan))
    stepper = Stepper(ledger, rows[known], at[known], far[known], SETTINGS.descent.tight)
    crossed, _, found = stepper.step_to(aims, who)
    nearer = rows.copy()
    nearer[known[found]] = crossed[found]
    return nearer

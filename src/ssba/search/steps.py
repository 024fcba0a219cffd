"""Whether the boundary has steps, as that of trees has, told by what a smooth one would not do."""

import numpy as np

from ssba.search.descend import Ways
from ssba.search.ledger import Ledger
from ssba.search.regions import Mask, Matrix, Numbers, Vector
from ssba.search.settings import SETTINGS


def has_steps(ledger: Ledger, best: Ways, by_labels: bool) -> Mask:
    """Tell where the boundary has steps.

    A way down a smooth boundary that ended a little early leaves columns that can go back, but not for much,
    and not time and again.
    """
    settings = SETTINGS.steps
    slack = SETTINGS.descent.tight if by_labels else SETTINGS.descent.roughly
    told = np.zeros(len(best.at), dtype=bool)
    asking = np.arange(len(best.at))
    if by_labels:
        face, smooth = shows_face(ledger, best)
        told |= face
        asking = np.flatnonzero(~face & ~smooth)
    rows, distance = best.row[asking], best.distance[asking]
    for _ in range(settings.doubts):
        if not len(asking):
            return told
        rough = is_rough(ledger, rows, best.at[asking], distance, slack)
        asking, distance = asking[rough], distance[rough]
        at = best.at[asking]
        nearer = ledger.best[at]
        little = ((1 - settings.little) * distance < nearer) & (nearer < distance)
        told[asking[~little]] = True
        asking, distance = asking[little], nearer[little]
        rows = ledger.best_row[best.at[asking]]
    told[asking] = True
    return told


def shows_face(ledger: Ledger, best: Ways) -> tuple[Mask, Mask]:
    """Tell where the boundary at a row is a face across one column, as that of trees is, and where not.

    From just before the boundary, each column that counts in its normal leads across a smooth one; across a
    face only its own does. By labels a crossing is located closely enough to ask. Neither where unclear.
    """
    regions, settings, at = ledger.regions, SETTINGS.steps, best.at
    start = regions.start[at]
    columns = regions.moves[at] & ~regions.grid.stepped & ~np.isnan(best.row)
    way = np.where(columns, (best.row - start) / regions.scale, 0.0)
    normal = np.where(columns, best.normal, 0.0)
    rise, length = (normal * way).sum(axis=1), np.sqrt((normal * normal).sum(axis=1))
    share = np.abs(normal) / np.maximum(length, 1e-300)[:, None]
    place = np.argsort(np.argsort(-share, axis=1, kind="stable"), axis=1, kind="stable")
    tried = (place < settings.face_columns) & (share > settings.counts)
    fine = ~best.straight & (columns.sum(axis=1) > 1) & (rise > 0) & (tried.sum(axis=1) > 1)
    who, column = np.nonzero(tried & fine[:, None])
    before = -settings.before * way
    moves = before[who]
    moves[np.arange(len(who)), column] += (
        settings.more_than_enough * settings.before * rise[who] / normal[who, column]
    )
    alone = np.flatnonzero(fine)
    wanted = np.concatenate(
        [best.row[who] + moves * regions.scale, (best.row + before * regions.scale)[alone]]
    )
    of = np.concatenate([who, alone])
    rows = regions.snap(wanted, at[of])
    # A column at its bound cannot show anything.
    fits = ((np.abs(rows - wanted) <= settings.rounded * regions.scale) | np.isnan(wanted)).all(axis=1)
    last = np.arange(len(of)) >= len(who)
    crossing = np.bincount(of[fits & ~last], minlength=len(at))
    clear = (crossing > 1) & (np.bincount(of[fits & last], minlength=len(at)) > 0)
    kept = np.flatnonzero(fits & clear[of])
    reached = ledger.ask(rows[kept], at[of[kept]]).reached
    crossed = np.bincount(of[kept], weights=reached & ~last[kept], minlength=len(at))
    before_reached = np.bincount(of[kept], weights=reached & last[kept], minlength=len(at)) > 0
    clear &= ~before_reached
    face = clear & (2 * crossed < crossing)
    return face, clear & (crossed == crossing) & (crossing >= settings.surely)


def is_rough(ledger: Ledger, rows: Matrix, at: Numbers, distance: Vector, slack: float) -> Mask:
    """Tell where the boundary has steps, by what a smooth one would not do at its nearest row.

    There, taking back columns that make up a share s of the distance loses half of s**2 of it or more: one
    column, half or all of the way, or all small ones together. Only what would lose well beyond the
    `slack` left in the distance is asked about. And a column can go back a little if the others go on.
    """
    regions, metric = ledger.regions, ledger.metric
    start = regions.start[at]
    parts = metric.parts(rows, regions.x[at])
    least = (4 * slack) ** 0.5 * distance
    who, column = np.nonzero(regions.free[at] & (parts > least[:, None]))
    places, back = np.arange(len(who)), []
    half = np.where(regions.discrete, start, 0.5 * (rows + start))
    for to in (start, half):
        changed = rows[who]
        changed[places, column] = to[who, column]
        back.append(changed)
    few, of = largest_only(ledger, rows, at)
    gone = np.where(few == rows[of], 0.0, parts[of])
    worth = np.sqrt((gone * gone).sum(axis=1)) > least[of]
    back_rows = np.concatenate([*back, few[worth]])
    back_of = np.concatenate([who, who, of[worth]])
    back_rows = regions.snap(back_rows, at[back_of])
    fine = regions.contains(back_rows, at[back_of])
    back_rows, back_of = back_rows[fine], back_of[fine]
    traded, traded_of = _traded(ledger, rows, at)
    asked, asked_of = np.concatenate([back_rows, traded]), np.concatenate([back_of, traded_of])
    reached = ledger.ask(asked, at[asked_of]).reached
    is_back = np.arange(len(asked)) < len(back_rows)
    can_go_back = np.bincount(asked_of[reached & is_back], minlength=len(at)) > 0
    trades = np.bincount(traded_of, minlength=len(at))
    can_trade = np.bincount(asked_of[reached & ~is_back], minlength=len(at)) > 0
    return np.asarray(can_go_back | ((trades > 1) & ~can_trade))


def _traded(ledger: Ledger, rows: Matrix, at: Numbers) -> tuple[Matrix, Numbers]:
    """Return rows with one large change a little smaller and all others more than make up for it.

    None where the others would have to go far, or cannot because of a bound or a grid.
    """
    regions, settings = ledger.regions, SETTINGS.steps
    start = regions.start[at]
    change = rows - start
    moves = regions.free[at] & ~regions.discrete & ~regions.grid.stepped & ~np.isnan(change)
    parts = ledger.metric.parts(rows, start)
    total = np.maximum((parts**2).sum(axis=1), 1e-300)
    shares = np.where(moves, parts**2 / total[:, None], 0.0)
    more = (settings.less * shares + settings.surplus) / np.maximum(1 - shares, 1e-9)
    who, column = np.nonzero((shares > settings.large) & (more < settings.more))
    factors = np.repeat((1 + more[who, column])[:, None], rows.shape[1], axis=1)
    factors[np.arange(len(who)), column] = 1 - settings.less
    found = np.where(moves[who], start[who] + factors * change[who], rows[who])
    inside = (found >= regions.low[at[who]]) & (found <= regions.high[at[who]])
    fine = (~moves[who] | inside).all(axis=1)
    found, who = regions.snap(found[fine], at[who[fine]]), who[fine]
    fine = regions.contains(found, at[who])
    return found[fine], who[fine]


def largest_only(ledger: Ledger, rows: Matrix, at: Numbers) -> tuple[Matrix, Numbers]:
    """Return rows with their few largest changes only, for several numbers of them, and whose they are."""
    regions = ledger.regions
    start = regions.start[at]
    parts = ledger.metric.parts(rows, start)
    place = np.argsort(np.argsort(-parts, axis=1, kind="stable"), axis=1, kind="stable")
    sizes = np.array(SETTINGS.columns.at_once)
    who, number = np.nonzero(sizes[None, :] < (parts > 0).sum(axis=1)[:, None])
    kept = place[who] < sizes[number][:, None]
    return np.where(kept, rows[who], start[who]), who


def tidy(ledger: Ledger, at: Numbers) -> None:
    """Ask whether the few largest changes of best rows, most of their length, do without the small ones."""
    at = at[np.isfinite(ledger.best[at])]
    rows, who = largest_only(ledger, ledger.best_row[at], at)
    of = at[who]
    far = ledger.distance(rows, of)
    fine = ledger.regions.contains(rows, of) & (far > SETTINGS.steps.most_of_it * ledger.best[of])
    ledger.ask(rows[fine], of[fine])

"""Steps of the boundary, as those of trees: telling them, and moves that need no slope.

Steps are told by what a smooth boundary would not do. Where they are, rows go along broad normals, columns
are taken back, and single steps are tried.
"""

import numpy as np

from ssba.arrays import by_row, choose, like, namespace, row_sums, to_numpy
from ssba.columns.distance import changed_cells
from ssba.search.descend import Stepper, Ways, between
from ssba.search.lanes import Herd, rank_within
from ssba.search.ledger import Ledger
from ssba.search.planes import Probes, feet, label_normals, score_slopes, unit
from ssba.search.regions import Mask, Matrix, Numbers, Regions, Vector
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
    rows, distance = choose(best.row, asking), best.distance[asking]
    for _ in range(SETTINGS.descent.patience):
        if not len(asking):
            return told
        rough = is_rough(ledger, rows, best.at[asking], distance, slack)
        asking, distance = asking[rough], distance[rough]
        nearer = ledger.best[best.at[asking]]
        little = ((1 - settings.little) * distance < nearer) & (nearer < distance)
        told[asking[~little]] = True
        asking, distance = asking[little], nearer[little]
        rows = choose(ledger.best_row, best.at[asking])
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
    tried = share > settings.counts
    fine = ~best.straight & (columns.sum(axis=1) > 1) & (rise > 0) & (tried.sum(axis=1) > 1)
    who, column = np.nonzero(tried & fine[:, None])
    before = -SETTINGS.descent.gain * way
    moves = before[who]
    moves[np.arange(len(who)), column] += (
        settings.more_than_enough * SETTINGS.descent.gain * rise[who] / normal[who, column]
    )
    alone = np.flatnonzero(fine)
    wanted = np.concatenate(
        [best.row[who] + moves * regions.scale, (best.row + before * regions.scale)[alone]]
    )
    of = np.concatenate([who, alone])
    rows = regions.snap(wanted, at[of])
    # A column at its bound cannot show anything.
    moved = np.abs(rows - wanted) > SETTINGS.descent.closely * regions.scale
    fits = (~moved | np.isnan(wanted)).all(axis=1)
    last = np.arange(len(of)) >= len(who)
    crossing = np.bincount(of[fits & ~last], minlength=len(at))
    clear = (crossing > 1) & (np.bincount(of[fits & last], minlength=len(at)) > 0)
    kept = np.flatnonzero(fits & clear[of])
    reached = ledger.ask(rows[kept], at[of[kept]]).reached
    crossed = np.bincount(of[kept], weights=reached & ~last[kept], minlength=len(at))
    before_reached = np.bincount(of[kept], weights=reached & last[kept], minlength=len(at)) > 0
    clear &= ~before_reached
    face = clear & (2 * crossed < crossing)
    return face, clear & (crossed == crossing)


def is_rough(ledger: Ledger, rows: Matrix, at: Numbers, distance: Vector, slack: float) -> Mask:
    """Tell where the boundary has steps, by what a smooth one would not do at its nearest row.

    There, taking back columns that make up a share s of the distance loses half of s**2 of it or more: one
    column, half or all of the way, or all small ones together. Only what would lose well beyond the
    `slack` left in the distance is asked about. And a column can go back a little if the others go on.
    """
    regions, metric = ledger.regions, ledger.metric
    xp, there = namespace(rows), like(at, rows)
    start = choose(regions.start, there)
    parts = metric.parts(rows, choose(regions.x, there))
    least = (4 * slack) ** 0.5 * distance
    probes = Probes.of(choose(regions.free, there) & (parts > by_row(least, rows)))
    half = xp.where(regions.discrete, start, 0.5 * (rows + start))
    back = [probes.rows(rows, to[probes.owner, probes.cell]) for to in (start, half)]
    few, of = largest_only(ledger, rows, at)
    gone = xp.where(few == choose(rows, of), 0.0, choose(parts, of))
    worth = np.flatnonzero(np.sqrt(row_sums(gone * gone)[0]) > least[of])
    back_of = np.concatenate([probes.who, probes.who, of[worth]])
    back_rows = regions.snap(xp.concat([*back, choose(few, worth)]), at[back_of])
    fine = np.flatnonzero(regions.contains(back_rows, at[back_of]))
    back_rows, back_of = choose(back_rows, fine), back_of[fine]
    traded, traded_of = _traded(ledger, rows, at)
    asked, asked_of = xp.concat([back_rows, traded]), np.concatenate([back_of, traded_of])
    reached = ledger.ask(asked, at[asked_of]).reached
    is_back = np.arange(len(asked)) < len(back_rows)
    can_go_back = np.bincount(asked_of[reached & is_back], minlength=len(at)) > 0
    trades = np.bincount(traded_of, minlength=len(at))
    can_trade = np.bincount(asked_of[reached & ~is_back], minlength=len(at)) > 0
    return np.asarray(can_go_back | ((trades > 1) & ~can_trade))


def _traded(ledger: Ledger, rows: Matrix, at: Numbers) -> tuple[Matrix, Numbers]:
    """Return rows with one large change a little smaller and all others more than make up for it.

    None where the others cannot because of a bound or a grid.
    """
    regions, settings = ledger.regions, SETTINGS.steps
    xp, there = namespace(rows), like(at, rows)
    start = choose(regions.start, there)
    change = rows - start
    moves = choose(regions.free, there) & ~regions.discrete & ~regions.grid.stepped & ~xp.isnan(change)
    parts = ledger.metric.parts(rows, start)
    total = xp.clip(xp.sum(parts**2, axis=1), 1e-300, None)
    shares = xp.where(moves, parts**2 / total[:, None], 0.0)
    more = settings.more_than_enough * SETTINGS.race.edge * shares / xp.clip(1 - shares, 1e-9, None)
    probes = Probes.of(shares > settings.counts)
    who, owner = probes.who, probes.owner
    factors = xp.ones_like(choose(rows, owner)) * (1 + more[owner, probes.cell])[:, None]
    factors[probes.place, probes.cell] = 1 - SETTINGS.race.edge
    can, of = choose(moves, owner), choose(there, owner)
    found = xp.where(can, choose(start, owner) + factors * choose(change, owner), choose(rows, owner))
    inside = (found >= choose(regions.low, of)) & (found <= choose(regions.high, of))
    fine = np.flatnonzero(to_numpy(xp.all(~can | inside, axis=1)))
    found, who = regions.snap(choose(found, fine), at[who[fine]]), who[fine]
    fine = np.flatnonzero(regions.contains(found, at[who]))
    return choose(found, fine), who[fine]


def largest_only(ledger: Ledger, rows: Matrix, at: Numbers) -> tuple[Matrix, Numbers]:
    """Return rows with their few largest changes only, for several numbers of them, and whose they are."""
    xp = namespace(rows)
    start = choose(ledger.regions.start, at)
    parts = ledger.metric.parts(rows, start)
    place = xp.argsort(xp.argsort(-parts, axis=1, stable=True), axis=1, stable=True)
    sizes = _growing(rows.shape[1])
    changed = to_numpy(xp.count_nonzero(parts > 0, axis=1))
    who, number = np.nonzero(sizes[None, :] < changed[:, None])
    kept = choose(place, who) < by_row(sizes[number], rows)
    return xp.where(kept, choose(rows, who), choose(start, who)), who


def tidy(ledger: Ledger, at: Numbers) -> Herd:
    """Return best rows with their few largest changes only, to be asked about."""
    at = at[np.isfinite(ledger.best[at])]
    rows, who = largest_only(ledger, choose(ledger.best_row, at), at)
    of = at[who]
    fine = np.flatnonzero(ledger.regions.contains(rows, of))
    return Herd(choose(rows, fine), of[fine])


def leave_out(ledger: Ledger, at: Numbers, more: Herd) -> None:
    """Take small changes of best rows back, each alone, and ask about `more` rows in the same call.

    A model that ignores a column does not mind it, whatever the other changes are. Then all that can go
    alone go together, and, in case they cannot, several numbers of the smallest.
    """
    regions = ledger.regions
    rows = choose(ledger.best_row, at)
    xp, there = namespace(rows), like(at, rows)
    start = choose(regions.start, there)
    parts = ledger.metric.parts(rows, start)
    below = by_row(SETTINGS.steps.small * ledger.best[at], rows)
    probes = Probes.of(choose(regions.free, there) & (parts > 0) & (parts < below))
    alone = regions.snap(probes.rows(rows, start[probes.owner, probes.cell]), at[probes.who])
    asked = xp.concat([alone, more.rows]), np.concatenate([at[probes.who], more.at])
    reached = ledger.ask(*asked).reached[: len(alone)]
    fine = np.zeros(tuple(rows.shape), dtype=bool)
    fine[probes.who[reached], probes.column[reached]] = True
    count = fine.sum(axis=1)
    smallest = xp.where(like(fine, rows), parts, np.inf)
    place = xp.argsort(xp.argsort(smallest, axis=1, stable=True), axis=1, stable=True)
    some = _growing(rows.shape[1])
    sizes = np.column_stack([np.where(some < count[:, None], some, 0), count]) * (count > 1)[:, None]
    who, number = np.nonzero(sizes)
    back = choose(place, who) < by_row(sizes[who, number], rows)
    together = xp.where(back, choose(start, who), choose(rows, who))
    ledger.ask(regions.snap(together, at[who]), at[who])


def broad_steps(ledger: Ledger, herd: Herd) -> Herd:
    """Bring rows on a stepped boundary nearer, along normals over ever smaller neighbourhoods."""
    settings, rows, at = SETTINGS.steps, herd.rows, herd.at
    by_scores = np.zeros(len(at), dtype=bool)
    if ledger.has_scores:
        # Ways by labels and by scores see different things.
        place = rank_within(at)
        some = np.flatnonzero(place < SETTINGS.descent.starts)
        chosen = np.concatenate([some, some])
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
        normal[scored] = unit(score_slopes(ledger, rows[scored], at[scored], width * far[scored]))[0]
    if len(labelled):
        look = SETTINGS.steps.look
        count = len(labelled)
        how = np.full(count, width), np.full(count, look.steepest), np.full(count, look.cells)
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


def pull_back(
    ledger: Ledger,
    rows: Matrix,
    at: Numbers,
    worthwhile: Vector | None = None,
    within: float | None = None,
) -> tuple[Matrix, Numbers]:
    """Take every column of each row back toward the start, as far as the target stays reached.

    First whole columns go back, then parts of those that had to stay, each as far as it can go alone: to
    `within` a share of its change, or as closely as steps are told. Columns with a large change come first.
    Rows that would lie beyond what is `worthwhile` for their region even if all of them could go back
    together are left out.
    """
    within = SETTINGS.steps.widths[-1] if within is None else within
    for whole in (True, False):
        if not len(rows):
            break
        limits = _whole_limits(ledger, rows, at) if whole else _partial_limits(ledger, rows, at, within)
        if worthwhile is not None:
            kept = np.flatnonzero(ledger.distance(limits, at) <= worthwhile[at])
            rows, limits, at = rows[kept], limits[kept], at[kept]
        rows = as_far_as_possible(ledger, rows, limits, at)
    return rows, at


def _whole_limits(ledger: Ledger, rows: Matrix, at: Numbers) -> Matrix:
    """Return the rows with all columns at the start that could go there alone."""
    regions = ledger.regions
    start = regions.start[at]
    who, column = np.nonzero(changed_cells(rows, start) & regions.free[at])
    asked, places = choose(rows, who), np.arange(len(who))
    asked[places, column] = start[who, column]
    asked = regions.snap(asked, at[who])
    fine = ledger.ask(asked, at[who]).reached
    limits = rows.copy()
    limits[who[fine], column[fine]] = start[who[fine], column[fine]]
    return limits


def _partial_limits(ledger: Ledger, rows: Matrix, at: Numbers, within: float) -> Matrix:
    """Return the rows with every number as near to the start as it could go alone."""
    regions = ledger.regions
    start = regions.start[at]
    moved = (rows != start) & ~np.isnan(rows - start) & regions.free[at] & ~regions.discrete
    who, column = np.nonzero(moved)
    found, home = rows.copy(), start[who, column]
    way = rows[who, column] - home
    between = np.array(SETTINGS.columns.between)
    low, width, count = np.zeros(len(who)), 1.0, len(between)
    number = np.repeat(np.arange(len(who)), count)
    own, places = rows[who[number]], np.arange(len(number))
    while width > within:
        shares = (low[:, None] + width * between).ravel()
        asked = own.copy()
        asked[places, column[number]] = home[number] + shares * way[number]
        asked = regions.snap(asked, at[who[number]])
        hits = ledger.ask(asked, at[who[number]]).reached.reshape(-1, count)
        first = np.where(hits.any(axis=1), hits.argmax(axis=1), count)
        hit = np.flatnonzero(first < count)
        found[who[hit], column[hit]] = asked[hit * count + first[hit], column[hit]]
        width /= 1 + count
        low += width * first
    return found


def as_far_as_possible(ledger: Ledger, rows: Matrix, limits: Matrix, at: Numbers) -> Matrix:
    """Bring the cells of rows to their limits, the largest first; those that cannot go with the rest stay."""
    regions, now = ledger.regions, rows.copy()
    differs = changed_cells(rows, limits)
    sizes = ledger.metric.parts(rows, regions.start[at])
    order = np.argsort(np.where(differs, -sizes, np.inf), axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(rows.shape[1])[None, :], axis=1)
    count, done = differs.sum(axis=1), np.zeros(len(rows), dtype=np.int64)
    at_once = _growing(rows.shape[1])
    while True:
        going = np.flatnonzero((done < count) & ledger.goes_on(at))
        if not len(going):
            return now
        left = (count - done)[going]
        some = np.where(at_once[None, :] < left[:, None], at_once, 0)
        some = np.column_stack([some, left])
        number, place = np.nonzero(some)
        size, who = some[number, place], going[number]
        begin = done[who][:, None]
        taken = (rank[who] >= begin) & (rank[who] < begin + size[:, None])
        asked = regions.snap(np.where(taken, limits[who], now[who]), at[who])
        fine = np.flatnonzero(ledger.ask(asked, at[who]).reached)
        gone = np.ones(len(rows), dtype=np.int64)
        # Of several that are fine the last one counts, which goes farthest.
        now[who[fine]], gone[who[fine]] = asked[fine], size[fine]
        done[going] += gone[going]


def _growing(most: int) -> Numbers:
    """Return 1, 2, 3, 5, 8 and so on, up to so many, each the sum of the two before."""
    sizes = [1, 2]
    while sizes[-1] < most:
        sizes.append(sizes[-1] + sizes[-2])
    return np.array(sizes)


def steps_of(regions: Regions, z: Matrix, at: Numbers) -> tuple[Matrix, Numbers, Numbers]:
    """Return rows one step of the grid, or one level, away from others; from which one; in which column."""
    found = []
    free = regions.free[at]
    stepped = free & regions.grid.stepped & ~regions.discrete & ~np.isnan(z)
    who, column = np.nonzero(stepped)
    for sign in (-1.0, 1.0):
        rows = z[who]
        rows[np.arange(len(who)), column] += sign * regions.step[column]
        found.append((rows, who, column))
    found += regions.level_changes(z, at)
    rows, who, column = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((column, who))
    return rows[order], who[order], column[order]


def neighbours(regions: Regions, z: Matrix, at: Numbers, pairs: bool = False) -> tuple[Matrix, Numbers]:
    """Return feasible rows one step, or one level, away from rows, and whose they are.

    With `pairs`, any two single steps of a row are also taken together.
    """
    rows, who, column = steps_of(regions, z, at)
    if pairs:
        both, of = both_changes(rows, who, column)
        rows, who = np.concatenate([rows, both]), np.concatenate([who, of])
        order = np.argsort(who, kind="stable")
        rows, who = rows[order], who[order]
    pulled, fine = regions.pull_in(rows, at[who])
    return pulled[fine], who[fine]


def both_changes(rows: Matrix, who: Numbers, column: Numbers) -> tuple[Matrix, Numbers]:
    """Return any two changes of the same row, of one column each, taken together, and whose they are."""
    first, second = pairs_within(who)
    apart = column[first] != column[second]
    first, second = first[apart], second[apart]
    both = rows[second]
    both[np.arange(len(first)), column[first]] = rows[first, column[first]]
    return both, who[first]


def pairs_within(group: Numbers) -> tuple[Numbers, Numbers]:
    """Return pairs of members of the same group: each with every later one."""
    later = np.bincount(group)[group] - rank_within(group) - 1
    first = np.repeat(np.arange(len(group)), later)
    return first, first + 1 + rank_within(first)

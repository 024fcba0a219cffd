"""Down the boundary: step toward its normal, again and again, while the distance to the query shrinks."""

from dataclasses import dataclass, fields

import numpy as np

from ssba.search.lanes import first_of_each
from ssba.search.ledger import Ledger
from ssba.search.planes import broad_slopes, edges, feet, label_normals, score_slopes, unit
from ssba.search.rays import Rays, race, rays_to
from ssba.search.regions import Mask, Matrix, Numbers, Vector
from ssba.search.settings import SETTINGS, Look

# An edge is where the planes of the last few looks meet.
_PLANES = 3


@dataclass
class Ways:
    """Where ways down stand, one a lane: a row on the boundary's target side, and what is known about it.

    `optimal`: the boundary there is at a right angle to the way from the query, so that no small step
    helps. `stalled`: steps that should have helped did not. `flat`: scores do not change around the row, as
    those of trees do not. `straight`: the boundary has had one and the same normal on all of the way.
    `normal` is the last one seen, in scaled units; `width`, `steepest` and `halvings` are how closely labels
    are looked at next. `points` and `normals` are the last planes seen, `planes` how many of them there are.
    """

    at: Numbers
    row: Matrix
    distance: Vector
    margin: Vector
    normal: Matrix
    width: Vector
    steepest: Vector
    halvings: Numbers
    weak: Numbers
    optimal: Mask
    stalled: Mask
    flat: Mask
    straight: Mask
    points: Matrix
    normals: Matrix
    planes: Numbers

    @property
    def settled(self) -> Mask:
        """Where going on would be of no use."""
        return self.optimal | self.stalled | self.flat

    def take(self, numbers: Numbers) -> "Ways":
        """Return some of the ways."""
        return Ways(*(getattr(self, one.name)[numbers] for one in fields(self)))

    def and_(self, other: "Ways") -> "Ways":
        """Return these and others; those of a region in this order."""
        order = np.argsort(np.concatenate([self.at, other.at]), kind="stable")
        pairs = ((getattr(self, one.name), getattr(other, one.name)) for one in fields(self))
        return Ways(*(np.concatenate(pair)[order] for pair in pairs))

    def put(self, numbers: Numbers, other: "Ways") -> None:
        """Take over how far some of the ways got."""
        for one in fields(self):
            getattr(self, one.name)[numbers] = getattr(other, one.name)

    def look_at(self, numbers: Numbers, look: Look) -> None:
        """Say how closely some ways look next."""
        self.width[numbers], self.steepest[numbers] = look.width, look.steepest
        self.halvings[numbers] = look.halvings


def ways_from(ledger: Ledger, rows: Matrix, at: Numbers, margin: Vector | None) -> Ways:
    """Return ways down that begin at rows."""
    count, columns = rows.shape
    no = np.zeros(count, dtype=bool)
    ways = Ways(
        at=at,
        row=rows,
        distance=ledger.distance(rows, at),
        margin=np.zeros(count) if margin is None else margin,
        normal=np.zeros((count, columns)),
        width=np.zeros(count),
        steepest=np.zeros(count),
        halvings=np.zeros(count, dtype=np.int64),
        weak=np.zeros(count, dtype=np.int64),
        optimal=no.copy(),
        stalled=no.copy(),
        flat=no.copy(),
        straight=no.copy(),
        points=np.zeros((count, _PLANES, columns)),
        normals=np.zeros((count, _PLANES, columns)),
        planes=np.zeros(count, dtype=np.int64),
    )
    ways.look_at(np.arange(count), SETTINGS.descent.first_look)
    return ways


def descend(
    ledger: Ledger, ways: Ways, start_margin: Vector | None, rounds: int, ceiling: Vector | None = None
) -> None:
    """Follow the boundary from rows toward their queries, until rounds gain too little.

    Where no step toward the foot of the plane helps, another face of the boundary is in the way: it is
    looked at next, where a ray toward the foot crosses it, so that both planes show their edge. A way is left
    where the foot of its plane, which is where a step might end, lies beyond its `ceiling`.
    """
    ways.weak[:] = 0
    ways.planes[:] = 0
    going = np.flatnonzero(~ways.settled)
    descent = _Descent(ledger, start_margin)
    spots, other_face = ways.row[going].copy(), np.zeros(len(going), dtype=bool)
    for _ in range(rounds):
        fine = ledger.goes_on(ways.at[going])
        going, spots, other_face = going[fine], spots[fine], other_face[fine]
        if not len(going):
            return
        now = ways.take(going)
        limit = None if ceiling is None else ceiling[going]
        left, spots, other_face = descent.round(now, spots, other_face, limit)
        ways.put(going, now)
        going = going[left]


@dataclass(frozen=True)
class Stepper:
    """Steps from rows to where the boundary is nearer; margins lead where those of the starts are known."""

    ledger: Ledger
    row: Matrix
    at: Numbers
    distance: Vector
    tolerance: float
    start_margin: Vector | None = None
    plane: tuple[Matrix, Matrix] | None = None

    def _guesses(self, rays: Rays, who: Numbers) -> Vector | None:
        """Return at what share rays cross the planes through points with normals; NaN where they do not."""
        if self.plane is None:
            return None
        point, normal = (one[who] for one in self.plane)
        regions = self.ledger.regions
        start = regions.start[rays.at]
        offset = np.nan_to_num(normal * (point - start) / regions.scale).sum(axis=1)
        along = (normal * rays.way / regions.scale).sum(axis=1)
        fine = (along > 0) & (offset > 0)
        return np.where(fine, offset / np.where(fine, along, 1.0), np.nan)

    def step_to(
        self, aims: Matrix, who: Numbers, expected: Vector | None = None
    ) -> tuple[Matrix, Vector | None, Mask]:
        """Return where the nearest ray through the aims of each row crosses the boundary, if nearer."""
        ledger, regions, at = self.ledger, self.ledger.regions, self.at
        rows, found = self.row.copy(), np.zeros(len(at), dtype=bool)
        order = np.argsort(who, kind="stable")
        aims, who = aims[order], who[order]
        pulled, fine = regions.pull_in(regions.with_numbers_of(aims, self.row[who]), at[who])
        pulled, who = pulled[fine], who[fine]
        rays = rays_to(ledger, pulled, at[who])
        # Bring all of them to one distance, just short of where we stand.
        short = self.distance[who] * (1 - SETTINGS.descent.gain / 2)
        ends = rays.rows(np.arange(len(who)), rays.shares(short))
        reply = ledger.ask(ends, at[who])
        hits = np.flatnonzero(reply.reached)
        by_labels = self.start_margin is None
        margins = None if by_labels else np.zeros(len(at))
        if not len(hits):
            return rows, margins, found
        names, group = np.unique(who[hits], return_inverse=True)
        rays = rays_to(ledger, ends[hits], at[who[hits]])
        if self.start_margin is None:
            near = None if expected is None else expected[who[hits]]
            crossings = race(rays, group, 1, self.tolerance, nearest=near)
        else:
            pair = self.start_margin[rays.at], np.asarray(reply.margin)[hits]
            guess = self._guesses(rays, who[hits])
            crossings = race(rays, group, 1, self.tolerance, margins=pair, guess=guess)
        winners = names[crossings.group]
        rows[winners], found[winners] = crossings.rows, True
        if margins is not None and crossings.margin is not None:
            margins[winners] = crossings.margin
        return rows, margins, found


@dataclass(frozen=True)
class _Descent:
    ledger: Ledger
    start_margin: Vector | None

    @property
    def by_labels(self) -> bool:
        return self.start_margin is None

    @property
    def tolerance(self) -> float:
        return SETTINGS.descent.tight if self.by_labels else SETTINGS.descent.roughly

    def round(
        self, ways: Ways, spots: Matrix, other_face: Mask, ceiling: Vector | None
    ) -> tuple[Numbers, Matrix, Mask]:
        """Take one step on each way; return which go on, where they look next, and if at another face."""
        settings, gain = SETTINGS.descent, SETTINGS.descent.gain
        normal = self._normals(ways, spots, other_face)
        ways.flat |= ~(normal != 0).any(axis=1) | self._is_flat(ways, spots, normal)
        straight = (ways.planes > 0) & (ways.weak == 0)
        straight &= (ways.normals[:, -1] * normal).sum(axis=1) > settings.straight
        fresh = ~ways.flat
        ways.straight = np.where(fresh, straight, ways.straight)
        ways.normal = np.where(fresh[:, None], normal, ways.normal)
        _remember(ways, spots, normal, fresh)
        foot = feet(self.ledger, spots, normal, ways.at)
        aim = self.ledger.distance(foot, ways.at)
        going = fresh.copy()
        if ceiling is not None:
            going &= aim <= ceiling
        near = going & ~other_face & (aim > ways.distance * (1 - gain / 4))
        sure = near & ((ways.weak > 0) | (not self.by_labels))
        ways.optimal |= sure
        again = near & ~sure
        ways.weak[again] += 1
        ways.look_at(np.flatnonzero(again), settings.last_look)
        going &= ~near
        step = np.flatnonzero(going)
        next_spots, next_face = ways.row.copy(), np.zeros(len(spots), dtype=bool)
        if len(step):
            stepped = ways.take(step)
            beyond, found = self._step(stepped, foot[step], aim[step], other_face[step])
            ways.put(step, stepped)
            next_spots[step], next_face[step] = np.where(found[:, None], beyond, stepped.row), found
        few = self.ledger.regions.moves[ways.at].sum(axis=1) <= SETTINGS.race.few_columns
        ways.stalled |= going & (ways.weak > np.where(few, 2, 1))
        left = np.flatnonzero((going | again) & ~ways.settled)
        return left, next_spots[left], next_face[left]

    def _normals(self, ways: Ways, spots: Matrix, other_face: Mask) -> Matrix:
        """Return the normals as scores or labels show them; zeros where nothing moved that could tell."""
        ledger, at = self.ledger, ways.at
        moved = (ledger.regions.moves[at] & (spots != ledger.regions.start[at])).any(axis=1)
        if not self.by_labels:
            margin, faces = ways.margin.copy(), np.flatnonzero(other_face)
            if len(faces):
                margin[faces] = ledger.ask(spots[faces], at[faces]).margin
            width = SETTINGS.descent.near * ledger.distance(spots, at)
            slopes = score_slopes(ledger, spots, at, margin, width)
            return np.where(moved[:, None], unit(slopes)[0], 0.0)
        many = ledger.regions.moves[at].sum(axis=1)
        can_guess = (many > SETTINGS.race.few_columns) & ledger.metric.adds_squares & ~other_face
        guess = np.where(can_guess[:, None], ways.normal, 0.0)
        first = SETTINGS.descent.first_look
        look = (
            np.where(other_face, first.width, ways.width),
            np.where(other_face, first.steepest, ways.steepest),
            np.where(other_face, first.halvings, ways.halvings),
        )
        fine = np.flatnonzero(moved & (many > 1))
        normals = np.zeros_like(spots)
        if len(fine):
            how = look[0][fine], look[1][fine], look[2][fine]
            seen = label_normals(ledger, spots[fine], at[fine], how, guess[fine])
            normals[fine] = unit(seen)[0]
        return normals

    def _is_flat(self, ways: Ways, spots: Matrix, normal: Matrix) -> Mask:
        """Tell where scores ignore small steps in most columns but not large ones, as those of trees do."""
        flat = np.zeros(len(spots), dtype=bool)
        if self.by_labels:
            return flat
        ledger, at = self.ledger, ways.at
        columns, answers = ledger.regions.moves[at].sum(axis=1), (normal != 0).sum(axis=1)
        doubtful = np.flatnonzero((columns >= 4) & (2 * answers < columns) & (answers > 0))
        if len(doubtful):
            width = SETTINGS.descent.tree_step * ledger.distance(spots[doubtful], at[doubtful])
            broad = broad_slopes(ledger, spots[doubtful], at[doubtful], width)
            flat[doubtful] = (broad != 0).sum(axis=1) > 1.2 * answers[doubtful]
        return flat

    def _step(self, ways: Ways, foot: Matrix, aim: Vector, other_face: Mask) -> tuple[Matrix, Mask]:
        """Step toward the foot of the plane, or an edge; return rows on another face where no step helps."""
        settings, gain = SETTINGS.descent, SETTINGS.descent.gain
        plain = np.flatnonzero(~other_face)
        fan = np.array(settings.fan)
        aims = [between(ways.row[plain], foot[plain], fan)]
        who = [np.repeat(plain, len(fan))]
        if self.ledger.metric.adds_squares:
            several = np.flatnonzero(ways.planes > 1)
            if len(several):
                edge, is_edge = edges(
                    self.ledger,
                    ways.at[several],
                    ways.points[several],
                    ways.normals[several],
                    ways.planes[several],
                )
                several, edge = several[is_edge], edge[is_edge]
                shares = np.array(settings.edge_fan)
                aims.append(between(ways.row[several], edge, shares))
                who.append(np.repeat(several, len(shares)))
        stepper = Stepper(
            self.ledger,
            ways.row,
            ways.at,
            ways.distance,
            self.tolerance,
            self.start_margin,
            plane=(ways.points[:, -1], ways.normals[:, -1]),
        )
        row, margin, found = stepper.step_to(np.concatenate(aims), np.concatenate(who), 0.97 * aim)
        self._look_on(ways)
        distance = self.ledger.distance(row, ways.at)
        found &= distance < ways.distance
        ways.weak += ~found | (distance > ways.distance * (1 - gain))
        ways.row[found], ways.distance[found] = row[found], distance[found]
        if margin is not None:
            ways.margin[found] = margin[found]
        ways.width[~found] *= 0.3
        blocked = np.flatnonzero(~found & (ways.weak == 1))
        beyond, is_there = np.zeros_like(foot), np.zeros(len(foot), dtype=bool)
        if len(blocked):
            beyond[blocked], is_there[blocked] = self._beyond(ways, blocked, foot)
        return beyond, is_there

    def _look_on(self, ways: Ways) -> None:
        """Look nearer next, around a guess for slopes that differ little from the last plane's."""
        many = self.ledger.regions.moves[ways.at].sum(axis=1) > SETTINGS.race.few_columns
        guessed = many & self.ledger.metric.adds_squares
        ways.width = np.where(guessed, np.maximum(0.01, 0.5 * ways.width), ways.width)
        least, less = np.where(guessed, 0.15, 0.3), np.where(guessed, 0.3, 0.5)
        ways.steepest = np.maximum(least, less * ways.steepest)
        ways.halvings = np.where(guessed, SETTINGS.descent.next_look.halvings, SETTINGS.descent.halvings)

    def _beyond(self, ways: Ways, blocked: Numbers, foot: Matrix) -> tuple[Matrix, Mask]:
        """Return where a ray a little toward the foot crosses the boundary farther out, if any does."""
        ledger, settings = self.ledger, SETTINGS.descent
        aside = np.array(settings.aside)
        who = np.repeat(blocked, len(aside))
        rays = rays_to(ledger, between(ways.row[blocked], foot[blocked], aside), ways.at[who])
        ends = rays.rows(np.arange(len(who)), rays.shares(settings.farther * ways.distance[who]))
        reached = ledger.ask(ends, ways.at[who]).reached
        hits = np.flatnonzero(reached)
        rows, found = ways.row[blocked].copy(), np.zeros(len(blocked), dtype=bool)
        if not len(hits):
            return rows, found
        # The one farthest aside.
        last = hits[first_of_each(who[hits], -hits.astype(float))]
        rays = rays_to(ledger, ends[last], ways.at[who[last]])
        near = (1 - settings.gain) * ways.distance[who[last]]
        crossings = race(rays, np.arange(len(last)), 1, self.tolerance, nearest=near)
        places = np.searchsorted(blocked, who[last[crossings.group]])
        rows[places], found[places] = crossings.rows, True
        return rows, found


def _remember(ways: Ways, spots: Matrix, normal: Matrix, fresh: Mask) -> None:
    """Keep the planes of the last looks, the latest last."""
    kept = np.flatnonzero(fresh)
    ways.points[kept] = np.roll(ways.points[kept], -1, axis=1)
    ways.normals[kept] = np.roll(ways.normals[kept], -1, axis=1)
    ways.points[kept, -1], ways.normals[kept, -1] = spots[kept], normal[kept]
    ways.planes[kept] = np.minimum(ways.planes[kept] + 1, _PLANES)


def between(row: Matrix, aim: Matrix, shares: Vector) -> Matrix:
    """Return rows on the way from some rows to others, at these shares of each."""
    found = row[:, None] + shares[None, :, None] * (aim - row)[:, None]
    return np.asarray(found.reshape(-1, row.shape[1]))

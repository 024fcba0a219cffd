"""Down the boundary: step toward its normal, again and again, while the distance to the query shrinks."""

from dataclasses import dataclass, fields

import numpy as np

from ssba.arrays import by_row, choose, copied, like, namespace, put, row_sums, to_numpy
from ssba.search.lanes import first_of_each
from ssba.search.ledger import Ledger
from ssba.search.planes import edges, feet, label_normals, score_slopes, unit
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
    those of trees do not, or labels show a face across one column. `straight`: the boundary has had one and
    the same normal on all of the way.
    `normal` is the last one seen, in scaled units; `width`, `steepest` and `cells` are how closely labels
    are looked at next. `points` and `normals` are the last planes seen, `planes` how many of them there are.
    """

    at: Numbers
    row: Matrix
    distance: Vector
    margin: Vector
    normal: Matrix
    width: Vector
    steepest: Vector
    cells: Numbers
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
        there = like(numbers, self.row)
        parts = (getattr(self, one.name) for one in fields(self))
        return Ways(*(choose(one, there if type(one) is type(there) else numbers) for one in parts))

    def and_(self, other: "Ways") -> "Ways":
        """Return these and others; those of a region in this order."""
        order = np.argsort(np.concatenate([self.at, other.at]), kind="stable")
        pairs = ((getattr(self, one.name), getattr(other, one.name)) for one in fields(self))
        return Ways(*(choose(namespace(*pair).concat(pair), order) for pair in pairs))

    def put(self, numbers: Numbers, other: "Ways") -> None:
        """Take over how far some of the ways got."""
        there = like(numbers, self.row)
        for one in fields(self):
            mine = getattr(self, one.name)
            put(mine, there if type(mine) is type(there) else numbers, getattr(other, one.name))

    def look_at(self, numbers: Numbers, look: Look) -> None:
        """Say how closely some ways look next."""
        self.width[numbers], self.steepest[numbers] = look.width, look.steepest
        self.cells[numbers] = look.cells


def ways_from(ledger: Ledger, rows: Matrix, at: Numbers, margin: Vector | None) -> Ways:
    """Return ways down that begin at rows."""
    count = len(rows)
    xp, no = namespace(rows), np.zeros(count, dtype=bool)
    planes = xp.stack([xp.zeros_like(rows)] * _PLANES, axis=1)
    ways = Ways(
        at=at,
        row=rows,
        distance=ledger.distance(rows, at),
        margin=np.zeros(count) if margin is None else margin,
        normal=xp.zeros_like(rows),
        width=np.zeros(count),
        steepest=np.zeros(count),
        cells=np.zeros(count, dtype=np.int64),
        weak=np.zeros(count, dtype=np.int64),
        optimal=no.copy(),
        stalled=no.copy(),
        flat=no.copy(),
        straight=no.copy(),
        points=planes,
        normals=copied(planes),
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
    spots, other_face = choose(ways.row, going), np.zeros(len(going), dtype=bool)
    for _ in range(rounds):
        fine = ledger.goes_on(ways.at[going])
        if not fine.all():
            going, other_face, spots = going[fine], other_face[fine], choose(spots, np.flatnonzero(fine))
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
        point, normal = (choose(one, who) for one in self.plane)
        regions, xp = self.ledger.regions, namespace(point)
        start = choose(regions.start, rays.at)
        offsets = normal * (point - start) / regions.scale
        offset, along = row_sums(xp.nan_to_num(offsets), normal * rays.way / regions.scale)
        fine = (along > 0) & (offset > 0)
        return np.where(fine, offset / np.where(fine, along, 1.0), np.nan)

    def step_to(
        self, aims: Matrix, who: Numbers, expected: Vector | None = None
    ) -> tuple[Matrix, Vector | None, Mask]:
        """Return where the nearest ray through the aims of each row crosses the boundary, if nearer."""
        ledger, regions, at = self.ledger, self.ledger.regions, self.at
        rows, found = copied(self.row), np.zeros(len(at), dtype=bool)
        order = np.argsort(who, kind="stable")
        aims, who = choose(aims, order), who[order]
        pulled, fine = regions.pull_in(regions.with_numbers_of(aims, choose(self.row, who)), at[who])
        if not fine.all():
            pulled, who = choose(pulled, np.flatnonzero(fine)), who[fine]
        rays = rays_to(ledger, pulled, at[who])
        # Bring all of them to one distance, just short of where we stand.
        short = self.distance[who] * (1 - SETTINGS.descent.gain / 2)
        rays = rays_to(ledger, rays.all_rows(rays.shares(short)), at[who])
        names, group = np.unique(who, return_inverse=True)
        # Between two steps there is nothing to be found.
        tolerance = np.where(regions.moves_in_steps[at], SETTINGS.race.edge, self.tolerance)[who]
        if self.start_margin is None:
            near = None if expected is None else expected[who]
            crossings = race(rays, group, 1, tolerance, nearest=near, certain=False)
        else:
            pair, guess = (self.start_margin[rays.at], np.zeros(len(who))), self._guesses(rays, who)
            crossings = race(rays, group, 1, tolerance, margins=pair, guess=guess, certain=False)
        margins = None if self.start_margin is None else np.zeros(len(at))
        winners = names[crossings.group]
        put(rows, winners, crossings.rows)
        found[winners] = True
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
        cosine, answers = row_sums(ways.normal * normal, (normal != 0) * 1.0)
        ways.flat |= (answers == 0) | self._is_flat(ways, spots, answers)
        straight = (ways.weak == 0) & (cosine > 1 - settings.closely)
        fresh = ~ways.flat
        ways.straight = np.where(fresh, straight, ways.straight)
        ways.normal = namespace(normal).where(by_row(fresh, normal), normal, ways.normal)
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
        ways.look_at(np.flatnonzero(again), settings.next_look)
        going &= ~near
        step = np.flatnonzero(going)
        next_face, beyond = np.zeros(len(spots), dtype=bool), None
        if len(step):
            stepped = ways.take(step)
            faces, beyond = self._step(stepped, choose(foot, step), aim[step], other_face[step])
            ways.put(step, stepped)
            next_face[step[faces]] = True
        next_spots = copied(ways.row)
        if beyond is not None:
            put(next_spots, step[faces], beyond)
        few = self.ledger.regions.columns_moving[ways.at] <= SETTINGS.race.few_columns
        ways.stalled |= going & (ways.weak > np.where(few, 2, 1))
        left = np.flatnonzero((going | again) & ~ways.settled)
        return left, choose(next_spots, left), next_face[left]

    def _normals(self, ways: Ways, spots: Matrix, other_face: Mask) -> Matrix:
        """Return the normals as scores or labels show them; zeros where nothing moved that could tell."""
        ledger, at = self.ledger, ways.at
        regions, xp, there = ledger.regions, namespace(spots), like(at, spots)
        moved = xp.any(choose(regions.moves, there) & (spots != choose(regions.start, there)), axis=1)
        if not self.by_labels:
            margin, faces = ways.margin.copy(), np.flatnonzero(other_face)
            if len(faces):
                margin[faces] = ledger.ask(choose(spots, faces), at[faces]).margin
            width = SETTINGS.descent.near * ledger.distance(spots, at)
            slopes = score_slopes(ledger, spots, at, width, margin)
            return xp.where(moved[:, None], unit(slopes)[0], 0.0)
        many = regions.columns_moving[at]
        can_guess = (many > SETTINGS.race.few_columns) & ledger.metric.adds_squares & ~other_face
        guess = xp.where(by_row(can_guess, spots), ways.normal, 0.0)
        first = SETTINGS.descent.first_look
        look = (
            np.where(other_face, first.width, ways.width),
            np.where(other_face, first.steepest, ways.steepest),
            np.where(other_face, first.cells, ways.cells),
        )
        fine = np.flatnonzero(to_numpy(moved) & (many > 1))
        normals = xp.zeros_like(spots)
        if len(fine):
            how = look[0][fine], look[1][fine], look[2][fine]
            seen = label_normals(ledger, choose(spots, fine), at[fine], how, choose(guess, fine))
            put(normals, fine, unit(seen)[0])
        return normals

    def _is_flat(self, ways: Ways, spots: Matrix, answers: Vector) -> Mask:
        """Tell where scores ignore small steps in most columns but not large ones, as those of trees do."""
        flat = np.zeros(len(spots), dtype=bool)
        if self.by_labels:
            return flat
        ledger, columns = self.ledger, self.ledger.regions.columns_moving[ways.at]
        doubtful = np.flatnonzero((columns >= 4) & (2 * answers < columns) & (answers > 0))
        if len(doubtful):
            rows, at = choose(spots, doubtful), ways.at[doubtful]
            broad = score_slopes(ledger, rows, at, SETTINGS.descent.aside[-1] * ledger.distance(rows, at))
            flat[doubtful] = row_sums((broad != 0) * 1.0)[0] > 1.2 * answers[doubtful]
        return flat

    def _step(self, ways: Ways, foot: Matrix, aim: Vector, other_face: Mask) -> tuple[Numbers, Matrix]:
        """Step toward the foot of the plane, or an edge; return whose way another face is in, and where."""
        settings, gain = SETTINGS.descent, SETTINGS.descent.gain
        plain = np.flatnonzero(~other_face)
        fan = np.array(settings.fan)
        aims = [between(choose(ways.row, plain), choose(foot, plain), fan)]
        who = [np.repeat(plain, len(fan))]
        if self.ledger.metric.adds_squares:
            several = np.flatnonzero(ways.planes > 1)
            if len(several):
                planes = ways.take(several)
                edge, is_edge = edges(self.ledger, planes.at, planes.points, planes.normals, planes.planes)
                there = np.flatnonzero(is_edge)
                shares = np.array(settings.fan)
                aims.append(between(choose(planes.row, there), choose(edge, there), shares))
                who.append(np.repeat(several[there], len(shares)))
        stepper = Stepper(
            self.ledger,
            ways.row,
            ways.at,
            ways.distance,
            self.tolerance,
            self.start_margin,
            plane=(ways.points[:, -1], ways.normals[:, -1]),
        )
        all_aims = aims[0] if len(aims) == 1 else namespace(foot).concat(aims)
        row, margin, found = stepper.step_to(all_aims, np.concatenate(who), 0.97 * aim)
        self._look_on(ways)
        distance = self.ledger.distance(row, ways.at)
        found &= distance < ways.distance
        ways.weak += ~found | (distance > ways.distance * (1 - gain))
        nearer = np.flatnonzero(found)
        put(ways.row, nearer, choose(row, nearer))
        ways.distance[nearer] = distance[nearer]
        if margin is not None:
            ways.margin[nearer] = margin[nearer]
        ways.width[~found] *= 0.3
        return self._beyond(ways, np.flatnonzero(~found & (ways.weak == 1)), foot)

    def _look_on(self, ways: Ways) -> None:
        """Look nearer next, around a guess for slopes that differ little from the last plane's."""
        many = self.ledger.regions.columns_moving[ways.at] > SETTINGS.race.few_columns
        guessed = many & self.ledger.metric.adds_squares
        ways.width = np.where(guessed, np.maximum(0.01, 0.5 * ways.width), ways.width)
        least, less = np.where(guessed, 0.12, 0.3), np.where(guessed, 0.25, 0.5)
        ways.steepest = np.maximum(least, less * ways.steepest)
        ways.cells = np.where(guessed, SETTINGS.descent.next_look.cells, SETTINGS.steps.look.cells)

    def _beyond(self, ways: Ways, blocked: Numbers, foot: Matrix) -> tuple[Numbers, Matrix]:
        """Return where a ray a little toward the foot crosses the boundary farther out, and on whose way."""
        ledger, settings = self.ledger, SETTINGS.descent
        if not len(blocked):
            return blocked, foot[:0]
        aside = np.array(settings.aside)
        who = np.repeat(blocked, len(aside))
        toward = between(choose(ways.row, blocked), choose(foot, blocked), aside)
        rays = rays_to(ledger, toward, ways.at[who])
        ends = rays.all_rows(rays.shares(settings.close * ways.distance[who]))
        hits = np.flatnonzero(ledger.ask(ends, ways.at[who]).reached)
        # The one farthest aside.
        last = hits[first_of_each(who[hits], -hits.astype(float))]
        if not len(last):
            return last, foot[:0]
        rays = rays_to(ledger, choose(ends, last), ways.at[who[last]])
        near = (1 - settings.gain) * ways.distance[who[last]]
        crossings = race(rays, np.arange(len(last)), 1, self.tolerance, nearest=near)
        return who[last[crossings.group]], crossings.rows


def _remember(ways: Ways, spots: Matrix, normal: Matrix, fresh: Mask) -> None:
    """Keep the planes of the last looks, the latest last."""
    xp, kept = namespace(normal), by_row(fresh, normal)[:, None]
    for name, latest in (("points", spots), ("normals", normal)):
        before = getattr(ways, name)
        setattr(ways, name, xp.where(kept, xp.concat([before[:, 1:], latest[:, None]], axis=1), before))
    ways.planes = np.where(fresh, np.minimum(ways.planes + 1, _PLANES), ways.planes)


def between(row: Matrix, aim: Matrix, shares: Vector) -> Matrix:
    """Return rows on the way from some rows to others, at these shares of each."""
    found = row[:, None] + like(shares, row)[None, :, None] * (aim - row)[:, None]
    return namespace(row).reshape(found, (-1, row.shape[1]))

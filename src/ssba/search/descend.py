"""Down the boundary: step toward its normal, again and again, while the distance to the query shrinks."""

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import Array, choose, like, marked, namespace, to_numpy
from ssba.boundary.bisection import Asking
from ssba.search.archive import Archive
from ssba.search.normals import NEAR, Look, broad_score_normal, foot, label_normal, movable, score_normal
from ssba.search.rays import FEW_COLUMNS, race, rays_to

# How far toward the foot of the plane to go: less than all of it where the boundary bends away.
_FAN = np.array([0.3, 0.7, 1.0])
FIRST_LOOK = Look(width=0.05, steepest=2.0, halvings=5)
QUICK_LOOK = Look(width=0.05, steepest=1.6, halvings=3)
_NEXT_LOOK = Look(width=0.05, steepest=0.6, halvings=3)
_LAST_LOOK = Look(width=0.02, steepest=0.3, halvings=3)
# Scores of trees that do not answer to the first answer to this one.
_TREE_STEP = 0.2
# Where a face that is in the way is looked for: how far aside, and how much farther out.
_ASIDE, _FARTHER = np.array([0.02, 0.06, 0.2]), 1.3
# Normals whose angle has this cosine or more are those of a plane.
_STRAIGHT = 0.9999
# An edge is where the planes of the last few looks meet.
_PLANES = 3
# A crossing is located within this share of its distance: labels need it more exactly for the next look.
TIGHT, ROUGHLY = 4e-4, 5e-3


@dataclass(frozen=True)
class Descent:
    """Where a descent stands: a row on the boundary's target side, and what is known about it.

    `optimal`: the boundary there is at a right angle to the way from the query, so that no small step
    helps. `stalled`: steps that should have helped did not. `flat`: scores do not change around the row,
    as those of trees do not. `straight`: the boundary has had one and the same normal on all of the way.
    `normal` is the last one seen, in scaled units, `look` how closely to look next; None before the first.
    """

    row: Array
    distance: float
    optimal: bool = False
    stalled: bool = False
    flat: bool = False
    straight: bool = False
    normal: Array = None
    look: Look | None = None

    @property
    def settled(self) -> bool:
        """Whether going on would be of no use."""
        return self.optimal or self.stalled or self.flat


@dataclass(frozen=True)
class Pace:
    """How a descent goes: for how many rounds, while each gains this share, and how it sees the boundary.

    `start_margin` is the score at the start; None where there are labels only. A descent is left where
    the foot of its plane, which is where a step might end, lies beyond the `ceiling`.
    """

    rounds: int
    gain: float
    start_margin: float | None
    ceiling: float = np.inf
    first_look: Look = FIRST_LOOK

    @property
    def by_labels(self) -> bool:
        """Whether there are no scores to follow."""
        return self.start_margin is None

    @property
    def tolerance(self) -> float:
        """How exactly crossings are located."""
        return TIGHT if self.by_labels else ROUGHLY


@dataclass(frozen=True)
class _Plane:
    row: Array
    normal: Array


def standing(archive: Archive, row: Array) -> Descent:
    """Return a descent that begins at a row."""
    return Descent(row, float(archive.metric.distance(row[None, :], archive.region.x)[0]))


def descend(archive: Archive, begin: Descent, pace: Pace) -> Asking[Descent]:
    """Follow the boundary from a row toward the query, until rounds gain too little.

    Where no step toward the foot of the plane helps, another face of the boundary is in the way: it is
    looked at next, where a ray toward the foot crosses it, so that both planes show their edge.
    """
    now, weak, is_other_face = begin, 0, False
    look = begin.look
    at, planes = begin.row, list[_Plane]()
    for _ in range(pace.rounds):
        columns = _columns(archive, at, pace.by_labels)
        guess = now.normal if _can_guess(archive, columns) and not is_other_face else None
        look = look or (pace.first_look if guess is None else _NEXT_LOOK)
        seen = FIRST_LOOK if is_other_face else look
        normal = yield from _normal(archive, at, columns, pace, seen, guess)
        if not marked(normal != 0) or (yield from _is_flat(archive, at, normal, columns, pace)):
            return replace(now, flat=True)
        straight = bool(planes) and not weak and _cosine(planes[-1].normal, normal) > _STRAIGHT
        now = replace(now, straight=straight, normal=normal)
        planes = [*planes, _Plane(at, normal)][-_PLANES:]
        nearest = foot(archive.region, at, normal, columns, archive.metric.norm)
        aim = standing(archive, nearest).distance
        if aim > pace.ceiling:
            return now
        if not is_other_face and aim > now.distance * (1 - pace.gain / 4):
            if not pace.by_labels or weak:
                return replace(now, optimal=True)
            weak, look = weak + 1, _LAST_LOOK
            continue
        aims = _edge(archive, planes, now.row)
        if not is_other_face:
            aims = namespace(aims).concat([_fan(now.row, nearest, _FAN), aims])
        row = yield from step_to(archive, now, aims, pace, expected=0.97 * aim)
        look = _following(look, _can_guess(archive, columns))
        at, is_other_face = now.row, False
        if row is None:
            weak, look = weak + 1, replace(look, width=0.3 * look.width)
            beyond = (yield from _beyond(archive, now, nearest, pace)) if weak == 1 else None
            at, is_other_face = (now.row, False) if beyond is None else (beyond, True)
        else:
            nearer = standing(archive, row)
            weak += nearer.distance > now.distance * (1 - pace.gain)
            now = replace(nearer, straight=now.straight, normal=normal, look=look)
            at = now.row
        # With few columns, rounds are cheap, and one more of them often finds an edge.
        if weak > (1 if len(columns) > FEW_COLUMNS else 2):
            return replace(now, stalled=True)
    return now


def _can_guess(archive: Archive, columns: list[int]) -> bool:
    """Tell whether the last plane's normal is a good guess at the next one.

    With few columns an edge is never far, and looking closely costs little. In L1 the way down leads from
    edge to edge.
    """
    return len(columns) > FEW_COLUMNS and archive.metric.norm == "l2"


def _following(look: Look, guessed: bool) -> Look:
    """Return the next look: around a guess nearer, for slopes that differ little from the last plane's."""
    if not guessed:
        return replace(look, halvings=4, steepest=max(0.3, 0.5 * look.steepest))
    return replace(
        look, width=max(0.01, 0.5 * look.width), halvings=3, steepest=max(0.15, 0.3 * look.steepest)
    )


def _beyond(archive: Archive, now: Descent, nearest: Array, pace: Pace) -> Asking[Array | None]:
    """Return where a ray a little toward the foot crosses the boundary farther out, if any does."""
    region, metric = archive.region, archive.metric
    rays = rays_to(region, metric, _fan(now.row, nearest, _ASIDE))
    ends = rays.at(np.arange(len(_ASIDE)), rays.shares(_FARTHER * now.distance))
    reply = yield ends
    hits = marked(reply.reached)
    if not hits:
        return None
    rays = rays_to(region, metric, choose(ends, hits[-1:]))
    crossings = yield from race(rays, 1, pace.tolerance, nearest=(1 - pace.gain) * now.distance)
    return crossings.rows[0, :]


def step_to(
    archive: Archive, now: Descent, aims: Array, pace: Pace, expected: float = 0.0
) -> Asking[Array | None]:
    """Return where the nearest of the rays through some rows crosses the boundary; None if no nearer."""
    region, metric = archive.region, archive.metric
    pulled, fine = region.pull_in(namespace(aims).where(region.discrete, now.row, aims))
    rays = rays_to(region, metric, pulled[fine])
    # Bring all of them to one distance, just short of where we stand.
    ends = rays.at(np.arange(len(rays.a)), rays.shares(now.distance * (1 - pace.gain / 2)))
    if not ends.shape[0]:
        return None
    reply = yield ends
    fine = reply.reached & region.contains(ends)
    if not marked(fine):
        return None
    rays = rays_to(region, metric, ends[fine])
    if pace.start_margin is None or reply.margin is None:
        crossings = yield from race(rays, 1, pace.tolerance, nearest=expected)
    else:
        crossings = yield from race(
            rays, 1, pace.tolerance, (pace.start_margin, to_numpy(reply.margin[fine]))
        )
    return crossings.rows[0, :]


def _fan(z: Array, nearest: Array, shares: NDArray[np.float64]) -> Array:
    return z + like(shares, z)[:, None] * (nearest - z)


def broad_step(archive: Archive, row: Array, width: float, start_margin: float | None) -> Asking[Array]:
    """Step from a row toward a normal taken over a broad neighbourhood; the row itself where that fails."""
    region, now = archive.region, standing(archive, row)
    columns = movable(region, row)
    if len(columns) < 2 or not set(marked(row != region.start)) & set(columns):
        return row
    if start_margin is not None:
        normal = yield from broad_score_normal(region, row, columns, width * now.distance)
    else:
        normal = yield from label_normal(region, row, columns, Look(width, steepest=1.5, halvings=4))
    if not marked(normal != 0):
        return row
    nearest = foot(region, row, normal, columns, archive.metric.norm)
    aims = _fan(row, nearest, np.array([0.15, 0.3, 0.6, 1.0, 1.5]))
    nearer = yield from step_to(archive, now, aims, Pace(1, 2e-3, None))
    return row if nearer is None else nearer


def _columns(archive: Archive, z: Array, by_labels: bool) -> list[int]:
    """Return the columns to look at; labels are looked at along tangents, which must not leave the bounds."""
    region = archive.region
    columns = movable(region, z)
    if not by_labels:
        return columns
    outward = ((z <= region.lower) & (z < region.start)) | ((z >= region.upper) & (z > region.start))
    held = set(marked(outward))
    inner = [j for j in columns if j not in held]
    return inner if len(inner) > 1 else columns


def _normal(
    archive: Archive,
    row: Array,
    columns: list[int],
    pace: Pace,
    look: Look,
    guess: Array | None,
) -> Asking[Array]:
    """Return the normal as scores or labels show it; zeros where nothing moved that could tell."""
    region, distance = archive.region, standing(archive, row).distance
    if not set(marked(row != region.start)) & set(columns):
        return namespace(row).zeros_like(row)
    if not pace.by_labels:
        return (yield from score_normal(region, row, columns, NEAR * distance))
    if len(columns) < 2:
        return namespace(row).zeros_like(row)
    return (yield from label_normal(region, row, columns, look, guess))


def _is_flat(archive: Archive, row: Array, normal: Array, columns: list[int], pace: Pace) -> Asking[bool]:
    """Tell whether scores ignore small steps in most columns but not large ones, as those of trees do."""
    answers = len(marked(normal != 0))
    if pace.by_labels or len(columns) < 4 or 2 * answers >= len(columns):
        return False
    distance = standing(archive, row).distance
    broad = yield from broad_score_normal(archive.region, row, columns, _TREE_STEP * distance)
    return len(marked(broad != 0)) > 1.2 * answers


def _cosine(one: Array, other: Array) -> float:
    xp = namespace(one)
    lengths = float(xp.sum(one * one)) * float(xp.sum(other * other))
    return float(xp.sum(one * other)) / math.sqrt(lengths)


def _edge(archive: Archive, planes: list[_Plane], z: Array) -> Array:
    """Return rows toward where the last planes meet, nearest to the query beyond all of them.

    Where two faces of the boundary meet in an edge, each look sees one of them and its foot lies beyond
    the other; their planes together show the edge. No rows where one plane alone decides.
    """
    region = archive.region
    nearest = None
    if len(planes) > 1 and region.linear is None and archive.metric.norm == "l2":
        home = np.nan_to_num(to_numpy(region.x))
        scale = to_numpy(region.scale)
        normals = np.stack([to_numpy(one.normal) for one in planes])
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        at = np.stack([np.nan_to_num((to_numpy(one.row) - home) / scale) for one in planes])
        nearest = _nearest_beyond(normals, (normals * at).sum(axis=1))
    if nearest is None:
        return z[None, :][:0, :]
    moves = like(normals.any(axis=0), z)
    edge = namespace(z).where(moves, like(home + nearest * scale, z), z)
    return _fan(z, edge, np.array([0.5, 1.0]))


def _nearest_beyond(normals: NDArray[np.float64], offsets: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return the shortest u with ``normals @ u >= offsets`` where it lies on two or more of the planes."""
    found = []
    for size in range(2, len(normals) + 1):
        for chosen in itertools.combinations(range(len(normals)), size):
            some = normals[list(chosen)]
            # Almost parallel planes have no edge worth looking at: the smallest pivot keeps this solvable.
            weights = np.linalg.solve(some @ some.T + 1e-9 * np.eye(size), offsets[list(chosen)])
            u = weights @ some
            if (weights >= 0).all() and (normals @ u >= offsets - 1e-6 * np.abs(offsets)).all():
                found.append(u)
    return min(found, key=lambda u: float(u @ u), default=None)

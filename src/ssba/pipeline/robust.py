"""Answers with a ball around them that reaches the target, too: found ones are pushed from the boundary."""

import numpy as np

from ssba.boundary.bisection import Asking
from ssba.columns.space import Matrix
from ssba.constraints.regions.region import Region
from ssba.engine import Engine
from ssba.models.targets import Reply
from ssba.pipeline.asking import goal_reply, verdicts
from ssba.pipeline.case import Case, Limits, Vector
from ssba.pipeline.metering import asking, tried
from ssba.search.archive import Archive
from ssba.search.few import changed_cells
from ssba.search.pick import pick_order
from ssba.search.robust import normal_from_labels

# How far answers are pushed, in radii; the boundary may bend, and bounds may stand in the way.
_PUSHES = (0.0, 1.02, 1.2, 1.5, 2.0, 3.0, 5.0)
# Between the last push that fails and the first that holds, so many more are tried.
_HALVINGS = 3
# Pushed this much further, an answer stands in where the last check refuses it.
_FURTHER = (0.02, 0.1, 0.3)
_SPARE_ANSWERS = 3
# Rows asked around an answer to learn which way the boundary lies, for each column and beside that.
_ROWS_A_COLUMN, _ROWS_BESIDE = 4, 40
_SALT = 211


def ball_rows(engine: Engine, case: Case, z: Vector, seed: int) -> Matrix:
    """Return the rows by which the ball around `z` is checked."""
    assert case.request.radius is not None
    return engine.surface.check_rows(z, case.x, case.request.radius, seed)


def ball_holds(engine: Engine, case: Case, z: Vector) -> bool:
    """Ask the model itself about the ball around a row, with directions that no search has seen."""
    rows = ball_rows(engine, case, z, engine.seed + _SALT)
    case.verified_rows += len(rows)
    return all(bool(goal_reply(engine, case, one).reached[0]) for one in verdicts(engine, rows, case.x))


def make_room(engine: Engine, case: Case, limits: Limits) -> Asking[None]:
    """Push the best answers away from the boundary until the ball around them reaches the target."""
    if case.request.radius is None or not case.has_hits:
        return
    request, rows = case.request, case.hits
    order, _ = pick_order(
        rows,
        case.x,
        engine.metric,
        request.k + _SPARE_ANSWERS,
        0,
        diversity=request.diversity,
        price=request.price,
    )
    with_room = 0
    for row in rows[order]:
        if with_room == request.k or limits.rows <= case.rows_asked or limits.is_over():
            return
        with_room += yield from _push_out(engine, case, row, limits)


def _push_out(engine: Engine, case: Case, row: Vector, limits: Limits) -> Asking[bool]:
    """Push one row the ways out; tell whether that gave it room.

    Whatever held is kept, so that a larger budget only adds to it.
    """
    region = next(one for one in case.regions if one.contains(row[None, :])[0])
    ways = yield from _ways_out(engine, case, region, row, limits)
    best: tuple[float, Vector, float] | None = None
    for way in ways:
        least = yield from _least_push(engine, case, region, (row, way), limits)
        if case.was_stopped:
            return False
        if least is not None:
            pushed = _pushed(engine, case, region, (row, way), least)
            length = float(engine.metric.distance(pushed[None, :], case.x)[0])
            if best is None or length < best[0]:
                best = (length, way, least)
    if best is None:
        return False
    _, way, least = best
    case.roomy += [_pushed(engine, case, region, (row, way), least + more) for more in _FURTHER]
    return True


def _pushed(engine: Engine, case: Case, region: Region, course: tuple[Vector, Vector], push: float) -> Vector:
    """Return the row moved so many radii on its course, and pulled back into the region."""
    assert case.request.radius is not None
    row, way = course
    moved = row + way * push * case.request.radius * engine.metric.scale / engine.metric.weight
    return np.asarray(region.pull_in(np.where(region.held, row, moved)[None, :])[0][0])


def _ways_out(
    engine: Engine, case: Case, region: Region, row: Vector, limits: Limits
) -> Asking[list[Vector]]:
    """Return ways from the boundary: along its normal, as rows around tell it, and away from the query."""
    assert case.request.radius is not None
    surface = engine.surface
    count = _ROWS_BESIDE + _ROWS_A_COLUMN * int(surface.movable.sum())
    directions = surface.directions(count, np.random.default_rng([engine.seed, _SALT]))
    around = surface.rows(row, directions, case.request.radius)
    reply = yield from _asked_freely(engine, case, region, around, limits)
    ways = [-one for one in surface.toward(row, case.x)]
    if reply is not None:
        normal = normal_from_labels(directions, reply.reached)
        if case.request.wants_few:
            # Columns that the answer leaves alone are left alone.
            normal = np.where(changed_cells(row[None, :], case.x)[0], normal, 0.0)
        ways += [normal] if normal.any() else []
    return ways


def _asked_freely(
    engine: Engine, case: Case, region: Region, rows: Matrix, limits: Limits
) -> Asking[Reply | None]:
    """Ask whether rows reach the goal, whatever else the request says; they are no answers."""
    archive = Archive(region, engine.metric)
    case.scouts.append(archive)
    case.scouting = True
    reply = yield from tried(case, asking(rows), archive, len(rows), limits)
    case.scouting = False
    return reply


def _least_push(
    engine: Engine, case: Case, region: Region, course: tuple[Vector, Vector], limits: Limits
) -> Asking[float | None]:
    """Return how many radii the row must be pushed at least; None where no push will do."""
    failed = 0.0
    for push in _PUSHES:
        holds = yield from _holds(engine, case, region, _pushed(engine, case, region, course, push), limits)
        if holds is None:
            return None
        if holds:
            break
        failed = push
    else:
        return None
    for _ in range(_HALVINGS if push > 0 else 0):
        middle = 0.5 * (failed + push)
        tighter = _pushed(engine, case, region, course, middle)
        holds = yield from _holds(engine, case, region, tighter, limits)
        if holds is None:
            return push
        failed, push = (failed, middle) if holds else (middle, push)
    return push


def _holds(engine: Engine, case: Case, region: Region, z: Vector, limits: Limits) -> Asking[bool | None]:
    """Tell whether a row is an answer and the ball around it holds; None where the budget ends."""
    archive = Archive(region, engine.metric)
    case.archives.append(archive)
    reply = yield from tried(case, asking(z[None, :]), archive, 1, limits)
    if reply is None:
        return None
    if not archive.has_found:
        return False
    around = yield from _asked_freely(engine, case, region, ball_rows(engine, case, z, engine.seed), limits)
    if around is not None and around.reached.all():
        case.roomy.append(z)
    return None if around is None else bool(around.reached.all())

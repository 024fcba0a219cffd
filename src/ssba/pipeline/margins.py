"""Answers with a ball around them that reaches the target, too: found ones are pushed from the boundary."""

import numpy as np

from ssba.boundary.bisection import Asking
from ssba.columns.distance import changed_cells
from ssba.columns.space import Matrix
from ssba.constraints.regions.region import Region
from ssba.pipeline.asking import asked, goal_reply, verdicts
from ssba.pipeline.state import QueryState, Vector
from ssba.search.exhaust import legal_rows_within
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
# No more legal rows than this, nearer than an answer with room, are asked about; and around so many of those
# that reach at a time.
_FEW_ROWS, _ROWS_AT_ONCE = 2000, 16
_SALT = 211


def ball_rows(state: QueryState, z: Vector, seed: int) -> Matrix:
    """Return the rows by which the ball around `z` is checked."""
    assert state.options.radius is not None
    return state.engine.surface.check_rows(z, state.x, state.options.radius, seed)


def ball_holds(state: QueryState, z: Vector) -> bool:
    """Ask the model itself about the ball around a row, with directions that no search has seen."""
    rows = ball_rows(state, z, state.engine.seed + _SALT)
    state.spent.verified_rows += len(rows)
    return bool(goal_reply(state, verdicts(state.engine.judging, rows, state.x)).reached.all())


def push_off_boundary(state: QueryState) -> Asking[None]:
    """Push the best answers away from the boundary until the ball around them reaches the target."""
    if not state.found.has_hits:
        return
    options, rows = state.options, state.found.hits
    order, _ = pick_order(
        rows,
        state.x,
        state.engine.metric,
        options.k + _SPARE_ANSWERS,
        0,
        diversity=options.diversity,
        price=options.price,
    )
    with_room = 0
    for row in rows[order]:
        if with_room == options.k or not state.may_go_on:
            return
        with_room += yield from _push_out(state, row)


def find_room_nearer(state: QueryState) -> Asking[None]:
    """Where few legal rows are nearer than answers with room, and spares for them, look around each of those.

    To push an answer out is too coarse where whole numbers and levels move.
    """
    found, options = state.found, state.options
    if not state.query.is_countable or not found.has_hits:
        return
    known, wanted = found.robust_rows, options.k + _SPARE_ANSWERS
    far = np.sort(state.distance(np.unique(known, axis=0))) if known else np.empty(0)
    nearest = float(far[wanted - 1]) if len(far) >= wanted else np.inf
    for archive in state.region_archives:
        region, metric = archive.region, state.engine.metric
        rows = legal_rows_within(region, metric, nearest, _FEW_ROWS, options.max_changes)
        reply = None if rows is None else (yield from asked(state, rows, archive))
        if rows is not None and reply is not None:
            yield from _keep_those_with_room(state, region, rows[reply.reached], wanted)


def _keep_those_with_room(state: QueryState, region: Region, rows: Matrix, wanted: int) -> Asking[None]:
    """Keep the first rows around which the ball holds; on a grid it holds the same rows around neighbours."""
    scout = state.new_archive(region, state.found.scouts)
    for begin in range(0, len(rows), _ROWS_AT_ONCE):
        some = rows[begin : begin + _ROWS_AT_ONCE]
        around = [ball_rows(state, z, state.engine.seed) for z in some]
        reply = yield from asked(state, np.concatenate(around), scout, freely=True)
        if reply is None:
            return
        holds = np.split(reply.reached, np.cumsum([len(one) for one in around])[:-1])
        with_room = [z for z, reached in zip(some, holds, strict=True) if reached.all()]
        state.found.robust_rows += with_room
        wanted -= len(with_room)
        if wanted <= 0:
            return


def _push_out(state: QueryState, row: Vector) -> Asking[bool]:
    """Push one row the ways out; tell whether that gave it room.

    Whatever held is kept, so that a larger budget only adds to it.
    """
    region = state.query.region_of(row)
    ways = yield from _ways_out(state, region, row)
    if not ways:
        # Without numbers there is nowhere to push it: it has room as it is, or not.
        return bool((yield from _holds(state, region, row)))
    best: tuple[float, Vector, float] | None = None
    for way in ways:
        least = yield from _least_push(state, region, (row, way))
        if state.was_stopped:
            return False
        if least is not None:
            pushed = _pushed(state, region, (row, way), least)
            length = float(state.distance(pushed[None, :])[0])
            if best is None or length < best[0]:
                best = (length, way, least)
    if best is None:
        return False
    _, way, least = best
    state.found.robust_rows += [_pushed(state, region, (row, way), least + more) for more in _FURTHER]
    return True


def _pushed(state: QueryState, region: Region, course: tuple[Vector, Vector], push: float) -> Vector:
    """Return the row moved so many radii on its course, and pulled back into the region."""
    assert state.options.radius is not None
    row, way = course
    moved = row + way * push * state.options.radius * state.engine.metric.scale / state.engine.metric.weight
    return np.asarray(region.pull_in(np.where(region.held, row, moved)[None, :])[0][0])


def _ways_out(state: QueryState, region: Region, row: Vector) -> Asking[list[Vector]]:
    """Return ways from the boundary: along its normal, as rows around tell it, and away from the query."""
    assert state.options.radius is not None
    surface = state.engine.surface
    count = _ROWS_BESIDE + _ROWS_A_COLUMN * int(surface.movable.sum())
    directions = surface.directions(count, np.random.default_rng([state.engine.seed, _SALT]))
    around = surface.rows(row, directions, state.options.radius)
    reply = yield from asked(state, around, state.new_archive(region, state.found.scouts), freely=True)
    ways = [-one for one in surface.toward(row, state.x)]
    if reply is not None:
        normal = normal_from_labels(directions, reply.reached)
        if state.options.wants_few:
            # Columns that the answer leaves alone are left alone.
            normal = np.where(changed_cells(row[None, :], state.x)[0], normal, 0.0)
        ways += [normal] if normal.any() else []
    return ways


def _least_push(state: QueryState, region: Region, course: tuple[Vector, Vector]) -> Asking[float | None]:
    """Return how many radii the row must be pushed at least; None where no push will do."""
    failed = 0.0
    for push in _PUSHES:
        holds = yield from _holds(state, region, _pushed(state, region, course, push))
        if holds is None:
            return None
        if holds:
            break
        failed = push
    else:
        return None
    for _ in range(_HALVINGS if push > 0 else 0):
        middle = 0.5 * (failed + push)
        tighter = _pushed(state, region, course, middle)
        holds = yield from _holds(state, region, tighter)
        if holds is None:
            return push
        failed, push = (failed, middle) if holds else (middle, push)
    return push


def _holds(state: QueryState, region: Region, z: Vector) -> Asking[bool | None]:
    """Tell whether a row is an answer and the ball around it holds; None where the budget ends."""
    archive = state.new_archive(region)
    reply = yield from asked(state, z[None, :], archive)
    if reply is None:
        return None
    if not archive.has_found:
        return False
    # Around an answer only the goal counts, and rows there are no answers.
    rows, scout = ball_rows(state, z, state.engine.seed), state.new_archive(region, state.found.scouts)
    around = yield from asked(state, rows, scout, freely=True)
    if around is not None and around.reached.all():
        state.found.robust_rows.append(z)
    return None if around is None else bool(around.reached.all())

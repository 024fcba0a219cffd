"""The nearest row where it is known otherwise: planes and linear rules over continuous columns.

The rows that reach the target are one or several convex pieces; the distance to each is a least-distance
problem (Lawson and Hanson's, by non-negative least squares) for L2 and a linear program for L1.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.optimize import linprog, nnls
from tests.generated.clauses import Between, Changes, Linear, Within
from tests.generated.columns import Mask, Matrix
from tests.generated.functions import Function, HalfSpaces
from tests.generated.rules import Rule
from tests.generated.truth import Truth
from tests.generated.worlds import World

Condition = tuple[Matrix, float, bool]
"""``row @ z >= number``, and whether it is one side of an equality."""
Rows = list[Condition]

# Of the size of a condition: how much room for rounding it may be met with.
_ROOM = 1e-9


def optimum(truth: Truth) -> tuple[float, float] | None:
    """Return between which distances the nearest row that reaches the target lies; None if not known.

    Infinite where no row does. The two differ by what rounding may do to conditions: the lower one lets rows
    miss them by a trifle, at the upper one there is a row that surely meets them.
    """
    world = truth.world
    if np.isnan(world.query).any() or truth.stretches:
        return None
    free = (
        np.array([truth.box[0][j] < truth.box[1][j] for j in range(len(world.columns))]) & ~truth.is_constant
    )
    if any(one.is_stepped or one.is_single for one, moves in zip(world.columns, free, strict=True) if moves):
        return None
    rules, pieces = _rule_rows(world), _pieces(world)
    if rules is None or pieces is None or not free.any():
        return None
    box = _box_rows(truth)
    if math.isinf(_distance(truth, free, [*rules, *box], _ROOM)):
        # Relations that no row within the ranges meets let columns go farther than these.
        return None
    found = []
    for room in (-_ROOM, _ROOM):
        conditions = [[*piece, *rules, *box] for piece in pieces]
        found.append(min((_distance(truth, free, one, room) for one in conditions), default=math.inf))
    return found[0], found[1]


def _unit(j: int, width: int, factor: float = 1.0) -> Matrix:
    row = np.zeros(width)
    row[j] = factor
    return row


def _box_rows(truth: Truth) -> Rows:
    width, found = len(truth.world.columns), []
    for j in range(width):
        low, high = truth.box[0][j], truth.box[1][j]
        found += [(_unit(j, width), low, True)] if math.isfinite(low) else []
        found += [(_unit(j, width, -1.0), -high, True)] if math.isfinite(high) else []
    return found


def _rule_rows(world: World) -> Rows | None:
    """Return the rules as linear conditions; None where one is of another kind."""
    found: Rows = []
    for rule in world.rules:
        if rule.guard or rule.fill is not None:
            return None
        rows = _clause_rows(world, rule)
        if rows is None:
            return None
        found += rows
    return found


def _clause_rows(world: World, rule: Rule) -> Rows | None:
    found: Rows = []
    for clause in rule.clauses:
        if isinstance(clause, Between | Within | Changes):
            # What they ask of numbers is in the box; of levels nothing is known here.
            if clause.text.endswith(" changes") or not world.ground.column(clause.name).is_number:
                return None
            continue
        if not isinstance(clause, Linear) or clause.operator == "!=":
            return None
        right = clause.right_side(world.ground)
        places = [world.ground.place(name) for name in clause.names]
        row = np.zeros(len(world.columns))
        row[places] = [float(one) for one in clause.factors(places, world.ground)]
        assert right is not None
        is_equality = clause.operator == "=="
        if clause.operator in (">=", ">", "=="):
            found.append((row, float(right), is_equality))
        if clause.operator in ("<=", "<", "=="):
            found.append((-row, -float(right), is_equality))
    return found


def _pieces(world: World) -> list[Rows] | None:
    """Return the convex pieces of the rows that reach the target."""
    model = world.built
    if isinstance(model, Function):
        return _pieces_of_function(world, model)
    plane = _plane(world)
    if plane is None:
        return None
    row, shift = plane
    if world.target.kind == "number":
        ends = [(row, world.target.low - shift), (-row, shift - world.target.high)]
        return [[(one, end, False) for one, end in ends if math.isfinite(end)]]
    upward = _is_upward(world, tuple(np.asarray(model.classes_).tolist()))
    return None if upward is None else [[(row, -shift, False) if upward else (-row, shift, False)]]


def _pieces_of_function(world: World, model: Function) -> list[Rows] | None:
    if not isinstance(model.shape, HalfSpaces) or (
        model.mode == "number" and math.isfinite(world.target.high)
    ):
        return None
    upward = True if model.mode == "number" else _is_upward(world, model.classes)
    if upward is None:
        return None
    shift = world.target.low if model.mode == "number" else 0.0
    sign = 1.0 if upward else -1.0
    planes = zip(model.shape.weights, model.shape.thresholds, strict=True)
    rows: Rows = [(sign * np.array(own), sign * (threshold + shift), False) for own, threshold in planes]
    return [rows] if (model.shape.how == "all") == upward else [[row] for row in rows]


def _is_upward(world: World, classes: tuple[Any, ...]) -> bool | None:
    """Tell whether the second of two classes is wished for; None where the target is of another kind."""
    if len(classes) != 2 or world.target.kind not in ("class", "other"):
        return None
    if world.target.kind == "class":
        return bool(world.target.label == classes[1])
    return bool(world.judge.labels(world.query[None, :])[0] == classes[0])


def _plane(world: World) -> tuple[Matrix, float] | None:
    """Return weights and shift of a fitted model that is linear in its free columns, by asking it."""
    model = world.built
    ask = model.predict if world.target.kind == "number" else getattr(model, "decision_function", None)
    if world.family != "linear" or ask is None:
        return None
    moving = [j for j, one in enumerate(world.columns) if not one.is_stepped]
    units = np.maximum(np.nanstd(world.data, axis=0), 0.1)
    steps = np.zeros((len(moving) + 2, len(world.columns)))
    for i, j in enumerate(moving):
        steps[i, j] = units[j]
    steps[-2, moving] = units[moving] * np.linspace(0.5, 2.0, len(moving))
    answers = np.asarray(ask(world.judge.rows(world.query + steps)), dtype=float)
    if answers.ndim != 1:
        return None
    row = np.zeros(len(world.columns))
    row[moving] = (answers[: len(moving)] - answers[-1]) / units[moving]
    size = np.abs(answers).max()
    if abs(answers[-1] + row @ steps[-2] - answers[-2]) > 1e-9 * max(size, 1.0):
        return None
    return row, float(answers[-1] - row @ world.query)


def _distance(truth: Truth, free: Mask, conditions: Iterable[Condition], room: float) -> float:
    """Return the distance of the query to the rows that meet linear conditions."""
    x, unit = truth.world.query, (truth.scales / truth.weights)[free]
    rows, ends = [], []
    for row, number, is_equality in conditions:
        scaled = row[free] * unit
        size = max(float(np.abs(row * x).max()), abs(number), 1e-3)
        rows.append(scaled)
        # Equalities leave no room; they allow for some rounding themselves.
        slack = -0.1 * _ROOM if is_equality or not scaled.any() else room
        ends.append(number - float(row @ x) + slack * size)
    G, h = np.array(rows), np.array(ends)
    return _least_l2(G, h) if truth.world.measure.norm == "l2" else _least_l1(G, h)


def _least_l2(G: Matrix, h: Matrix) -> float:
    size = np.maximum(np.abs(G).max(axis=1), 1e-12)
    G, h = G / size[:, None], h / size
    solved, _ = nnls(np.vstack([G.T, h]), np.r_[np.zeros(G.shape[1]), 1.0], maxiter=1000)
    rest = np.vstack([G.T, h]) @ solved - np.r_[np.zeros(G.shape[1]), 1.0]
    if np.linalg.norm(rest) < 1e-9:
        return math.inf
    u = -rest[:-1] / rest[-1]
    return float(np.linalg.norm(u)) if (G @ u >= h - 1e-7 * (1 + np.abs(h))).all() else math.inf


def _least_l1(G: Matrix, h: Matrix) -> float:
    width = G.shape[1]
    solved = linprog(np.ones(2 * width), A_ub=-np.hstack([G, -G]), b_ub=-h, bounds=(0, None))
    return math.inf if solved.status != 0 or solved.fun is None else float(solved.fun)

"""Denser boundary points around a query (the paper's future work), from pairs of rows drawn there."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ssba.arrays import marked
from ssba.boundary.points import Sides
from ssba.columns.space import Matrix
from ssba.constraints.regions.region import Region
from ssba.engine import Engine
from ssba.models.targets import Goal, describe, resolve
from ssba.search.evidence import draw_nearer
from ssba.search.lanes import Draws
from ssba.search.regions import Regions

Method = Literal["ball", "gaussian"]

# Rows drawn at a time, until each side has this many, at most so often.
_DRAWN, _ENOUGH, _ROUNDS = 1024, 64, 8


@dataclass(frozen=True)
class Around:
    """Where rows are drawn: evenly from a ball around the query, or normally, as far out on average."""

    region: Region
    method: Method
    radius: float


def ends_around(engine: Engine, around: Around) -> tuple[Sides, int]:
    """Draw rows around the query until some lie on either side; return them, and how many were asked."""
    goal = _goal(engine, np.asarray(around.region.x))
    ask = engine.judging.asker(goal, engine.judging.oracle(), np.isnan(around.region.x))
    draw = _DRAW[around.method]
    leaving, reaching = [engine.background.rows[:0]], [engine.background.rows[:0]]
    asked = 0
    for number in range(_ROUNDS):
        rows = draw(engine, around, Draws((engine.seed, number)))
        if len(rows):
            reached = np.asarray(ask(rows).reached, dtype=bool)
            asked += len(rows)
            leaving.append(rows[~reached])
            reaching.append(rows[reached])
        if min(sum(map(len, leaving)), sum(map(len, reaching))) >= _ENOUGH:
            break
    return Sides(_different(leaving), _different(reaching), goal), asked


def one_side_sentence(engine: Engine, sides: Sides, around: Around) -> str:
    """Say that all rows drawn lie on one side, and what to do about it."""
    drawn, side = (sides.leaving, "misses") if len(sides.leaving) else (sides.reaching, "reaches")
    if not len(drawn):
        return f"no feasible row was found within {around.radius:.3g} of the query; try a larger radius"
    return (
        f"{engine.judging.model.name} {side} {describe(sides.goal)} on all {len(drawn):,} rows drawn within "
        f"{around.radius:.3g} of the query: there is no boundary between them; try a larger radius"
    )


def _goal(engine: Engine, x: Matrix) -> Goal:
    """Return the goal that a query has: without a target, to leave the class it is in."""
    labels = engine.judging.oracle().labels(x[None, :], np.isnan(x)).labels
    return resolve(engine.target, None if labels is None else labels[0])


def _different(rows: list[Matrix]) -> Matrix:
    return np.unique(np.concatenate(rows), axis=0)


def _in_ball(engine: Engine, around: Around, draws: Draws) -> Matrix:
    own = np.zeros(1, dtype=np.int64)
    regions, radius = Regions((around.region,), own), np.array([around.radius])
    return np.asarray(draw_nearer(regions, engine.metric, own, radius, own + _DRAWN, draws)[0])


def _normally(engine: Engine, around: Around, draws: Draws) -> Matrix:
    """Draw rows at the radius on average; a category changes as often as its distance suggests."""
    region, metric, rng = around.region, engine.metric, draws.generator
    free = np.asarray(region.free)
    spread = around.radius / np.sqrt(max(1, int((free & ~region.discrete).sum())))
    steps = rng.normal(size=(_DRAWN, len(free))) * spread * metric.scale / metric.weight
    rows = np.where(free & ~region.discrete, region.start + steps, region.start)
    for j in marked(free & region.discrete):
        others = [level for level in marked(region.allowed[j]) if level != region.start[j]]
        odds = len(others) * np.exp(-0.5 * (metric.weight[j] / around.radius) ** 2)
        changed = rng.random(_DRAWN) < odds / (1 + odds)
        rows[:, j] = np.where(changed, rng.choice(others, size=_DRAWN), rows[:, j])
    rows, fine = region.pull_in(rows)
    return np.asarray(rows[fine])


_DRAW: dict[Method, Callable[[Engine, Around, Draws], Matrix]] = {
    "ball": _in_ball,
    "gaussian": _normally,
}

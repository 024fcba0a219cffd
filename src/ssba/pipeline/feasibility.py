"""Which finished rows are allowed: the regions, the number of changes, and every constraint in user units."""

import itertools

import numpy as np
from numpy.typing import NDArray

from ssba.columns.distance import changed_cells
from ssba.columns.space import Matrix
from ssba.constraints.constraint import holds
from ssba.constraints.surely_holds import surely_hold
from ssba.pipeline.state import QueryState, States, Vector
from ssba.search.ledger import rank_within
from ssba.search.regions import Regions

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]


def is_feasible(state: QueryState, z: Vector) -> bool:
    """Check a finished row against every constraint in user units, and against the declared columns."""
    return bool(are_feasible([state], np.zeros(1, dtype=np.int64), z[None, :])[0])


def are_feasible(states: States, of: Numbers, rows: Matrix) -> Mask:
    """Check finished rows, each with the number of its query, as `is_feasible` checks one."""
    if not len(rows):
        return np.zeros(0, dtype=bool)
    x = np.stack([state.x for state in states])
    most = np.array([np.inf if (m := state.options.max_changes) is None else m for state in states])
    few = changed_cells(rows, x[of]).sum(axis=1) <= most[of]
    allowed = lie_inside(states, of, rows) & few
    unsure = np.flatnonzero(allowed & ~surely_meet(states, of, rows))
    allowed[unsure] = [meets_constraints(states[int(of[i])], rows[i]) for i in unsure.tolist()]
    return np.asarray(allowed)


def lie_inside(states: States, of: Numbers, rows: Matrix) -> Mask:
    """Tell which rows lie in one of the regions of their query."""
    parts = [state.query.regions for state in states]
    count = np.array([len(own) for own in parts])
    if not count.any():
        return np.zeros(len(rows), dtype=bool)
    first = np.cumsum(count) - count
    regions = Regions(tuple(itertools.chain(*parts)), np.repeat(np.arange(len(parts)), count))
    # Every row is held against each region of its query.
    number = np.repeat(np.arange(len(rows)), count[of])
    inside = regions.contains(rows[number], first[of[number]] + rank_within(number))
    return np.asarray(np.bincount(number[inside], minlength=len(rows)) > 0)


def surely_meet(states: States, of: Numbers, rows: Matrix) -> Mask:
    """Tell which rows meet all constraints for certain; rows that share constraints are checked at once."""
    sure = np.zeros(len(rows), dtype=bool)
    lists = {id(state.query.constraints): state.query.constraints for state in states}
    own = np.array([id(state.query.constraints) for state in states])[of]
    x, features = np.stack([state.x for state in states]), states[0].engine.space.features
    for name, constraints in lists.items():
        some = np.flatnonzero(own == name)
        sure[some] = surely_hold(constraints, x[of[some]], rows[some], features)
    return sure


def meets_constraints(state: QueryState, z: Vector) -> bool:
    """Check a finished row against every constraint in user units."""
    space = state.engine.space
    query, row = space.rows_values(np.stack([state.x, z]))
    return all(holds(one, query, row, space.by_name) for one in state.query.constraints)

"""Changes of bounded moves that bring them no nearer to the target are taken back."""

from collections.abc import Mapping, Sequence

import numpy as np

from ssba.columns.distance import changed_cells
from ssba.pipeline.asking import goal_reply, verdicts
from ssba.pipeline.bounded_choice import Move, Offer, moves_of
from ssba.pipeline.state import QueryState, States, Vector
from ssba.pipeline.verify import are_feasible

Columns = tuple[int, ...]


def without_needless(states: States, moves: Sequence[Move]) -> list[Move]:
    """Return the moves of some queries without changes that bring nothing.

    Each change is taken back alone; then all that were needless alone together, else the largest of them.
    """
    kept, going = list(moves), [number for number, move in enumerate(moves) if not move.lacks_room]
    while going:
        alone = _as_good(states, kept, {number: _changes(states[number], kept[number]) for number in going})
        several = {number: _together(found) for number, found in alone.items() if len(found) > 1}
        together = _as_good(states, kept, {number: [columns] for number, columns in several.items()})
        going = []
        for number, found in alone.items():
            if len(found) > 1 and number not in together:
                going.append(number)
            kept[number] = next(iter(together.get(number, found).values()))
    return kept


def _changes(state: QueryState, move: Move) -> list[Columns]:
    """Return the changed columns of a move, one by one, the largest change first."""
    parts = state.engine.metric.parts(move.row[None, :], state.x)[0]
    changed = np.flatnonzero(changed_cells(move.row[None, :], state.x)[0])
    return [(int(j),) for j in changed[np.argsort(-parts[changed], kind="stable")]]


def _together(found: Mapping[Columns, Move]) -> Columns:
    return tuple(j for columns in found for j in columns)


def _as_good(
    states: States, moves: Sequence[Move], tries: Mapping[int, Sequence[Columns]]
) -> dict[int, dict[Columns, Move]]:
    """Return what is left of moves where some columns are taken back, if it is feasible and not worse.

    By scores it is not worse if its score is not; by labels if the boundary point that the move is near still
    reaches the target with the same columns taken back.
    """
    asked = [(number, columns) for number, sets in tries.items() for columns in sets]
    if not asked:
        return {}
    of = np.array([number for number, _ in asked])
    rows = np.array([_taken_back(states[i], moves[i].row, columns) for i, columns in asked])
    asked = [asked[i] for i in np.flatnonzero(are_feasible(states, of, rows))]
    offers = []
    for number, columns in asked:
        state, move = states[number], moves[number]
        point = None if move.point is None else _taken_back(state, move.point, columns)
        offers.append((state, Offer(_taken_back(state, move.row, columns), None, point)))
    less = moves_of(offers)
    fine = _points_reach(offers) if less and less[0].margin is None else _have_the_score(moves, asked, less)
    found = dict[int, dict[Columns, Move]]()
    for (number, columns), one, is_fine in zip(asked, less, fine, strict=True):
        # A row that reaches after all would have to be searched from; it is no bounded move.
        if is_fine and not goal_reply(states[number], one.output).reached[0]:
            found.setdefault(number, {})[columns] = one
    return found


def _taken_back(state: QueryState, row: Vector, columns: Columns) -> Vector:
    return np.where(np.isin(np.arange(len(row)), columns), state.x, row)


def _have_the_score(
    moves: Sequence[Move], asked: Sequence[tuple[int, Columns]], less: Sequence[Move]
) -> list[bool]:
    return [one.gain(moves[number]) >= 0 for (number, _), one in zip(asked, less, strict=True)]


def _points_reach(offers: Sequence[tuple[QueryState, Offer]]) -> list[bool]:
    """Tell of the points of offers, those that there are and that are legal rows, which reach the target."""
    fine = [False] * len(offers)
    known = [(number, state, offer.point) for number, (state, offer) in enumerate(offers)]
    legal = [
        (number, state, point)
        for number, state, point in known
        if point is not None and _is_legal(state, point)
    ]
    if legal:
        points, x = np.array([point for _, _, point in legal]), np.array([state.x for _, state, _ in legal])
        output = verdicts(legal[0][1].engine.judging, points, x)
        for i, (number, state, _) in enumerate(legal):
            state.spent.verified_rows += 1
            fine[number] = bool(goal_reply(state, output.take(slice(i, i + 1))).reached[0])
    return fine


def _is_legal(state: QueryState, point: Vector) -> bool:
    return np.array_equal(state.engine.space.grid.snap(point[None, :])[0], point, equal_nan=True)

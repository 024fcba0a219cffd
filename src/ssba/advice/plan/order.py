"""In which order moves are made: pure functions on the lattice of what has been done so far.

There are some units, each with a number of visits; a state says how many visits of each are done. A step goes
from one allowed state to a later one, ideally by a single visit. Every step takes effort, and
every state has made some progress.

The best order is the one that spends the least effort while progress is still lacking: the sum, over its
steps, of the step's effort times what was lacking before it. Where gains simply add up this is the order of
falling gain per effort (Smith's rule for jobs on one machine); where they do not, it looks ahead.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

State = tuple[int, ...]
States = NDArray[np.int64]
Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Joint moves of one size that the greedy order looks at before it tries larger ones.
_MOST_JOINT = 200


def all_states(counts: Sequence[int]) -> States:
    """Return every state, the start first and the end last; no state comes before one it builds on.

    >>> all_states([1, 2]).tolist()
    [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    """
    ranges = [range(count + 1) for count in counts]
    return np.array(list(itertools.product(*ranges)), dtype=np.int64).reshape(-1, len(counts))


def best_way(states: States, allowed: Mask, progress: Vector, effort: Vector, end: int) -> list[int]:
    """Return the best way over allowed states from the first state to `end`, as their numbers.

    Steps that make several visits at once are taken only where single visits do not lead there: as few such
    joint visits as possible come first, the best order second. `effort` is what one visit of each unit
    takes. The start counts as allowed.
    """
    joint = np.full(len(states), np.inf)
    lack = np.full(len(states), np.inf)
    before = np.full(len(states), -1)
    joint[0] = lack[0] = 0.0
    for state in range(1, end + 1):
        if not (allowed[state] or state == end):
            continue
        done = states[state] - states[:state]
        (known,) = np.nonzero((done >= 0).all(axis=1) & np.isfinite(joint[:state]))
        done = done[known]
        joints = joint[known] + done.sum(axis=1) - 1
        lacks = lack[known] + (done @ effort) * (progress[end] - progress[known])
        best = np.lexsort((lacks, joints))[0]
        joint[state], lack[state], before[state] = joints[best], lacks[best], known[best]
    way = [end]
    while way[0] != 0:
        way.insert(0, int(before[way[0]]))
    return way


@dataclass(frozen=True)
class Look:
    """What is known about some states: whether they are allowed, and their progress where they are."""

    allowed: Mask
    progress: Vector


def greedy_way(
    counts: Sequence[int],
    effort: Vector,
    look: Callable[[States], Look],
    is_end: Callable[[State], bool],
    width: int,
) -> list[State]:
    """Return a way from the start that takes, every time, the visit with the most progress per effort.

    It ends where `is_end` says so, or where everything is done. Every unit is looked at in the beginning,
    and from then on the `width` most promising ones, as they were seen last. Where no single visit is
    allowed, joint visits are tried, small ones first, and at last all that is left at once.
    """
    everything = tuple(counts)
    state: State = (0,) * len(counts)
    way = [state]
    promise = np.full(len(counts), np.inf)
    now = float(look(np.array([state])).progress[0])
    while state != everything and not is_end(state):
        state, now = _next_state(state, everything, effort, look, promise, now, width)
        way.append(state)
    return way


def _next_state(
    state: State,
    everything: State,
    effort: Vector,
    look: Callable[[States], Look],
    promise: Vector,
    now: float,
    width: int,
) -> tuple[State, float]:
    """Return the next state and its progress; `promise` keeps, in place, what each unit was seen to give."""
    left = np.array(everything) - np.array(state)
    units = sorted(map(int, np.flatnonzero(left)), key=lambda unit: (-promise[unit], unit))
    units = units if np.isposinf(promise).all() else units[:width]
    for moves in _moves(units, left):
        seen = look(np.array(state) + moves)
        rates = np.where(seen.allowed, (seen.progress - now) / (moves @ effort), -np.inf)
        singles = moves.sum(axis=1) == 1
        promise[moves[singles].argmax(axis=1)] = rates[singles]
        if seen.allowed.any():
            best = int(np.argmax(rates))
            return tuple(int(count) for count in np.array(state) + moves[best]), float(seen.progress[best])
    end = np.array([everything])
    return everything, float(look(end).progress[0])


def _moves(units: Sequence[int], left: States) -> Iterator[States]:
    """Yield the moves from a state, by the number of visits they make at once: one, two, three."""
    for size in (1, 2, 3):
        moves = []
        for chosen in itertools.combinations_with_replacement(units, size):
            move = np.bincount(chosen, minlength=len(left))
            if (move <= left).all():
                moves.append(move)
            if len(moves) == _MOST_JOINT and size > 1:
                break
        if moves:
            yield np.array(moves, dtype=np.int64)

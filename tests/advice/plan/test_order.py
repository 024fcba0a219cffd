import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssba.advice.plan.order import Look, all_states, best_way, greedy_way

POWERS = st.floats(0.1, 10.0)


def lacking(order: Any, value: Any, effort: Any, end: float) -> float:
    """Effort times what is lacking before each step, added up along an order of units."""
    done: frozenset[int] = frozenset()
    total = 0.0
    for unit in order:
        total += effort[unit] * (end - value[done])
        done |= {unit}
    return total


class TestBestWay:
    @given(st.integers(1, 4), st.integers(0, 10_000))
    def test_no_order_of_single_visits_is_better(self, width: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        states = all_states([1] * width)
        progress, effort = rng.normal(size=len(states)), rng.uniform(0.5, 3, size=width)
        way = best_way(states, np.ones(len(states), dtype=bool), progress, effort, len(states) - 1)
        value = {
            frozenset(np.flatnonzero(state).tolist()): float(one)
            for state, one in zip(states, progress, strict=True)
        }
        order = [int(np.flatnonzero(states[b] - states[a])[0]) for a, b in itertools.pairwise(way)]
        assert sorted(order) == list(range(width))
        least = min(lacking(one, value, effort, progress[-1]) for one in itertools.permutations(range(width)))
        assert lacking(order, value, effort, progress[-1]) == pytest.approx(least)

    @given(st.lists(st.tuples(POWERS, POWERS), min_size=2, max_size=5))
    def test_where_gains_add_up_the_most_gain_per_effort_comes_first(self, both: Any) -> None:
        gains, effort = np.array(both).T
        states = all_states([1] * len(gains))
        way = best_way(states, np.ones(len(states), dtype=bool), states @ gains, effort, len(states) - 1)
        order = [int(np.flatnonzero(states[b] - states[a])[0]) for a, b in itertools.pairwise(way)]
        rates = (gains / effort)[order]
        assert (np.diff(rates) <= 1e-9 * rates[:-1]).all()

    def test_joint_visits_are_taken_only_where_they_must(self) -> None:
        states = all_states([1, 1, 1])
        # The first two units can only move together.
        allowed = states[:, 0] == states[:, 1]
        way = best_way(states, allowed, states.sum(axis=1) * 1.0, np.ones(3), len(states) - 1)
        assert len(way) == 3
        assert allowed[way].all()

    def test_a_start_that_is_not_allowed_is_left_by_the_smallest_step_that_is(self) -> None:
        states = all_states([1, 1, 1])
        allowed = states[:, 0] + states[:, 1] == 2
        way = best_way(states, allowed, np.zeros(len(states)), np.ones(3), len(states) - 1)
        assert states[way].tolist() == [[0, 0, 0], [1, 1, 0], [1, 1, 1]]

    def test_it_ends_where_it_is_told(self) -> None:
        states = all_states([2, 2])
        end = states.tolist().index([1, 1])
        way = best_way(states, np.ones(9, dtype=bool), states @ np.array([1.0, 3.0]), np.ones(2), end)
        assert states[way].tolist() == [[0, 0], [0, 1], [1, 1]]


class TestGreedy:
    @staticmethod
    def look(gains: Any, allowed: Any = lambda state: True) -> Any:
        return lambda states: Look(
            np.array([allowed(state) for state in states]), np.asarray(states @ gains, dtype=np.float64)
        )

    @given(st.lists(POWERS, min_size=2, max_size=6, unique=True))
    def test_the_largest_gain_comes_first(self, gains: Any) -> None:
        way = greedy_way([1] * len(gains), np.ones(len(gains)), self.look(gains), lambda _: False, 8)
        order = [int(np.argmax(np.subtract(b, a))) for a, b in itertools.pairwise(way)]
        assert [gains[unit] for unit in order] == pytest.approx(sorted(gains, reverse=True))

    def test_effort_divides_the_gain(self) -> None:
        way = greedy_way([1, 1], np.array([5.0, 1.0]), self.look([4, 1]), lambda _: False, 8)
        assert way == [(0, 0), (0, 1), (1, 1)]

    def test_it_stops_at_the_end(self) -> None:
        way = greedy_way([3, 1], np.ones(2), self.look([1, 5]), lambda state: sum(state) == 2, 8)
        assert way == [(0, 0), (0, 1), (1, 1)]

    def test_two_that_move_together_only_do_so(self) -> None:
        look = self.look([1, 1, 9], allowed=lambda state: state[0] == state[1])
        way = greedy_way([1, 1, 1], np.ones(3), look, lambda _: False, 8)
        assert way == [(0, 0, 0), (0, 0, 1), (1, 1, 1)]

    def test_where_nothing_else_is_allowed_all_that_is_left_comes_at_once(self) -> None:
        look = self.look([1] * 5, allowed=lambda state: state.sum() in (0, 5))
        assert len(greedy_way([1] * 5, np.ones(5), look, lambda _: False, 8)) == 2

    def test_a_narrow_look_still_does_everything(self) -> None:
        gains = np.arange(1.0, 31.0)
        asked = []

        def look(states: Any) -> Look:
            asked.append(len(states))
            seen: Look = self.look(gains)(states)
            return seen

        way = greedy_way([1] * 30, np.ones(30), look, lambda _: False, 2)
        assert way[-1] == (1,) * 30
        # All units once, then two at a time.
        assert sum(asked) <= 1 + 30 + 2 * 30

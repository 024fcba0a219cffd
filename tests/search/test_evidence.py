"""Rows drawn nearer than an answer: inside, as even as is said, and the same whatever others draw."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.lanes import DRAWS, lanes
from tests.support import Matrix, Setting, labels_only, setting

from ssba.columns.distance import Norm
from ssba.columns.features import integer, numeric
from ssba.constraints.constraint import constraint
from ssba.constraints.regions.region import Region
from ssba.search.evidence import draw_nearer, draw_rows, share_bound
from ssba.search.regions import Numbers, Regions

_rng = np.random.default_rng(3)
NUMBERS = _rng.normal(size=(300, 4))
MIXED = pd.DataFrame(
    {
        "a": _rng.normal(size=200),
        "n": _rng.integers(0, 12, size=200),
        "s": _rng.integers(-20, 20, size=200) / 10,
        "c": _rng.choice(["u", "v", "w"], size=200),
        "b": _rng.random(200) < 0.5,
    }
)
KINDS: dict[str, Any] = {"n": integer(), "s": numeric(step=0.1)}

REALS = np.concatenate([np.random.default_rng(0).normal(size=(50, 3)), [[-4.0] * 3, [4.0] * 3]])
THREE_KINDS = pd.DataFrame({"r": [-4.0, 4.0, 0.0], "n": [-4, 4, 0], "c": ["u", "v", "w"]})
NEVER = labels_only(lambda Z: Z[:, 0] > 99)
QUERIES: list[object] = [[0.0] * 3, [1.0, 0.0, -1.0], [-2.0, 2.0, 0.5]]


def drawn(mine: Setting, region: Region, radius: float, count: int, seed: int = 0) -> Matrix:
    own = np.zeros(1, dtype=np.int64)
    how = np.array([radius]), own + count, DRAWS.of("seed", seed)
    return np.asarray(draw_nearer(Regions((region,), own), mine.metric, own, *how)[0])


class TestInside:
    @settings(deadline=None)
    @given(
        radius=st.floats(0.3, 4.0),
        norm=st.sampled_from(["l1", "l2"]),
        seed=st.integers(0, 100),
        texts=st.lists(
            st.sampled_from(
                ["n >= x.n", "a + n <= 7", "c != 'w'", "s <= x.s", "a - 2 * s >= -1", "a <= x.a", "b == x.b"]
            ),
            unique=True,
            max_size=4,
        ),
    )
    def test_every_row_is_feasible_and_nearer(
        self, radius: float, norm: Norm, seed: int, texts: list[str]
    ) -> None:
        mine = setting(MIXED, KINDS, norm)
        query = mine.space.encode_row({"a": 0.2, "n": 5, "s": 0.3, "c": "u", "b": False})
        for region in mine.regions(query, [constraint(text) for text in texts]):
            rows = drawn(mine, region, radius, 40, seed)
            assert region.contains(rows).all()
            assert (mine.metric.distance(rows, query) < radius).all()
            if mine.metric.distance(region.start[None, :], query)[0] < radius:
                assert len(rows) == 40

    def test_nothing_nearer_than_the_start_gives_nothing(self) -> None:
        mine = setting(NUMBERS, scale="none")
        region = mine.region([0.0, 0, 0, 0], "x0 >= 1")
        assert len(drawn(mine, region, 0.9, 20)) == 0
        assert len(drawn(mine, region, 1.1, 20)) == 20

    def test_an_equality_is_met(self) -> None:
        mine = setting(NUMBERS, scale="none")
        region = mine.region([0.0, 0, 0, 0], "x0 + x1 == 0.2")
        rows = drawn(mine, region, 1.0, 50)
        assert len(rows) > 25
        assert region.contains(rows).all()
        assert np.ptp(rows[:, 0]) > 0.5

    def test_a_missing_cell_is_filled_now_and_then_where_it_may_be(self) -> None:
        mine = setting(NUMBERS)
        rows = drawn(mine, mine.region([0.0, None, 0, 0], "x1 may be filled"), 1.5, 200)
        assert 50 < np.isnan(rows[:, 1]).sum() < 150
        rows = drawn(mine, mine.region([0.0, None, 0, 0]), 1.5, 50)
        assert np.isnan(rows[:, 1]).all()

    def test_the_same_seed_draws_the_same_rows(self) -> None:
        mine = setting(MIXED, KINDS)
        region = mine.region({"a": 0.2, "n": 5, "s": 0.3, "c": "u", "b": False}, "a + n <= 7")
        rows = drawn(mine, region, 1.7, 30)
        np.testing.assert_array_equal(rows, drawn(mine, region, 1.7, 30))


class TestEven:
    """Compared with rejection from the box around the ball, which is even by construction."""

    @staticmethod
    def rejected(mine: Setting, region: Region, radius: float, count: int) -> Matrix:
        n = len(region.x)
        rows = region.x + radius * np.random.default_rng(1).uniform(-1, 1, size=(count, n))
        kept = region.contains(rows) & (mine.metric.distance(rows, region.x) < radius)
        return np.asarray(rows[kept])

    @pytest.mark.parametrize("norm", ["l2", "l1"])
    @pytest.mark.parametrize(
        "texts",
        [
            [],
            ["x0 >= x.x0", "x1 <= x.x1"],
            ["x0 >= 0.5", "x1 <= 0.1", "x2 <= 0.1", "x3 >= -0.1"],
            ["x0 + x1 <= 0.2", "x2 - x3 >= 0.4"],
        ],
    )
    def test_numbers(self, norm: Norm, texts: list[str]) -> None:
        mine = setting(NUMBERS, norm=norm, scale="none")
        region = mine.region([0.0, 0, 0, 0], *texts)
        expected = self.rejected(mine, region, 1.2, 200_000)
        rows = drawn(mine, region, 1.2, 4000)
        assert len(rows) == 4000
        # Means of 4,000 draws lie within 5 of their standard errors; so do mean squares and distances.
        for power in (1, 2):
            ours, theirs = (np.c_[z, mine.metric.distance(z, region.x)] ** power for z in (rows, expected))
            error = theirs.std(axis=0) * np.sqrt(1 / 4000 + 1 / len(theirs))
            assert (np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) < 5 * error).all()

    def test_whole_numbers_take_each_legal_pair_equally_often(self) -> None:
        frame = pd.DataFrame({"a": range(-10, 11), "b": range(-10, 11)})
        mine = setting(frame, {"a": integer(), "b": integer()}, scale="none")
        rows = drawn(mine, mine.region({"a": 0, "b": 0}, "a >= -1"), 3.1, 6000)
        pairs, counts = np.unique(rows, axis=0, return_counts=True)
        legal = [(a, b) for a in range(-1, 4) for b in range(-3, 4) if a * a + b * b < 3.1**2]
        assert len(pairs) == len(legal)
        expected = 6000 / len(legal)
        assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()

    @pytest.mark.parametrize(("step", "top"), [(0.1, 7), (0.7, 3)])
    def test_the_ends_of_a_32_bit_column_with_a_step_are_drawn_too(self, step: float, top: int) -> None:
        values = (np.arange(top + 1) * step).astype(np.float32)
        mine = setting(pd.DataFrame({"a": values}), {"a": numeric(step=step)}, scale="none")
        rows = drawn(mine, mine.region({"a": float(values[1])}), 100.0, 2000)
        assert sorted(set(rows[:, 0])) == sorted(np.float64(value) for value in values)

    def test_the_number_of_changed_categories_is_even(self) -> None:
        frame = pd.DataFrame({name: ["p", "q", "r"] * 5 for name in "abcd"})
        mine = setting(frame)
        region = mine.region(dict.fromkeys("abcd", "p"))
        rows = drawn(mine, region, 1.9, 4000)  # 1.9 ** 2 allows three changed categories
        changes = (rows != region.x).sum(axis=1)
        counts = np.bincount(changes, minlength=5)
        assert counts[4] == 0
        assert (np.abs(counts[:4] - 1000) < 150).all()
        assert {1.0, 2.0} <= set(rows[:, 0])


@pytest.mark.parametrize(("drawn", "percent"), [(59, 5.0), (299, 1.0), (1000, 0.3)])
def test_no_hit_among_so_many_bounds_the_share(drawn: int, percent: float) -> None:
    """Solves 0.95 confidence: a share p is missed by all draws with probability (1 - p)^n = 0.05."""
    share = share_bound(drawn)
    assert share is not None
    assert (1 - share) ** drawn == pytest.approx(0.05)
    assert share == pytest.approx(percent / 100, rel=0.02)


def drawn_together(
    data: object, queries: list[object], radius: list[float], count: int, *texts: str, norm: Norm = "l2"
) -> tuple[Matrix, Numbers]:
    many = lanes(setting(data, norm=norm, scale="none"), queries, NEVER, *texts)
    rows, at = draw_rows(many.ledger, many.at, np.array(radius), np.full(many.regions.count, count), DRAWS)
    assert many.regions.contains(rows, at).all()
    assert (many.ledger.distance(rows, at) < np.array(radius)[at]).all()
    return rows, at


@settings(max_examples=20)
@given(
    radius=st.lists(st.floats(0.05, 5), min_size=3, max_size=3),
    norm=st.sampled_from(["l1", "l2"]),
    texts=st.lists(
        st.sampled_from(["x0 >= x.x0", "x1 == x.x1", "x0 + x2 <= 1.6", "x2 <= x.x2 + 0.2"]), unique=True
    ),
)
def test_every_row_is_feasible_and_nearer(radius: list[float], norm: Norm, texts: list[str]) -> None:
    rows, at = drawn_together(REALS, QUERIES, radius, 30, *texts, norm=norm)
    assert rows.shape == (90, 3)
    assert np.bincount(at).tolist() == [30, 30, 30]


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_rows_are_even_in_the_ball(norm: Norm) -> None:
    """Of a ball in three columns an eighth lies within half its radius, and half on each side of a column."""
    rows, _ = drawn_together(REALS, [[0.0] * 3], [2.0], 4000, norm=norm)
    far = np.linalg.norm(rows, ord=2 if norm == "l2" else 1, axis=1)
    assert (far < 1).mean() == pytest.approx(1 / 8, abs=0.02)
    np.testing.assert_allclose((rows > 0).mean(axis=0), 0.5, atol=0.03)


def test_where_a_column_goes_one_way_only_all_rows_go_that_way() -> None:
    rows, _ = drawn_together(REALS, [[0.0] * 3], [2.0], 2000, "x0 >= x.x0", "x1 == x.x1")
    assert (rows[:, 0] > 0).all()
    assert (rows[:, 1] == 0).all()
    # A half disk: a quarter within half of the radius.
    assert (np.linalg.norm(rows, axis=1) < 1).mean() == pytest.approx(1 / 4, abs=0.03)


def test_a_region_draws_the_same_whatever_others_there_are() -> None:
    together, at = drawn_together(REALS, QUERIES, [0.5, 2.0, 1.0], 40)
    for number in range(3):
        alone, _ = drawn_together(REALS, QUERIES[number : number + 1], [[0.5, 2.0, 1.0][number]], 40)
        np.testing.assert_array_equal(together[at == number], alone)


@pytest.mark.parametrize("count", [1, 40])
def test_whole_numbers_that_only_others_can_change_make_no_difference(count: int) -> None:
    """The first query stands at the end of its whole numbers, the second does not."""
    queries: list[object] = [{"r": 0.0, "n": 4, "c": "u"}, {"r": 1.0, "n": 2, "c": "w"}]
    radius, rules = [2.5, 1.5], ("n >= x.n", "r <= x.r + 0.1")
    together, at = drawn_together(THREE_KINDS, queries, radius, count, *rules)
    for number in range(2):
        alone, _ = drawn_together(THREE_KINDS, [queries[number]], [radius[number]], count, *rules)
        assert len(alone) == count
        np.testing.assert_array_equal(together[at == number], alone)


def test_levels_and_whole_numbers_are_drawn_by_each_region_for_itself() -> None:
    rows, at = drawn_together(
        THREE_KINDS, [{"r": 0.0, "n": 0, "c": "u"}, {"r": 1.0, "n": 2, "c": "v"}], [2.5, 1.5], 50
    )
    assert set(at) == {0, 1}
    assert (rows[:, 1] == np.round(rows[:, 1])).all()
    assert len(set(rows[at == 0, 2])) == 3


def test_no_rows_and_no_regions_are_no_problem() -> None:
    many = lanes(setting(REALS, scale="none"), QUERIES, NEVER)
    none = np.empty(0, dtype=np.int64)
    assert len(draw_rows(many.ledger, many.at, np.ones(3), np.zeros(3, dtype=np.int64), DRAWS)[0]) == 0
    assert len(draw_rows(many.ledger, none, np.empty(0), none, DRAWS)[0]) == 0

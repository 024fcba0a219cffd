"""Relations between columns: found where they hold, and not where they may be an accident."""

from typing import Any

import numpy as np
import pytest
from tests.support import every

import ssba
from ssba.columns.features import Feature
from ssba.constraints.constraint import holds
from ssba.suggest.links import Link, find_links, one_hot_groups

RNG = np.random.default_rng(0)


def links(**columns: Any) -> list[Link]:
    features = [Feature(name, "numeric") for name in columns]
    return find_links(features, np.stack([np.asarray(one, dtype=float) for one in columns.values()], axis=1))


def texts(**columns: Any) -> list[str]:
    return [text for one in links(**columns) for text in one.texts]


@pytest.mark.parametrize("seed", range(20))
def test_unrelated_columns_have_no_links(seed: int) -> None:
    rng = np.random.default_rng(seed)
    normal = {f"n{i}": rng.normal(i, 1 + i, 200) for i in range(4)}
    assert links(**normal, counts=rng.poisson(5, 200), far=rng.uniform(50, 60, 200)) == []


def test_the_heart_data_has_no_links_between_its_findings() -> None:
    heart = ssba.datasets.load_heart().frame
    numbers = heart.select_dtypes("number").drop(columns="ca")
    assert links(**{name: numbers[name] for name in numbers}) == []


class TestAbove:
    LOW = RNG.normal(100, 20, 300)

    def test_an_order_that_unrelated_columns_would_often_break(self) -> None:
        (found,) = links(a=self.LOW + RNG.uniform(1, 20, 300), b=self.LOW)
        assert found.texts == ("a >= b",)
        assert "all 300 rows" in found.reason

    def test_one_exception_is_enough_where_names_say_nothing(self) -> None:
        high = self.LOW + RNG.uniform(1, 20, 300)
        high[0] = self.LOW[0] - 1
        assert links(a=high, b=self.LOW) == []

    def test_names_carry_a_few_exceptions(self) -> None:
        high = self.LOW + RNG.uniform(1, 90, 300)
        high[:3] = self.LOW[:3] - 1
        (found,) = links(temp_max=high, temp_min=self.LOW)
        assert found.texts == ("temp_max >= temp_min",)
        assert "297 of 300" in found.reason

    def test_names_alone_do_not(self) -> None:
        assert links(temp_max=self.LOW, temp_min=RNG.permutation(self.LOW)) == []

    def test_columns_that_never_meet_are_no_evidence(self) -> None:
        assert links(a=RNG.uniform(10, 20, 300), b=RNG.uniform(0, 9, 300)) == []

    def test_what_follows_from_two_orders_is_left_out(self) -> None:
        a = self.LOW + RNG.uniform(1, 9, 300)
        b = a + RNG.uniform(1, 9, 300)
        assert texts(low=self.LOW, middle=a, top=b) == ["middle >= low", "top >= middle"]


class TestLines:
    A = RNG.uniform(0, 100, 100).round(1)

    @pytest.mark.parametrize(
        ("b", "expected"),
        [
            (A, "b == a"),
            (1.8 * A + 32, "b == 1.8 * a + 32"),
            (-2 * A - 0.5, "b == -2 * a - 0.5"),
            (A / 1000, "b == 0.001 * a"),
        ],
        ids=["same", "fahrenheit", "falling", "small"],
    )
    def test_a_line_is_written_with_the_fewest_digits(self, b: Any, expected: str) -> None:
        (found,) = links(a=self.A, b=b)
        text = found.texts[0]
        read = ssba.constraint(text)
        assert read.text == text
        assert text in (expected, "a == 1000 * b")

    def test_a_rounded_line_is_a_band_that_holds_in_every_row(self) -> None:
        b = (self.A / 3).round(1)
        (found,) = links(a=self.A, b=b)
        assert found.texts[0].count(" <= ") == 2
        features = {name: Feature(name, "numeric") for name in "ab"}
        rows = [{"a": x, "b": y} for x, y in zip(self.A.tolist(), b.tolist(), strict=True)]
        read = ssba.constraint(found.texts[0])
        assert every(holds(read, row, row, features) for row in rows)

    def test_a_noisy_line_is_none(self) -> None:
        assert links(a=self.A, b=self.A + RNG.normal(0, 10, 100)) == []


class TestSums:
    def test_a_sum_and_a_difference(self) -> None:
        a, b = RNG.normal(size=100), RNG.normal(size=100)
        assert texts(a=a, b=b, total=a + b) == ["total == a + b"]
        assert texts(a=a, b=b, left=a - b) == ["a == b + left"]

    def test_one_row_that_breaks_it_is_enough(self) -> None:
        a, b = RNG.normal(size=100), RNG.normal(size=100)
        total = a + b
        total[93] += 0.1
        assert links(a=a, b=b, total=total) == []

    def test_rows_with_missing_cells_do_not_count(self) -> None:
        a, b = RNG.normal(size=100), RNG.normal(size=100)
        total = a + b
        total[:10] = np.nan
        (found,) = links(a=a, b=b, total=total)
        assert "all 90 rows" in found.reason


class TestFollowing:
    def test_a_monotone_function(self) -> None:
        a = RNG.uniform(0, 5, 60)
        (found,) = links(a=a, b=np.exp(a))
        assert found.kind == "follows"
        assert set(found.texts) == {
            "if a does not change: b does not change",
            "if a > x.a: b >= x.b",
            "if a < x.a: b <= x.b",
        }

    def test_a_falling_one_in_steps(self) -> None:
        a = RNG.uniform(0, 50, 60)
        (found,) = links(a=a, b=-np.floor(a / 5))
        assert "if a > x.a: b <= x.b" in found.texts
        assert found.columns == ("b", "a")

    def test_ranks_of_levels_follow_too(self) -> None:
        age = RNG.uniform(0, 90, 60)
        features = [Feature("age", "numeric"), Feature("group", "ordinal", ("young", "adult", "old"))]
        (found,) = find_links(features, np.stack([age, np.digitize(age, [30, 60])], axis=1))
        assert "if age > x.age: group >= x.group" in found.texts

    def test_not_a_function_is_none(self) -> None:
        a = RNG.integers(0, 10, 60)
        found = links(a=a, b=a**2 + RNG.integers(0, 30, 60))
        assert [one.kind for one in found if one.kind == "follows"] == []

    def test_steps_at_other_places_are_no_function(self) -> None:
        t = RNG.uniform(0, 10, 200)
        found = links(a=np.floor(t), b=np.floor(t + 0.5))
        assert [one.kind for one in found if one.kind == "follows"] == []


class TestSize:
    def test_wide_and_long_data_are_looked_at_in_part(self) -> None:
        Z = RNG.normal(size=(20_000, 70))
        Z[:, 1] = Z[:, 0]
        features = [Feature(f"x{i}", "numeric") for i in range(70)]
        (found,) = find_links(features, Z)
        assert found.texts == ("x1 == x0",)
        assert "5,000 rows" in found.reason

    def test_few_rows_show_nothing(self) -> None:
        a = np.arange(19.0)
        assert links(a=a, b=2 * a) == []


def test_one_hot_needs_exactly_one_in_every_row() -> None:
    red, blue = np.tile([1.0, 0.0], 20), np.tile([0.0, 1.0], 20)
    assert one_hot_groups(["c_red", "c_blue"], [red, blue]) == [("c_red", "c_blue")]
    blue = blue.copy()
    blue[0] = 1.0
    assert one_hot_groups(["c_red", "c_blue"], [red, blue]) == []

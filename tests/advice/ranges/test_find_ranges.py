"""Ranges: rows drawn from them, by these tests, reach the target and meet the constraints."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from tests.advice.cases import HEALTHY, HEART, LEVERS, MODELS, context_of, patients

import ssba
from ssba.advice.context import Context
from ssba.advice.ranges import find_ranges as ranges
from ssba.advice.ranges.find_ranges import find_ranges
from ssba.columns.space import Matrix
from ssba.results.ranges import Ranges

_rng = np.random.default_rng(0)
X = _rng.uniform(0, 10, size=(500, 3))


def row(context: Context, cells: list[float]) -> Matrix:
    return context.encode(dict(zip(context.query, cells, strict=True)))


def ranges_of(explainer: ssba.Explainer, query: Any, constraints: Any = (), **wishes: Any) -> Ranges:
    context = context_of(explainer, query, constraints, **wishes)
    best = explainer.explain(query, constraints, **wishes).best
    assert best is not None
    found = find_ranges(context, context.encode(best.values))
    for one in found.intervals:
        assert one.low <= one.proposed <= one.high
        assert (one.now, one.proposed) == best.changes[one.column]
    assert json.loads(json.dumps(found.to_dict()))["held"] == found.held
    return found


class TestHeart:
    @pytest.mark.parametrize("name", MODELS)
    def test_they_hold_on_fresh_rows(self, name: str) -> None:
        wide = 0
        for number, one in enumerate(patients(name)):
            best = one.explanation.best
            if best is None:
                continue
            found = find_ranges(one.context, one.z)
            assert {interval.column for interval in found.intervals} == set(best.changes)
            rows = fresh_rows(found, best.values, seed=number)
            assert (one.model.predict(rows) == HEALTHY).mean() >= 0.99
            for interval in found.intervals:
                if interval.column in LEVERS:
                    low, high = (interval.now * (1 + percent / 100) for percent in LEVERS[interval.column])
                    assert low - 1e-9 <= interval.low <= interval.high <= high + 1e-9
                    wide += interval.low < interval.high
            assert found.held >= 0.99
            assert found.n_samples == 1000
        # They are no mere points.
        assert wide >= 3


def fresh_rows(found: Ranges, values: dict[str, Any], seed: int) -> pd.DataFrame:
    """A thousand rows drawn evenly from the legal values of all intervals at once."""
    rng = np.random.default_rng([99, seed])
    rows = pd.DataFrame([values] * 1000)
    for one in found.intervals:
        column = HEART.columns[one.column]
        if column.kind == "integer":
            rows[one.column] = rng.integers(int(one.low), int(one.high) + 1, size=1000)
        elif column.kind == "numeric":
            tenths = rng.integers(round(10 * one.low), round(10 * one.high) + 1, size=1000)
            rows[one.column] = tenths / 10
    return rows


class TestClosedForms:
    def test_a_plane_leaves_all_that_lies_beyond_the_answer(self) -> None:
        def plane(rows: Any) -> Any:
            return np.asarray(rows) @ [1.0, 2.0, -1.0] > 9

        explainer = ssba.Explainer(plane, X, target=True, distance=ssba.Distance(scale="none"))
        found = ranges_of(explainer, [2.0, 2.0, 6.0])
        # Each column may go on, away from the query, to the end of the data, and back not at all.
        for one, sign in zip(found.intervals, [1, 1, -1], strict=True):
            data = X[:, found.intervals.index(one)]
            far = data.max() if sign > 0 else data.min()
            assert (one.high if sign > 0 else one.low) == pytest.approx(far, abs=1e-6)
            back = one.proposed - one.low if sign > 0 else one.high - one.proposed
            assert back <= 0.02
        assert found.held >= 0.997
        assert [one.text.split()[2] for one in found.intervals] == ["least", "least", "most"]

    def test_the_box_lies_in_the_disc(self) -> None:
        def disc(rows: Any) -> Any:
            return ((np.asarray(rows)[:, :2] - 5) ** 2).sum(axis=1) <= 4

        explainer = ssba.Explainer(disc, X, target=True, distance=ssba.Distance(scale="none"))
        context = context_of(explainer, [5.0, 0.0, 1.0])
        found = find_ranges(context, row(context, [5.5, 4.5, 1.0]))
        low = np.array([one.low for one in found.intervals])
        high = np.array([one.high for one in found.intervals])
        # All corners are inside; the largest square in the disc has an area of 8.
        worst = np.maximum(np.abs(low - 5), np.abs(high - 5))
        assert (worst**2).sum() <= 4 + 1e-9
        assert np.prod(high - low) >= 5
        assert [one.column for one in found.intervals] == ["x0", "x1"]

    def test_whole_numbers_stay_whole(self) -> None:
        data = pd.DataFrame({"a": _rng.integers(0, 50, size=300), "b": _rng.integers(0, 50, size=300)})
        explainer = ssba.Explainer(lambda rows: rows["a"] + rows["b"] >= 40, data, target=True)
        found = ranges_of(explainer, {"a": 5, "b": 10}, ["a <= 20", "b <= 45"])
        a, b = found["a"], found["b"]
        assert {type(one) for one in (a.low, a.high, b.low, b.high)} == {int}
        assert a.low + b.low >= 40
        assert (a.high, b.high) == (20, 45)
        assert a.high_is_limit
        assert b.high_is_limit

    def test_slack_in_the_answer_is_given_back(self) -> None:
        def plane(rows: Any) -> Any:
            return np.asarray(rows)[:, :2].sum(axis=1) > 9

        explainer = ssba.Explainer(plane, X, target=True, distance=ssba.Distance(scale="none"))
        context = context_of(explainer, [2.0, 2.0, 6.0])
        found = find_ranges(context, row(context, [7.0, 7.0, 6.0]))
        low = [one.low for one in found.intervals]
        # There are 5 to give back between the two, and each gets a fair part.
        assert 9 <= sum(low) <= 9.6
        assert min(low) >= 3.5

    def test_many_columns_are_held_by_their_worst_corner(self) -> None:
        data = np.random.default_rng(3).uniform(0, 10, size=(400, 12))
        weights = np.array([1.0, -1.0] * 6)
        explainer = ssba.Explainer(LogisticRegression(C=100).fit(data, data @ weights > 6), data, target=True)
        context = context_of(explainer, np.full(12, 5.0))
        found = find_ranges(context, row(context, [6.5, 3.5] * 6))
        worst = [one.low if number % 2 == 0 else one.high for number, one in enumerate(found.intervals)]
        model = explainer._engine.judging.source
        assert model.predict([worst])[0]
        # Nearly all of the slack, which is 12 in steps of 1, was given back.
        assert np.dot(worst, weights) <= 9

    def test_an_answer_at_a_limit_is_bounded_on_the_other_side_only(self) -> None:
        explainer = ssba.Explainer(
            lambda rows: np.asarray(rows)[:, 0] < 3, X, target=True, features={"x0": ssba.numeric(low=0)}
        )
        context = context_of(explainer, [5.0, 5.0, 5.0], ["x0 >= 0"])
        (found,) = find_ranges(context, row(context, [0.0, 5.0, 5.0])).intervals
        assert found.text == f"x0 at most {found.high:g}"
        assert 2.8 <= found.high < 3

    @pytest.mark.parametrize("last_check_alone", [False, True])
    def test_a_model_that_fails_here_and_there_is_not_trusted(
        self, last_check_alone: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def salted(rows: Any) -> Any:
            cells = np.asarray(rows)
            # One row in fifty misses, wherever it is, but not the answer.
            noise = np.abs(np.sin(cells.sum(axis=1) * 1e4) * 1e4) % 1 < 0.02
            return (cells[:, 0] > 5) & ~(noise & (cells[:, 1] != 6))

        if last_check_alone:
            monkeypatch.setattr(ranges, "_cut_back", lambda field, box, rng: box)
        explainer = ssba.Explainer(salted, X, target=True, distance=ssba.Distance(scale="none"))
        context = context_of(explainer, [2.0, 5.0, 5.0])
        found = find_ranges(context, row(context, [7.0, 6.0, 5.0]))
        cells = np.array([[one.low, one.high] for one in found.intervals])
        drawn = np.random.default_rng(8).uniform(cells[:, 0], cells[:, 1], size=(2000, 2))
        assert salted(np.column_stack([drawn, np.full(2000, 5.0)])).mean() >= 0.99
        assert found.held >= 0.997

    def test_linked_columns_stay_where_they_are(self) -> None:
        def plane(rows: Any) -> Any:
            return np.asarray(rows) @ [1.0, 2.0, -1.0] > 3

        explainer = ssba.Explainer(plane, X, target=True, distance=ssba.Distance(scale="none"))
        found = ranges_of(explainer, [2.0, 2.0, 6.0], ["x0 + x1 == 4"])
        for name in ("x0", "x1"):
            assert found[name].low == found[name].high == found[name].proposed
        assert found["x2"].low < found["x2"].high

    def test_rows_beyond_a_linear_constraint_are_left_out(self) -> None:
        def plane(rows: Any) -> Any:
            return np.asarray(rows)[:, 0] > 5

        explainer = ssba.Explainer(plane, X, target=True, distance=ssba.Distance(scale="none"))
        context = context_of(explainer, [2.0, 6.0, 6.0], ["x0 + x1 <= 13"])
        found = find_ranges(context, row(context, [6.0, 6.5, 6.0]))
        assert found["x0"].high + found["x1"].high <= 13 + 1e-9
        assert found["x0"].high > 6.0 or found["x1"].high > 6.5

    def test_categories_stay_as_proposed(self) -> None:
        data = pd.DataFrame({"pain": ["yes", "no"] * 50, "rate": np.arange(100)})
        explainer = ssba.Explainer(
            lambda rows: (rows["pain"] == "no") & (rows["rate"] >= 60), data, target=True
        )
        found = ranges_of(explainer, {"pain": "yes", "rate": 20})
        assert found["pain"].text == "pain no"
        assert found["rate"].text == "rate at least 60"


class TestDigits:
    def test_ends_have_few_digits_and_lie_inside(self) -> None:
        model = LogisticRegression().fit(X, X[:, 0] + np.sin(X[:, 1]) > 5)
        explainer = ssba.Explainer(model, X, target=True)
        context = context_of(explainer, [2.0, 2.0, 6.0])
        found = find_ranges(context, row(context, [9.0, 2.5, 6.5]))
        for one in found.intervals:
            for end, is_limit in ((one.low, one.low_is_limit), (one.high, one.high_is_limit)):
                assert is_limit or len(repr(end)) <= 6


class TestArguments:
    def test_a_row_that_does_not_reach_the_target_is_refused(self) -> None:
        bounded = next(one for one in patients("MLP") if one.explanation.best is None)
        with pytest.raises(ssba.errors.ArgumentError, match="needs an answer that reaches the target"):
            find_ranges(bounded.context, bounded.z)

    @pytest.mark.parametrize("samples", [0, 2.5, "many", 10**9])
    def test_samples_are_a_number_of_rows(self, samples: Any) -> None:
        one = patients("MLP")[0]
        with pytest.raises(ssba.errors.ArgumentError, match="samples is"):
            find_ranges(one.context, one.z, samples)

    def test_the_same_call_gives_the_same_ranges(self) -> None:
        one = next(one for one in patients("MLP") if one.explanation.best is not None)
        assert find_ranges(one.context, one.z, 300) == find_ranges(one.context, one.z, 300)

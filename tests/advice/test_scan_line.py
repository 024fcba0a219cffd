"""Line scans: where a decision changes on a segment, against closed forms."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression
from tests.problems import half_space

import ssba
from ssba.advice.scan_line import scan_line
from ssba.results.line_scan import LineScan

X = np.random.default_rng(0).uniform(0, 10, size=(300, 2))
NUMBERS = st.floats(0, 10, allow_subnormal=False)


plane = half_space(1.0, 2.0, at=12)


def scan_of(explainer: ssba.Explainer, x: Any, y: Any, n_points: int = 101) -> LineScan:
    space = explainer._engine.space
    scan = scan_line(explainer._engine, space.encode_row(x), space.encode_row(y), n_points)
    assert json.loads(json.dumps(scan.to_dict()))["shares"] == list(scan.shares)
    return scan


class TestCrossings:
    @given(NUMBERS, NUMBERS, NUMBERS, NUMBERS)
    def test_a_plane_is_crossed_where_it_is(self, a: float, b: float, c: float, d: float) -> None:
        explainer = PLANE
        scan = scan_of(explainer, [a, b], [c, d], n_points=11)
        before, after = a + 2 * b, c + 2 * d
        if min(abs(before - 12), abs(after - 12)) < 1e-6:
            return
        if (before > 12) == (after > 12):
            assert scan.crossings == ()
            return
        (crossing,) = scan.crossings
        assert crossing.share == pytest.approx((12 - before) / (after - before), abs=1e-7)
        assert (crossing.before, crossing.after) == (before > 12, after > 12)
        assert crossing.reached == (after > 12)

    def test_a_disc_is_entered_and_left(self) -> None:
        def disc(rows: Any) -> Any:
            return ((np.asarray(rows) - 5) ** 2).sum(axis=1) <= 4

        explainer = ssba.Explainer(disc, X, target=True)
        scan = scan_of(explainer, [0.0, 5.0], [10.0, 5.0])
        assert [crossing.share for crossing in scan.crossings] == pytest.approx([0.3, 0.7], abs=1e-9)
        assert [crossing.reached for crossing in scan.crossings] == [True, False]
        assert "2 times" in scan.sentence

    def test_the_row_at_a_crossing_is_on_its_new_side(self) -> None:
        scan = scan_of(PLANE, [0.0, 0.0], [10.0, 10.0])
        (crossing,) = scan.crossings
        assert plane([list(crossing.values.values())])[0]
        assert crossing.values["x0"] == pytest.approx(4, abs=1e-7)

    def test_three_classes_between_two_neighbours_are_all_seen(self) -> None:
        def bands(rows: Any) -> Any:
            return np.digitize(np.asarray(rows)[:, 0], [4.2, 4.4, 4.6])

        explainer = ssba.Explainer(bands, X, target=3)
        scan = scan_of(explainer, [0.0, 0.0], [10.0, 0.0], n_points=2)
        assert [(crossing.before, crossing.after) for crossing in scan.crossings] == [(0, 1), (1, 2), (2, 3)]
        assert [crossing.share for crossing in scan.crossings] == pytest.approx([0.42, 0.44, 0.46], abs=1e-9)

    def test_a_probability_is_crossed_at_its_threshold(self) -> None:
        model = LogisticRegression().fit(X, plane(X))
        explainer = ssba.Explainer(model, X, target=ssba.probability(True, at_least=0.9))
        scan = scan_of(explainer, [0.0, 0.0], [10.0, 10.0])
        (crossing,) = scan.crossings
        slope = 10 * model.coef_[0].sum()
        assert crossing.share == pytest.approx((np.log(9) - model.intercept_[0]) / slope, abs=1e-7)
        assert crossing.score == pytest.approx(0.9, abs=1e-6)
        # The class itself turned before.
        assert crossing.before == crossing.after
        assert "probability of True at least 0.9 is reached after" in scan.sentence

    def test_an_interval_of_numbers_is_entered_and_left(self) -> None:
        model = LinearRegression().fit(X, X @ [1.0, 2.0])
        explainer = ssba.Explainer(model, X, target=ssba.value_between(6, 9))
        scan = scan_of(explainer, [0.0, 0.0], [10.0, 10.0])
        assert [crossing.share for crossing in scan.crossings] == pytest.approx([0.2, 0.3], abs=1e-7)
        assert [crossing.reached for crossing in scan.crossings] == [True, False]


PLANE = ssba.Explainer(plane, X, target=True)


class TestScan:
    def test_it_begins_and_ends_with_the_rows_themselves(self) -> None:
        model = LogisticRegression().fit(X, plane(X))
        scan = scan_of(ssba.Explainer(model, X, target=True), [1.0, 2.0], [9.0, 8.0], n_points=5)
        assert scan.shares == (0.0, 0.25, 0.5, 0.75, 1.0)
        rows = [[1 + 8 * share, 2 + 6 * share] for share in scan.shares]
        assert list(scan.scores) == pytest.approx(model.predict_proba(rows)[:, 1].tolist(), rel=1e-8)
        assert list(scan.predictions) == model.predict(rows).tolist()
        assert (scan.start, scan.end) == ({"x0": 1.0, "x1": 2.0}, {"x0": 9.0, "x1": 8.0})

    def test_an_end_between_two_steps_is_asked_about_as_it_is(self) -> None:
        features = {"x0": ssba.numeric(step=0.5)}
        explainer = ssba.Explainer(
            lambda rows: np.asarray(rows)[:, 0] > 0.2, np.round(2 * X) / 2, target=True, features=features
        )
        scan = scan_of(explainer, [0.24, 0.0], [0.0, 0.0], n_points=3)
        assert scan.predictions == (True, False, False)
        assert scan_of(explainer, [0.0, 0.0], [0.24, 0.0], n_points=3).predictions == (False, False, True)

    def test_without_a_crossing_it_says_so(self) -> None:
        scan = scan_of(PLANE, [0.0, 0.0], [1.0, 1.0], n_points=7)
        assert scan.crossings == ()
        assert repr(scan) == "The decision does not change along the line (7 rows asked)."

    def test_without_a_target_any_change_of_class_is_a_crossing(self) -> None:
        scan = scan_of(ssba.Explainer(plane, X), [10.0, 10.0], [0.0, 0.0])
        assert [(crossing.before, crossing.after, crossing.reached) for crossing in scan.crossings] == [
            (True, False, True)
        ]

    def test_levels_and_missing_cells_change_half_way_and_whole_numbers_stay_whole(self) -> None:
        data = pd.DataFrame(
            {"pain": ["yes", "no"] * 40, "rate": np.arange(80), "note": [None, 1.0, 2.0, 3.0] * 20}
        )
        seen: list[Any] = []

        def model(rows: Any) -> Any:
            seen.append(rows)
            return (rows["pain"] == "no") & (rows["rate"] % 1 == 0)

        explainer = ssba.Explainer(model, data, target=True)
        # The first question of all is about the background rows.
        assert not explainer._engine.judging.batch_matters
        seen.clear()
        scan = scan_of(
            explainer, {"pain": "yes", "rate": 3, "note": None}, {"pain": "no", "rate": 10, "note": 2.0}
        )
        assert [crossing.share for crossing in scan.crossings] == pytest.approx([0.5], abs=1e-9)
        asked = pd.concat(seen)
        assert set(asked["pain"]) == {"yes", "no"}
        assert asked["rate"].dtype.kind == "i"
        assert (asked["note"].isna() == (asked["pain"] == "yes")).all()

    @pytest.mark.parametrize("n_points", [1, 0, 2.5, "ten", 10**7])
    def test_points_are_a_number_of_rows(self, n_points: Any) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match="n_points is"):
            scan_of(PLANE, [0.0, 0.0], [1.0, 1.0], n_points)

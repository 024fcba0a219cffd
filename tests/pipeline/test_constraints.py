"""One query: constraints, missing cells and kinds of columns are respected in every answer."""

import struct
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tests.people import PATIENT, PEOPLE, SMALL, WEIGHTS, X, at_risk, plane
from tests.support import every

import ssba

_rng = np.random.default_rng(6)


@pytest.fixture(scope="module")
def people() -> ssba.Explainer:
    return ssba.Explainer(at_risk, PEOPLE, target="fine")


def ask_about(values: dict[str, Any]) -> str:
    return str(at_risk(pd.DataFrame([values]))[0])


def bits(number: float) -> bytes:
    return struct.pack("<d", number)


class TestConstraints:
    def test_objects_and_texts_mix_and_all_hold(self, people: ssba.Explainer) -> None:
        rules: list[Any] = [
            ssba.fixed("sex"),
            "age >= x.age",
            ssba.within("stress", amount=0.5),
            "systolic <= 0.95 * x.systolic",
            ssba.relation("systolic - diastolic >= 40"),
            ssba.transition("smoker", {"yes": ["former"]}),
            "if smoker changes: age >= x.age + 1",
        ]
        explanation = people.explain(PATIENT, rules, k=3)
        assert explanation.status == "found"
        for answer in explanation.counterfactuals:
            row = answer.values
            assert row["sex"] == "male"
            assert row["age"] >= 61
            assert abs(row["stress"] - 0.4) <= 0.5 + 1e-12
            assert row["systolic"] <= 0.95 * 152.0
            assert row["systolic"] - row["diastolic"] >= 40
            assert row["smoker"] in {"yes", "former"}
            assert row["smoker"] == "yes" or row["age"] >= 62
            assert ask_about(row) == "fine"

    def test_a_range_declared_beyond_the_data_can_be_met(self) -> None:
        older = ssba.Explainer(at_risk, PEOPLE, target="fine", features={"age": ssba.integer(low=90)})
        found = older.explain(PATIENT)
        assert found.status == "found"
        assert every(one.values["age"] >= 90 for one in found.counterfactuals)
        assert found.counterfactuals == older.explain(PATIENT, ["age <= 200"]).counterfactuals

    @pytest.mark.filterwarnings("ignore:column 'stress' holds a single value")
    def test_a_constant_column_in_the_way_is_named(self) -> None:
        calm = ssba.Explainer(at_risk, PEOPLE.assign(stress=0.5), target="fine")
        found = calm.explain({**PATIENT, "stress": 0.5}, ["stress <= 0.25", "age <= 50"])
        assert (found.status, found.clash) == ("infeasible", ("stress <= 0.25",))
        assert "Column 'stress' holds a single value in the background data" in found.sentence

    def test_a_single_constraint_needs_no_list(self, people: ssba.Explainer) -> None:
        listed = people.explain(PATIENT, [ssba.fixed("systolic")])
        assert people.explain(PATIENT, ssba.fixed("systolic")).counterfactuals == listed.counterfactuals
        assert people.explain(PATIENT, "systolic == x.systolic").counterfactuals == listed.counterfactuals

    @pytest.mark.parametrize("cell", [0.1 + 0.2, -0.0, 1e-308, 1.0 + 2**-52])
    def test_fixed_cells_are_bit_identical(self, cell: float) -> None:
        explainer = ssba.Explainer(plane, X)
        best = explainer.explain([cell, 0.0, 0.1], [ssba.fixed("x0")]).best
        assert best is not None
        assert bits(best.values["x0"]) == bits(cell)

    def test_untouched_cells_of_a_stepped_column_are_bit_identical_too(self) -> None:
        explainer = ssba.Explainer(plane, X, features={"x0": ssba.numeric(step=0.5)})
        best = explainer.explain([0.123456789, 0.0, 0.1], [ssba.fixed("x0")]).best
        assert best is not None
        assert bits(best.values["x0"]) == bits(0.123456789)

    @pytest.mark.parametrize("cell", [-2.0, 0.0, 1.5])
    def test_percent_is_of_the_size_whatever_the_sign(self, cell: float) -> None:
        explainer = ssba.Explainer(plane, X)
        for percent in (0, 20, 150):
            explanation = explainer.explain([cell, 0.0, 0.0], [ssba.within("x0", percent=percent)])
            for answer in explanation.counterfactuals:
                assert abs(answer.values["x0"] - cell) <= abs(cell) * percent / 100
            best = explanation.best
            assert best is not None
            assert cell != 0.0 or best.values["x0"] == 0.0
            assert percent != 0 or best.values["x0"] == cell

    def test_a_negative_cell_really_moves_both_ways(self) -> None:
        for model in (lambda rows: rows[:, 0] > -1.7, lambda rows: rows[:, 0] < -2.3):
            best = ssba.Explainer(model, X, target=True).explain([-2.0, 0, 0], "x0 within 20%").best
            assert best is not None
            assert -2.4 <= best.values["x0"] <= -1.6

    def test_if_then_rules_are_searched_on_both_sides(self) -> None:
        # Only x1 matters, and it may change only together with x0: the rule must be obeyed, not avoided.
        explainer = ssba.Explainer(lambda rows: rows[:, 1] > 1.0, X, target=True)
        best = explainer.explain([0.0, 0.0, 0.0], "if x1 changes: x0 >= x.x0 + 1").best
        assert best is not None
        assert best.values["x1"] > 1.0
        assert best.values["x0"] >= 1.0

    def test_a_query_that_breaks_a_constraint_is_moved_to_meet_it(self, people: ssba.Explainer) -> None:
        explanation = people.explain(PATIENT, [ssba.between("systolic", 100, 120)])
        assert explanation.best is not None
        assert 100 <= explanation.best.values["systolic"] <= 120

    def test_whole_columns_obey_strict_and_linear_rows(self) -> None:
        frame = pd.DataFrame({"a": np.arange(60) % 20, "b": np.arange(60) // 3})
        explainer = ssba.Explainer(lambda rows: (rows["a"] + rows["b"] > 21).to_numpy(), frame, target=True)
        best = explainer.explain({"a": 3, "b": 4}, ["2*a - b > 5", "a + 3*b < 55", "b != 15"]).best
        assert best is not None
        a, b = best.values["a"], best.values["b"]
        assert a + b > 21
        assert 2 * a - b > 5
        assert a + 3 * b < 55
        assert b != 15

    def test_many_rules_that_leave_a_way_are_not_called_contradictory(self) -> None:
        frame = pd.DataFrame(_rng.normal(size=(200, 8)), columns=list("abcdefgh"))
        rules = [f"if {one} changes: {two} >= x.{two}" for one, two in zip("abcdefg", "bcdefgh", strict=True)]
        explainer = ssba.Explainer(lambda rows: (rows["a"] > 0.5).to_numpy(), frame, target=True)
        explanation = explainer.explain(dict.fromkeys("abcdefgh", 0.0), [*rules, "a != x.a"])
        assert explanation.status == "found"
        assert explanation.best is not None
        row = explanation.best.values
        for one, two in zip("abcdefg", "bcdefgh", strict=True):
            assert row[one] == 0.0 or row[two] >= 0.0

    def test_odd_column_names_are_quoted_by_backticks(self) -> None:
        frame = pd.DataFrame(X, columns=["max HR", "größe", "and"])
        explainer = ssba.Explainer(lambda rows: rows.to_numpy() @ WEIGHTS > 1.0, frame)
        rules = ["`max HR` == x.`max HR`", "größe <= x.größe + 0.3", "`and` <= 5"]
        best = explainer.explain({"max HR": 0.0, "größe": 0.4, "and": 0.5}, rules).best
        assert best is not None
        assert best.values["max HR"] == 0.0
        assert best.values["größe"] <= 0.7


@pytest.fixture(scope="module")
def gappy() -> ssba.Explainer:
    """A pipeline that takes missing cells, on people of whom some have them."""
    frame = PEOPLE.copy()
    frame.loc[::17, "systolic"] = np.nan
    frame.loc[::23, "sex"] = None
    prepare = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "systolic", "diastolic", "stress"]),
        remainder=OneHotEncoder(handle_unknown="ignore"),
    )
    model = make_pipeline(prepare, LogisticRegression()).fit(frame, at_risk(PEOPLE))
    return ssba.Explainer(model, frame, target="fine")


class TestMissing:
    @pytest.mark.parametrize("gap", [None, float("nan"), pd.NA])
    def test_a_missing_cell_of_the_query_stays_missing(self, gappy: ssba.Explainer, gap: Any) -> None:
        explanation = gappy.explain({**PATIENT, "systolic": gap, "age": 75}, k=3)
        assert explanation.status == "found"
        assert explanation.query["systolic"] is None
        for answer in explanation.counterfactuals:
            assert answer.values["systolic"] is None
            assert "systolic" not in answer.changes

    def test_a_missing_category_stays_missing(self, gappy: ssba.Explainer) -> None:
        best = gappy.explain({**PATIENT, "sex": None}).best
        assert best is not None
        assert best.values["sex"] is None

    def test_it_may_be_filled_where_the_user_allows_it(self, gappy: ssba.Explainer) -> None:
        rest = [ssba.fixed(name) for name in PATIENT if name != "systolic"]
        query = {**PATIENT, "systolic": None}
        assert gappy.explain(query, rest).status == "bounded"
        explanation = gappy.explain(query, [*rest, ssba.may_fill("systolic"), "systolic >= 80"])
        assert explanation.best is not None
        assert explanation.best.changes.keys() == {"systolic"}
        assert explanation.best.values["systolic"] >= 80
        assert explanation.best.distance == pytest.approx(1.0)

    def test_missing_cells_of_the_background_do_not_spread(self, gappy: ssba.Explainer) -> None:
        for explanation in gappy.explain_many(PEOPLE[:10], k=2):
            for answer in explanation.counterfactuals:
                assert None not in answer.values.values()

    def test_background_rows_that_all_miss_something_still_serve(self) -> None:
        data = X.copy()
        data[np.arange(300), np.arange(300) % 3] = np.nan
        explainer = ssba.Explainer(lambda rows: np.nan_to_num(rows) @ WEIGHTS > 1.0, data, target=True)
        best = explainer.explain([0.0, 0.0, 0.0]).best
        assert best is not None
        assert not any(value is None for value in best.values.values())

    def test_a_query_with_every_cell_missing_has_no_move(self) -> None:
        explainer = ssba.Explainer(lambda rows: np.nan_to_num(rows) @ WEIGHTS > 1.0, X, target=True)
        explanation = explainer.explain([None, None, None])
        assert explanation.status == "bounded"
        assert explanation.counterfactuals == ()


class TestFeatures:
    def test_whole_numbers_and_steps_and_levels_only(self) -> None:
        frame = PEOPLE.assign(stage=_rng.choice(["I", "II", "III"], size=300), dose=X[:, 0].round(1))

        def model(rows: pd.DataFrame) -> Any:
            rank = rows["stage"].map({"I": 0.0, "II": 1.0, "III": 2.0}).to_numpy()
            assert (rows["age"] % 1 == 0).all()
            assert np.allclose(rows["dose"] * 10, (rows["dose"] * 10).round(), rtol=0, atol=1e-9)
            return rank + rows["dose"] + (rows["age"] - 50) / 10 > 2.0

        explainer = ssba.Explainer(
            model,
            frame,
            features={"stage": ssba.ordinal(["I", "II", "III"]), "dose": ssba.numeric(step=0.1, unit="mg")},
        )
        for explanation in explainer.explain_many(frame[:20], budget=SMALL):
            assert explanation.best is not None
            row = explanation.best.values
            assert row["stage"] in {"I", "II", "III"}
            assert row["dose"] == round(row["dose"], 1)
            assert type(row["age"]) is int

    def test_an_ordinal_column_goes_up_in_rank(self) -> None:
        frame = pd.DataFrame({"stage": ["I", "II", "III", "IV"] * 10, "other": X[:40, 0]})

        def late(rows: pd.DataFrame) -> Any:
            return rows["stage"].isin(["I", "IV"]).to_numpy()

        explainer = ssba.Explainer(
            late, frame, target=True, features={"stage": ssba.ordinal(["I", "II", "III", "IV"])}
        )
        best = explainer.explain({"stage": "II", "other": 0.0}, [ssba.increase("stage")]).best
        assert best is not None
        assert best.values["stage"] == "IV"

    def test_declared_bounds_are_hard_whatever_the_constraints_say(self) -> None:
        explainer = ssba.Explainer(lambda rows: rows[:, 0] > 0.5, X, features={"x0": ssba.numeric(high=0.4)})
        explanation = explainer.explain([0.0, 0.0, 0.0], ["x0 <= 100"])
        assert explanation.status == "bounded"
        assert explanation.bounded is not None
        assert explanation.bounded.values["x0"] <= 0.4

    def test_without_constraints_the_datas_range_is_kept_and_a_constraint_widens_it(self) -> None:
        top = float(X[:, 0].max())
        explainer = ssba.Explainer(lambda rows: rows[:, 0] + 0.01 * rows[:, 1] > top, X)
        free = explainer.explain([0.0, 0.0, 0.0], [ssba.between("x0", -10, 10)]).best
        assert free is not None
        assert free.values["x0"] > top - 0.05
        kept = explainer.explain([0.0, 0.0, 0.0]).best
        assert kept is None or kept.values["x0"] <= top

    def test_a_constant_column_is_held_with_a_warning_that_names_it(self) -> None:
        data = np.c_[X, np.full(300, 7.0)]
        with pytest.warns(ssba.SsbaWarning, match="'x3'"):
            explainer = ssba.Explainer(lambda rows: rows[:, 0] > 0, data)
        best = explainer.explain([-1.0, 0.0, 0.0, 7.0]).best
        assert best is not None
        assert "x3" not in best.changes

    def test_a_query_beside_a_constant_column_keeps_its_own_value(self) -> None:
        data = np.c_[X, np.full(300, 7.0)]
        with pytest.warns(ssba.SsbaWarning, match="held fixed"):
            explainer = ssba.Explainer(lambda rows: rows[:, 0] > 0, data)
        best = explainer.explain([-1.0, 0.0, 0.0, 8.5]).best
        assert best is not None
        assert best.values["x3"] == 8.5

    def test_categories_alone_are_enough(self) -> None:
        frame = pd.DataFrame({"a": ["u", "v", "w"] * 10, "b": ["p", "q"] * 15})

        def model(rows: pd.DataFrame) -> Any:
            return ((rows["a"] == "w") & (rows["b"] == "q")).to_numpy()

        explainer = ssba.Explainer(model, frame, target=True)
        best = explainer.explain({"a": "u", "b": "p"}).best
        assert best is not None
        assert best.values == {"a": "w", "b": "q"}
        held = explainer.explain({"a": "u", "b": "p"}, [ssba.fixed("b")])
        assert held.status == "bounded"

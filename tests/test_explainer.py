"""One query: its forms, its constraints, its statuses and the distance of its answer."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression
from tests.people import PATIENT, PEOPLE, SMALL, WEIGHTS, X, at_risk, plane
from tests.support import every

import ssba
from ssba.results.words import cell


class Counting:
    """A model that counts the rows and calls it gets."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function, self.calls, self.rows = function, 0, 0

    def __call__(self, rows: Any) -> Any:
        self.calls += 1
        self.rows += len(rows)
        return self.function(rows)


@pytest.fixture(scope="module")
def people() -> ssba.Explainer:
    return ssba.Explainer(at_risk, PEOPLE, target="fine")


def ask_about(values: dict[str, Any]) -> str:
    return str(at_risk(pd.DataFrame([values]))[0])


class TestForms:
    def test_dict_series_frame_and_array_are_the_same_query(self) -> None:
        explainer = ssba.Explainer(plane, X)
        cells = [0.25, -0.5, 0.125]
        named = dict(zip(("x0", "x1", "x2"), cells, strict=True))
        forms: list[Any] = [
            named,
            pd.Series(named),
            pd.DataFrame([named]),
            pl.DataFrame([named]),
            pa.Table.from_pylist([named]),
            np.array(cells),
            cells,
            tuple(cells),
        ]
        answers = [explainer.explain(form, budget=SMALL).counterfactuals for form in forms]
        assert every(answer == answers[0] for answer in answers)

    @pytest.mark.parametrize("form", [list, tuple, lambda cells: np.array(cells, dtype=object)])
    def test_a_plain_sequence_keeps_its_mixed_cells(
        self, form: Callable[[list[Any]], Any], people: ssba.Explainer
    ) -> None:
        by_name = people.explain(PATIENT, budget=SMALL)
        by_position = people.explain(form(list(PATIENT.values())), budget=SMALL)
        assert by_position.counterfactuals == by_name.counterfactuals

    def test_the_order_of_a_dicts_columns_does_not_matter(self, people: ssba.Explainer) -> None:
        turned = dict(reversed(list(PATIENT.items())))
        assert people.explain(turned).counterfactuals == people.explain(PATIENT).counterfactuals

    def test_numpy_scalars_are_plain_python_values_in_the_answer(self, people: ssba.Explainer) -> None:
        row = {**PATIENT, "age": np.int64(61), "systolic": np.float32(152), "sex": np.str_("male")}
        best = people.explain(row).best
        assert best is not None
        assert [type(value) for value in best.values.values()] == [int, str, str, int, int, float]

    def test_a_column_of_32_bit_floats_takes_a_query_of_python_floats(self) -> None:
        explainer = ssba.Explainer(plane, X.astype(np.float32))
        explanation = explainer.explain({"x0": 0.1, "x1": 0.1, "x2": 0.1}, [ssba.fixed("x2")])
        assert explanation.status == "found"
        assert explanation.best is not None
        assert "x2" not in explanation.best.changes
        assert np.float32(explanation.best.values["x2"]) == np.float32(0.1)


class TestDistance:
    """Closed forms for a plane: L2 gap/|w s|, L1 gap/max|w s|, with s the scale over the weight."""

    QUERY = np.array([0.1, 0.1, 0.2])
    GAP = 1.0 - float(QUERY @ WEIGHTS)

    def distance(self, norm: Any = "l2", **settings: Any) -> float:
        best = ssba.Explainer(plane, X, distance=ssba.Distance(norm, **settings)).explain(self.QUERY).best
        assert best is not None
        return best.distance

    def test_l2_in_raw_units_is_the_distance_to_the_plane(self) -> None:
        exact = self.GAP / np.linalg.norm(WEIGHTS)
        assert exact <= self.distance(scale="none") <= 1.01 * exact

    def test_l2_in_standard_deviations(self) -> None:
        exact = self.GAP / np.linalg.norm(WEIGHTS * X.std(axis=0))
        assert exact <= self.distance() <= 1.01 * exact

    def test_l1_changes_the_cheapest_column_only(self) -> None:
        exact = self.GAP / np.abs(WEIGHTS).max()
        assert exact <= self.distance("l1", scale="none") <= 1.02 * exact

    def test_gower_counts_shares_of_the_range(self) -> None:
        exact = self.GAP / (np.abs(WEIGHTS) * np.ptp(X, axis=0)).max()
        assert exact <= self.distance("gower") <= 1.02 * exact
        best = ssba.Explainer(plane, X, distance="gower").explain(self.QUERY).best
        assert best is not None
        assert best.distance == self.distance("gower")

    def test_a_mapping_scales_and_weights_hold_back(self) -> None:
        exact = self.GAP / np.linalg.norm(WEIGHTS * np.array([2.0, 1.0, 1.0]) / np.array([1.0, 5.0, 1.0]))
        measured = self.distance(scale={"x0": 2.0}, weights={"x1": 5.0})
        assert exact <= measured <= 1.01 * exact

    def test_the_distance_told_is_the_distance_of_the_changes(self) -> None:
        best = ssba.Explainer(plane, X, distance=ssba.Distance(scale="none")).explain(self.QUERY).best
        assert best is not None
        told = np.sqrt(sum((after - before) ** 2 for before, after in best.changes.values()))
        assert best.distance == pytest.approx(told)

    def test_one_changed_category_counts_one(self) -> None:
        frame = pd.DataFrame({"kind": ["a", "b", "c"] * 20, "size": X[:60, 0]})
        explainer = ssba.Explainer(lambda rows: (rows["kind"] == "c").to_numpy(), frame, target=True)
        best = explainer.explain({"kind": "a", "size": 0.5}).best
        assert best is not None
        assert best.changes == {"kind": ("a", "c")}
        assert best.distance == 1.0


class TestStatus:
    def test_found(self, people: ssba.Explainer) -> None:
        explanation = people.explain(PATIENT)
        assert explanation.status is ssba.results.Status.FOUND
        assert explanation.prediction == "risk"
        assert explanation.best is explanation.counterfactuals[0]
        assert explanation.best is not None
        assert explanation.best.prediction == "fine"
        assert explanation.bounded is None

    def test_already_there(self, people: ssba.Explainer) -> None:
        explanation = people.explain({**PATIENT, "age": 30, "smoker": "never", "stress": -1.0})
        assert explanation.status is ssba.results.Status.ALREADY_THERE
        assert explanation.best is None
        assert explanation.prediction == "fine"

    @pytest.mark.parametrize(
        ("rules", "named"),
        [
            (["systolic >= 300", "systolic <= 200"], ["systolic >= 300", "systolic <= 200"]),
            (["age >= x.age + 1", ssba.fixed("age")], ["age >= x.age + 1", "age == x.age"]),
            (
                ["systolic - diastolic >= 500", "systolic <= 200", "diastolic >= 0"],
                ["systolic - diastolic >= 500"],
            ),
            ([ssba.one_of("smoker", ["never"]), "smoker == x.smoker", "age >= 20"], ["smoker == x.smoker"]),
        ],
    )
    def test_infeasible_names_the_clash_without_a_model_call(
        self, rules: list[Any], named: list[str]
    ) -> None:
        model = Counting(at_risk)
        explainer = ssba.Explainer(model, PEOPLE, target="fine")
        model.calls = 0
        explanation = explainer.explain(PATIENT, rules)
        assert explanation.status is ssba.results.Status.INFEASIBLE
        assert model.calls == 0
        assert explanation.rows_used == 0
        assert set(named) <= set(explanation.clash)
        assert "age >= 20" not in explanation.clash
        for one in explanation.clash:
            assert one in explanation.sentence

    def test_bounded(self, people: ssba.Explainer) -> None:
        rules: list[Any] = [*(ssba.fixed(name) for name in PATIENT if name != "stress"), "stress >= 0.3"]
        explanation = people.explain(PATIENT, rules)
        assert explanation.status is ssba.results.Status.BOUNDED
        assert explanation.best is None
        assert explanation.bounded is not None
        assert explanation.bounded.prediction == "risk"
        assert explanation.bounded.distance_to_boundary is not None
        assert explanation.bounded.distance_to_boundary > 0

    def test_everything_fixed_is_bounded_by_the_query_itself(self, people: ssba.Explainer) -> None:
        explanation = people.explain(PATIENT, [ssba.fixed(name) for name in PATIENT])
        assert explanation.status is ssba.results.Status.BOUNDED
        assert explanation.bounded is not None
        assert explanation.bounded.values == PATIENT
        assert explanation.bounded.changes == {}

    def test_out_of_budget_only_where_the_budget_ran_out(self) -> None:
        # A target in a corner of the data that few rows show.
        explainer = ssba.Explainer(lambda rows: (rows > 0.8).all(axis=1), X, target=True)
        rules = [ssba.within(name, amount=0.5) for name in ("x0", "x1", "x2")]
        starved = explainer.explain([0.0, 0.0, 0.0], rules, budget=ssba.Budget(rows=1))
        assert starved.status is ssba.results.Status.OUT_OF_BUDGET
        generous = explainer.explain([0.0, 0.0, 0.0], rules, budget=ssba.Budget(rows=100_000))
        assert generous.status is ssba.results.Status.BOUNDED

    def test_an_unreachable_number_is_a_status_not_an_error(self) -> None:
        explainer = ssba.Explainer(lambda rows: rows @ WEIGHTS, X, ssba.value_between(1000, 2000))
        explanation = explainer.explain([0.0, 0.0, 0.0])
        assert explanation.status in {"bounded", "out_of_budget"}
        assert explanation.counterfactuals == ()
        assert explanation.sentence

    def test_an_unreachable_probability_is_a_status_not_an_error(self) -> None:
        model = LogisticRegression().fit(X, plane(X))
        explainer = ssba.Explainer(model, X, ssba.probability(True, at_least=1.0))
        explanation = explainer.explain([0.0, 0.0, 0.0])
        assert explanation.status in {"bounded", "out_of_budget"}


class TestBudget:
    @pytest.mark.parametrize("rows", [50, 200, 1000])
    def test_rows_are_counted_and_kept_to(self, rows: int) -> None:
        model = Counting(plane)
        explainer = ssba.Explainer(model, X)
        explainer.explain([0.0, 0.0, 0.0])  # background rows are asked about once, before
        model.rows = 0
        explanation = explainer.explain([0.1, 0.0, 0.2], budget=ssba.Budget(rows=rows))
        # A wave that began within the budget is finished, and answers are asked about once more.
        assert model.rows <= rows + 300
        assert explanation.rows_used <= model.rows <= explanation.rows_used + 60

    def test_more_rows_never_give_a_worse_answer(self, people: ssba.Explainer) -> None:
        distances = []
        for rows in (100, 400, 1600, 6400):
            best = people.explain(PATIENT, budget=ssba.Budget(rows=rows)).best
            assert best is not None
            distances.append(best.distance)
        # Writing an answer in few digits may cost a thousandth of its distance.
        assert every(later <= 1.001 * earlier for earlier, later in itertools.pairwise(distances))

    def test_seconds_end_the_search_with_a_status(self, people: ssba.Explainer) -> None:
        explanation = people.explain(PATIENT, budget=ssba.Budget(seconds=1e-9))
        assert explanation.status in {"found", "out_of_budget"}
        generous = people.explain(PATIENT, budget=ssba.Budget(seconds=3600))
        assert generous.counterfactuals == people.explain(PATIENT).counterfactuals


class TestDigits:
    """What a person reads is what was scored."""

    def test_the_numbers_in_the_sentence_reach_the_target(self, people: ssba.Explainer) -> None:
        for text in ((), ("systolic <= x.systolic",), ("age == x.age",)):
            best = people.explain(PATIENT, text).best
            assert best is not None
            shown = {name: cell(value) for name, value in best.values.items()}
            read = {
                name: type(best.values[name])(text) if isinstance(best.values[name], int | float) else text
                for name, text in shown.items()
            }
            assert read == best.values
            assert ask_about(read) == "fine"

    def test_changed_numbers_have_few_digits(self, people: ssba.Explainer) -> None:
        best = people.explain(PATIENT).best
        assert best is not None
        changed = [after for _, after in best.changes.values() if isinstance(after, float)]
        assert changed
        assert max(len(repr(number)) for number in changed) <= 8


class TestSeveralAnswers:
    def test_answers_are_different_verified_and_nearest_first(self, people: ssba.Explainer) -> None:
        explanation = people.explain(PATIENT, [ssba.fixed("sex"), ssba.fixed("age")], k=5)
        rows = [answer.values for answer in explanation.counterfactuals]
        assert len(rows) == 5
        assert len({tuple(row.values()) for row in rows}) == 5
        distances = [answer.distance for answer in explanation.counterfactuals]
        assert distances == sorted(distances)
        for row in rows:
            assert ask_about(row) == "fine"
            assert (row["sex"], row["age"]) == ("male", 61)

    def test_the_first_of_many_is_the_one_asked_for_alone(self, people: ssba.Explainer) -> None:
        assert people.explain(PATIENT, k=4).best == people.explain(PATIENT, k=1).best

    def test_fewer_come_where_fewer_exist(self) -> None:
        frame = pd.DataFrame({"a": [0, 1, 2, 3, 4, 5]})
        explainer = ssba.Explainer(lambda rows: (rows["a"] >= 3).to_numpy(), frame)
        explanation = explainer.explain({"a": 0}, k=8)
        assert [answer.values["a"] for answer in explanation.counterfactuals] == [3, 4, 5]

    def test_two_ways_to_obey_a_rule_do_not_repeat_an_answer(self) -> None:
        explainer = ssba.Explainer(plane, X)
        rules = ["if x0 changes: x1 >= x.x1", "if x1 changes: x2 >= x.x2"]
        explanation = explainer.explain([0.0, 0.0, 0.0], rules, k=6)
        rows = [tuple(answer.values.values()) for answer in explanation.counterfactuals]
        assert len(set(rows)) == len(rows)


class TestTargets:
    THREE = np.array(["a", "b", "c"])

    def three(self, rows: Any) -> Any:
        return self.THREE[np.digitize(rows[:, 0], [-0.5, 0.5])]

    def test_none_is_any_other_class(self) -> None:
        explainer = ssba.Explainer(self.three, X)
        explanation = explainer.explain([-0.4, 0, 0])
        assert explanation.prediction == "b"
        assert explanation.best is not None
        assert explanation.best.prediction == "a"
        assert "any class but 'b'" in explanation.target

    def test_a_label_that_is_further_away(self) -> None:
        best = ssba.Explainer(self.three, X, target="c").explain([-0.4, 0, 0]).best
        assert best is not None
        assert best.prediction == "c"
        assert best.values["x0"] == pytest.approx(0.5, abs=0.01)

    def test_a_numpy_label_is_a_label(self) -> None:
        best = ssba.Explainer(self.three, X, target=np.str_("c")).explain([-0.4, 0, 0]).best
        assert best is not None
        assert best.prediction == "c"

    def test_an_interval_is_entered_from_either_side(self) -> None:
        explainer = ssba.Explainer(lambda rows: rows @ WEIGHTS, X, ssba.value_between(0.0, 0.5))
        for query in ([1.5, 1.0, 0.0], [-1.5, -1.0, 0.0]):
            best = explainer.explain(query).best
            assert best is not None
            assert 0.0 <= np.dot(list(best.values.values()), WEIGHTS) <= 0.5

    def test_repr_of_the_explainer_says_what_it_is(self, people: ssba.Explainer) -> None:
        assert repr(people) == "<Explainer of at_risk toward 'fine', 6 columns, 300 background rows>"

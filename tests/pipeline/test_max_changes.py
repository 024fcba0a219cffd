"""Few changed columns: a hard limit, at a price in distance, and answers by different columns."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tests.problems import half_space
from tests.support import every

import ssba

RNG = np.random.default_rng(11)
WIDE = RNG.uniform(-4, 4, size=(400, 8))
WEIGHTS = np.array([3.0, -2.5, 2.0, 1.5, -1.0, 0.6, 0.3, 0.2])
ORDERED = np.sort(np.abs(WEIGHTS))[::-1]
ORIGIN = [0.0] * 8


plane = half_space(*WEIGHTS, at=4)


def limit(columns: int) -> float:
    """Closed form: the nearest row on the plane that changes so many columns uses the largest weights."""
    return float(4 / np.linalg.norm(ORDERED[:columns]))


PLANE = ssba.Explainer(plane, WIDE, target=True, distance=ssba.Distance(scale="none"))

MIXED = pd.DataFrame(
    {
        "age": RNG.integers(20, 80, size=300),
        "dose": RNG.integers(-20, 21, size=300) / 10,
        "chol": RNG.normal(0, 40, size=300),
        "pain": RNG.choice(["none", "mild", "strong"], size=300),
        "smoker": RNG.random(300) < 0.4,
    }
)


def risky(rows: pd.DataFrame) -> Any:
    age, dose, chol = (rows[name].to_numpy(dtype=float) for name in ("age", "dose", "chol"))
    smoker, strong = rows["smoker"].to_numpy(dtype=bool), (rows["pain"] == "strong").to_numpy()
    total = (age - 50) / 25 + np.sin(chol / 30) + dose**2 / 2 + 0.8 * smoker + 0.7 * strong
    return np.where(total > 1.0, "risk", "fine")


PEOPLE = ssba.Explainer(risky, MIXED, features={"dose": ssba.numeric(step=0.1)})
RULES = [
    "age >= x.age",
    "chol <= x.chol",
    "dose within 0.5",
    "pain != 'mild'",
    "chol - age >= -150",
    "smoker == x.smoker",
]


SMALL, LARGER = ssba.Budget(rows=700), ssba.Budget(rows=2000)


def is_valid(
    answer: ssba.results.Counterfactual, explanation: ssba.results.Explanation, rules: set[str]
) -> bool:
    """Whether an answer flips the model and obeys the rules, in plain Python."""
    x, z = explanation.query, answer.values
    meaning = {
        "age >= x.age": z["age"] >= x["age"],
        "chol <= x.chol": z["chol"] <= x["chol"],
        "dose within 0.5": abs(z["dose"] - x["dose"]) <= 0.5 + 1e-9,
        "pain != 'mild'": z["pain"] != "mild",
        "chol - age >= -150": z["chol"] - z["age"] >= -150,
        "smoker == x.smoker": z["smoker"] == x["smoker"],
    }
    flips = risky(pd.DataFrame([z]).astype(MIXED.dtypes.to_dict()))[0] != explanation.prediction
    return bool(flips) and all(meaning[rule] for rule in rules)


class TestMaxChanges:
    @pytest.mark.parametrize("most", [1, 2, 3, 5])
    def test_a_planes_best_columns_are_found(self, most: int) -> None:
        explanation = PLANE.explain(ORIGIN, max_changes=most)
        assert explanation.best is not None
        assert len(explanation.best.changes) <= most
        assert limit(most) * (1 - 1e-9) <= explanation.best.distance <= 1.01 * limit(most)

    def test_an_axis_step_needs_no_more_than_it_takes(self) -> None:
        """Both x0 and x1 must pass 1: the best with two changes is their corner, and one is not enough."""
        explainer = ssba.Explainer(
            lambda rows: (rows[:, :2] > 1).all(axis=1),
            WIDE,
            target=True,
            distance=ssba.Distance(scale="none"),
        )
        two = explainer.explain(ORIGIN, max_changes=2)
        assert two.best is not None
        assert set(two.best.changes) == {"x0", "x1"}
        assert two.best.distance == pytest.approx(np.sqrt(2), rel=0.01)
        one = explainer.explain(ORIGIN, max_changes=1)
        assert one.status == "bounded"
        assert one.bounded is not None
        assert len(one.bounded.changes) <= 1
        assert "with max_changes=1" in one.sentence
        assert '"max_changes=1"' in one.sentence.partition("what stops it")[2]

    @settings(deadline=None, max_examples=5)
    @given(
        first=st.integers(0, 290),
        most=st.integers(1, 3),
        rules=st.sets(st.sampled_from(RULES), max_size=3),
        k=st.integers(1, 3),
    )
    def test_it_is_never_exceeded(self, first: int, most: int, rules: set[str], k: int) -> None:
        rows = MIXED[first : first + 8]
        for explanation in PEOPLE.explain_many(rows, sorted(rules), k=k, budget=SMALL, max_changes=most):
            answers = [*explanation.counterfactuals, *filter(None, [explanation.bounded])]
            assert all(len(answer.changes) <= most for answer in answers)
            assert all(is_valid(answer, explanation, rules) for answer in explanation.counterfactuals)

    def test_a_column_that_must_change_counts(self) -> None:
        explanation = PLANE.explain(ORIGIN, ["x7 >= 1"], max_changes=2)
        assert explanation.best is not None
        assert set(explanation.best.changes) == {"x0", "x7"}
        # x7 at 1 gives 0.2; x0 makes up for the rest.
        assert explanation.best.distance == pytest.approx(np.hypot(1.0, 3.8 / 3), rel=0.01)

    def test_more_columns_that_must_change_than_may_are_a_contradiction(self) -> None:
        explanation = PLANE.explain(ORIGIN, ["x7 >= 1", "x0 <= 9", "x6 >= 1", "x5 >= 1"], max_changes=2)
        assert explanation.status == "infeasible"
        assert explanation.clash == ("x7 >= 1", "x6 >= 1", "x5 >= 1", "max_changes=2")
        assert "max_changes=2" in explanation.sentence

    def test_no_constraint_that_can_be_left_out_is_part_of_a_contradiction(self) -> None:
        """c1 has to change alone, but c0 = 7 would be needed while c2 stays: "c2 != 1" has no part in it."""
        data = pd.DataFrame({"c0": [-2, 3, 0], "c1": ["red", "green", "blue"], "c2": [-1, 4, 0]})
        explainer = ssba.Explainer(lambda rows: rows["c0"] + rows["c2"] > 3, data, target=True)
        rules = ["if c2 <= x.c2: c0 + 2 * c2 == 5", "c2 != 1", "c1 == 'green'"]
        found = explainer.explain({"c0": -2, "c1": "red", "c2": -1}, rules, max_changes=1)
        assert found.status.value == "infeasible"
        assert found.clash == (rules[0], rules[2], "max_changes=1")

    def test_a_relation_that_takes_more_changes_than_there_may_be_is_a_contradiction(self) -> None:
        """Neither column alone makes a - b a half: a goes in steps of two, b in steps of one and a half."""
        data = pd.DataFrame({"a": [0.0, 2.0, 4.0, 6.0], "b": [0.0, 1.5, 3.0, 4.5]})
        explainer = ssba.Explainer(
            lambda rows: rows["a"] > 5,
            data,
            target=True,
            features={"a": ssba.numeric(step=2), "b": ssba.numeric(step=1.5)},
        )
        rules = ["a - b == 0.5"]
        found = explainer.explain({"a": 0.0, "b": 0.0}, rules, max_changes=1)
        assert found.status.value == "infeasible"
        assert found.clash == (*rules, "max_changes=1")
        assert explainer.explain({"a": 0.0, "b": 0.0}, rules, max_changes=2).status.value == "bounded"

    def test_a_way_that_changes_few_enough_columns_is_no_contradiction(self) -> None:
        """If x7 is at least 1, x6 and x5 must change too; it may stay below 1."""
        rules = ["x4 >= 1", "if x7 >= 1: x6 >= 1", "if x7 >= 1: x5 >= 1"]
        explanation = PLANE.explain(ORIGIN, rules, max_changes=2)
        assert explanation.best is not None
        assert len(explanation.best.changes) <= 2

    def test_a_bounded_move_obeys_the_limit_where_a_relation_asks_for_changes(self) -> None:
        """The nearest feasible row changes all eight columns; one that changes a single one is feasible."""
        explainer = ssba.Explainer(
            lambda rows: (rows[:, :2] > 1).all(axis=1),
            WIDE,
            target=True,
            distance=ssba.Distance(scale="none"),
        )
        total = " + ".join(f"x{i}" for i in range(8))
        explanation = explainer.explain(ORIGIN, [f"{total} >= 1"], max_changes=1)
        assert explanation.status == "bounded"
        assert explanation.bounded is not None
        assert len(explanation.bounded.changes) == 1

    def test_a_forest(self) -> None:
        forest = RandomForestClassifier(20, random_state=0).fit(WIDE, plane(WIDE))
        explanation = ssba.Explainer(forest, WIDE, target=True).explain(ORIGIN, max_changes=2)
        assert explanation.best is not None
        assert len(explanation.best.changes) <= 2
        assert forest.predict([list(explanation.best.values.values())])[0]

    def test_whole_numbers_and_categories_are_exhausted(self) -> None:
        frame = pd.DataFrame({name: RNG.integers(0, 6, 200) for name in "abcd"}).assign(
            e=RNG.choice(["u", "v"], 200)
        )

        def needle(rows: pd.DataFrame) -> Any:
            total = rows["a"] * 5 + rows["b"] * 3 + rows["c"] * 7 + rows["d"] + 2 * (rows["e"] == "v")
            return (total % 17 == 4).to_numpy()

        explainer = ssba.Explainer(needle, frame, target=True, distance=ssba.Distance(scale="none"))
        explanation = explainer.explain({"a": 2, "b": 2, "c": 2, "d": 2, "e": "u"}, max_changes=2)
        every = itertools.product(range(6), range(6), range(6), range(6), ["u", "v"])
        rows = pd.DataFrame(list(every), columns=list("abcde"))
        apart = rows[list("abcd")] - 2
        changes = (apart != 0).sum(axis=1) + (rows["e"] != "u")
        distance = np.sqrt((apart**2).sum(axis=1) + (rows["e"] != "u"))
        assert explanation.best is not None
        assert explanation.best.distance == pytest.approx(distance[needle(rows) & (changes <= 2)].min())
        assert explanation.evidence.proof == "exhausted"

    def test_draws_obey_it_too(self) -> None:
        asked: list[Any] = []

        def model(rows: Any) -> Any:
            asked.append(np.array(rows))
            return plane(rows)

        explainer = ssba.Explainer(model, WIDE, target=True, distance=ssba.Distance(scale="none"))
        explainer.explain(ORIGIN)
        asked.clear()
        evidence = explainer.explain(ORIGIN, max_changes=2, evidence=137).evidence
        assert evidence.drawn == 137
        # The plain search, which is made first, draws freely.
        freely, drawn = [rows for rows in asked if len(rows) == 137]
        assert ((freely != 0).sum(axis=1) == 8).all()
        assert ((drawn != 0).sum(axis=1) == 2).all()
        assert len({tuple(row != 0) for row in drawn}) > 15

    def test_what_draws_find_for_the_plain_query_is_an_answer_where_it_changes_few_enough(self) -> None:
        heart = ssba.datasets.load_heart()
        words = [name for name in heart.frame if heart.frame[name].dtype.kind not in "if"]
        numbers = [name for name in heart.frame if name not in words]
        model = make_pipeline(
            make_column_transformer(
                (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
                (OneHotEncoder(handle_unknown="ignore", sparse_output=False), words),
            ),
            KNeighborsClassifier(5),
        ).fit(heart.frame, heart.target)
        explainer = ssba.Explainer(model, heart.frame, target="disease")
        patient = heart.frame.loc[133]
        searched = explainer.explain(patient, evidence=0).best
        plain = explainer.explain(patient, evidence=1000).best
        assert searched is not None
        assert plain is not None
        # A drawn row led to it.
        assert plain.distance < 0.9 * searched.distance
        limited = explainer.explain(patient, max_changes=len(plain.changes), evidence=1000).best
        assert limited is not None
        assert limited.distance <= plain.distance

    @pytest.mark.parametrize("most", [0, -1, 1.5, "two", True])
    def test_other_limits_are_refused(self, most: Any) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match=r"max_changes is .*whole number, 1 or more"):
            PLANE.explain(ORIGIN, max_changes=most)


class TestSparsity:
    @pytest.mark.parametrize(("sparsity", "price"), [("balanced", 1.1), ("strong", 1.5)])
    def test_a_plane_needs_no_more_columns_than_the_price_buys(self, sparsity: Any, price: float) -> None:
        fewest = next(n for n in range(1, 9) if limit(n) <= price * limit(8) / 1.003)
        explanation = PLANE.explain(ORIGIN, sparsity=sparsity)
        assert explanation.best is not None
        assert len(explanation.best.changes) == fewest
        assert explanation.best.distance <= price * limit(8) * 1.01

    @pytest.mark.parametrize(("sparsity", "price"), [("balanced", 1.1), ("strong", 1.5)])
    def test_it_is_at_most_that_much_longer_than_the_nearest(self, sparsity: Any, price: float) -> None:
        for explanation in PEOPLE.explain_many(MIXED[:12], sparsity=sparsity):
            assert explanation.best is not None
            assert explanation.evidence.nearer_than is not None
            assert explanation.best.distance <= price * explanation.evidence.nearer_than * (1 + 1e-9)

    @settings(deadline=None, max_examples=5)
    @given(
        first=st.integers(0, 290),
        sparsity=st.sampled_from(["balanced", "strong"]),
        rules=st.sets(st.sampled_from(RULES), max_size=3),
    )
    def test_no_validity_is_lost(self, first: int, sparsity: Any, rules: set[str]) -> None:
        rows = MIXED[first : first + 8]
        plain = PEOPLE.explain_many(rows, sorted(rules), budget=SMALL)
        sparse = PEOPLE.explain_many(rows, sorted(rules), budget=SMALL, sparsity=sparsity)
        for before, after in zip(plain, sparse, strict=True):
            assert after.status == before.status
            if before.best is not None and after.best is not None:
                assert len(after.best.changes) <= len(before.best.changes)
                assert is_valid(after.best, after, rules)

    def test_the_first_of_many_is_the_one_asked_for_alone(self) -> None:
        alone = PLANE.explain(ORIGIN, sparsity="strong").best
        assert PLANE.explain(ORIGIN, k=3, sparsity="strong").best == alone

    def test_it_goes_with_a_limit_on_changes(self) -> None:
        best = PLANE.explain(ORIGIN, sparsity="strong", max_changes=4).best
        assert best is not None
        assert len(best.changes) <= 2

    def test_other_words_are_refused_with_the_choices(self) -> None:
        wrong: Any = "some"
        with pytest.raises(
            ssba.errors.ArgumentError, match=r"sparsity is 'some'; choose one of 'none', 'balanced'"
        ):
            PLANE.explain(ORIGIN, sparsity=wrong)


class TestLevers:
    @staticmethod
    def differ(explanation: ssba.results.Explanation) -> bool:
        """Whether no set of columns is there twice, and one that contains another is a tenth nearer."""
        answers = [(set(one.changes), one.distance) for one in explanation.counterfactuals]
        return all(
            one != other and not (one < other and there > 0.91 * here)
            for (one, here), (other, there) in itertools.permutations(answers, 2)
        )

    def test_each_of_three_switches_is_an_answer(self) -> None:
        """Three ways to the target, one column each: x0, x1 and x2 beyond 1, 1.2 and 1.5."""
        steps = np.array([1.0, 1.2, 1.5])
        explainer = ssba.Explainer(
            lambda rows: (rows[:, :3] > steps).any(axis=1),
            WIDE,
            target=True,
            distance=ssba.Distance(scale="none"),
        )
        explanation = explainer.explain(ORIGIN, k=3, diversity="levers")
        assert [set(answer.changes) for answer in explanation.counterfactuals] == [{"x0"}, {"x1"}, {"x2"}]
        for answer, step in zip(explanation.counterfactuals, steps, strict=True):
            assert answer.distance == pytest.approx(step, rel=0.01)

    def test_sets_differ_and_the_nearest_comes_first(self) -> None:
        explanation = PLANE.explain(ORIGIN, k=4, diversity="levers", budget=ssba.Budget(rows=20_000))
        assert len(explanation.counterfactuals) == 4
        assert self.differ(explanation)
        distances = [answer.distance for answer in explanation.counterfactuals]
        assert distances == sorted(distances)
        assert every(plane([list(one.values.values())])[0] for one in explanation.counterfactuals)

    @settings(deadline=None, max_examples=3)
    @given(first=st.integers(0, 290), k=st.integers(2, 4), rules=st.sets(st.sampled_from(RULES), max_size=2))
    def test_that_holds_for_any_query_and_rules(self, first: int, k: int, rules: set[str]) -> None:
        rows = MIXED[first : first + 8]
        for explanation in PEOPLE.explain_many(rows, sorted(rules), k=k, budget=LARGER, diversity="levers"):
            assert self.differ(explanation)
            assert len(explanation.counterfactuals) <= k
            assert all(is_valid(answer, explanation, rules) for answer in explanation.counterfactuals)

    def test_other_words_are_refused_with_the_choices(self) -> None:
        wrong: Any = ["levers"]
        with pytest.raises(
            ssba.errors.ArgumentError, match=r"diversity is \['levers'\]; choose one of 'columns', 'distance'"
        ):
            PLANE.explain(ORIGIN, diversity=wrong)


@pytest.mark.parametrize(
    "options",
    [
        {"max_changes": 2},
        {"sparsity": "strong"},
        {"k": 3, "diversity": "levers"},
        {"plausible": True},
        {"margin": 0.1},
    ],
    ids=str,
)
class TestLaws:
    def test_alone_and_in_a_batch_are_the_same(self, options: dict[str, Any]) -> None:
        together = PEOPLE.explain_many(MIXED[:5], ["age == x.age"], budget=ssba.Budget(rows=800), **options)
        for i in range(5):
            alone = PEOPLE.explain(MIXED.iloc[i], ["age == x.age"], budget=ssba.Budget(rows=800), **options)
            assert {**alone.to_dict(), "seconds": 0} == {**together[i].to_dict(), "seconds": 0}

    def test_every_row_asked_is_counted(self, options: dict[str, Any]) -> None:
        asked: list[int] = []

        def model(rows: Any) -> Any:
            asked.append(len(rows))
            return plane(rows)

        explainer = ssba.Explainer(model, WIDE, target=True, distance=ssba.Distance(scale="none"))
        explainer.explain(ORIGIN, **options)
        asked.clear()
        explanation = explainer.explain(ORIGIN, **options)
        # Answers without a score are asked about once more, alone.
        extra = sum(asked) - explanation.rows_used
        assert 0 <= extra <= 3 * len(explanation.counterfactuals)


@pytest.mark.parametrize("options", [{"max_changes": 2}, {"plausible": True}, {"margin": 0.1}], ids=str)
def test_a_larger_budget_finds_no_longer_answer(options: dict[str, Any]) -> None:
    lengths = []
    for rows in (300, 1200, 5000):
        best = PLANE.explain(ORIGIN, budget=ssba.Budget(rows=rows), **options).best
        lengths.append(np.inf if best is None else best.distance)
    assert every(later <= 1.001 * earlier for earlier, later in itertools.pairwise(lengths))

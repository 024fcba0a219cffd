"""Room to spare: balls around answers and margins of the score, verified and said."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from tests.problems import half_space

import ssba
from ssba.results.prose import paragraph

RNG = np.random.default_rng(21)
X = RNG.uniform(-3, 3, size=(400, 4))
WEIGHTS = np.array([2.0, -1.0, 1.0, 0.5])
NORM = float(np.linalg.norm(WEIGHTS))


plane = half_space(*WEIGHTS, at=2)
PLANE = ssba.Explainer(plane, X, target=True, distance=ssba.Distance(scale="none"))
LOGISTIC = LogisticRegression().fit(X, plane(X))


def row_of(answer: ssba.results.Counterfactual) -> Any:
    return np.array(list(answer.values.values()), dtype=float)


class TestBall:
    @pytest.mark.parametrize("margin", [0.1, ssba.ball(0.1), 0.5])
    def test_a_plane_is_kept_at_the_radius(self, margin: Any) -> None:
        """Closed form: the nearest row with a ball of radius r inside a half-space is r beyond its foot."""
        radius = getattr(margin, "radius", margin)
        best = PLANE.explain([0.0] * 4, margin=margin).best
        assert best is not None
        assert best.distance == pytest.approx(2 / NORM + radius, rel=0.01)
        assert (row_of(best) @ WEIGHTS - 2) / NORM >= 0.98 * radius
        assert best.rows_around == 1 + 2 * 4 + 100

    @pytest.mark.parametrize("rules", [[], ["x0 <= 0.4"], ["x1 == x.x1", "x2 <= 0.3"], ["x0 + x3 <= 0.8"]])
    def test_fresh_rows_around_an_answer_reach_the_target_too(self, rules: list[str]) -> None:
        def curved(rows: Any) -> Any:
            return (rows[:, 0] + rows[:, 1] ** 2 / 2 - rows[:, 2] > 1.2) & (rows[:, 3] < 1.5)

        explainer = ssba.Explainer(curved, X, target=True, distance=ssba.Distance(scale="none"))
        explanation = explainer.explain([0.0] * 4, rules, margin=0.2)
        assert explanation.best is not None
        ways = RNG.normal(size=(3000, 4))
        ways /= np.linalg.norm(ways, axis=1, keepdims=True)
        around = row_of(explanation.best) + 0.2 * ways
        # 109 rows all reached: at 95% confidence less than 3% of the surface does not.
        assert curved(around).mean() > 0.97

    def test_a_ball_that_fits_nowhere_is_said_so(self) -> None:
        def slab(rows: Any) -> Any:
            return np.abs(rows[:, 0] - 1) < 0.2

        explanation = ssba.Explainer(slab, X, target=True, distance=ssba.Distance(scale="none")).explain(
            [0.0] * 4, margin=0.5
        )
        assert explanation.status in {"bounded", "out_of_budget"}
        assert explanation.best is None
        assert explanation.evidence.proof is None
        assert "with margin=ball(0.5)" in explanation.sentence

    @pytest.mark.parametrize("by_labels", [False, True])
    def test_where_no_row_has_room_the_move_flips_and_is_said_to(self, *, by_labels: bool) -> None:
        rules = ["x0 <= 1", "x1 >= -0.2", "x2 <= 0.5", "x3 == x.x3"]
        model = plane if by_labels else LOGISTIC
        explanation = ssba.Explainer(model, X, target=True, distance=ssba.Distance(scale="none")).explain(
            [0.0] * 4, rules, margin=1.0
        )
        assert explanation.status == "bounded"
        assert explanation.bounded is not None
        assert explanation.bounded_flips
        assert explanation.bounded.prediction is True
        # It lies well beyond the nearest row that flips, and nothing is said of a boundary ahead of it.
        assert row_of(explanation.bounded) @ WEIGHTS > 2.3
        assert explanation.bounded.distance_to_boundary is None
        assert explanation.obstacles == ()
        assert "reaches True without that" in explanation.sentence
        assert "still predicts" not in paragraph(explanation)

    def test_a_score_that_is_rounded_to_its_threshold_flips_nothing(self) -> None:
        explainer = ssba.Explainer(LOGISTIC, X, target=ssba.probability(True, at_least=0.9))
        explanation = explainer.explain([0.0] * 4, ["x0 <= 0.1", "x1 >= -0.1", "x2 <= 0.1", "x3 <= 0.1"])
        assert explanation.bounded is not None
        assert not replace(explanation, bounded=replace(explanation.bounded, score=0.9)).bounded_flips

    def test_a_plan_to_a_move_without_room_says_that_it_reaches(self) -> None:
        explanation = PLANE.explain(
            [0.0] * 4, ["x0 <= 1", "x1 >= -0.2", "x2 <= 0.5", "x3 == x.x3"], margin=1.0
        )
        plan = PLANE.plan(explanation)
        assert not plan.reached
        assert plan.steps[-1].reached
        assert "do reach, but not with all that was asked for beside it" in plan.sentence

    def test_a_query_that_is_there_but_has_no_room_gets_an_answer(self) -> None:
        just_inside = list(WEIGHTS * (2.01 / NORM**2))
        assert PLANE.explain(just_inside).status == "already_there"
        explanation = PLANE.explain(just_inside, margin=0.3)
        assert explanation.status == "found"
        assert explanation.best is not None
        # The way out is learned from labels around the query, so that it is not quite the plane's normal.
        assert (row_of(explanation.best) @ WEIGHTS - 2) / NORM >= 0.9 * 0.3
        assert PLANE.explain([2.0, -1.0, 1.0, 0.0], margin=0.3).status == "already_there"

    def test_report_html_and_json_say_what_was_asked(self) -> None:
        explanation = PLANE.explain([0.0] * 4, margin=0.1)
        line = "109 rows within the desired distance of the answer were asked: all reach the target."
        assert line in repr(explanation)
        assert line in explanation._repr_html_()
        assert explanation.to_dict()["counterfactuals"][0]["rows_around"] == 109
        assert ssba.results.Explanation.from_json(explanation.to_json()) == explanation
        assert explanation.options.limits == ("margin=ball(0.1)",)

    def test_several_answers_all_have_room(self) -> None:
        budget = ssba.Budget(rows=20_000)
        explanation = PLANE.explain([0.0] * 4, ["x2 <= 0.5"], k=3, budget=budget, margin=0.2)
        assert len(explanation.counterfactuals) > 1
        for answer in explanation.counterfactuals:
            assert (row_of(answer) @ WEIGHTS - 2) / NORM >= 0.9 * 0.2

    @pytest.mark.parametrize("few", [{"max_changes": 2}, {"sparsity": "strong"}], ids=str)
    def test_room_is_made_with_the_same_few_columns(self, few: dict[str, Any]) -> None:
        """Closed form over the changed columns: their weights must make up for the plane and the ball."""
        best = PLANE.explain([0.0] * 4, margin=0.2, **few).best
        assert best is not None
        assert len(best.changes) <= 2
        assert (row_of(best) @ WEIGHTS - 2) / NORM >= 0.9 * 0.2
        weight = np.linalg.norm(WEIGHTS[[int(name[1:]) for name in best.changes]])
        assert best.distance <= 1.05 * (2 + 0.2 * NORM) / weight

    def test_whole_numbers_and_categories_within_the_radius_are_asked(self) -> None:
        frame = pd.DataFrame(
            {"n": RNG.integers(0, 20, 200), "a": RNG.normal(size=200), "c": RNG.choice(["u", "v"], 200)}
        )

        def model(rows: pd.DataFrame) -> Any:
            return (rows["n"] - 3 * (rows["c"] == "v") >= 8).to_numpy()

        explainer = ssba.Explainer(model, frame, target=True, distance=ssba.Distance(scale="none"))
        query = {"n": 4, "a": 0.0, "c": "u"}
        small, large = (explainer.explain(query, margin=radius).best for radius in (0.9, 2.0))
        assert small is not None
        assert small.values["n"] == 8
        # Two fewer, or the other category, must still do: that takes three more.
        assert large is not None
        assert large.values["n"] == 11

    @pytest.mark.parametrize("seed", range(8))
    def test_on_whole_numbers_no_row_is_nearer_around_which_all_whole_numbers_reach(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        data, ways = rng.integers(0, 6, size=(50, 3)).astype(float), rng.normal(size=3)
        middle = np.median(data @ ways)

        def waves(rows: Any) -> Any:
            return rows @ ways + 1.5 * np.sin(rows @ [1.3, -2.1, 0.7]) > middle

        kinds = {f"x{j}": ssba.integer(low=0, high=5) for j in range(3)}
        explainer = ssba.Explainer(
            waves, data, target=True, features=kinds, distance=ssba.Distance(scale="none")
        )
        query = data[~waves(data)][0]
        rows = np.array(list(itertools.product(range(6), repeat=3)), dtype=float)
        near = np.linalg.norm(rows[:, None] - rows, axis=2) <= 1.5
        has_room = ~(near & ~waves(rows)).any(axis=1)
        best = explainer.explain(query, margin=1.5).best
        assert best is not None
        assert best.distance <= np.linalg.norm(rows - query, axis=1)[has_room].min()

    def test_where_only_categories_may_change_an_answer_has_room_as_it_is(self) -> None:
        data = pd.DataFrame({"a": ["red", "green"] * 50, "b": ["x", "y", "z", "z"] * 25})
        explainer = ssba.Explainer(lambda rows: (rows["a"] == "green").to_numpy(), data, target=True)
        found = explainer.explain({"a": "red", "b": "x"}, margin=ssba.ball(0.05))
        assert found.best is not None
        assert found.best.changes == {"a": ("red", "green")}


class TestScoreMargin:
    def test_a_class_leads_by_the_margin(self) -> None:
        explainer = ssba.Explainer(LOGISTIC, X, target=True)
        best = explainer.explain([0.0] * 4, margin=ssba.score_margin(0.3)).best
        assert best is not None
        ahead = LOGISTIC.predict_proba([row_of(best)])[0]
        assert 0.3 <= ahead[1] - ahead[0] <= 0.31

    def test_a_probability_and_a_number_pass_their_threshold(self) -> None:
        sure = ssba.Explainer(LOGISTIC, X, ssba.probability(True, at_least=0.6))
        best = sure.explain([0.0] * 4, margin=ssba.score_margin(0.1)).best
        assert best is not None
        assert best.score is not None
        assert 0.7 <= best.score <= 0.71
        number = ssba.Explainer(lambda rows: rows @ WEIGHTS, X, ssba.value_between(low=2))
        best = number.explain([0.0] * 4, margin=ssba.score_margin(0.5)).best
        assert best is not None
        assert best.prediction == pytest.approx(2.5, abs=0.02)
        assert best.prediction >= 2.5

    def test_a_query_below_the_margin_is_not_there_yet(self) -> None:
        number = ssba.Explainer(lambda rows: rows @ WEIGHTS, X, ssba.value_between(low=2))
        query = list(WEIGHTS * (2.2 / NORM**2))
        assert number.explain(query).status == "already_there"
        assert number.explain(query, margin=ssba.score_margin(0.5)).status == "found"
        assert number.explain(query, margin=ssba.score_margin(0.1)).status == "already_there"

    def test_a_model_of_labels_is_refused_with_the_remedy(self) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match=r"score_margin\(0.1\).*labels only.*ssba.ball"):
            PLANE.explain([0.0] * 4, margin=ssba.score_margin(0.1))


@pytest.mark.parametrize("margin", [0, -1.0, "wide", True, [0.1]])
def test_other_margins_are_refused(margin: Any) -> None:
    with pytest.raises(
        ssba.errors.ArgumentError, match=r"margin is .*ssba.ball\(radius\) or ssba.score_margin"
    ):
        PLANE.explain([0.0] * 4, margin=margin)

"""The bounded move: the feasible row nearest to the boundary, where no feasible row crosses it."""

from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from tests.problems import half_space

import ssba
from ssba.advice.context import Context
from ssba.pipeline.verify import are_feasible

_rng = np.random.default_rng(4)
X = _rng.normal(size=(400, 3))
WEIGHTS = np.array([1.0, 2.0, -0.5])
OFFSET = 2.5
QUERY = np.array([-0.8, -0.3, 0.4])
BOX = [ssba.within("x0", amount=0.4), ssba.between("x1", -0.6, 0.1), ssba.fixed("x2")]
LOW, HIGH = np.array([-1.2, -0.6, 0.4]), np.array([-0.4, 0.1, 0.4])


plane = half_space(*WEIGHTS, at=OFFSET)
PAIRS = int(plane(X).sum() * (~plane(X)).sum())


def nearest_by_brute_force(points: Any, low: Any, high: Any, scale: Any, norm: int) -> float:
    """Min over boundary points of the distance to their projection on the box, as the paper has it."""
    gaps = np.abs(points - np.clip(points, low, high)) / scale
    return float(np.linalg.norm(gaps, ord=norm, axis=1).min())


class TestBox:
    @pytest.mark.parametrize("norm", ["l2", "l1"])
    @pytest.mark.parametrize("scale", ["none", "std"])
    def test_it_is_the_nearest_row_of_the_box_to_the_plane(self, norm: Any, scale: Any) -> None:
        explainer = ssba.Explainer(plane, X, target=True, distance=ssba.Distance(norm, scale=scale))
        known = explainer.sample_boundary(2000)
        explanation = explainer.explain(QUERY, BOX, boundary=known)
        assert explanation.status == "bounded"
        move = explanation.bounded
        assert move is not None
        assert move.distance_to_boundary is not None
        units = X.std(axis=0) if scale == "std" else np.ones(3)
        # The corner of the box with the highest w.z is nearest to the plane, and its distance is exact.
        corner = np.where(WEIGHTS > 0, HIGH, LOW)
        slope = WEIGHTS * units
        exact = (OFFSET - corner @ WEIGHTS) / (np.linalg.norm(slope) if norm == "l2" else np.abs(slope).max())
        brute = nearest_by_brute_force(known.points, LOW, HIGH, units, 2 if norm == "l2" else 1)
        assert exact - 1e-9 <= move.distance_to_boundary <= brute + 1e-9
        assert move.distance_to_boundary <= 1.01 * exact
        assert list(move.values.values()) == pytest.approx(corner.tolist(), abs=0.05)

    @pytest.mark.parametrize("n", [1, 100, PAIRS])
    def test_no_known_boundary_point_is_nearer_to_the_box(self, n: int) -> None:
        explainer = ssba.Explainer(plane, X, target=True)
        known = explainer.sample_boundary(n)
        move = explainer.explain(QUERY, BOX, boundary=known).bounded
        assert move is not None
        assert move.distance_to_boundary is not None
        brute = nearest_by_brute_force(known.points, LOW, HIGH, X.std(axis=0), 2)
        assert move.distance_to_boundary <= brute + 1e-9

    def test_no_known_boundary_point_of_a_curved_model_is_nearer_either(self) -> None:
        model = SVC(C=10).fit(X, X[:, 0] * X[:, 1] + X[:, 2] > 1.5)
        explainer = ssba.Explainer(model, X, target=True)
        known = explainer.sample_boundary(3000)
        explanation = explainer.explain(QUERY, BOX, boundary=known)
        assert explanation.bounded is not None
        assert explanation.bounded.distance_to_boundary is not None
        brute = nearest_by_brute_force(known.points, LOW, HIGH, X.std(axis=0), 2)
        assert explanation.bounded.distance_to_boundary <= brute + 1e-9

    def test_it_is_feasible_and_does_not_reach(self) -> None:
        explainer = ssba.Explainer(plane, X, target=True)
        move = explainer.explain(QUERY, BOX).bounded
        assert move is not None
        row = np.array(list(move.values.values()))
        assert ((LOW <= row) & (row <= HIGH)).all()
        assert row[2] == QUERY[2]
        assert not plane(row[None, :])[0]
        assert move.prediction is False
        assert move.distance > 0


class TestScores:
    def test_scores_before_and_after_are_the_models(self) -> None:
        model = LogisticRegression().fit(X, plane(X))
        explainer = ssba.Explainer(model, X, target=True)
        explanation = explainer.explain(QUERY, BOX)
        move = explanation.bounded
        assert explanation.status == "bounded"
        assert move is not None
        after = np.array([list(move.values.values())])
        assert explanation.score == pytest.approx(model.predict_proba(QUERY[None, :])[0, 1])
        assert move.score == pytest.approx(model.predict_proba(after)[0, 1])
        assert move.score is not None
        assert explanation.score is not None
        assert move.score > explanation.score
        assert f"to {move.score:.4g}; what stops" in explanation.sentence

    def test_it_works_toward_an_interval(self) -> None:
        explainer = ssba.Explainer(lambda rows: rows @ WEIGHTS, X, ssba.value_between(2.5, 3.0))
        explanation = explainer.explain(QUERY, BOX)
        assert explanation.status == "bounded"
        assert explanation.bounded is not None
        assert QUERY @ WEIGHTS < explanation.bounded.prediction < 2.5
        assert explanation.bounded.score == explanation.bounded.prediction


class TestOtherRegions:
    def test_linear_rows_hold_for_the_move(self) -> None:
        explainer = ssba.Explainer(plane, X, target=True)
        rules = ["x0 + x1 <= -0.5", "x1 <= 0.2", "x2 >= 0", "x0 <= x.x0 + 1"]
        explanation = explainer.explain(QUERY, rules)
        assert explanation.status == "bounded"
        move = explanation.bounded
        assert move is not None
        assert move.values["x0"] + move.values["x1"] <= -0.5
        assert move.values["x1"] <= 0.2
        assert move.values["x2"] >= 0

    def test_mixed_columns_stay_legal(self) -> None:
        frame = pd.DataFrame(
            {
                "n": _rng.integers(0, 30, size=300),
                "size": X[:300, 0],
                "kind": _rng.choice(["a", "b", "c"], size=300),
            }
        )

        def model(rows: pd.DataFrame) -> Any:
            return (rows["n"] / 10 + rows["size"] + 2.0 * (rows["kind"] == "c") > 3.0).to_numpy()

        explainer = ssba.Explainer(model, frame, target=True)
        query = {"n": 3, "size": -1.0, "kind": "a"}
        rules: list[Any] = [ssba.within("n", amount=4), ssba.one_of("kind", ["a", "b"]), "size <= 0.05"]
        explanation = explainer.explain(query, rules)
        assert explanation.status == "bounded"
        move = explanation.bounded
        assert move is not None
        assert type(move.values["n"]) is int
        assert 0 <= move.values["n"] <= 7
        assert move.values["kind"] in {"a", "b"}
        assert move.values["size"] <= 0.05

    def test_a_reachable_query_is_never_called_bounded(self) -> None:
        # Reachability by brute force: 20,000 draws of the box.
        model = SVC(C=10).fit(X, X[:, 0] * X[:, 1] + X[:, 2] > 0.3)
        explainer = ssba.Explainer(model, X, target=True)
        queries = X[~model.predict(X)][:40]
        rules = [ssba.within(name, amount=0.3) for name in ("x0", "x1", "x2")]
        answers = explainer.explain_many(queries, rules)
        draws = _rng.uniform(-0.3, 0.3, size=(20_000, 3))
        for query, explanation in zip(queries, answers, strict=True):
            box = np.clip(query + draws, np.minimum(X.min(axis=0), query), np.maximum(X.max(axis=0), query))
            if model.predict(box).any():
                assert explanation.status == "found"
            elif explanation.status != "found":
                assert explanation.status == "bounded"


class TestScoreTargets:
    """Toward so much of a score the move has the best score found, whatever the threshold."""

    BENT = X[:, 0] * X[:, 1] + X[:, 2] > 1.5
    MODELS: ClassVar[list[Any]] = [
        GradientBoostingClassifier(n_estimators=30, random_state=0).fit(X, BENT),
        MLPClassifier(hidden_layer_sizes=(8,), max_iter=4000, random_state=0).fit(X, BENT),
    ]

    @pytest.mark.parametrize("model", MODELS, ids=["trees", "network"])
    def test_a_stricter_wish_is_never_offered_a_better_score_than_a_looser_one(self, model: Any) -> None:
        rules = [ssba.within(name, amount=0.5) for name in ("x0", "x1", "x2")]
        offered = []
        for wish in (0.9, 0.95, 0.999):
            explainer = ssba.Explainer(model, X, ssba.probability(True, at_least=wish))
            offered.append(explainer.explain_many(X[:6], rules))
        compared = 0
        for answers in zip(*offered, strict=True):
            scores = [round(one.bounded.score or 0.0, 3) for one in answers if one.bounded is not None]
            if len(scores) == len(answers):
                assert scores == sorted(scores, reverse=True)
                compared += 1
        assert compared >= 3

    @pytest.mark.parametrize("model", MODELS, ids=["trees", "network"])
    def test_it_is_the_best_score_of_the_box(self, model: Any) -> None:
        explainer = ssba.Explainer(model, X, ssba.probability(True, at_least=0.999))
        move = explainer.explain(QUERY, BOX).bounded
        assert move is not None
        grid = np.stack(np.meshgrid(np.linspace(-1.2, -0.4, 41), np.linspace(-0.6, 0.1, 41), [0.4]), axis=-1)
        best = model.predict_proba(grid.reshape(-1, 3))[:, 1].max()
        assert move.score == pytest.approx(best, abs=0.01)

    def test_nothing_is_changed_in_vain(self) -> None:
        """Only x1 counts: x0 may move, and stays."""
        explainer = ssba.Explainer(
            lambda rows: 1 / (1 + np.exp(-rows[:, 1])),
            X,
            ssba.value_between(low=0.99),
            distance=ssba.Distance(scale="none"),
        )
        explanation = explainer.explain(QUERY, ["x0 within 1", "x1 <= 0.5", "x2 within 1"])
        assert explanation.bounded is not None
        assert explanation.bounded.changes == {"x1": (-0.3, 0.5)}

    @pytest.mark.parametrize("target", [True, ssba.probability(True, at_least=0.9)], ids=["class", "score"])
    def test_a_move_that_gains_nothing_is_none(self, target: Any) -> None:
        """The query has the best score of its box already: both its free columns may only go down."""
        model = LogisticRegression().fit(X, plane(X))
        explainer = ssba.Explainer(model, X, target)
        explanation = explainer.explain(QUERY, ["x0 <= x.x0", "x1 <= x.x1", "x2 == x.x2"])
        assert explanation.status == "bounded"
        assert explanation.bounded is not None
        assert explanation.bounded.changes == {}
        assert "no feasible move that gets closer than the query itself" in explanation.sentence


class TestMany:
    """Queries without an answer share the model calls in which their moves are chosen."""

    def explainer_that_counts(self) -> tuple[ssba.Explainer, list[int]]:
        calls: list[int] = []

        def score(rows: Any) -> Any:
            calls.append(len(rows))
            return 1 / (1 + np.exp(OFFSET - rows @ WEIGHTS))

        return ssba.Explainer(score, X, target=1), calls

    def test_thirty_take_hardly_more_calls_than_one(self) -> None:
        explainer, calls = self.explainer_that_counts()
        rows = X[X @ WEIGHTS < OFFSET - 2][:30]
        rules = [ssba.within(name, amount=0.1) for name in ("x0", "x1", "x2")]
        explainer.explain(rows[0], rules)
        calls.clear()
        alone, in_all = [], 0
        for row in rows:
            calls.clear()
            alone.append(explainer.explain(row, rules))
            in_all += len(calls)
        calls.clear()
        together = explainer.explain_many(rows, rules)
        assert {answer.status for answer in together} == {"bounded"}
        assert [answer.bounded for answer in together] == [answer.bounded for answer in alone]
        assert [answer.rows_used for answer in together] == [answer.rows_used for answer in alone]
        # Some go on where others have ended, so that it is a little more than one of them takes.
        assert len(calls) < 2 * in_all / len(rows)

    def test_rows_are_allowed_alike_alone_and_among_others(self) -> None:
        explainer, _ = self.explainer_that_counts()
        rng = np.random.default_rng(8)
        rules = [*BOX[:1], ssba.constraint("x0 + x1 <= 0"), ssba.constraint("x2 >= x.x2")]
        states = [Context(explainer._engine, row, tuple(rules)).state for row in X[:6]]
        Z = X[:6].repeat(40, axis=0) + rng.choice([0.0, 0.3, -0.3, 0.5], size=(240, 3))
        of = np.arange(6).repeat(40)
        together = are_feasible(states, of, Z)
        assert 0 < together.sum() < len(Z)
        alone = [
            are_feasible([states[number]], np.zeros(1, dtype=np.int64), Z[i : i + 1])[0]
            for i, number in enumerate(of)
        ]
        assert together.tolist() == alone
        by_hand = (np.abs(Z[:, 0] - X[of, 0]) <= 0.4) & (Z[:, 0] + Z[:, 1] <= 0) & (Z[:, 2] >= X[of, 2])
        assert (together <= by_hand).all()
        inside = ((Z >= X.min(axis=0)) & (Z <= X.max(axis=0))).all(axis=1)
        assert (together >= (by_hand & inside)).all()


class TestLevels:
    """A line of numbers and levels by labels: the nearest move is known for each set of levels."""

    NAMES = ("p", "q", "r", "s")
    EFFECT = np.array([0.9, -0.7, 1.3, -1.1])

    def rows(self) -> pd.DataFrame:
        rng = np.random.default_rng(2)
        numbers = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
        return numbers.assign(**{name: rng.choice(["no", "yes"], 300) for name in self.NAMES})

    def score(self, rows: pd.DataFrame) -> Any:
        levels = (rows[list(self.NAMES)] == "yes").to_numpy(dtype=float)
        return rows[["a", "b", "c"]].to_numpy() @ WEIGHTS + levels @ self.EFFECT

    def nearest(self, move: pd.DataFrame) -> float:
        """How far the line is from the best feasible row, whatever changes from there on."""
        units = np.linalg.norm(WEIGHTS * self.rows()[["a", "b", "c"]].std(ddof=0).to_numpy())
        gap = 6 - float(self.score(move)[0])
        has = (move[list(self.NAMES)].iloc[0] == "yes").to_numpy()
        gains = np.sort(np.where(has, -self.EFFECT, self.EFFECT))[::-1]
        best = np.cumsum(np.concatenate([[0], gains]))
        return min(float(np.hypot(np.sqrt(n), max(0, gap - best[n]) / units)) for n in range(5))

    def test_the_move_is_near_the_best_by_labels(self) -> None:
        rows = self.rows()
        explainer = ssba.Explainer(
            lambda asked: self.score(asked) > 6, rows, target=True, distance=ssba.Distance("l2", scale="std")
        )
        queries = rows[self.score(rows) < 0][:20]
        rules = [ssba.within(name, amount=0.3) for name in "abc"] + [ssba.fixed("r", "s")]
        over = []
        for (_, query), answer in zip(
            queries.iterrows(), explainer.explain_many(queries, rules), strict=True
        ):
            assert answer.bounded is not None
            assert answer.bounded.distance_to_boundary is not None
            best = pd.DataFrame([query])
            for name, weight in zip("abc", WEIGHTS, strict=True):
                best[name] += 0.3 * np.sign(weight)
            best["p"], best["q"] = "yes", "no"
            over.append(answer.bounded.distance_to_boundary / self.nearest(best))
        assert len(over) == 20
        assert 1 - 1e-6 < min(over)
        assert max(over) < 1.001


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("by", ["labels", "scores"])
def test_columns_that_the_model_ignores_are_left_alone(by: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(
        {
            "a": rng.normal(size=300).round(2),
            "b": rng.normal(size=300).round(2),
            "vip": rng.random(300) < 0.5,
            "colour": rng.choice(["red", "green", "blue"], 300),
        }
    )

    def above(rows: Any) -> Any:
        return (rows["a"] + rows["b"] - 1.5).to_numpy()

    def model(rows: Any) -> Any:
        share = 1 / (1 + np.exp(-3 * above(rows)))
        return above(rows) > 0 if by == "labels" else np.column_stack([1 - share, share])

    query = {"a": -0.5, "b": 0.0, "vip": True, "colour": "red"}
    explainer = ssba.Explainer(model, data, target=True if by == "labels" else 1)
    moved = explainer.explain(query, ["a within 0.2", "b within 0.2"]).bounded
    assert moved is not None
    assert moved.values == {"a": -0.3, "b": 0.2, "vip": True, "colour": "red"}

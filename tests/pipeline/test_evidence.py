"""What an answer shows about rows nearer than itself: counted right, and never more than was shown."""

import itertools
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.problems import half_space

import ssba
from ssba.results.text import evidence_sentence

RNG = np.random.default_rng(5)
X = RNG.uniform(-3, 3, size=(400, 3))
WEIGHTS = np.array([2.0, 1.0, -1.0])


plane = half_space(*WEIGHTS, at=3)


class Counting:
    """A model that keeps every row it was asked about."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.asked: list[Any] = []

    def __call__(self, rows: Any) -> Any:
        self.asked.append(np.array(rows, dtype=float))
        return self.model(rows)


class TestDraws:
    def test_default_is_59_rows_and_a_share_under_5_percent(self) -> None:
        evidence = (
            ssba.Explainer(plane, X, distance=ssba.Distance(scale="none")).explain([0.0, 0, 0]).evidence
        )
        assert (evidence.drawn, evidence.proof, evidence.lower_bound) == (59, None, None)
        assert evidence.share == 1 - 0.05 ** (1 / 59)
        assert evidence.sentence == (
            f"At 95% confidence under 5% of the feasible region nearer than {evidence.nearer_than:.4g} "
            "reaches the target (59 rows drawn there, none did)."
        )

    def test_asked_nearer_is_what_the_model_saw(self) -> None:
        """Counted by hand: rows the model got that lie nearer than the nearest one that reached."""
        model = Counting(plane)
        explainer = ssba.Explainer(model, X, distance=ssba.Distance(scale="none"))
        explainer.explain([0.0, 0, 0])
        model.asked.clear()
        explanation = explainer.explain([0.0, 0, 0])
        # All but the query itself, asked before the search, and the answer's forms, after it.
        asked = np.concatenate(model.asked[1:])
        distance, reached = np.linalg.norm(asked, axis=1), plane(asked)
        evidence = explanation.evidence
        assert evidence.nearer_than == pytest.approx(distance[reached].min())
        assert evidence.asked_nearer == ((distance < evidence.nearer_than) & ~reached).sum()
        assert evidence.asked_nearer > evidence.drawn
        assert explanation.best is not None
        assert evidence.nearer_than is not None
        assert evidence.nearer_than <= explanation.best.distance <= 1.001 * evidence.nearer_than

    def test_rows_of_the_evidence_are_counted_and_come_out_of_the_budget(self) -> None:
        model = Counting(plane)
        explainer = ssba.Explainer(model, X, distance=ssba.Distance(scale="none"))
        explainer.explain([0.0, 0, 0])
        for wanted in (0, 200):
            model.asked.clear()
            explanation = explainer.explain([0.0, 0, 0], evidence=wanted)
            assert explanation.evidence.drawn == wanted
            # Thin answers are asked about once more, alone.
            assert 0 <= sum(map(len, model.asked)) - explanation.rows_used <= 1
        tight = explainer.explain([0.0, 0, 0], evidence=10**6, budget=ssba.Budget(rows=3000))
        assert 0 < tight.evidence.drawn < 3000

    @pytest.mark.parametrize("query", [[30, 30, 30], [40, 40, 44], [44, 48, 50]])
    def test_on_whole_numbers_as_many_are_drawn_as_wanted(self, query: list[int]) -> None:
        """Rounding takes some draws too far out, and others are drawn twice; all 59 count."""
        data = np.random.default_rng(0).integers(0, 60, size=(200, 3))
        explainer = ssba.Explainer(
            lambda Z: (Z.sum(axis=1) >= 150).astype(int), data, target=1, distance=ssba.Distance(scale="none")
        )
        evidence = explainer.explain(query).evidence
        assert (evidence.drawn, evidence.proof) in [(59, None), (0, "exhausted")]

    def test_none_wanted_none_drawn(self) -> None:
        evidence = ssba.Explainer(plane, X).explain([0.0, 0, 0], evidence=0).evidence
        assert (evidence.drawn, evidence.share) == (0, None)
        assert "drawn" not in evidence.sentence

    def test_a_search_that_is_stopped_early_draws_nothing(self) -> None:
        explanation = ssba.Explainer(plane, X).explain([0.0, 0, 0], budget=ssba.Budget(rows=60))
        assert explanation.evidence.drawn == 0
        assert explanation.evidence.share is None

    def test_a_drawn_row_that_reaches_is_a_better_answer(self) -> None:
        """A hidden island near the query, which no background row points to: draws of a wide net find it."""
        center = np.array([0.0, -0.9, 0.0])

        def island(rows: Any) -> Any:
            return (rows[:, 0] > 2.5) | (np.abs(rows - center).max(axis=1) < 0.35)

        data = X[np.abs(X - center).max(axis=1) > 1.0]
        explainer = ssba.Explainer(island, data, target=True, distance=ssba.Distance(scale="none"))
        seeing = explainer.explain([0.0, 0, 0], evidence=2000)
        assert seeing.best is not None
        assert seeing.best.distance == pytest.approx(0.55, rel=0.02)
        assert seeing.evidence.nearer_than is not None
        assert seeing.evidence.nearer_than < 0.57

    def test_draws_stay_inside_the_constraints(self) -> None:
        model = Counting(plane)
        explainer = ssba.Explainer(model, X, distance=ssba.Distance(scale="none"))
        explainer.explain([0.0, 0, 0])
        model.asked.clear()
        explanation = explainer.explain([0.0, 0, 0], ["x0 <= 0.5", "x1 == x.x1", "x2 - x0 <= 0.1"])
        assert explanation.evidence.drawn == 59
        (drawn,) = [rows for rows in model.asked if len(rows) == 59]
        assert (drawn[:, 0] <= 0.5).all()
        assert (drawn[:, 1] == 0).all()
        assert (drawn[:, 2] - drawn[:, 0] <= 0.1).all()

    def test_it_is_the_same_alone_and_in_a_batch(self) -> None:
        explainer = ssba.Explainer(plane, X, target=True)
        together = explainer.explain_many(X[:6], ["x2 <= x.x2"])
        for i in range(6):
            assert together[i].evidence == explainer.explain(X[i], ["x2 <= x.x2"]).evidence

    @pytest.mark.parametrize("wanted", [-1, 1.5, "many", True])
    def test_other_numbers_are_refused(self, wanted: Any) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match=r"evidence is .*whole number, 0 or more"):
            ssba.Explainer(plane, X).explain([0.0, 0, 0], evidence=wanted)


RULES = ("if a changes: b >= x.b", "a >= x.a - 2", "a + 2 * b <= 14", "b <= 2.5", "if b changes: a == x.a")
COUNTS = pd.DataFrame({"a": RNG.integers(0, 12, 200), "b": RNG.integers(0, 12, 200)})


class TestExhausted:
    @staticmethod
    def odd(rows: pd.DataFrame) -> Any:
        """Reached on scattered single cells only: a needle for every search."""
        return ((rows["a"] * 7 + rows["b"] * 5) % 23 == 3).to_numpy()

    def explainer(self, **settings: Any) -> ssba.Explainer:
        return ssba.Explainer(self.odd, COUNTS, target=True, distance=ssba.Distance(scale="none"), **settings)

    @pytest.mark.parametrize("query", [(0, 0), (6, 6), (11, 0), (3, 10)])
    def test_the_answer_is_the_nearest_of_all_rows(self, query: tuple[int, int]) -> None:
        explanation = self.explainer().explain({"a": query[0], "b": query[1]})
        grid = pd.DataFrame([(a, b) for a in range(12) for b in range(12)], columns=["a", "b"])
        hits = grid[self.odd(grid)].to_numpy()
        nearest = np.sqrt(((hits - np.array(query)) ** 2).sum(axis=1)).min()
        if explanation.status == "already_there":
            assert nearest == 0
            return
        assert explanation.best is not None
        assert explanation.best.distance == pytest.approx(nearest)
        assert explanation.evidence.proof == "exhausted"
        assert explanation.evidence.drawn == 0
        # By hand: every cell strictly nearer, the query included.
        cells = np.sqrt(((grid.to_numpy() - np.array(query)) ** 2).sum(axis=1))
        assert explanation.evidence.asked_nearer == (cells < nearest).sum()

    def test_where_no_row_reaches_that_is_said(self) -> None:
        rules = ["a <= 1", "b <= 2", "a + b <= 2"]
        explanation = self.explainer().explain({"a": 1, "b": 1}, rules)
        reached = [(a, b) for a in range(2) for b in range(3) if a + b <= 2 and (7 * a + 5 * b) % 23 == 3]
        assert reached == []
        assert explanation.status == "bounded"
        assert explanation.evidence.proof == "exhausted"
        assert explanation.evidence.nearer_than is None
        assert explanation.evidence.sentence == (
            "Exact: every feasible row was asked, and none reaches the target."
        )

    def test_rules_that_split_the_region_are_exhausted_too(self) -> None:
        explanation = self.explainer().explain({"a": 5, "b": 6}, ["if a changes: b >= x.b + 1", "a != 7"])
        legal = [(a, b) for a in range(12) for b in range(12) if (a == 5 or b >= 7) and a != 7]
        best = min(np.hypot(a - 5, b - 6) for a, b in legal if (7 * a + 5 * b) % 23 == 3)
        assert explanation.best is not None
        assert explanation.best.distance == pytest.approx(best)
        assert explanation.evidence.proof == "exhausted"

    @settings(max_examples=25, deadline=None)
    @given(
        query=st.tuples(st.integers(0, 11), st.integers(0, 12)),
        rules=st.lists(
            st.sampled_from(
                [
                    "if a changes: b >= x.b",
                    "a >= x.a - 2",
                    "a + 2 * b <= 14",
                    "b <= 2.5",
                    "if b changes: a == x.a",
                ]
            ),
            unique=True,
            max_size=3,
        ),
        hits=st.sets(st.integers(0, 155), min_size=1, max_size=12),
    )
    def test_among_coarse_and_fine_steps_it_is_the_nearest_too(
        self, query: tuple[int, int], rules: list[str], hits: set[int]
    ) -> None:
        """Regions whose columns have other steps are looked through outward in step with each other."""
        data = pd.DataFrame([(a, b / 4) for a in range(12) for b in range(13)], columns=["a", "b"])

        def model(rows: pd.DataFrame) -> Any:
            return np.isin((rows["a"] * 13 + rows["b"] * 4).round().to_numpy(dtype=int), list(hits))

        if model(data).all():
            return
        a, b = query[0], query[1] / 4
        explainer = ssba.Explainer(
            model,
            data,
            target=True,
            distance=ssba.Distance(scale="none"),
            features={"a": ssba.integer(), "b": ssba.numeric(step=0.25)},
        )
        explanation = explainer.explain({"a": a, "b": b}, rules)
        allowed = {
            "if a changes: b >= x.b": (data.a == a) | (data.b >= b),
            "a >= x.a - 2": data.a >= a - 2,
            "a + 2 * b <= 14": data.a + 2 * data.b <= 14,
            "b <= 2.5": data.b <= 2.5,
            "if b changes: a == x.a": (data.b == b) | (data.a == a),
        }
        fine = np.logical_and.reduce([model(data), *(allowed[rule] for rule in rules)])
        if explanation.status == "already_there":
            assert 13 * a + query[1] in hits
        elif fine.any():
            assert explanation.best is not None
            nearest = np.hypot(data.a[fine] - a, data.b[fine] - b).min()
            assert explanation.best.distance == pytest.approx(nearest)
            assert explanation.evidence.proof == "exhausted"
        else:
            assert explanation.status in ("bounded", "infeasible")

    def test_the_way_outward_asks_little_beyond_the_answer(self) -> None:
        model = Counting(lambda rows: rows[:, 0] + rows[:, 1] >= 24)
        data = np.stack(np.meshgrid(range(60), range(60)), axis=-1).reshape(-1, 2).astype(float)
        steps = {f"x{j}": ssba.integer() for j in range(2)}
        explainer = ssba.Explainer(
            model, data, target=True, distance=ssba.Distance(scale="none"), features=steps
        )
        explanation = explainer.explain([10.0, 10.0])
        assert explanation.best is not None
        assert explanation.best.distance == pytest.approx(np.sqrt(8))
        # The first shell has 45 rows: all those nearer than 4.
        assert explanation.rows_used <= 60
        assert explanation.evidence.proof == "exhausted"

    @pytest.mark.parametrize("far", [(29, 29), (0, 21)])
    def test_a_single_row_far_away_is_found_by_asking_all_before_it(self, far: tuple[int, int]) -> None:
        model = Counting(lambda rows: (rows == far).all(axis=1))
        data = np.stack(np.meshgrid(range(30), range(30)), axis=-1).reshape(-1, 2).astype(float)
        steps = {f"x{j}": ssba.integer() for j in range(2)}
        explanation = ssba.Explainer(model, data, target=True, features=steps).explain([7.0, 3.0])
        assert explanation.best is not None
        assert tuple(explanation.best.values.values()) == far
        assert explanation.evidence.proof == "exhausted"
        scales = data.std(axis=0)
        nearer = np.linalg.norm((data - [7.0, 3.0]) / scales, axis=1) < explanation.best.distance * (1 - 1e-9)
        assert explanation.evidence.asked_nearer == nearer.sum()

    @pytest.mark.parametrize(("near", "far"), [((5, 3), (9, 5)), ((3, 5), (5, 9)), ((7, 5), (5, 0))])
    def test_every_way_to_obey_the_rules_is_gone(self, near: tuple[int, int], far: tuple[int, int]) -> None:
        """Each of the two columns may change only where the other stays: two regions, of one column each."""
        grid = pd.DataFrame([(a, b) for a in range(12) for b in range(12)], columns=["a", "b"])
        hits = [12 * a + b for a, b in (near, far)]
        explainer = ssba.Explainer(
            lambda rows: (12 * rows["a"] + rows["b"]).isin(hits).to_numpy(), grid, target=True
        )
        rules = ["if a changes: b == x.b", "if b changes: a == x.a"]
        explanation = explainer.explain({"a": 5, "b": 5}, rules)
        assert explanation.best is not None
        assert explanation.best.values == {"a": near[0], "b": near[1]}
        assert explanation.evidence.proof == "exhausted"

    @pytest.mark.parametrize("seconds", range(1, 40, 3))
    def test_time_that_runs_out_on_the_way_proves_nothing(
        self, seconds: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """By a clock that ticks whenever it is looked at, it is over at every stage of the way."""
        data = np.stack(np.meshgrid(range(30), range(30)), axis=-1).reshape(-1, 2).astype(float)
        steps = {f"x{j}": ssba.integer() for j in range(2)}
        explainer = ssba.Explainer(lambda rows: (rows >= 29).all(axis=1), data, target=True, features=steps)
        ticks = itertools.count()
        monkeypatch.setattr("ssba.pipeline.state.time.monotonic", lambda: float(next(ticks)))
        explanation = explainer.explain([0.0, 0.0], budget=ssba.Budget(seconds=float(seconds)))
        if explanation.evidence.proof is not None:
            assert explanation.best is not None
            assert list(explanation.best.values.values()) == [29, 29]

    def test_several_answers_are_more_than_the_nearest_rows(self) -> None:
        explanation = self.explainer().explain({"a": 5, "b": 6}, k=3)
        assert len(explanation.counterfactuals) == 3

    def test_too_many_ways_to_obey_the_rules_prove_nothing(self) -> None:
        rules = [f"if a == {i}: b >= {i % 3}" for i in range(7)]
        assert self.explainer().explain({"a": 5, "b": 6}, rules).evidence.proof is None

    def test_a_budget_that_does_not_reach_proves_nothing(self) -> None:
        explanation = self.explainer().explain({"a": 5, "b": 6}, budget=ssba.Budget(rows=3))
        assert explanation.evidence.proof is None

    def test_real_numbers_are_never_exhausted(self) -> None:
        assert ssba.Explainer(plane, X).explain([0.0, 0, 0]).evidence.proof is None


def test_where_rounding_decides_whether_a_row_is_feasible_the_usual_search_follows() -> None:
    """The row (11, 17) lies on the edge of the relation, to within a rounding error."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"a": rng.integers(0, 20, 200), "b": rng.integers(0, 20, 200)})
    explainer = ssba.Explainer(lambda rows: (rows["a"] + rows["b"] > 25).astype(int), data, target=1)
    a, b, most = 0.507469860545, 0.789665732460, 18.667368162615
    found = explainer.explain({"a": 3, "b": 3}, [f"{a} * a + {b} * b <= {most}"])
    rows = [(i, j) for i in range(20) for j in range(20) if a * i + b * j <= most and i + j > 25]
    assert found.best is not None
    assert (found.best.values["a"], found.best.values["b"]) in rows


class TestWords:
    @pytest.mark.parametrize(
        ("evidence", "sentence"),
        [
            (ssba.results.Evidence(), ""),
            (
                ssba.results.Evidence(1.0, 40, 1000, 0.0029912, None, None),
                "At 95% confidence under 0.3% of the feasible region nearer than 1 reaches the target "
                "(1,000 rows drawn there, none did).",
            ),
            (
                ssba.results.Evidence(1.0, 40, 0, None, None, None),
                "The search asked 40 times about feasible rows nearer than 1; none reached the target.",
            ),
            (
                ssba.results.Evidence(1.0, 40, 0, None, 1.0, "optimal"),
                "Proved optimal: no feasible row nearer than 1 reaches the target.",
            ),
            (
                ssba.results.Evidence(1.0, 40, 1, 0.95, 0.5, None),
                "At 95% confidence under 95% of the feasible region nearer than 1 reaches the target "
                "(1 row drawn there, none did). No feasible row nearer than 0.5 can reach it.",
            ),
        ],
    )
    def test_the_sentence_says_what_was_shown(self, evidence: ssba.results.Evidence, sentence: str) -> None:
        assert evidence_sentence(evidence) == sentence

    def test_report_and_html_hold_it(self) -> None:
        explanation = ssba.Explainer(plane, X).explain([0.0, 0, 0])
        assert explanation.evidence.sentence in repr(explanation)
        assert explanation.evidence.sentence in explanation._repr_html_()

    def test_a_document_without_evidence_is_refused(self) -> None:
        explanation = ssba.Explainer(plane, X).explain([0.0, 0, 0])
        bare = json.loads(explanation.to_json())
        del bare["evidence"]
        with pytest.raises(ssba.errors.ArgumentError, match="evidence"):
            ssba.results.Explanation.from_json(json.dumps(bare))


def test_no_more_rows_are_said_to_be_asked_than_were() -> None:
    """On a grid moves come back to the same rows, which are asked about, and counted, once."""
    data = pd.DataFrame({name: np.arange(60) % size for name, size in (("a", 50), ("b", 40), ("c", 30))})
    explainer = ssba.Explainer(lambda rows: rows["a"] + rows["b"] + rows["c"] > 70, data, target=True)
    found = explainer.explain({"a": 10, "b": 10, "c": 10})
    assert 0 < found.evidence.asked_nearer < found.rows_used

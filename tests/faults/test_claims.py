"""Statements about answers, in corners where they were once false; each against enumeration or by hand."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Lasso, LogisticRegression, Perceptron
from sklearn.tree import DecisionTreeClassifier

import ssba

RNG = np.random.default_rng(0)
COUNTS = pd.DataFrame({"a": RNG.integers(0, 9, 200), "b": RNG.integers(0, 9, 200)})


def sums_above(limit: float) -> Any:
    return lambda table: (table.a + table.b > limit).to_numpy()


def best(found: ssba.results.Explanation) -> ssba.results.Counterfactual:
    assert found.best is not None, found.sentence
    return found.best


def nearest_of(
    rows: pd.DataFrame, query: Mapping[str, float], scale: Sequence[float], norm: str = "l2"
) -> float:
    gaps = np.abs(rows.to_numpy(dtype=float) - np.array(list(query.values()))) / np.array(scale)
    return float((np.sqrt((gaps**2).sum(axis=1)) if norm == "l2" else gaps.sum(axis=1)).min())


class TestProofs:
    def test_a_row_that_meets_a_relation_with_equality_is_not_left_out(self) -> None:
        rng = np.random.default_rng(129)
        rng.integers(2, 4)
        data = pd.DataFrame({f"a{i}": rng.integers(0, 9, 200) for i in range(3)})
        model = LogisticRegression().fit(data, data.sum(axis=1) > 12)
        explainer = ssba.Explainer(
            model, data, True, distance=ssba.Distance(scale={"a0": 1.0, "a1": 0.5, "a2": 0.5})
        )
        found = explainer.explain({"a0": 3, "a1": 2, "a2": 1}, ["1.0 * a0 + 1.5 * a1 + 1.5 * a2 >= 15.5"])
        # (8, 3, 2) lies on the relation: 8 + 4.5 + 3 = 15.5.
        assert best(found).distance == pytest.approx(math.sqrt(5**2 + 2**2 + 2**2))

    @pytest.mark.parametrize("seed", range(12))
    @pytest.mark.parametrize("norm", ["l1", "l2"])
    def test_a_start_that_reaches_is_the_nearest_feasible_row(self, seed: int, norm: Any) -> None:
        rng = np.random.default_rng(seed)
        data = pd.DataFrame({f"a{i}": rng.integers(0, 9, 200) for i in range(3)})
        model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(data, data.sum(axis=1) > 12)
        scale = [float(one) for one in rng.choice([1, 2, 0.5], size=3)]
        query = {f"a{i}": int(rng.integers(0, 4)) for i in range(3)}
        weights = rng.choice([1, 2, 3, 0.5, 1.5], size=3)
        limit = float(np.round(weights @ list(query.values()) + rng.uniform(3, 14), 1))
        text = " + ".join(f"{float(one)} * a{i}" for i, one in enumerate(weights)) + f" >= {limit}"
        explainer = ssba.Explainer(
            model, data, True, distance=ssba.Distance(norm, scale=dict(zip(data.columns, scale, strict=True)))
        )
        found = explainer.explain(query, [text], prove=True)
        grid = pd.DataFrame(list(itertools.product(range(9), repeat=3)), columns=data.columns)
        legal = grid[grid.to_numpy() @ weights >= limit]
        reaching = legal[model.predict(legal)]
        if found.status == "already_there" or not len(reaching):
            assert found.best is None
            return
        assert best(found).distance == pytest.approx(nearest_of(reaching, query, scale, norm))

    @pytest.mark.parametrize("seed", range(6))
    @pytest.mark.parametrize("opened", [DecisionTreeClassifier, LogisticRegression])
    def test_no_bound_is_taken_from_where_a_region_starts(self, seed: int, opened: Any) -> None:
        rng = np.random.default_rng(seed)
        data = pd.DataFrame(
            {
                "a": rng.normal(size=300),
                "b": rng.normal(size=300),
                "s": (rng.normal(size=300) * 20 + 100).round(),
            }
        )
        kept = {"max_depth": 2, "random_state": 0} if opened is DecisionTreeClassifier else {"max_iter": 1000}
        model = opened(**kept).fit(data, data.a < 0.3)
        # The query breaks the relation, and `s` is off its step: staying there is legal.
        query = {"a": float(rng.uniform(0.6, 1.5)), "b": float(rng.uniform(-0.5, 0.5)), "s": 103.0}
        explainer = ssba.Explainer(
            model, data, True, distance=ssba.Distance("l1", scale="std"), features={"s": ssba.numeric(step=5)}
        )
        found = explainer.explain(query, ["1.2 * a + b <= -0.6"], prove=True)
        alone = (-0.6 - query["b"]) / 1.2 - 1e-9
        assert alone > data.a.min()
        assert model.predict(pd.DataFrame([{**query, "a": alone}]))[0]
        distance = (query["a"] - alone) / float(np.std(data.a))
        assert best(found).distance <= distance * 1.0011
        assert found.evidence.lower_bound is None or found.evidence.lower_bound <= distance * (1 + 1e-6)

    @pytest.mark.parametrize("target", [False, True])
    @pytest.mark.parametrize(("weights", "offset"), [((1, -1, 0), 0), ((2, -1, 1), -3), ((3, -2, -3), 2)])
    def test_exact_ties_are_decided_by_the_model(
        self, weights: tuple[int, ...], offset: int, target: bool
    ) -> None:
        rng = np.random.default_rng(0)
        data = pd.DataFrame(
            {"a": rng.integers(0, 7, 300), "b": rng.integers(0, 7, 300), "c": rng.integers(0, 3, 300)}
        )
        model = Perceptron().fit(data, data.a > data.b)
        model.coef_[:], model.intercept_[:] = weights, offset
        grid = pd.DataFrame(list(itertools.product(range(7), range(7), range(3))), columns=list("abc"))
        reaching = model.predict(grid) == target
        explainer = ssba.Explainer(model, data, target, distance=ssba.Distance(scale="none"))
        for row in grid[~reaching].iloc[::9].to_dict("records"):
            query = {str(name): value for name, value in row.items()}
            found = explainer.explain(query)
            assert best(found).distance == pytest.approx(nearest_of(grid[reaching], query, [1.0] * 3))
            assert found.evidence.proof is not None

    def test_a_value_that_is_just_attained_counts(self) -> None:
        rng = np.random.default_rng(1)
        data = pd.DataFrame({"a": rng.integers(0, 7, 300), "b": rng.integers(0, 7, 300)})
        model = Lasso(alpha=0.01).fit(data, data.a + data.b)
        model.coef_, model.intercept_ = np.array([1.0, 2.0]), 0.0
        explainer = ssba.Explainer(
            model, data, ssba.value_between(low=7), distance=ssba.Distance(scale="none")
        )
        # 3 + 2 * 2 is 7 exactly, one step away.
        assert best(explainer.explain({"a": 2, "b": 2})).distance == 1.0


class TestRanges:
    def test_a_relation_widens_ranges_only_as_far_as_it_needs(self) -> None:
        rng = np.random.default_rng(0)
        data = pd.DataFrame({"a": rng.integers(0, 8, 300), "b": rng.integers(0, 8, 300)})
        model = DecisionTreeClassifier().fit(data, data.b >= 5)
        explainer = ssba.Explainer(model, data, target=True, distance=ssba.Distance(scale="none"))
        for prove in (False, True):
            found = explainer.explain({"a": 4, "b": 0}, ["0.425 * a + b <= -0.3"], prove=prove)
            # With b = 5, a is at most -5.3 / 0.425 = -12.47.
            assert best(found).values == {"a": -13, "b": 5}

    @pytest.mark.parametrize(
        ("text", "wanted"),
        [
            ("0.5 * hours + 0.25 * pay > 30", {"hours": 46, "pay": 29}),
            ("0.5 * hours + 0.25 * pay >= 30", {"hours": 46, "pay": 28}),
        ],
    )
    def test_strict_is_one_step_further(self, text: str, wanted: dict[str, int]) -> None:
        rng = np.random.default_rng(0)
        data = pd.DataFrame({"hours": rng.integers(10, 40, 300), "pay": rng.integers(10, 30, 300)})
        explainer = ssba.Explainer(
            lambda table: (table.pay >= 20).to_numpy(),
            data,
            target=True,
            distance=ssba.Distance(scale="none"),
        )
        assert best(explainer.explain({"hours": 20, "pay": 15}, [text])).values == wanted

    @pytest.mark.parametrize("rule", ["a != 7", "a not in {7, 8}", "if a <= 5: b >= 100"])
    def test_rules_that_only_forbid_open_no_range(self, rule: str) -> None:
        data = pd.DataFrame({"a": np.arange(6), "b": np.arange(6)})
        explainer = ssba.Explainer(
            lambda table: (table.a >= 9).to_numpy() | (table.a + table.b >= 9).to_numpy(),
            data,
            target=True,
            distance=ssba.Distance(scale="none"),
        )
        found = explainer.explain({"a": 1, "b": 1}, [rule])
        move = found.best or found.bounded
        assert move is not None
        assert move.values["a"] <= 5

    def test_a_rule_that_asks_for_a_side_opens_it(self) -> None:
        data = pd.DataFrame({"a": np.arange(6), "b": np.arange(6)})
        explainer = ssba.Explainer(
            lambda table: ((table.a >= 8) | (table.b >= 5)).to_numpy(),
            data,
            target=True,
            distance=ssba.Distance(scale="none"),
        )
        # 7 or more is asked for, and 5 is the most that the data show; (7, 5) is farther than (8, 1).
        assert best(explainer.explain({"a": 1, "b": 1}, ["a >= 7"])).values == {"a": 8, "b": 1}


class TestInfeasible:
    def test_a_permission_takes_nothing_away(self) -> None:
        data = COUNTS.astype(float)
        data.loc[RNG.random(200) < 0.2, "b"] = np.nan
        explainer = ssba.Explainer(
            lambda table: (table.a >= 6).to_numpy(),
            data,
            target=True,
            distance=ssba.Distance(scale="none"),
            features={"a": ssba.integer(), "b": ssba.integer()},
        )
        for rules in (["a + b >= 30", "b <= 8", "a <= 9"], ["b - a <= -20", "a + 2 * b >= 30"]):
            for more in ([], ["b may be filled"]):
                assert best(explainer.explain({"a": 2, "b": None}, [*rules, *more])).values["a"] == 6

    @pytest.mark.parametrize("width", [6, 10, 12])
    def test_many_ways_to_obey_are_ruled_out_by_what_they_add_up_to(self, width: int) -> None:
        names = [f"a{i}" for i in range(width)]
        data = pd.DataFrame({name: RNG.integers(0, 11, 300) for name in names})
        explainer = ssba.Explainer(
            lambda table: (table.a0 >= 8).to_numpy(),
            data,
            target=True,
            distance=ssba.Distance(scale="none"),
            features={name: ssba.integer(low=0, high=10) for name in names},
        )
        rules = [f"{name} != 5" for name in names] + [f"{' + '.join(names)} >= {10 * width - 5}"]
        found = explainer.explain(dict.fromkeys(names, 3), rules)
        assert found.status == "found"

    def test_an_equality_that_no_whole_numbers_meet(self) -> None:
        explainer = ssba.Explainer(sums_above(9), COUNTS, target=True)
        # In units of 0.05: 6 a - 4 b is even, 1 is not.
        found = explainer.explain(
            {"a": 1, "b": 1}, ["0.3 * a - 0.2 * b == 0.05"], budget=ssba.Budget(rows=1000, seconds=1)
        )
        assert (found.status, found.clash) == ("infeasible", ("0.3 * a - 0.2 * b == 0.05",))

    def test_time_that_is_over_is_no_contradiction(self) -> None:
        explainer = ssba.Explainer(sums_above(9), COUNTS, target=True)
        rules = ["a + b >= 12", "a - b <= 3"]
        found = explainer.explain({"a": 1, "b": 1}, rules, budget=ssba.Budget(rows=1000, seconds=1e-9))
        assert found.status == "out_of_budget"
        assert found.sentence
        assert repr(found)
        assert found.prediction is not None
        assert explainer.check_certificate(explainer.certificate(found)).passed

    def test_a_query_that_reaches_is_there_even_if_the_time_is_over(self) -> None:
        explainer = ssba.Explainer(sums_above(9), COUNTS, target=True)
        rules = ["a + b >= 12", "a - b <= 3"]
        found = explainer.explain({"a": 9, "b": 9}, rules, budget=ssba.Budget(rows=1000, seconds=1e-9))
        assert found.status == "already_there"


class TestWhyNot:
    @pytest.mark.parametrize(
        "rule", ["a >= 9007199254740000", "a + b > 9007199254740000", "0.5 * a + b <= -3.6", "a - b >= 40"]
    )
    def test_ranges_without_an_end_can_be_asked_about(self, rule: str) -> None:
        data = pd.DataFrame({name: RNG.integers(0, 6, 200) for name in "abc"})
        explainer = ssba.Explainer(
            lambda table: (table.c >= 4).to_numpy(), data, target=True, distance=ssba.Distance(scale="none")
        )
        found = explainer.explain({"a": 1, "b": 1, "c": 1}, [rule, "c <= 2"])
        assert found.status == "bounded"
        assert any("c" in one.constraints[0] for one in explainer.why_not(found).relaxations)


class TestNumbers:
    def test_a_share_of_a_number_is_worked_out_in_its_digits(self) -> None:
        data = pd.DataFrame({"a": np.round(np.linspace(0, 1, 41), 3), "b": np.zeros(41) + np.arange(41)})
        explainer = ssba.Explainer(
            lambda table: (table.a >= 0.9).to_numpy(),
            data,
            target=True,
            features={"a": ssba.numeric(step=0.1)},
        )
        # In binary 0.6 + 0.6 * 50 / 100 is 0.8999999999999999.
        assert best(explainer.explain({"a": 0.6, "b": 3}, ["a within 50%"])).values["a"] == 0.9

    @pytest.mark.parametrize("scale", ["std", "none"])
    def test_the_smallest_numbers_lie_apart(self, scale: Any) -> None:
        data = pd.DataFrame({"a": RNG.normal(size=100) * 1e-300, "b": RNG.normal(size=100)})
        explainer = ssba.Explainer(
            lambda table: (table.a * 1e300 > 0.5).to_numpy(),
            data,
            target=True,
            distance=ssba.Distance(scale=scale),
        )
        found = explainer.explain({"a": -1e-300, "b": 0.0})
        assert best(found).values["a"] > -1e-300
        assert best(found).distance > 0

    @pytest.mark.parametrize("scale", [1e-300, 1e60])
    def test_scales_that_no_square_can_hold_are_refused(self, scale: float) -> None:
        with pytest.raises(
            ssba.errors.ArgumentError, match=r"scale\['a'\] is .*; give a positive number, from 1e-50 to 1e50"
        ):
            ssba.Explainer(sums_above(9), COUNTS, target=True, distance=ssba.Distance(scale={"a": scale}))

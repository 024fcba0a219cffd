"""Why a search ended: `stopped`, and the sentence that names the budget that ended it."""

import itertools
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from tests.problems import half_space

import ssba

X = np.random.default_rng(3).normal(size=(300, 4))
WEIGHTS = np.array([1.0, -1.0, 0.5, 2.0])


plane = half_space(*WEIGHTS, at=1)


def slow_plane(rows: Any) -> Any:
    time.sleep(0.02)
    return plane(rows)


EXPLAINER = ssba.Explainer(plane, X, target=True)
QUERY = np.array([-0.5, 0.5, 0.0, -0.5])


class TestExact:
    def test_a_proof_leaves_nothing_to_find(self) -> None:
        linear = ssba.Explainer(LogisticRegression().fit(X, plane(X)), X, target=True)
        found = linear.explain(QUERY)
        assert (found.status, found.evidence.proof, found.stopped) == ("found", "optimal", "exact")

    def test_so_does_asking_about_every_row(self) -> None:
        data = np.array(list(itertools.product(range(6), repeat=2)))
        explainer = ssba.Explainer(lambda rows: rows.sum(axis=1) >= 8, data, target=True)
        found = explainer.explain([1, 1])
        assert (found.evidence.proof, found.stopped) == ("exhausted", "exact")

    def test_a_contradiction_and_a_query_that_is_there_need_no_search(self) -> None:
        assert EXPLAINER.explain(QUERY, ["x0 >= 1", "x0 <= 0"]).stopped == "exact"
        assert EXPLAINER.explain(-3 * QUERY).stopped == "exact"


class TestSettled:
    def test_a_search_that_gains_too_little_ends_by_itself(self) -> None:
        found = EXPLAINER.explain(QUERY)
        assert (found.status, found.stopped) == ("found", "settled")
        assert found.rows_used < found.budget.rows
        assert "budget" not in found.sentence

    def test_so_does_one_that_finds_nothing(self) -> None:
        found = EXPLAINER.explain(QUERY, ["-1 <= x0 <= 0", "x1 >= 0", "x2 <= 0", "x3 <= 0"])
        assert found.status == "bounded"
        assert found.stopped in ("settled", "exact")


class TestRows:
    def test_a_small_budget_ends_the_search_and_is_named(self) -> None:
        found = EXPLAINER.explain(QUERY, budget=ssba.Budget(rows=60))
        assert (found.status, found.stopped) == ("found", "rows")
        assert "its budget of 60 model rows" in found.sentence
        assert "nearer answer" in found.sentence

    def test_without_an_answer_it_is_named_too(self) -> None:
        explainer = ssba.Explainer(lambda rows: (rows[:, :3] > 0.6).all(axis=1), X, target=True)
        rules = [ssba.within(f"x{j}", amount=0.4) for j in range(4)]
        found = explainer.explain([0.0] * 4, rules, budget=ssba.Budget(rows=1))
        assert (found.status, found.stopped) == ("out_of_budget", "rows")
        assert "The budget of 1 model row ran out" in found.sentence
        assert "budget=ssba.Budget(rows=...)" in found.sentence

    def test_rows_end_a_search_that_has_time_left(self) -> None:
        found = EXPLAINER.explain(QUERY, budget=ssba.Budget(rows=60, seconds=1000))
        assert found.stopped == "rows"

    def test_each_of_many_queries_says_why_it_ended(self) -> None:
        asked = np.stack([QUERY, -3 * QUERY])
        answers = EXPLAINER.explain_many(asked, budget=ssba.Budget(rows=60))
        assert [one.stopped for one in answers] == ["rows", "exact"]


class TestSeconds:
    def test_a_slow_model_ends_the_search_and_the_time_is_named(self) -> None:
        explainer = ssba.Explainer(slow_plane, X, target=True)
        found = explainer.explain(QUERY, budget=ssba.Budget(seconds=0.3))
        assert (found.status, found.stopped) == ("found", "seconds")
        assert "its budget of 0.3 seconds" in found.sentence

    def test_without_an_answer_it_is_named_too(self) -> None:
        def corner(rows: Any) -> Any:
            time.sleep(0.3)
            return (rows[:, :3] > 0.6).all(axis=1)

        explainer = ssba.Explainer(corner, X, target=True)
        rules = [ssba.within(f"x{j}", amount=0.4) for j in range(4)]
        found = explainer.explain([0.0] * 4, rules, budget=ssba.Budget(seconds=0.5))
        assert (found.status, found.stopped) == ("out_of_budget", "seconds")
        assert "The budget of 0.5 seconds ran out" in found.sentence
        assert "budget=ssba.Budget(seconds=...)" in found.sentence


@pytest.mark.parametrize("stopped", ["exact", "settled"])
def test_no_sentence_names_a_budget_that_did_not_end_the_search(stopped: Any) -> None:
    found = EXPLAINER.explain(QUERY, budget=ssba.Budget(rows=15_000, seconds=1000))
    assert "budget" not in replace(found, stopped=stopped).sentence

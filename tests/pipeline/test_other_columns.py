"""Several answers by default: the plain one first, then other sets of columns, then rows that lie apart."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from tests.support import every

import ssba

_rng = np.random.default_rng(0)
PEOPLE = pd.DataFrame(
    {
        "age": _rng.integers(20, 80, size=300),
        "hours": _rng.integers(10, 70, size=300),
        "job": _rng.choice(["none", "office", "boss"], size=300),
    }
)
QUERY = {"age": 40, "hours": 40, "job": "office"}
SCALE = {"age": 10.0, "hours": 10.0}


def rich(rows: pd.DataFrame) -> Any:
    """Old people, people who work long, bosses; and those who are a little of both."""
    age, hours = rows["age"].to_numpy(), rows["hours"].to_numpy()
    return (age >= 48) | (hours >= 55) | (rows["job"] == "boss").to_numpy() | (age + hours >= 87)


EXPLAINER = ssba.Explainer(rich, PEOPLE, target=True, distance=ssba.Distance(scale=SCALE))
DATA = _rng.uniform(-4, 4, size=(400, 4))
ORIGIN = [0.0, 0.0, 0.0, 0.0]


def sets_of(explanation: ssba.results.Explanation) -> list[frozenset[str]]:
    return [frozenset(one.changes) for one in explanation.counterfactuals]


class TestColumns:
    def test_other_columns_come_before_further_ages(self) -> None:
        """The nearest is a little of both; 47 years will do alone, as will 47 hours, or a boss."""
        found = EXPLAINER.explain(QUERY, k=4)
        first, *equal, last = sets_of(found)
        assert (first, last) == (frozenset({"age", "hours"}), frozenset({"job"}))
        assert set(equal) == {frozenset({"age"}), frozenset({"hours"})}
        distances = [one.distance for one in found.counterfactuals]
        # sqrt(3^2 + 4^2) / 10, 7 / 10 twice, and one level.
        assert distances == pytest.approx([0.5, 0.7, 0.7, 1.0])

    def test_the_list_is_filled_with_rows_of_the_same_columns_only_behind_all_others(self) -> None:
        found = EXPLAINER.explain(QUERY, k=7)
        assert len(found.counterfactuals) == 7
        assert len(set(sets_of(found)[:4])) == 4

    @pytest.mark.parametrize("k", [2, 5])
    def test_the_first_is_the_plain_answer(self, k: int) -> None:
        models: dict[str, Any] = {
            "linear": LogisticRegression().fit(DATA, DATA.sum(axis=1) > 3),
            "closed": lambda rows: np.abs(rows[:, 0]) + rows[:, 1] ** 2 + 0.3 * rows[:, 2] > 3,
        }
        for model in models.values():
            explainer = ssba.Explainer(model, DATA, target=True)
            several, plain = explainer.explain(ORIGIN, k=k), explainer.explain(ORIGIN)
            assert several.best == plain.best
            assert several.evidence.proof == plain.evidence.proof
        assert EXPLAINER.explain(QUERY, k=k).best == EXPLAINER.explain(QUERY).best

    def test_all_ways_to_meet_the_constraints_are_searched(self) -> None:
        """A boss must work 41 hours: the way over the job lies in another region than the plain answer."""
        rules = ["if job == 'boss': hours >= 41", "age <= 46", "hours <= 46"]
        found = EXPLAINER.explain(QUERY, rules, k=2)
        assert every(rich(pd.DataFrame([one.values]))[0] for one in found.counterfactuals)
        assert sets_of(found) == [{"age", "hours"}, {"job", "hours"}]


class TestLevers:
    def test_they_are_those_of_the_table(self) -> None:
        plain = EXPLAINER.explain(QUERY)
        table = {frozenset(one.columns) for one in EXPLAINER.levers(plain).levers}
        answers = EXPLAINER.explain(QUERY, k=20, diversity="levers")
        assert (
            set(sets_of(answers))
            == table
            == {
                frozenset({"age", "hours"}),
                frozenset({"age"}),
                frozenset({"hours"}),
                frozenset({"job"}),
            }
        )

    def test_fewer_than_asked_for_say_why(self) -> None:
        found = EXPLAINER.explain(QUERY, k=20, diversity="levers")
        assert found.evidence.column_searches_left == 0
        assert "These are 4 of 20 answers asked for: no other set of columns was found" in found.sentence

    def test_a_budget_that_ends_the_search_for_them_is_blamed(self) -> None:
        found = EXPLAINER.explain(QUERY, k=20, diversity="levers", budget=ssba.Budget(rows=240))
        assert found.evidence.column_searches_left > 0
        assert "left when the search ended; a larger budget or k goes further" in found.sentence

    def test_one_answer_asked_for_needs_no_excuse(self) -> None:
        found = EXPLAINER.explain(QUERY, diversity="levers")
        assert "asked for" not in found.sentence
        assert found.evidence.column_searches == 0

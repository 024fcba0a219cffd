"""What an explanation answers when it is asked further, also after it was written and read again."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ssba

_rng = np.random.default_rng(3)
DATA = pd.DataFrame(
    {
        "chol": _rng.normal(240, 40, 300).round(),
        "rate": _rng.integers(90, 190, 300),
        "sex": _rng.choice(["male", "female"], 300),
    }
)
RULES = ["sex == x.sex", "chol within 20%"]
QUERY = {"chol": 286, "rate": 138, "sex": "male"}


def model(rows: Any) -> Any:
    return np.where(rows["rate"] - 0.4 * rows["chol"] > 40, "well", "ill")


@pytest.fixture(scope="module")
def explainer() -> ssba.Explainer:
    return ssba.Explainer(model, DATA, "well")


@pytest.fixture(scope="module")
def answer(explainer: ssba.Explainer) -> ssba.Explanation:
    return explainer.explain(QUERY, RULES, k=2)


class TestQuestions:
    def test_a_plan_leads_to_the_answer_that_was_chosen(self, answer: ssba.Explanation) -> None:
        assert len(answer.counterfactuals) == 2
        for number, chosen in enumerate(answer.counterfactuals):
            plan = answer.plan(number)
            assert plan.reached
            assert set(plan.final.items()) <= set({**chosen.values, **QUERY}.items()) | set(
                chosen.values.items()
            )

    def test_ranges_hold_the_answer(self, answer: ssba.Explanation) -> None:
        assert answer.best is not None
        for interval in answer.ranges(samples=200).intervals:
            assert interval.low <= answer.best.values[interval.column] <= interval.high

    def test_a_bounded_move_has_a_plan_and_a_reason_but_no_ranges(self, explainer: ssba.Explainer) -> None:
        bounded = explainer.explain(QUERY, [*RULES, "rate == x.rate", "chol >= x.chol - 20"])
        assert bounded.status == "bounded"
        assert not bounded.plan().reached
        relaxed = bounded.why_not().relaxations[0]
        assert explainer.explain(QUERY, _applied(bounded, relaxed)).status == "found"
        with pytest.raises(ssba.ArgumentError, match="why_not"):
            bounded.ranges()

    def test_an_answer_that_is_not_there_is_refused(self, answer: ssba.Explanation) -> None:
        with pytest.raises(ssba.ArgumentError, match=r"there are 2 answers, counted from 0"):
            answer.plan(2)
        with pytest.raises(ssba.ArgumentError, match="0 or more"):
            answer.ranges(-1)
        with pytest.raises(ssba.ArgumentError, match="from 1 to 3"):
            answer.levers(4)

    def test_where_nothing_needs_to_change_nothing_is_advised(self, explainer: ssba.Explainer) -> None:
        there = explainer.explain({**QUERY, "rate": 185, "chol": 200})
        with pytest.raises(ssba.ArgumentError) as refused:
            there.plan()
        assert "relax" not in str(refused.value)


def _applied(explanation: ssba.Explanation, relaxation: Any) -> list[str]:
    """The constraints with some of them replaced by looser ones."""
    kept = [text for text in explanation.constraints if text not in relaxation.constraints]
    return [*kept, *relaxation.relaxed]


class TestReadAgain:
    def test_what_was_written_has_no_model_to_ask(self, answer: ssba.Explanation) -> None:
        for again in (
            ssba.Explanation.from_json(answer.to_json()),
            pickle.loads(pickle.dumps(answer)),  # noqa: S301
            copy.deepcopy(answer),
        ):
            assert again == answer
            with pytest.raises(ssba.ArgumentError, match="attach"):
                again.plan()

    def test_attached_it_answers_as_before(self, explainer: ssba.Explainer, answer: ssba.Explanation) -> None:
        again = explainer.attach(ssba.Explanation.from_json(answer.to_json()))
        assert again.plan() == answer.plan()
        assert again.try_values({"rate": 180}) == answer.try_values({"rate": 180})

    @pytest.mark.parametrize(
        "wishes",
        [{"max_changes": 2}, {"plausible": True}, {"margin": ssba.ball(0.1)}, {"margin": 1 / 3}],
        ids=str,
    )
    def test_wishes_are_read_back(self, explainer: ssba.Explainer, wishes: Any) -> None:
        told = explainer.explain(QUERY, RULES, **wishes)
        again = explainer.attach(ssba.Explanation.from_json(told.to_json()))
        assert again.advisor is not None
        assert told.advisor is not None
        assert again.advisor.context.request.wishes == told.advisor.context.request.wishes  # type: ignore[attr-defined]

    def test_that_of_another_model_is_refused(self, answer: ssba.Explanation) -> None:
        other = ssba.Explainer(lambda rows: np.where(rows["rate"] > 150, "well", "ill"), DATA, "well")
        with pytest.raises(ssba.ArgumentError, match="another model"):
            other.attach(answer)

    def test_that_of_another_target_or_distance_is_refused(self, answer: ssba.Explanation) -> None:
        with pytest.raises(ssba.ArgumentError, match="leads to 'well'"):
            ssba.Explainer(model, DATA, "ill").attach(answer)
        for other in ({"distance": "l1"}, {"weights": {"chol": 2.0}}):
            with pytest.raises(ssba.ArgumentError, match="distances are others"):
                ssba.Explainer(model, DATA, "well", **other).attach(answer)

    @pytest.mark.parametrize("what", [None, "{}", 3])
    def test_what_is_no_explanation_is_refused(self, explainer: ssba.Explainer, what: Any) -> None:
        with pytest.raises(ssba.ArgumentError, match="from_json"):
            explainer.attach(what)


class TestReport:
    def test_one_call_writes_all_sections(
        self, explainer: ssba.Explainer, answer: ssba.Explanation, tmp_path: Path
    ) -> None:
        page = explainer.write_report(
            tmp_path / "r.html", answer, meanings={"chol": "serum cholesterol"}, title="A & B"
        ).read_text()
        assert "A &amp; B" in page
        for heading in (
            "What would change",
            "Step by step",
            "Ranges that hold",
            "Levers",
            "serum cholesterol",
        ):
            assert heading in page

    def test_for_a_bounded_move_it_says_what_to_relax(
        self, explainer: ssba.Explainer, tmp_path: Path
    ) -> None:
        bounded = explainer.explain(QUERY, [*RULES, "rate == x.rate", "chol >= x.chol - 20"])
        page = explainer.write_report(tmp_path / "r.html", bounded).read_text()
        assert "relax" in page
        assert "Ranges that hold" not in page

    def test_for_many_it_is_a_page_about_all(self, explainer: ssba.Explainer, tmp_path: Path) -> None:
        many = explainer.explain_many(DATA[:6], RULES)
        page = explainer.write_report(tmp_path / "r.html", many).read_text()
        assert "Which columns change" in page

    def test_arrays_have_surroundings_too(self, tmp_path: Path) -> None:
        rows = _rng.normal(size=(80, 2))
        by_array = ssba.Explainer(lambda Z: Z[:, 0] > 0.5, rows, target=True)
        page = by_array.write_report(tmp_path / "r.html", by_array.explain([-1.0, 0.0])).read_text()
        assert "x0" in page

    def test_a_file_that_cannot_be_written_is_refused_at_once(
        self, explainer: ssba.Explainer, answer: ssba.Explanation, tmp_path: Path
    ) -> None:
        with pytest.raises(ssba.ArgumentError, match="no folder"):
            explainer.write_report(tmp_path / "none" / "r.html", answer)

    def test_meanings_that_are_none_are_refused(
        self, explainer: ssba.Explainer, answer: ssba.Explanation, tmp_path: Path
    ) -> None:
        with pytest.raises(ssba.ArgumentError, match="meanings"):
            explainer.write_report(tmp_path / "r.html", answer, meanings="chol")  # type: ignore[arg-type]

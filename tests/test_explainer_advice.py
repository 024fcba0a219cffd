"""What an explainer answers further about an explanation, also after that was written and read again."""

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
def answer(explainer: ssba.Explainer) -> ssba.results.Explanation:
    return explainer.explain(QUERY, RULES, k=2)


class TestQuestions:
    def test_a_plan_leads_to_the_answer_that_was_chosen(
        self, explainer: ssba.Explainer, answer: ssba.results.Explanation
    ) -> None:
        assert len(answer.counterfactuals) == 2
        for number, chosen in enumerate(answer.counterfactuals):
            plan = explainer.plan(answer, number)
            assert plan.reached
            assert set(plan.final.items()) <= set({**chosen.values, **QUERY}.items()) | set(
                chosen.values.items()
            )

    def test_ranges_hold_the_answer(
        self, explainer: ssba.Explainer, answer: ssba.results.Explanation
    ) -> None:
        assert answer.best is not None
        ranges = explainer.ranges(answer, n_samples=200)
        assert {one.column for one in ranges.intervals} == set(answer.best.changes)
        for interval in ranges.intervals:
            assert interval.low <= answer.best.values[interval.column] <= interval.high

    def test_a_bounded_move_has_a_plan_and_a_reason_but_no_ranges(self, explainer: ssba.Explainer) -> None:
        bounded = explainer.explain(QUERY, [*RULES, "rate == x.rate", "chol >= x.chol - 20"])
        assert bounded.status == "bounded"
        assert not explainer.plan(bounded).reached
        relaxed = explainer.why_not(bounded).relaxations[0]
        assert explainer.explain(QUERY, _applied(bounded, relaxed)).status == "found"
        with pytest.raises(ssba.errors.ArgumentError, match="why_not"):
            explainer.ranges(bounded)

    def test_a_query_that_is_at_the_target_already_has_a_plan_without_steps(
        self, explainer: ssba.Explainer
    ) -> None:
        there = explainer.explain({"chol": 200, "rate": 180, "sex": "male"}, ["rate <= 150"])
        plan = explainer.plan(there)
        assert (plan.steps, plan.reached, plan.final) == ((), True, there.query)
        assert plan.sentence == "The model already predicts well, which reaches 'well': no steps."
        assert ssba.results.Plan.from_json(plan.to_json()) == plan
        with pytest.raises(ssba.errors.ArgumentError, match="ended as already_there: The model already"):
            explainer.ranges(there)

    def test_a_larger_budget_is_the_remedy_where_the_budget_ran_out(self, explainer: ssba.Explainer) -> None:
        unknown = explainer.explain(QUERY, RULES, budget=ssba.Budget(seconds=1e-9))
        assert unknown.status == "out_of_budget"
        with pytest.raises(ssba.errors.ArgumentError, match=r"allow more with budget=ssba\.Budget\(.*\)\.$"):
            explainer.plan(unknown)

    def test_an_answer_that_is_not_there_is_refused(
        self, explainer: ssba.Explainer, answer: ssba.results.Explanation
    ) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match=r"the last of the answers is number 1, from 0"):
            explainer.plan(answer, 2)
        with pytest.raises(ssba.errors.ArgumentError, match="0 or more"):
            explainer.ranges(answer, -1)
        with pytest.raises(ssba.errors.ArgumentError, match="from 1 to 3"):
            explainer.levers(answer, 4)

    def test_where_nothing_needs_to_change_nothing_is_advised(self, explainer: ssba.Explainer) -> None:
        there = explainer.explain({**QUERY, "rate": 185, "chol": 200})
        with pytest.raises(ssba.errors.ArgumentError) as refused:
            explainer.ranges(there)
        assert "relax" not in str(refused.value)


def _applied(explanation: ssba.results.Explanation, relaxation: Any) -> list[str]:
    """The constraints with some of them replaced by looser ones."""
    kept = [text for text in explanation.constraints if text not in relaxation.constraints]
    return [*kept, *relaxation.relaxed]


def read_again(explanation: ssba.results.Explanation) -> dict[str, ssba.results.Explanation]:
    """The same explanation from its JSON form, from a pickle, and as a copy."""
    return {
        "json": ssba.results.Explanation.from_json(explanation.to_json()),
        "pickle": pickle.loads(pickle.dumps(explanation)),  # noqa: S301
        "copy": copy.deepcopy(explanation),
    }


class TestReadAgain:
    def test_it_is_answered_as_before(
        self, explainer: ssba.Explainer, answer: ssba.results.Explanation
    ) -> None:
        for again in read_again(answer).values():
            assert again == answer
            assert explainer.plan(again) == explainer.plan(answer)
            assert explainer.ranges(again, n_samples=100) == explainer.ranges(answer, n_samples=100)
            assert explainer.levers(again, 1) == explainer.levers(answer, 1)
            assert explainer.try_values(again, {"rate": 180}) == explainer.try_values(answer, {"rate": 180})
            assert explainer.certificate(again) == explainer.certificate(answer)

    def test_why_not_is_answered_as_before(self, explainer: ssba.Explainer) -> None:
        bounded = explainer.explain(QUERY, [*RULES, "rate == x.rate", "chol >= x.chol - 20"])
        for again in read_again(bounded).values():
            assert explainer.why_not(again) == explainer.why_not(bounded)
            assert explainer.plan(again) == explainer.plan(bounded)

    def test_another_explainer_of_the_same_model_answers_too(self, answer: ssba.results.Explanation) -> None:
        again = ssba.Explainer(model, DATA, "well")
        assert again.plan(answer).reached
        assert again.check_certificate(again.certificate(answer)).passed

    @pytest.mark.parametrize(
        "options",
        [{"max_changes": 2}, {"plausible": True}, {"margin": ssba.ball(0.1)}, {"margin": 1 / 3}, {"k": 2}],
        ids=str,
    )
    def test_options_are_read_back(self, explainer: ssba.Explainer, options: Any) -> None:
        asked = explainer.explain(QUERY, RULES, **options)
        for again in read_again(asked).values():
            assert again.options == asked.options == ssba.Options(**options)
            assert explainer._context(again).options == asked.options

    @pytest.mark.parametrize("target", [None, "ill", "well"])
    def test_the_target_is_that_of_the_explanation(self, explainer: ssba.Explainer, target: Any) -> None:
        row = QUERY if target != "ill" else {**QUERY, "rate": 185, "chol": 200}
        found = explainer.toward(target).explain(row)
        assert found.status == "found"
        assert explainer.plan(found).target == found.target
        assert explainer.plan(found).reached

    def test_that_of_another_model_is_refused(self, answer: ssba.results.Explanation) -> None:
        other = ssba.Explainer(lambda rows: np.where(rows["rate"] > 150, "well", "ill"), DATA, "well")
        for ask in (other.plan, other.ranges, other.why_not, other.levers, other.certificate):
            with pytest.raises(ssba.errors.ArgumentError, match="another model"):
                ask(answer)

    @pytest.mark.parametrize(
        "settings", [{"distance": "l1"}, {"distance": ssba.Distance(weights={"chol": 2.0})}], ids=str
    )
    def test_that_of_another_distance_is_refused(
        self, answer: ssba.results.Explanation, settings: Any
    ) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match="distances"):
            ssba.Explainer(model, DATA, "well", **settings).plan(answer)

    @pytest.mark.parametrize("what", [None, "{}", 3])
    def test_what_is_no_explanation_is_refused(self, explainer: ssba.Explainer, what: Any) -> None:
        for ask in (explainer.plan, explainer.ranges, explainer.why_not, explainer.levers):
            with pytest.raises(ssba.errors.ArgumentError, match=r"give what explain\(\) returned"):
                ask(what)
        with pytest.raises(ssba.errors.ArgumentError, match=r"give what explain\(\) returned"):
            explainer.try_values(what, {"rate": 180})


class TestReport:
    def test_one_call_writes_all_sections(
        self, explainer: ssba.Explainer, answer: ssba.results.Explanation, tmp_path: Path
    ) -> None:
        page = explainer.report(
            answer, tmp_path / "r.html", meanings={"chol": "serum cholesterol"}, title="A & B"
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
        page = explainer.report(bounded, tmp_path / "r.html").read_text()
        assert "relax" in page
        assert "Ranges that hold" not in page

    def test_for_many_it_is_a_page_about_all(self, explainer: ssba.Explainer, tmp_path: Path) -> None:
        many = explainer.explain_many(DATA[:6], RULES)
        page = explainer.report(many, tmp_path / "r.html").read_text()
        assert "Which columns change" in page

    def test_arrays_are_shown_against_their_data_too(self, tmp_path: Path) -> None:
        rows = _rng.normal(size=(80, 2))
        by_array = ssba.Explainer(lambda Z: Z[:, 0] > 0.5, rows, target=True)
        page = by_array.report(by_array.explain([-1.0, 0.0]), tmp_path / "r.html").read_text()
        assert "x0" in page

    def test_a_file_that_cannot_be_written_is_refused_at_once(
        self, explainer: ssba.Explainer, answer: ssba.results.Explanation, tmp_path: Path
    ) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match="no folder"):
            explainer.report(answer, tmp_path / "none" / "r.html")

    def test_meanings_that_are_none_are_refused(
        self, explainer: ssba.Explainer, answer: ssba.results.Explanation, tmp_path: Path
    ) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match="meanings"):
            explainer.report(answer, tmp_path / "r.html", meanings="chol")  # type: ignore[arg-type]

    @pytest.mark.parametrize("what", [None, "answer", 3])
    def test_what_is_no_result_is_refused(self, explainer: ssba.Explainer, tmp_path: Path, what: Any) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match=r"give what explain\(\) or explain_many\(\)"):
            explainer.report(what, tmp_path / "r.html")

    def test_results_read_from_json_are_reported_too(self, explainer: ssba.Explainer, tmp_path: Path) -> None:
        many = explainer.explain_many(DATA[:6], RULES)
        again = ssba.results.Explanations.from_json(many.to_json())
        pages = [explainer.report(one, tmp_path / "r.html").read_text() for one in (many, again)]
        assert pages[0] == pages[1]


class TestAnotherExplainer:
    """An explanation of another explainer is refused by what it is of, before anything else."""

    ASKED = ("plan", "ranges", "why_not", "levers", "certificate")

    @pytest.mark.parametrize("asked", ASKED)
    def test_of_other_columns(self, answer: ssba.results.Explanation, asked: str) -> None:
        fewer = ssba.Explainer(lambda rows: rows["rate"] > 140, DATA[["chol", "rate"]], True)
        with pytest.raises(
            ssba.errors.ArgumentError, match="this explanation is of another model or of other"
        ):
            getattr(fewer, asked)(answer)

    @pytest.mark.parametrize("asked", ASKED)
    def test_of_other_classes(self, answer: ssba.results.Explanation, asked: str) -> None:
        other = ssba.Explainer(lambda rows: np.where(rows["rate"] > 140, "yes", "no"), DATA, "yes")
        with pytest.raises(
            ssba.errors.ArgumentError, match="this explanation is of another model or of other"
        ):
            getattr(other, asked)(answer)

    def test_of_a_regressor(self, answer: ssba.results.Explanation) -> None:
        other = ssba.Explainer(lambda rows: rows["rate"] * 1.0, DATA, ssba.value_between(low=150))
        with pytest.raises(
            ssba.errors.ArgumentError, match="this explanation is of another model or of other"
        ):
            other.plan(answer)

    def test_of_columns_that_mean_something_else(self, answer: ssba.results.Explanation) -> None:
        other = ssba.Explainer(model, DATA, "well", features={"chol": ssba.numeric()})
        with pytest.raises(
            ssba.errors.ArgumentError, match=r"of other columns .*'chol' is integer, here numeric"
        ):
            other.plan(answer)

    def test_of_columns_of_other_names(self, explainer: ssba.Explainer) -> None:
        def first(rows: Any) -> Any:
            return rows[:, 0] > 0

        X = np.random.default_rng(0).normal(size=(50, 2))
        mine, other = (ssba.Explainer(first, X, True, columns=names) for names in (["a", "b"], ["a", "c"]))
        with pytest.raises(ssba.errors.ArgumentError, match=r"of other columns .'a', 'b'; here 'a', 'c'"):
            other.plan(mine.explain([-1.0, 0.0]))


class TestProgress:
    """What may take a while shows a bar where somebody asks for one, and nothing on its own in a test."""

    @pytest.mark.parametrize("asked", ["levers", "why_not"])
    def test_it_counts_searches(
        self, explainer: ssba.Explainer, asked: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        rules = RULES if asked == "levers" else [*RULES, "chol within 1%", "rate within 1%"]
        given = explainer.explain(QUERY, rules)
        getattr(explainer, asked)(given)
        assert capsys.readouterr().err == ""
        getattr(explainer, asked)(given, progress=True)
        assert {"levers": "sets of columns", "why_not": "searches"}[asked] in capsys.readouterr().err

    def test_a_report_shows_what_it_asks(
        self,
        explainer: ssba.Explainer,
        answer: ssba.results.Explanation,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        explainer.report(answer, tmp_path / "quiet.html")
        assert capsys.readouterr().err == ""
        explainer.report(answer, tmp_path / "shown.html", progress=True)
        assert "sets of columns" in capsys.readouterr().err

"""Certificates checked with the model: they hold as long as nothing changed, and tell what did."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import ssba
from ssba.results.certificate import Certificate, CertificateCheck, certified

HEART = ssba.datasets.load_heart().frame.drop(columns=["ca", "thal"])
DIAGNOSIS = ssba.datasets.load_heart().target
NUMBERS = ["age", "trestbps", "chol", "thalach", "oldpeak"]
WORDS = [name for name in HEART.columns if name not in NUMBERS]
RULES = ["age >= x.age", "sex == x.sex", "cp == x.cp", "trestbps within 20%", "chol within 20%"]


def trained(rows: pd.DataFrame) -> Any:
    columns = make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), WORDS))
    return make_pipeline(columns, LogisticRegression(max_iter=1000)).fit(rows, DIAGNOSIS[rows.index])


MODEL = trained(HEART)
EXPLAINER = ssba.Explainer(MODEL, HEART, "no disease")
SICK = HEART[MODEL.predict(HEART) == "disease"].iloc[2]


def certificate(constraints: Any = RULES, query: Any = SICK, **options: Any) -> Certificate:
    """The certificate of a result, written and read again."""
    budget = ssba.Budget(rows=4000)
    found = EXPLAINER.explain(query, constraints, budget=budget, evidence=0, **options)
    return Certificate.from_json(EXPLAINER.certificate(found).to_json())


def check(given: Certificate, explainer: ssba.Explainer = EXPLAINER) -> CertificateCheck:
    return explainer.check_certificate(given)


def failing(checked: CertificateCheck) -> list[str]:
    return [one.name for one in checked.failed]


@pytest.fixture(scope="module")
def found() -> Certificate:
    return certificate(k=2)


def forged(original: Certificate, edit: Any) -> Certificate:
    """The certificate after an edit by someone who knows how to make a digest."""
    document = json.loads(original.to_json())
    edit(document["explanation"])
    return certified(Certificate.from_json(json.dumps(document)).explanation)


HELD = [f"{name} == x.{name}" for name in HEART.columns if name != "chol"]
SETTLED: dict[str, tuple[str, dict[str, Any]]] = {
    "found": ("found", {}),
    "bounded": ("bounded", {"constraints": [*HELD, "chol within 2%"]}),
    "infeasible": ("infeasible", {"constraints": ["age >= 70", "age <= 60"]}),
    "more changes asked for than allowed": (
        "infeasible",
        {"constraints": ["age >= 70", "chol <= 150"], "max_changes": 1},
    ),
    "already there": ("already_there", {"query": HEART[MODEL.predict(HEART) == "no disease"].iloc[0]}),
    "few": ("found", {"constraints": [], "max_changes": 2}),
    "plausible": ("found", {"constraints": [], "plausible": True}),
    "ball": ("found", {"constraints": [], "margin": ssba.ball(0.1)}),
    "score": ("found", {"constraints": [], "margin": ssba.score_margin(0.2)}),
}


@pytest.mark.parametrize("case", SETTLED)
def test_a_certificate_holds_with_the_same_model_and_data(case: str) -> None:
    status, asked = SETTLED[case]
    made = certificate(**asked)
    checked = check(made)
    assert made.explanation.status == status
    assert checked.passed, repr(checked)
    assert checked.sentence == f"The certificate holds: all {len(checked.checks)} checks passed."


def test_an_explainer_made_from_it_agrees(found: Certificate) -> None:
    again = ssba.Explainer(MODEL, HEART, **found.settings)
    assert check(found, again).passed


def test_each_answer_is_checked(found: Certificate) -> None:
    names = [one.name for one in check(found).checks]
    for answer in ("answer 1", "answer 2"):
        for what in ("changes", "distance", "constraints", "model", "target"):
            assert f"{answer}, {what}" in names


class TestOtherProblem:
    def test_a_retrained_model_is_told(self, found: Certificate) -> None:
        retrained = ssba.Explainer(trained(HEART[::2]), HEART, **found.settings)
        checked = check(found, retrained)
        assert "model" in failing(checked)
        assert "query" in failing(checked)
        assert "does not hold" in checked.sentence

    def test_other_scales_are_told(self, found: Certificate) -> None:
        other = ssba.Explainer(MODEL, HEART, "no disease", distance=ssba.Distance(scale="range"))
        assert failing(check(found, other)) == ["metric"]

    def test_another_target_is_told(self, found: Certificate) -> None:
        other = ssba.Explainer(MODEL, HEART, ssba.probability("no disease", at_least=0.9))
        assert "query" in failing(check(found, other))

    def test_other_kinds_of_columns_are_told(self, found: Certificate) -> None:
        order = ssba.ordinal(["downsloping", "flat", "upsloping"])
        checked = check(found, ssba.Explainer(MODEL, HEART, "no disease", features={"slope": order}))
        assert "columns" in failing(checked)
        assert any("slope" in one.seen for one in checked.failed)

    def test_other_columns_are_told_without_an_error(self, found: Certificate) -> None:
        rows = np.random.default_rng(0).normal(size=(100, 2))
        other = ssba.Explainer(lambda rows: rows[:, 0] > 0, rows, True)
        assert {"columns", "query"} <= set(failing(check(found, other)))


class TestForged:
    def test_another_prediction(self, found: Certificate) -> None:
        def edit(explanation: Any) -> None:
            explanation["counterfactuals"][0]["prediction"] = "disease"

        assert failing(check(forged(found, edit))) == ["answer 1, model"]

    def test_another_score(self, found: Certificate) -> None:
        def edit(explanation: Any) -> None:
            explanation["counterfactuals"][1]["score"] += 0.001

        assert failing(check(forged(found, edit))) == ["answer 2, model"]

    def test_an_answer_that_does_not_reach(self, found: Certificate) -> None:
        """The query itself as its own answer, with everything that needs no model made to fit."""

        def edit(explanation: Any) -> None:
            explanation["counterfactuals"][0] |= {
                "values": explanation["query"],
                "changes": {},
                "distance": 0.0,
                "prediction": explanation["prediction"],
                "score": explanation["score"],
            }

        assert failing(check(forged(found, edit))) == ["answer 1, target"]

    def test_a_bounded_move_that_reaches(self, found: Certificate) -> None:
        def edit(explanation: Any) -> None:
            move = explanation["counterfactuals"][0]
            explanation |= {"status": "bounded", "bounded": move, "counterfactuals": []}

        assert failing(check(forged(found, edit))) == ["bounded move, target"]

    def test_an_infeasible_query_that_is_not(self, found: Certificate) -> None:
        def edit(explanation: Any) -> None:
            explanation |= {"status": "infeasible", "counterfactuals": []}

        assert failing(check(forged(found, edit))) == ["query"]

    def test_a_query_that_is_not_there_yet(self, found: Certificate) -> None:
        def edit(explanation: Any) -> None:
            explanation |= {"status": "already_there", "counterfactuals": []}

        assert failing(check(forged(found, edit))) == ["query"]

    def test_more_changes_than_were_asked_for(self, found: Certificate) -> None:
        made = forged(found, lambda explanation: explanation["options"].update(max_changes=1))
        assert {"answer 1, target", "answer 2, target"} <= set(failing(check(made)))

    @pytest.mark.parametrize("value", [None, "much", [1], 10**400, -5])
    def test_cells_of_any_type_fail_without_an_error(self, found: Certificate, value: Any) -> None:
        def edit(explanation: Any) -> None:
            explanation["counterfactuals"][0]["values"]["chol"] = value

        assert "answer 1, changes" in failing(check(forged(found, edit)))


def test_the_lines_tell_what_was_seen(found: Certificate) -> None:
    lines = repr(check(found)).splitlines()
    assert lines[0].startswith("ok      digest: sha256")
    assert len(lines) == len(check(found).checks) + 1


def test_what_is_no_certificate_is_refused() -> None:
    with pytest.raises(ssba.errors.ArgumentError, match=r"certificate is 7; give what explainer.certificate"):
        EXPLAINER.check_certificate(7)  # type: ignore[arg-type]

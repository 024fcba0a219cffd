"""A regressor predicts a value: nothing said about it speaks of scores, or of decisions that flip."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import ssba
from ssba.results.prose import paragraph

_rng = np.random.default_rng(2)
DATA = pd.DataFrame(_rng.normal(50, 10, (150, 3)), columns=["a", "b", "c"])
MODEL = LinearRegression().fit(DATA, DATA.to_numpy() @ [1.0, 2.0, -1.0])
QUERY = DATA.iloc[5]


@pytest.fixture(scope="module", params=[ssba.value_change(at_least=20), ssba.value_between(low=130)], ids=str)
def explainer(request: pytest.FixtureRequest) -> ssba.Explainer:
    return ssba.Explainer(MODEL, DATA, request.param)


@pytest.fixture(scope="module")
def found(explainer: ssba.Explainer) -> ssba.results.Explanation:
    answer = explainer.explain(QUERY)
    assert answer.status == "found"
    return answer


@pytest.fixture(scope="module")
def bounded(explainer: ssba.Explainer) -> ssba.results.Explanation:
    move = explainer.explain(QUERY, [ssba.within(name, amount=1) for name in DATA])
    assert move.status == "bounded"
    return move


def assert_plain(said: str) -> None:
    assert said
    for word in ("score", "flip", "the decision"):
        assert word not in said.lower()


def test_an_answer(explainer: ssba.Explainer, found: ssba.results.Explanation) -> None:
    assert_plain(repr(found))
    assert_plain(found._repr_html_())
    assert_plain(paragraph(found, explainer.plan(found), explainer.ranges(found)))


def test_a_bounded_move(explainer: ssba.Explainer, bounded: ssba.results.Explanation) -> None:
    assert_plain(repr(bounded))
    assert ", with the predicted value going from " in bounded.sentence
    assert_plain(paragraph(bounded, explainer.plan(bounded), why_not=explainer.why_not(bounded)))


def test_further_questions(
    explainer: ssba.Explainer, found: ssba.results.Explanation, bounded: ssba.results.Explanation
) -> None:
    for told in (
        explainer.plan(found),
        explainer.plan(bounded),
        explainer.ranges(found),
        explainer.levers(found),
        explainer.why_not(bounded),
        explainer.try_values(found, {"a": 70}),
        explainer.scan_line(QUERY, DATA.iloc[6]),
        explainer.scan_line(QUERY, found.counterfactuals[0].values),
    ):
        assert_plain(repr(told))
    assert "(predicted value " in explainer.plan(bounded).sentence


def test_reports(
    explainer: ssba.Explainer,
    found: ssba.results.Explanation,
    bounded: ssba.results.Explanation,
    tmp_path: Path,
) -> None:
    for one in (found, bounded):
        page = explainer.report(one, tmp_path / "report.html").read_text(encoding="utf-8")
        assert "Predicted value after it" in page
        assert_plain(page)


def test_charts(explainer: ssba.Explainer, bounded: ssba.results.Explanation) -> None:
    assert ssba.charts.plan_chart(explainer.plan(bounded)).title.startswith(
        "predicted value, toward a value of"
    )
    assert ssba.charts.line_chart(explainer.scan_line(QUERY, DATA.iloc[6])).get_ylabel() == "predicted value"

"""What the answers say to people and language models."""

from typing import Any

import pytest
from tests.apps.mcp.school import Exam, school

import ssba
from ssba.apps.mcp import texts
from ssba.apps.requests import (
    CheckRequest,
    ExplainRequest,
    PlanRequest,
    PredictRequest,
    RowsRequest,
    WhyNotReply,
    WhyNotRequest,
)
from ssba.apps.service import Service
from ssba.results import WhyNot

CAUTION = "Exams are not everything."


@pytest.fixture(scope="module")
def service() -> Service:
    return school(Exam())


def lines(said: str) -> list[str]:
    return said.splitlines()


def test_columns_are_described_with_meaning_kind_and_values(service: Service) -> None:
    said = lines(texts.describe_text(service.describe()))
    assert "- hours (hours of work): integer, 0 to 19 h" in said
    assert "- school: categorical, 'day', 'evening'" in said
    assert "- school == x.school" in said
    assert "Classes: 0 is 'failed', 1 is 'passed'." in said[1]
    assert said[-1] == CAUTION


def test_rows_are_listed_with_their_numbers(service: Service) -> None:
    said = lines(texts.rows_text(service.rows(RowsRequest(where={"school": "day"}, offset=4, limit=2))))
    assert said[0] == "20 rows match; these are 5 to 6 of them."
    assert said[1].startswith("- row 4: predicted failed (score ")
    assert said[1].endswith("not at the target; name=p4, hours=4, school=day")


def test_no_rows_are_said_to_be_none(service: Service) -> None:
    assert texts.rows_text(service.rows(RowsRequest(search="nobody"))) == "No row matches."
    assert texts.rows_text(service.rows(RowsRequest(offset=90))) == "No row at 90: 40 rows match."


def test_a_prediction_says_for_which_values(service: Service) -> None:
    said = lines(texts.predict_text(service.predict(PredictRequest(row=5))))
    assert said[0].startswith("The model predicts failed")
    assert said[1:] == ["The row: hours=5, school=day", CAUTION]


def test_a_check_says_how_far_columns_may_go(service: Service) -> None:
    asked = CheckRequest(row=5, constraints=("5 <= hours <= 9",))
    assert lines(texts.check_text(service.check_constraints(asked)))[1:] == ["- hours: 5 to 9 (now 5)"]


def test_several_answers_have_the_numbers_by_which_plans_choose_them(service: Service) -> None:
    asked = ExplainRequest(row=5, project_constraints=False, options=ssba.Options(k=2))
    said = lines(texts.explain_text(service.explain(asked)))
    heads = [line.split(" at ")[0] for line in said if line.startswith("Answer ")]
    assert heads == ["Answer 1 (answer=0 in make_plan),", "Answer 2 (answer=1 in make_plan),"]


def test_a_bounded_move_is_said_not_to_reach_and_what_to_ask_next(service: Service) -> None:
    said = lines(texts.explain_text(service.explain(ExplainRequest(row=5, constraints=("hours <= 9",)))))
    assert "The bounded move, which does not reach the target:" in said
    assert "1. hours from 5 h to 9 h" in said
    assert said[-2].startswith("Next: why_not with the same arguments")
    assert said[-1] == CAUTION


def test_a_plan_is_told_step_by_step(service: Service) -> None:
    said = lines(texts.plan_text(service.plan(PlanRequest(row=5, max_step={"hours": 4}))))
    assert [line.split(" (score")[0] for line in said[1:-1]] == [
        "1. hours from 5 h to 9 h",
        "2. hours from 9 h to 12 h",
    ]
    assert said[-1] == CAUTION


def test_a_relaxation_is_given_as_the_call_that_uses_it(service: Service) -> None:
    said = lines(texts.why_not_text(service.why_not(WhyNotRequest(row=5, constraints=("hours <= 9",)))))
    assert said[1].startswith("If the person agrees to let hours go up to 12 h instead of 9: ask")
    assert said[1].endswith('project_constraints=false and constraints=["school == x.school", "hours <= 12"]')


def test_what_was_said_to_stay_is_not_offered_for_relaxation(service: Service) -> None:
    # Only the evening school gets by with 9 hours, and hours are held there by the data's own range.
    asked = WhyNotRequest(row=5, constraints=("hours == 9",))
    reply = service.why_not(asked)
    only_school = {**reply.why_not, "relaxations": _only(reply, "school == x.school")}
    said = lines(texts.why_not_text(reply.model_copy(update={"why_not": only_school})))
    assert "gives up something that was said to stay as it is, such as school." in said[1]
    assert "constraints=" not in said[1]


def test_a_relaxation_of_the_datas_range_alone_is_said_to_be_that(service: Service) -> None:
    reply = service.why_not(WhyNotRequest(row=5, constraints=("hours <= 9",)))
    first = _only(reply, "hours <= 9")[0]
    beyond = {
        **first,
        "constraints": ["hours <= 19 (the range of the data)"],
        "words": ["let hours go up to 22"],
    }
    relaxations = [beyond, {**first, "constraints": ["school == x.school"], "words": ["let school change"]}]
    why = {**reply.why_not, "relaxations": relaxations}
    said = lines(texts.why_not_text(reply.model_copy(update={"why_not": why})))
    assert said[1].startswith("To let hours go up to 22 gives up only the range of the data")
    assert said[2].startswith("Each other relaxation that was found to be enough gives up something")
    assert not [line for line in said if "constraints=" in line]


def test_without_a_relaxation_no_call_is_offered(service: Service) -> None:
    reply = service.why_not(WhyNotRequest(row=5, constraints=("hours <= 9",)))
    nothing: dict[str, Any] = {**reply.why_not, "relaxations": []}
    assert len(lines(texts.why_not_text(reply.model_copy(update={"why_not": nothing})))) == 2


def _only(reply: WhyNotReply, constraint: str) -> list[Any]:
    found = [one for one in reply.why_not["relaxations"] if constraint in one["constraints"] and one["flips"]]
    assert WhyNot.from_dict(reply.why_not).relaxations
    assert found
    return found

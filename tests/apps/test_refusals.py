"""What a failed request is told."""

from typing import Any

import pytest

from ssba.apps.limits import Busy
from ssba.apps.refusals import MOST_PROBLEMS, UNEXPECTED, read_request, refusal
from ssba.apps.requests import CohortRequest, ExplainRequest, PlanRequest, Request, RowsRequest, TryRequest
from ssba.errors import ArgumentError, BoundaryFileError, InternalError, ModelError, SsbaError

MANY = {str(number): 1 for number in range(10_001)}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"row": -1}, "row is -1: give 0 or more"),
        ({"row": "x"}, "row is 'x': give a whole number"),
        ({"row": True}, "row is True: give a whole number"),
        ({"row": 1, "answer": False}, "answer is False: give a whole number"),
        ({"row": 1, "constraints": "age == x.age"}, "constraints is 'age == x.age': give a list"),
        ({"where": {"id": [1]}}, "where.id is of type list: give text, a number, true or false"),
        ({"row": 1, "max_step": {"chol": "far"}}, "max_step.chol is 'far': give a number"),
        ({"row": 1, "set": {"chol": float("nan")}}, "set.chol is nan: give text, a number, true or false"),
        ({"row": 1, "set": "chol"}, "set is 'chol': give an object with columns and values"),
        ({"row": 1, "answers": 1}, "answers is not known (did you mean 'answer'?): there are row, where"),
        ({"row": 1, "budget": {"rows": 0}}, "budget: budget.rows is 0; give a whole number, 1 or more"),
        ({"row": 1, "constraints": ["a <= 1"] * 201}, "constraints has 201 entries: give at most 200"),
        ({"row": 1, "constraints": ["a" * 2001]}, f"constraints.0 is '{'a' * 79}: give at most 2,000 char"),
        ({"where": MANY}, "where has 10,001 entries: give at most 10,000"),
        ({"values": MANY}, "values has 10,001 entries: give at most 10,000"),
        ({"row": 1, "set": MANY}, "set has 10,001 entries: give at most 10,000"),
        ({"row": 1, "effort": MANY}, "effort has 10,001 entries: give at most 10,000"),
        ({}, "say which row is meant by exactly one of row, where, values"),
        ([], "is of type list: give an object"),
    ],
)
def test_what_is_wrong_with_a_request_is_said_in_one_line(given: Any, said: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        read_request(PlanRequest, given)
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


def test_a_field_that_is_none_is_told_from_those_that_are() -> None:
    with pytest.raises(ArgumentError, match=r"^ROWS is not known \(did you mean 'rows'\?\): there are "):
        read_request(CohortRequest, {"ROWS": [1]})
    with pytest.raises(ArgumentError, match=r"^foo is not known: nothing can be given here$"):
        read_request(Request, {"foo": 1})


def test_all_problems_of_a_request_are_said_at_once() -> None:
    with pytest.raises(ArgumentError) as caught:
        read_request(RowsRequest, {"limit": 0, "offset": -1})
    assert str(caught.value) == "offset is -1: give 0 or more; limit is 0: give 1 or more"


def test_of_very_many_problems_the_first_are_told_and_the_others_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[str] = []

    def compare(name: str, known: list[str]) -> str:
        compared.append(name)
        return ""

    monkeypatch.setattr("ssba.apps.refusals.meant", compare)
    with pytest.raises(ArgumentError) as caught:
        read_request(RowsRequest, {f"a{number:05d}{'x' * 100}": 1 for number in range(3000)})
    said = str(caught.value)
    assert said.endswith("; and 2,980 more")
    assert said.count("is not known") == len(compared) == MOST_PROBLEMS
    assert "x" * 100 not in said
    assert len(said) < 3000


@pytest.mark.parametrize(
    ("form", "given", "said"),
    [
        (TryRequest, {"row": 1, "try_values": MANY}, "try_values has 10,001 entries: give at most 10,000"),
        (RowsRequest, {"where": MANY}, "where has 10,001 entries: give at most 10,000"),
        (CohortRequest, {"rows": [0] * 1_000_001}, "rows has 1,000,001 entries: give at most 1,000,000"),
        (CohortRequest, {"constraints": ["a <= 1"] * 201}, "constraints has 201 entries: give at most 200"),
    ],
)
def test_requests_of_every_kind_have_a_size(form: type[Request], given: Any, said: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        read_request(form, given)
    assert str(caught.value) == said


def test_values_of_requests_are_not_repeated_at_length() -> None:
    with pytest.raises(ArgumentError) as caught:
        read_request(ExplainRequest, {"row": "7" * 5000})
    assert len(str(caught.value)) < 200


def test_a_request_that_is_fine_is_read() -> None:
    assert read_request(ExplainRequest, {"row": 3, "options": {"k": 2}}).options.k == 2


@pytest.mark.parametrize("error", [ModelError, BoundaryFileError, InternalError, RuntimeError, OSError])
def test_messages_that_may_name_files_or_quote_a_model_are_not_passed_on(error: type[Exception]) -> None:
    said = refusal(error("cannot read /home/me/secret.csv"))
    assert "/" not in said
    assert said.endswith(("says why", "says what"))


def test_errors_that_are_not_ours_are_all_told_alike() -> None:
    assert refusal(ZeroDivisionError("x")) == refusal(SsbaError("y")) == UNEXPECTED


def test_somebody_who_has_to_wait_is_told_how_long() -> None:
    assert refusal(Busy(3)) == "too many requests are waiting; try again in 3 s"

"""Which replies are answers, and what is said about the others."""

import json
import re
from typing import Any

import numpy as np
import pytest

from ssba.errors import ModelError
from ssba.models.remote.address import address
from ssba.models.remote.answers import answers_in, as_answers

WHERE = address("https://models.example/predict", None)


def read(reply: Any, how: Any = None, n_rows: int = 2) -> Any:
    text = reply if isinstance(reply, str) else json.dumps(reply)
    return as_answers(WHERE, answers_in(WHERE, text, how, n_rows))


@pytest.mark.parametrize("name", ["predictions", "labels", "scores", "outputs"])
def test_answers_are_found_in_a_list_or_under_a_known_name(name: str) -> None:
    assert read([0.25, 0.5]).tolist() == [0.25, 0.5]
    assert read({name: [0.25, 0.5], "model": "m"}).tolist() == [0.25, 0.5]


@pytest.mark.parametrize(
    ("reply", "how"),
    [
        ({"result": {"labels": ["a", "b"]}}, "result.labels"),
        ({"outputs": [{"data": ["a", "b"]}]}, "outputs.0.data"),
        ({"labels": ["a", "b"], "scores": [1, 2]}, "labels"),
        ([{"class": "a"}, {"class": "b"}], lambda reply: [one["class"] for one in reply]),
        ({"best": [0, 1]}, lambda reply: np.array(["a", "b"])[reply["best"]]),
        ({"best": [0, 1]}, lambda reply: list(np.array(["a", "b"])[reply["best"]])),
    ],
)
def test_answers_are_found_by_a_path_or_a_function(reply: Any, how: Any) -> None:
    assert read(reply, how).tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("answers", "kind"),
    [
        (["a", "b"], "U"),
        ([True, False], "b"),
        ([1, 0], "i"),
        ([1, 0.5], "f"),
        ([[0.2, 0.8], [1, 0]], "f"),
    ],
)
def test_answers_keep_their_kind(answers: Any, kind: str) -> None:
    assert read(answers).dtype.kind == kind
    assert read(answers).tolist() == answers


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (
            {"rows": 2, "answer": []},
            "gave a reply that has the names 'rows', 'answer'; expected a list, or an object",
        ),
        ({}, "gave a reply that is an empty object; expected"),
        (3, "gave a reply that is a number; expected"),
        ({"labels": [1, 2], "scores": [1, 2]}, "gave a reply that has 'labels' and 'scores'; expected"),
        ({"labels": "ab"}, "gave its answers as text; expected a list with one answer a row."),
        ([1, 2, 3], "gave 3 answers for 2 rows; expected one answer a row."),
        ([1], "gave 1 answer for 2 rows; expected one answer a row."),
        ([1, None], "gave a number and null as answers; expected"),
        ([1, "a"], "gave a number and text as answers; expected"),
        ([True, 0.5], "gave a number and a truth value as answers; expected"),
        ([{"a": 1}, {"a": 2}], "gave an object as answers; expected"),
        ([[1, 2], [3]], "gave lists of different lengths; expected"),
        ([[1, 2], ["a", 3]], "gave lists that hold a number and text; expected"),
        ([[], []], "gave lists that hold nothing; expected"),
        (
            "[0.5, NaN]",
            "replied with something that is not JSON (it holds NaN, which is not valid JSON); expected",
        ),
        ("[0.5, 1e999]", "gave a number and a number that is not finite as answers; expected"),
        ('{"labels": [1, ', "replied with something that is not JSON (Expecting value"),
        ("", "replied with nothing; expected JSON."),
        ("<html><h1>Sign in</h1></html>", "replied with a web page; expected JSON."),
    ],
)
def test_reply_that_holds_no_answers_is_told(reply: Any, message: str) -> None:
    with pytest.raises(
        ModelError, match=rf"^https://models\.example/predict {re.escape(message)}"
    ) as refused:
        read(reply)
    assert "Likely fix: " in str(refused.value)


def test_two_known_names_are_told_with_the_way_to_choose() -> None:
    with pytest.raises(ModelError, match=r"Likely fix: say which to take with read='labels'\.$"):
        read({"scores": [1, 2], "labels": [1, 2]})


def test_wrong_count_shows_the_reply() -> None:
    with pytest.raises(ModelError, match=r"The reply begins: '\[1, 2, 3\]'\."):
        read([1, 2, 3])


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("result.labels", "finds no 'labels' (there it has the names 'scores')"),
        ("result.scores.7", "finds no '7' (there it is a list of 2)"),
        ("result.scores.0.x", "finds no 'x' (there it is a number)"),
    ],
)
def test_path_that_leads_nowhere_is_told_with_what_is_there(path: str, message: str) -> None:
    with pytest.raises(ModelError, match=rf"read={path!r} {re.escape(message)}"):
        read({"result": {"scores": [1, 2]}}, path)


def test_function_that_raises_is_told_with_the_reply() -> None:
    with pytest.raises(
        ModelError, match=r"read= raised KeyError: 'b'; .* The reply begins: '\{\"a\": \[1, 2\]\}'"
    ) as refused:
        read({"a": [1, 2]}, lambda reply: reply["b"])
    assert isinstance(refused.value.__cause__, KeyError)

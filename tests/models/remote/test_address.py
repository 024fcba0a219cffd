"""What may be shown of an endpoint, and what must not."""

from base64 import b64encode
from typing import Any

import pytest

from ssba.errors import ArgumentError
from ssba.models.remote.address import address, without_secrets


def told(reply: str, url: str = "https://models.example/predict", **headers: str) -> str:
    return str(address(url, headers).error("failed", "better", "try", reply))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://models.example/predict", "https://models.example/predict"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("https://me:pass@models.example/v1?key=1234#part", "https://models.example/v1"),
        ("http://[::1]:9000/a/b", "http://[::1]:9000/a/b"),
    ],
)
def test_address_is_shown_without_user_password_query_and_fragment(url: str, shown: str) -> None:
    assert without_secrets(url) == shown
    assert address(url, None).shown == shown


def test_error_names_the_address_what_came_what_was_expected_and_a_fix() -> None:
    assert told("no\n  such   model") == (
        "https://models.example/predict failed; expected better. The reply begins: 'no such model'. "
        "Likely fix: try."
    )


def test_error_without_a_reply_says_nothing_about_one() -> None:
    assert told(" \n") == "https://models.example/predict failed; expected better. Likely fix: try."


def test_long_reply_is_cut() -> None:
    assert f"begins: '{'a' * 200}...'." in told("a" * 100_000)


@pytest.mark.parametrize(
    "reply",
    [
        "unknown key s3cret-token",
        "request had Authorization: Bearer s3cret-token",
        "x" * 195 + "s3cret-token",
        "x" * 9_995 + "s3cret-token",
    ],
)
def test_header_values_that_a_server_repeats_are_blotted_out(reply: str) -> None:
    message = told(reply, Authorization="Bearer s3cret-token")
    assert "s3cr" not in message
    assert "models.example" in message


def test_password_and_query_that_a_server_repeats_are_blotted_out() -> None:
    basic = b64encode(b"me:p@ss-word").decode()
    url = "https://me:p%40ss-word@models.example/predict?key=abcd1234&v=2"
    message = told(f"p@ss-word p%40ss-word {basic} abcd1234 version 2", url)
    assert "The reply begins: '*** *** *** *** version 2'." in message


def test_representation_shows_neither_query_nor_headers() -> None:
    shown = repr(address("https://models.example/p?key=abcd1234", {"X-Key": "s3cret"}))
    assert shown == "Address(shown='https://models.example/p')"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("models.example/predict", "url is 'models.example/predict'; give the whole address of the endpoint"),
        ("ftp://me:s3cret@models.example/x", "url is 'ftp://models.example/x'; give the whole address"),
        ("https://?key=s3cret", "url is 'https://'; give the whole address"),
        ("https://models.example:s3cret/", "url cannot be read: its port is not a number"),
        ("", "url is ''; give the whole address"),
        (None, "url is of type NoneType; give the address of the endpoint as text"),
    ],
)
def test_url_that_is_no_address_is_refused_without_its_secrets(url: Any, message: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        address(url, None)
    assert str(refused.value).startswith(message)
    assert "s3cret" not in str(refused.value)
    assert refused.value.__cause__ is None


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ("s3cret", "headers is of type str; give a mapping of text"),
        ({"X-Key": b"s3cret"}, "headers holds 'X-Key' with a part of type bytes; give a mapping of text"),
        ({3: "s3cret"}, "headers holds 3 with a part of type int"),
        ({"X-Key": "s3cret\n"}, "headers: 'X-Key' or its value has characters that no header may have"),
        ({"X-Key": "s3cr\u00e9t"}, "headers: 'X-Key' or its value has characters"),
        ({"": "s3cret"}, "headers: '' or its value has characters"),
    ],
)
def test_headers_that_cannot_be_sent_are_refused_without_their_values(headers: Any, message: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        address("https://models.example", headers)
    assert str(refused.value).startswith(message)
    assert "s3cr" not in str(refused.value)

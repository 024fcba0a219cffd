"""The OpenAPI document: true, self-contained, with examples that work, and no way to a status of 500."""

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.testclient import TestClient
from tests.apps.http.served import serving
from tests.apps.projects import heart, loans
from tests.support import every

from ssba.apps.http.app import create_app
from ssba.apps.http.openapi import ENDPOINTS
from ssba.apps.limits import Limits
from ssba.apps.project.opened import OpenedProject
from ssba.apps.requests import RESULT
from ssba.apps.service import Service

jsonschema = importlib.import_module("jsonschema")
DOCUMENT: dict[str, Any] = create_app(Service(loans())).openapi()


def examples(document: dict[str, Any]) -> list[tuple[str, str, Any]]:
    return [
        (path, name, one["value"])
        for path, methods in document["paths"].items()
        for name, one in methods.get("post", {})
        .get("requestBody", {"content": {"application/json": {}}})["content"]["application/json"]
        .get("examples", {})
        .items()
    ]


@contextmanager
def client_of(project: OpenedProject) -> Iterator[TestClient]:
    with TestClient(create_app(Service(project, workers=2)), base_url="http://localhost") as found:
        yield found


def test_every_body_has_an_example() -> None:
    asked = {path for path, methods in DOCUMENT["paths"].items() if "requestBody" in methods.get("post", {})}
    assert asked == {path for path, _, _ in examples(DOCUMENT)}
    assert {one.path for one in ENDPOINTS} < asked


# Those of the heart patients take a minute, most of it for the report of one without an answer.
@pytest.mark.parametrize("project", [loans, pytest.param(heart, marks=pytest.mark.slow)])
def test_every_example_works(project: Callable[[], OpenedProject]) -> None:
    with client_of(project()) as client:
        document = client.get("/api/openapi.json").json()
        found = examples(document)
        for path, name, value in found:
            reply = client.post(path, json=value)
            assert reply.status_code == (202 if path == "/api/cohort" else 200), (path, name, reply.text)
            said = document["paths"][path]["post"]["responses"][str(reply.status_code)]["content"]
            if "application/json" in said:
                schema = {**said["application/json"]["schema"], "components": document["components"]}
                jsonschema.validate(reply.json(), schema)
    assert len(found) >= 10


def test_examples_are_about_a_row_that_needs_a_change_and_say_none_of_its_values() -> None:
    with client_of(heart()) as client:
        found = examples(client.get("/api/openapi.json").json())
        (asked,) = [value for path, _, value in found if path == "/api/predict"]
        assert set(asked) == {"row"}
        assert not client.post("/api/predict", json=asked).json()["prediction"]["reached"]


def references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        for inner in part.values():
            yield from references(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from references(inner)


def test_it_refers_to_nothing_outside_and_results_to_their_own_schema() -> None:
    found = set(references(DOCUMENT))
    schemas = DOCUMENT["components"]["schemas"]
    assert every(one.removeprefix("#/components/schemas/") in schemas for one in found)
    assert RESULT not in str(DOCUMENT)
    reply = schemas["ExplainReply"]["properties"]["explanation"]
    assert reply["$ref"] == "#/components/schemas/Explanation"
    assert schemas["Explanation"]["properties"]["status"]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server that may be asked for little at once."""
    with serving(loans(), limits=Limits(rows=20_000, seconds=20.0)) as running:
        yield running.url


SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)


def nothing_went_wrong(context: Any, response: Any, case: Any) -> None:
    """A server may be busy, and no worse."""
    assert response.status_code < 500 or response.status_code == 503, response.text


CHECKS = (
    nothing_went_wrong,
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


@SCHEMA.parametrize()
@settings(max_examples=10, deadline=None, suppress_health_check=QUIET, phases=[Phase.generate])
def test_whatever_is_sent_the_reply_is_one_of_the_document(case: Any, url: str) -> None:
    case.call_and_validate(base_url=url, checks=CHECKS)


# With schemathesis' own cases for each part of the document, some 130 an operation, and many more drawn.
@pytest.mark.slow
@SCHEMA.parametrize()
@settings(max_examples=300, deadline=None, suppress_health_check=QUIET)
def test_however_much_is_sent_the_reply_is_one_of_the_document(case: Any, url: str) -> None:
    case.call_and_validate(base_url=url, checks=CHECKS)

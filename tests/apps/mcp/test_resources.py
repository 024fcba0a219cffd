"""The resources: the columns, and the constraint language as an agent reads it."""

import json
import re
import textwrap

import anyio
import pytest
from mcp import Client
from mcp_types import TextResourceContents
from tests.apps.mcp.school import Exam, school

import ssba
from ssba.apps.mcp import descriptions
from ssba.apps.mcp.resources import constraint_language
from ssba.apps.mcp.server import build_server
from ssba.apps.service import Service
from ssba.apps.work import Desk
from ssba.constraints.language import parser
from ssba.errors import ConstraintError

PAGE = constraint_language()
EXAMPLES = re.findall(r"^\| [^|`]+ \| `(.+)` \|$", PAGE, flags=re.MULTILINE)
NAMED = re.findall(r'"([^"]+)"', descriptions._CONSTRAINTS)


@pytest.fixture(scope="module")
def service() -> Service:
    return school(Exam())


def read(service: Service, uri: str) -> TextResourceContents:
    async def main() -> TextResourceContents:
        async with Client(build_server(service, Desk())) as client:
            (content,) = (await client.read_resource(uri)).contents
            assert isinstance(content, TextResourceContents)
            return content

    return anyio.run(main)


def test_three_resources_are_listed(service: Service) -> None:
    async def main() -> list[tuple[str, str | None]]:
        async with Client(build_server(service, Desk())) as client:
            return [(one.uri, one.mime_type) for one in (await client.list_resources()).resources]

    assert anyio.run(main) == [
        ("ssba://schema", "application/json"),
        ("ssba://constraints", "text/markdown"),
        ("ssba://caution", "text/plain"),
    ]


def test_the_schema_says_what_describe_model_says(service: Service) -> None:
    content = read(service, "ssba://schema")
    assert json.loads(content.text) == service.describe().model_dump(mode="json")
    assert content.mime_type == "application/json"


def test_the_caution_is_the_projects(service: Service) -> None:
    assert read(service, "ssba://caution").text == "Exams are not everything."


def test_the_language_is_served_as_it_is_written(service: Service) -> None:
    assert read(service, "ssba://constraints").text == PAGE


def test_there_are_examples_for_every_form() -> None:
    assert len(EXAMPLES) == 18
    assert len(NAMED) == 7


@pytest.mark.parametrize("example", [*EXAMPLES, *NAMED])
def test_every_example_is_a_constraint(example: str) -> None:
    assert ssba.constraint(example).text


@pytest.mark.parametrize("quoted", re.findall(r"`` (.+?) ``", PAGE))
def test_quoted_names_are_read(quoted: str) -> None:
    assert "max HR" in ssba.constraint(quoted).text


def test_what_is_said_to_be_refused_is_refused() -> None:
    for refused in ("chol * age <= 9000", "age = 3", "age >= 3 or chol <= 3"):
        with pytest.raises(ConstraintError):
            ssba.constraint(refused)
    assert ssba.constraint("chol * x.age <= 9000")


def test_the_grammar_is_that_of_the_parser() -> None:
    (shown,) = re.findall(r"^```\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert shown.strip() in textwrap.dedent(parser.__doc__ or "").replace("\n    ", "\n")

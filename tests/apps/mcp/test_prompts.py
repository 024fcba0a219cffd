"""The prompt that leads from a row to a plan."""

from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp_types import GetPromptResult, TextContent
from tests.apps.mcp.school import Exam, school
from tests.support import every

from ssba.apps.mcp.server import build_server
from ssba.apps.mcp.tools import TOOLS
from ssba.apps.service import Service
from ssba.apps.work import Desk


@pytest.fixture(scope="module")
def service() -> Service:
    return school(Exam())


def prompted(service: Service, arguments: dict[str, str]) -> str:
    async def main() -> GetPromptResult:
        async with Client(build_server(service, Desk())) as client:
            return await client.get_prompt("treatment_plan", arguments)

    (message,) = anyio.run(main).messages
    assert message.role == "user"
    assert isinstance(message.content, TextContent)
    return message.content.text


def test_the_prompt_is_listed_with_its_arguments(service: Service) -> None:
    async def main() -> Any:
        async with Client(build_server(service, Desk())) as client:
            (prompt,) = (await client.list_prompts()).prompts
            return prompt

    prompt = anyio.run(main)
    assert prompt.name == "treatment_plan"
    assert [one.name for one in prompt.arguments] == ["row", "description", "wishes"]
    assert every(one.description for one in prompt.arguments)


def test_it_leads_from_a_row_through_the_tools_to_the_caution(service: Service) -> None:
    said = prompted(service, {"row": "5", "wishes": "no more than 15 hours"})
    assert said.startswith("Make a plan that leads row 5 to 'passed' (Exams), with these tools.")
    assert '"no more than 15 hours"' in said
    assert said.endswith('End with this caution, word for word: "Exams are not everything."')
    named = [one.name for one in TOOLS if one.name in said]
    assert named == [
        "describe_model",
        "predict",
        "find_counterfactual",
        "make_plan",
        "why_not",
        "check_constraints",
    ]


def test_a_described_row_is_found_first(service: Service) -> None:
    said = prompted(service, {"description": "the one who worked least"})
    assert 'the row described as "the one who worked least"' in said
    assert "find_rows" in said
    assert "Ask the person what must not change" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "takes either row or description"),
        ({"row": " "}, "takes either row or description"),
        ({"row": "5", "description": "him"}, "takes either row or description"),
        ({"row": "five"}, "row is 'five'; give its number, counted from 0"),
        ({"row": "5", "mood": "good"}, "'mood' is not an argument of treatment_plan; there are row"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(
    service: Service, arguments: dict[str, str], said: str
) -> None:
    async def main() -> str:
        async with Client(build_server(service, Desk())) as client:
            with pytest.raises(MCPError) as caught:
                await client.get_prompt("treatment_plan", arguments)
            return str(caught.value)

    assert said in anyio.run(main)

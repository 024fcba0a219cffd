"""The same question through Python, the command line, HTTP, its client and MCP has the same answer."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client as McpClient
from tests.apps.http.served import Served, serving
from tests.loans import POOR, Command, write_loans

import ssba
from ssba.apps.exits import NO_ANSWER, REFUSED
from ssba.apps.mcp.schemas import brief
from ssba.apps.project.choice import ProjectChoice, open_choice
from ssba.apps.words import COMMAND_LINE, HTTP
from ssba.results import Explanation

STUCK = ("income == x.income", "debt >= x.debt")
"""Constraints that leave no answer."""


@dataclass(frozen=True)
class Case:
    """A question as each way takes it."""

    json: dict[str, Any]
    """As HTTP and MCP take it."""
    words: tuple[str, ...]
    """As the command line takes it."""
    python: dict[str, Any]
    """As the client and, with the project's constraints, the library take it."""
    target: Any = None
    """The target as both take it, where it is not the project's own."""


CASES = {
    "a row by number": Case({"row": POOR}, ("--row", str(POOR)), {}),
    "constraints, options and a budget": Case(
        {
            "row": POOR,
            "constraints": ["income <= 80", "debt <= x.debt"],
            "options": {"k": 2, "sparsity": "balanced"},
            "budget": {"rows": 900, "seconds": 30},
        },
        (
            *("--row", str(POOR), "--constraint", "income <= 80", "--constraint", "debt <= x.debt"),
            *("--k", "2", "--sparsity", "balanced", "--budget-rows", "900", "--budget-seconds", "30"),
        ),
        {
            "constraints": ["income <= 80", "debt <= x.debt"],
            "k": 2,
            "sparsity": "balanced",
            "budget": ssba.Budget(900, 30),
        },
    ),
    "another target": Case(
        {"row": POOR, "target": "probability:granted>=0.8", "options": {"margin": 0.1}},
        ("--row", str(POOR), "--target", "probability:granted>=0.8", "--margin", "0.1"),
        {"margin": 0.1},
        ssba.probability(1, at_least=0.8),
    ),
    "no answer": Case(
        {"row": POOR, "constraints": list(STUCK)},
        ("--row", str(POOR), *(word for text in STUCK for word in ("--constraint", text))),
        {"constraints": STUCK},
    ),
    "contradictions": Case(
        {"row": POOR, "constraints": ["debt <= -5"]},
        ("--row", str(POOR), "--constraint", "debt <= -5"),
        {"constraints": ["debt <= -5"]},
    ),
}


def aimed(asked: Any, target: Any) -> Any:
    """Return an explainer or a client, toward a target if there is one."""
    return asked if target is None else asked.toward(target)


class Ways:
    """One project, asked in every way."""

    def __init__(self, folder: Path, served: Served) -> None:
        self.folder, self.served = folder, served

    @cached_property
    def explainer(self) -> ssba.Explainer:
        return open_choice(ProjectChoice(project=self.folder)).explainer()

    @cached_property
    def project(self) -> Any:
        return open_choice(ProjectChoice(project=self.folder))

    def by_library(self, asked: dict[str, Any], target: Any = None) -> Explanation:
        settings = self.project.settings
        rules = (*settings.constraints, *asked.get("constraints", ()))
        budget = asked.get("budget", ssba.Budget(settings.budget.rows, settings.budget.seconds))
        found: Explanation = aimed(self.explainer, target).explain(
            self.project.rows.iloc[POOR].to_dict(), **{**asked, "constraints": rules, "budget": budget}
        )
        return found

    def by_agent(self, tool: str, asked: dict[str, Any]) -> Any:
        async def main() -> Any:
            async with McpClient(f"{self.served.url}/mcp") as client:
                return await client.call_tool(tool, asked)

        return anyio.run(main)


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ways]:
    folder = write_loans(tmp_path_factory.mktemp("loans"))
    with serving(open_choice(ProjectChoice(project=folder))) as served:
        yield Ways(folder, served)


def timeless(explanation: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON of an explanation but for the time it took and the label of a pandas row."""
    return {**explanation, "seconds": 0, "row_label": None}


@pytest.mark.parametrize("name", CASES)
def test_an_explanation(name: str, ways: Ways, capsys: pytest.CaptureFixture[str]) -> None:
    case = CASES[name]
    wanted = ways.by_library(case.python, case.target)
    there = timeless(json.loads(wanted.to_json()))

    typed = Command(ways.folder, capsys)("explain", *case.words, "--format", "json")
    assert typed.code == (0 if wanted.best is not None else NO_ANSWER)
    assert timeless(typed.json()["explanation"]) == there

    sent = ways.served.post("/api/explain", case.json)
    assert sent.status == 200
    assert timeless(sent.json["explanation"]) == there

    with ssba.Client(ways.served.url) as client:
        assert (
            timeless(json.loads(aimed(client, case.target).explain(POOR, **case.python).to_json())) == there
        )

    called = ways.by_agent("find_counterfactual", case.json).structured_content
    assert called["explanation"] == brief(there)
    worded = COMMAND_LINE.instead_of(HTTP, sent.json["sentence"])
    assert (typed.json()["sentence"], called["sentence"]) == (worded, sent.json["sentence"])
    assert typed.json()["caution"] == sent.json["caution"] == called["caution"] == "A model's opinion."


def test_a_plan(ways: Ways, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = ways.explainer.plan(ways.by_library({}), max_step={"income": 10})
    there = json.loads(wanted.to_json())
    typed = Command(ways.folder, capsys)(
        "plan", "--row", POOR, "--max-step", "income=10", "--format", "json"
    ).json()
    asked = {"row": POOR, "max_step": {"income": 10}}
    sent = ways.served.post("/api/plan", asked).json
    called = ways.by_agent("make_plan", asked).structured_content
    with ssba.Client(ways.served.url) as client:
        asked_there = client.plan(client.explain(POOR), max_step={"income": 10})
    assert typed["plan"] == sent["plan"] == called["plan"] == json.loads(asked_there.to_json()) == there
    assert typed["sentence"] == sent["sentence"] == called["sentence"]


def test_why_there_is_no_answer(ways: Ways) -> None:
    wanted = ways.explainer.why_not(ways.by_library({"constraints": STUCK}))
    there = json.loads(wanted.to_json())
    asked = {"row": POOR, "constraints": list(STUCK)}
    sent = ways.served.post("/api/why-not", asked).json
    called = ways.by_agent("why_not", asked).structured_content
    with ssba.Client(ways.served.url) as client:
        asked_there = client.why_not(client.explain(POOR, STUCK))
    assert sent["why_not"] == called["why_not"] == json.loads(asked_there.to_json()) == there


def test_predictions_rows_and_checked_constraints(ways: Ways) -> None:
    row = ways.project.rows.iloc[POOR].to_dict()
    predicted = json.loads(ways.explainer.predict(row).to_json())
    assert ways.served.post("/api/predict", {"row": POOR}).json["prediction"] == predicted
    assert ways.by_agent("predict", {"row": POOR}).structured_content["prediction"] == predicted

    found = ways.served.post("/api/rows", {"where": {"id": f"p{POOR}"}}).json
    assert found["rows"][0]["row"] == POOR
    assert ways.by_agent("find_rows", {"where": {"id": f"p{POOR}"}}).structured_content == found

    rules = [*ways.project.settings.constraints, *STUCK]
    checked = json.loads(ways.explainer.check_constraints(row, rules).to_json())
    asked = {"row": POOR, "constraints": list(STUCK)}
    assert ways.served.post("/api/check-constraints", asked).json["check"] == checked
    assert ways.by_agent("check_constraints", asked).structured_content["check"] == checked


WRONG: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "a constraint": (
        {"row": POOR, "constraints": ["incme <= 3"]},
        ("--row", str(POOR), "--constraint", "incme <= 3"),
    ),
    "a row": ({"row": 999}, ("--row", "999")),
    "a column": ({"where": {"idd": "p1"}}, ("--where", "idd=p1")),
    "a target": ({"row": POOR, "target": "given"}, ("--row", str(POOR), "--target", "given")),
    "the form of a target": (
        {"row": POOR, "target": "probability:granted"},
        ("--row", str(POOR), "--target", "probability:granted"),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_error_says_the_same_everywhere(name: str, ways: Ways, capsys: pytest.CaptureFixture[str]) -> None:
    asked, words = WRONG[name]
    (said,) = ways.served.post("/api/explain", asked).messages
    called = ways.by_agent("find_counterfactual", asked)
    assert called.is_error
    typed = Command(ways.folder, capsys)("explain", *words)
    assert typed.code in (REFUSED, 2)
    # What to give instead differs: an option of the command line, a field of a request.
    what = said.split(";")[0]
    assert what in called.content[0].text
    assert what in typed.err

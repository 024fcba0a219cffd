"""`ssba plan`: what it prints, and how it leaves."""

import re
from pathlib import Path

import pytest
from tests.loans import POOR, Command
from tests.support import every

from ssba.apps.exits import NO_ANSWER, REFUSED, USAGE
from ssba.apps.project.choice import ProjectChoice, open_choice
from ssba.apps.requests import PlanRequest
from ssba.apps.service import Service
from ssba.results import Plan


def test_table_has_the_steps_with_scores_and_names_of_classes(ssba_command: Command) -> None:
    said = ssba_command("plan", "--row", POOR)
    assert said.code == 0
    assert re.search(r"steps? leads? from refused to granted", said.out)
    steps = [line.split() for line in said.out.splitlines() if re.match(r"\d+ {3}", line)]
    assert steps[-1][-1] == "granted"
    assert every(line[-1] in ("refused", "granted") for line in steps)
    assert said.out.rstrip().endswith("A model's opinion.")


def test_json_is_the_reply_of_the_service(ssba_command: Command, project: Path) -> None:
    options = ("--k", 2, "--answer", 2, "--effort", "debt=3", "--max-step", "income=5")
    said = ssba_command("plan", "--row", POOR, *options, "--format", "json")
    asked = {
        "row": POOR,
        "options": {"k": 2},
        "answer": 1,
        "effort": {"debt": 3},
        "max_step": {"income": 5},
    }
    service = Service(open_choice(ProjectChoice(project=project)))
    reply = service.plan(PlanRequest.model_validate(asked))
    assert said.json()["plan"] == reply.plan
    assert said.json()["sentence"] == reply.sentence


def test_no_step_is_longer_than_max_step(ssba_command: Command) -> None:
    said = ssba_command("plan", "--row", POOR, "--max-step", "income=5", "--format", "json")
    plan = Plan.from_dict(said.json()["plan"])
    moves = [step.changes["income"] for step in plan.steps if "income" in step.changes]
    assert every(abs(after - before) <= 5 for before, after in moves)


def test_steps_to_the_bounded_move_leave_with_4(ssba_command: Command) -> None:
    said = ssba_command(
        "plan", "--row", POOR, "--constraint", "income <= x.income + 1", "--constraint", "debt >= x.debt - 1"
    )
    assert said.code == NO_ANSWER
    assert "toward 'granted', which" in said.out


def test_nothing_to_do_is_said_without_a_plan(ssba_command: Command) -> None:
    said = ssba_command("plan", "--row", POOR, "--target", "refused")
    assert said.code == 0
    assert "The model already predicts refused" in said.out
    reply = ssba_command("plan", "--row", POOR, "--target", "refused", "--format", "json").json()
    assert reply["explanation"]["status"] == "already_there"
    assert "plan" not in reply


def test_infeasible_constraints_are_said_without_a_plan(ssba_command: Command) -> None:
    said = ssba_command("plan", "--row", POOR, "--constraint", "debt >= 30", "--constraint", "debt <= 10")
    assert said.code == NO_ANSWER
    assert "contradict each other" in said.out


def test_refusals_are_one_line_and_come_before_the_search(
    ssba_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Service, "explain", lambda *_: pytest.fail("the search was begun"))
    for code, options, reason in (
        (USAGE, ("--answer", 3), "--answer 3: 1 answer is asked for; ask for more with --k 3"),
        (USAGE, ("--effort", "debt=much"), "--effort debt: 'much' is not a number"),
        (USAGE, ("--max-step", "debt=0"), "--max-step debt=0: give a number above 0"),
        (REFUSED, ("--max-step", "wealth=2"), "--max-step: unknown column 'wealth'"),
        (REFUSED, ("--out", "no/where.txt"), "there is no folder no"),
    ):
        said = ssba_command("plan", "--row", POOR, *options)
        assert said.code == code
        (line,) = said.err.splitlines()
        assert reason in line


def test_answer_that_was_not_found_is_refused_as_the_command_line_counts(ssba_command: Command) -> None:
    narrow = ("--constraint", "income <= x.income + 1", "--constraint", "debt >= x.debt - 1")
    said = ssba_command("plan", "--row", POOR, *narrow, "--k", 2, "--answer", 2)
    assert said.code == REFUSED
    assert said.err == "ssba: --answer 2: there is 1 answer, and no further one was found\n"

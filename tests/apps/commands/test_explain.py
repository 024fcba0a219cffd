"""`ssba explain`: what it prints, and how it leaves."""

import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.loans import COLUMNS, POOR, Command, loans

from ssba.apps.exits import NO_ANSWER, REFUSED, UNREAD, USAGE
from ssba.apps.project.choice import ProjectChoice, open_choice
from ssba.apps.requests import ExplainRequest
from ssba.apps.service import Service
from ssba.results import Explanation

STUCK = ("--constraint", "income == x.income", "--constraint", "debt == x.debt")
"""Nothing may change then."""


def without_time(reply: dict[str, Any]) -> dict[str, Any]:
    return {**reply, "explanation": {**reply["explanation"], "seconds": 0}}


def test_without_a_project_or_a_row_it_explains_a_heart_patient(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ssba_command: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    said = ssba_command.bare("explain")
    assert said.code == 0
    assert "packaged heart project" in said.err
    assert "row 6, since none was named" in said.err
    for part in ("oldpeak", "ST depression", "3.6 mm", "disease", "no disease", "is not medical advice"):
        assert part in " ".join(said.out.split())


def test_without_a_row_it_takes_the_first_that_does_not_reach_the_target(
    ssba_command: Command, project: Path
) -> None:
    said = ssba_command("explain", "--format", "json")
    service = Service(open_choice(ProjectChoice(project=project)))
    answers = [service.explain(ExplainRequest(row=number)).explanation["status"] for number in range(5)]
    first = next(number for number, status in enumerate(answers) if status != "already_there")
    assert f"row {first}, since none was named" in said.err
    assert said.json()["explanation"]["query"]["debt"] == loans()["debt"][first]


def test_a_target_that_every_row_reaches_leaves_no_row_to_choose(ssba_command: Command) -> None:
    said = ssba_command("explain", "--target", "probability:refused>=1e-300")
    assert said.code == REFUSED
    assert "every row of the data reaches the target already; name a row with --row" in said.err


def test_json_is_the_reply_of_the_service(ssba_command: Command, project: Path) -> None:
    asked = {"row": POOR, "constraints": ("income <= 80",), "options": {"k": 2}, "budget": {"rows": 900}}
    options = ("--row", POOR, "--constraint", "income <= 80", "--k", 2, "--budget-rows", 900)
    said = ssba_command("explain", *options, "--budget-seconds", 30, "--format", "json")
    service = Service(open_choice(ProjectChoice(project=project)))
    asked["budget"] = {"rows": 900, "seconds": 30.0}
    reply = service.explain(ExplainRequest.model_validate(asked))
    assert without_time(said.json()) == without_time(reply.model_dump(mode="json"))


def test_options_reach_the_search(ssba_command: Command) -> None:
    options = ("--max-changes", 1, "--sparsity", "strong", "--diversity", "levers", "--plausible")
    said = ssba_command(
        "explain",
        "--row",
        POOR,
        *options,
        "--margin",
        "score:0.1",
        "--evidence",
        0,
        "--prove",
        "--calls",
        "few",
        "--format",
        "json",
    )
    used = said.json()["explanation"]["options"]
    assert used == {
        "k": 1,
        "sparsity": "strong",
        "diversity": "levers",
        "max_changes": 1,
        "plausible": True,
        "margin": {"kind": "score_margin", "amount": 0.1},
        "evidence": 0,
        "prove": True,
        "calls": "few",
    } | {name: used[name] for name in ("schema", "kind")}


def test_table_has_units_meanings_names_of_classes_and_the_caution(ssba_command: Command) -> None:
    said = ssba_command("explain", "--row", POOR, "--k", 2)
    assert said.code == 0
    lines = said.out.splitlines()
    (income,) = [line for line in lines if line.startswith("income")][:1]
    assert re.search(r"income a year +\d+ k +\d+ k", income)
    assert [line.strip() for line in lines if line.startswith("Answer")] == ["Answer 1 of 2", "Answer 2 of 2"]
    assert ["prediction", "refused", "granted"] in [line.split() for line in lines]
    assert "A model's opinion." in said.out
    assert "\x1b" not in said.out


def test_row_is_found_by_its_values_and_edited_by_text(ssba_command: Command) -> None:
    said = ssba_command(
        "explain", "--where", "id=p3", "--set", "income=15", "--set", "debt=30.5", "--format", "json"
    )
    query = said.json()["explanation"]["query"]
    assert query == {**loans()[COLUMNS].loc[3].to_dict(), "income": 15, "debt": 30.5}


def test_row_of_ones_own_comes_from_a_file_or_from_stdin(
    ssba_command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"income": 20, "debt": 12.5, "age": 33, "home": "rent"}
    file = tmp_path / "row.json"
    # The last two are what Windows writes.
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        content = json.dumps(row).encode(encoding)
        file.write_bytes(content)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        for given in (file, "-"):
            said = ssba_command("explain", "--values", given, "--format", "json")
            assert said.json()["explanation"]["query"] == row


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"income": 20,}', "row.json: this is not the JSON of a row"),
        (b"[1, 2]", "row.json: [1, 2] is not a row; give an object"),
        (b"\xe4", "row.json is not UTF-8 text; save it as UTF-8"),
    ],
)
def test_file_that_holds_no_row_is_named(
    content: bytes, reason: str, ssba_command: Command, tmp_path: Path
) -> None:
    (tmp_path / "row.json").write_bytes(content)
    said = ssba_command("explain", "--values", tmp_path / "row.json")
    assert (said.code, reason in said.err) == (REFUSED, True), said.err


def test_project_constraints_can_be_left_out(ssba_command: Command) -> None:
    said = ssba_command("explain", "--row", POOR, "--no-project-constraints", "--format", "json")
    assert said.json()["explanation"]["constraints"] == []


def test_no_counterfactual_leaves_with_4_and_shows_what_comes_nearest(ssba_command: Command) -> None:
    said = ssba_command(
        "explain", "--row", POOR, "--constraint", "income <= x.income", "--constraint", "debt >= x.debt - 1"
    )
    assert said.code == NO_ANSWER
    assert "The bounded move, which does not reach the target" in said.out
    assert "--why-not says which constraints are in the way" in said.out


def test_a_larger_budget_is_asked_for_by_options(ssba_command: Command) -> None:
    for form in ("table", "json"):
        said = ssba_command("explain", "--row", POOR, "--budget-seconds", 1e-9, "--format", form)
        assert said.code == NO_ANSWER
        assert "allow more with --budget-seconds." in " ".join(said.out.split())
    options = ("--margin", "score:0.1", "--target", "granted")
    assert "ssba." not in ssba_command("explain", "--row", POOR, *options, "--budget-rows", 3).out


def test_why_not_says_what_to_relax(ssba_command: Command) -> None:
    said = ssba_command("explain", "--row", POOR, *STUCK, "--why-not")
    assert said.code == NO_ANSWER
    assert "Why not, and what to relax:" in said.out
    reply = ssba_command("explain", "--row", POOR, *STUCK, "--why-not", "--format", "json").json()
    assert reply["why_not"]["relaxations"]
    assert "why_not" not in ssba_command("explain", "--row", POOR, "--why-not", "--format", "json").json()


def test_already_there_leaves_with_0(ssba_command: Command) -> None:
    said = ssba_command("explain", "--row", POOR, "--target", "refused")
    assert said.code == 0
    assert "The model already predicts refused" in said.out


def test_html_goes_to_stdout_or_to_a_file(ssba_command: Command, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    said = ssba_command("explain", "--row", POOR, "--format", "html", "--evidence", 0, "--out", file)
    assert said.out == ""
    assert f"{file} is written" in said.err
    assert file.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert [one.name for one in tmp_path.iterdir()] == ["page.html"]
    stuck = ssba_command("explain", "--row", POOR, *STUCK, "--format", "html")
    assert stuck.code == NO_ANSWER
    assert stuck.out.startswith("<!DOCTYPE html>")


def test_table_and_json_can_be_written_to_a_file(ssba_command: Command, tmp_path: Path) -> None:
    ssba_command("explain", "--row", POOR, "--out", tmp_path / "answer.txt")
    assert "A model's opinion." in (tmp_path / "answer.txt").read_text(encoding="utf-8")
    ssba_command("explain", "--row", POOR, "--format", "json", "--out", tmp_path / "answer.json")
    reply = json.loads((tmp_path / "answer.json").read_text(encoding="utf-8"))
    assert Explanation.from_dict(reply["explanation"]).status == "found"


def test_stored_points_of_the_project_are_left_aside_for_another_target(
    ssba_command: Command, project: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "indexed"
    shutil.copytree(project, folder)
    settings = (folder / "ssba.toml").read_text(encoding="utf-8")
    (folder / "ssba.toml").write_text(f'index = "points"\n{settings}', encoding="utf-8")
    built = ssba_command.bare("boundary", "build", "--project", folder, "--points", 20)
    assert built.code == 0, built.err
    for target in ((), ("--target", "refused")):
        said = ssba_command.bare("explain", "--project", folder, "--row", POOR, *target)
        assert said.code == 0, said.err


REFUSALS = {
    "no such row": (("--row", 999), "row 999 is not in the data, whose 60 rows are 0 to 59"),
    "several rows": (("--where", "home=rent"), "name one by row"),
    "unknown column": (
        ("--row", 1, "--set", "incom=3"),
        "--set: unknown column 'incom' (did you mean 'income'?)",
    ),
    "no number": (("--row", 1, "--set", "income=much"), "--set: column 'income': 'much' is not a number"),
    "unknown level": (("--row", 1, "--set", "home=boat"), "'boat'"),
    "no constraint": (("--row", 1, "--constraint", "wealth >= 3"), "'wealth'"),
    "no file": (("--values", "nowhere.json"), "--values nowhere.json: there is no such file"),
    "no folder": (("--row", 1, "--out", "no/where.txt"), "there is no folder no"),
}

WRONG_USAGE = {
    "two rows": (("--row", 1, "--where", "id=p1"), "--row, --where and --values each name a row; give one"),
    "no pair": (("--row", 1, "--set", "income"), "--set 'income': write NAME=VALUE, such as chol=233"),
    "twice": (("--row", 1, "--set", "age=3", "--set", "age=4"), "--set names 'age' twice"),
    "unknown margin": (("--row", 1, "--margin", "wide:2"), "--margin 'wide:2': give a distance such as 0.5"),
    "negative margin": (("--row", 1, "--margin", "-1"), "--margin '-1': give a distance such as 0.5"),
    "no margin": (("--row", 1, "--margin", "x"), "--margin: 'x' is not a number"),
    "no seconds": (("--row", 1, "--budget-seconds", -1), "--budget-seconds -1: give a number above 0"),
    "no number": (("--row", "x"), "--row is 'x': give a whole number"),
    "too few": (("--k", 0), "--k is '0': give 1 or more"),
    "level": (("--sparsity", "stron"), "--sparsity is 'stron' (did you mean 'strong'?): give one of 'none'"),
    "option": (("--rwo", 3), "there is no option --rwo (did you mean '--row'?)"),
    "bare number": ((3,), "'3' is not expected here (did you mean --row 3?); see `ssba explain --help`"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals_are_one_line(case: str, ssba_command: Command) -> None:
    options, reason = REFUSALS[case]
    said = ssba_command("explain", *options)
    assert said.code == REFUSED
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert line.startswith("ssba: ")
    assert reason in line


@pytest.mark.parametrize("case", WRONG_USAGE)
def test_wrong_usage_is_one_line_in_our_own_words_and_leaves_with_2(case: str, ssba_command: Command) -> None:
    options, reason = WRONG_USAGE[case]
    said = ssba_command("explain", *options)
    assert (said.code, said.out) == (USAGE, "")
    (line,) = said.err.splitlines()
    assert line.startswith("ssba: ")
    assert reason in line


def test_file_that_cannot_be_written_is_refused_before_the_search(
    ssba_command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Service, "explain", lambda *_: pytest.fail("the search was begun"))
    said = ssba_command("explain", "--row", POOR, "--out", "no/where.txt")
    assert (said.code, "there is no folder no" in said.err) == (REFUSED, True)
    said = ssba_command("explain", "--row", POOR, "--out", tmp_path)
    assert (said.code, f"{tmp_path} is a folder; give the name" in said.err) == (REFUSED, True)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="only there not even root may write")
def test_folder_in_which_nothing_can_be_written_is_told_before_the_search(
    ssba_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Service, "explain", lambda *_: pytest.fail("the search was begun"))
    said = ssba_command("explain", "--row", POOR, "--out", "/proc/answer.txt")
    assert said.code == REFUSED
    assert "/proc/answer.txt: no file can be written in /proc (" in said.err


def test_constraint_that_cannot_be_read_is_told_in_one_line_with_the_place(ssba_command: Command) -> None:
    said = ssba_command("explain", "--row", POOR, "--constraint", "age=x.age")
    assert said.err == (
        "ssba: cannot read the constraint 'age=x.age': unexpected '=' at '=x.age'; write two equal signs, as "
        "in: sex == x.sex\n"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="pipes end otherwise there")
def test_reader_that_has_had_enough_ends_it_quietly(project: Path) -> None:
    program = "from ssba.apps.cli import main; main()"
    arguments = ["explain", "--project", str(project), "--row", str(POOR)]
    for form in ("table", "json"):
        running = subprocess.Popen(
            [sys.executable, "-c", program, *arguments, "--format", form],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert running.stdout is not None
        running.stdout.close()
        assert running.stderr is not None
        with running.stderr:
            assert running.stderr.read() == b""
        assert running.wait() == UNREAD

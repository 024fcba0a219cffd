"""`ssba batch`: what it writes, how it goes on, and how it leaves."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.loans import COLUMNS, POOR, Command, loans
from tests.support import every

from ssba.apps.exits import INTERRUPTED, REFUSED, TERMINATED, USAGE
from ssba.apps.project.choice import ProjectChoice, open_choice
from ssba.apps.requests import ExplainRequest
from ssba.apps.service import Service
from ssba.results import Explanation
from ssba.run.locks import held

SOME, MANY = 8, 120
OPTIONS = ("--chunk", 1, "--with-json")
RAY_TOO = "a Ray cluster has its own"


@pytest.fixture(scope="module")
def some(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of some applicants, without their labels."""
    file = tmp_path_factory.mktemp("input") / "some.csv"
    loans()[["id", *COLUMNS]].head(SOME).to_csv(file, index=False)
    return file


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of so many applicants that a batch can be stopped on the way."""
    file = tmp_path_factory.mktemp("input") / "many.csv"
    loans(MANY)[["id", *COLUMNS]].to_csv(file, index=False)
    return file


@pytest.fixture(scope="module")
def by_one_process(many: Path, project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one process writes that nobody stops."""
    file = tmp_path_factory.mktemp("output") / "whole.parquet"
    assert run("batch", "--project", project, many, "--out", file, *OPTIONS).returncode == 0
    return file


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out.parquet"


def rows(file: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(file).to_pylist()
    return found


def test_without_an_input_it_explains_all_rows_that_do_not_reach_the_target(
    ssba_command: Command, project: Path, out: Path
) -> None:
    said = ssba_command("batch", "--out", out)
    assert said.code == 0
    written = rows(out)
    service = Service(open_choice(ProjectChoice(project=project)))
    replies = {number: service.explain(ExplainRequest(row=number)) for number in range(6)}
    needed = [number for number, one in replies.items() if one.explanation["status"] != "already_there"]
    assert [row["row"] for row in written][: len(needed)] == needed
    assert f"{len(written)} rows explained: {len(written)} found" in said.out
    first, reply = written[0], replies[needed[0]]
    answer = reply.explanation["counterfactuals"][0]
    assert {name: first[name] for name in COLUMNS} == answer["values"]
    assert first["id"] == f"p{needed[0]}"
    assert first["sentence"] == reply.sentence
    assert (first["distance"], first["new_prediction"], first["answer"]) == (answer["distance"], 1, 1)
    assert first["changes"].startswith("income from 31 k to ")
    assert [one.name for one in out.parent.iterdir()] == ["out.parquet"]


def test_columns_and_types_are_those_of_the_project_and_do_not_depend_on_the_rows(
    ssba_command: Command, some: Path, out: Path
) -> None:
    ssba_command("batch", some, "--out", out, "--chunk", 3)
    own = {
        "row": pa.int64(),
        "id": pa.string(),
        "status": pa.string(),
        "prediction": pa.int64(),
        "score": pa.float64(),
        "answer": pa.int64(),
        "reached": pa.bool_(),
        "distance": pa.float64(),
        "new_prediction": pa.int64(),
        "new_score": pa.float64(),
        "income": pa.int64(),
        "debt": pa.float64(),
        "age": pa.int64(),
        "home": pa.string(),
        "changes": pa.string(),
        "sentence": pa.string(),
    }
    assert pq.read_schema(out).equals(pa.schema(list(own.items())))


def test_every_row_of_the_input_is_there_in_its_order(by_one_process: Path) -> None:
    written = rows(by_one_process)
    assert [row["row"] for row in written] == list(range(MANY))
    found = [row for row in written if row["status"] == "found"]
    assert every(row["reached"] and row["new_prediction"] == 1 and row["answer"] == 1 for row in found)
    there = [row for row in written if row["status"] == "already_there"]
    assert every(row["reached"] and row["answer"] is None and row["income"] is None for row in there)


def test_each_answer_has_a_row_with_a_sentence_of_its_own(
    ssba_command: Command, out: Path, tmp_path: Path
) -> None:
    file = tmp_path / "poor.parquet"
    loans().iloc[[POOR]].to_parquet(file)
    ssba_command("batch", file, "--out", out, "--k", 2, "--with-json", "--evidence", 0)
    first, second = rows(out)
    assert (first["answer"], second["answer"]) == (1, 2)
    assert first["changes"] in first["sentence"]
    assert second["changes"] in second["sentence"]
    assert first["explanation"] is not None
    assert second["explanation"] is None


def test_bounded_moves_are_written_and_do_not_reach(ssba_command: Command, out: Path, tmp_path: Path) -> None:
    file = tmp_path / "poor.parquet"
    loans().iloc[[POOR, POOR + 1]].to_parquet(file)
    narrow = ("--constraint", "income <= x.income + 1", "--constraint", "debt >= x.debt - 1")
    ssba_command("batch", file, "--out", out, *narrow, "--evidence", 0)
    bounded = [row for row in rows(out) if row["status"] == "bounded"]
    assert every(row["answer"] is None and not row["reached"] for row in bounded)
    assert any(row["changes"] for row in bounded)
    assert every(row["new_prediction"] == 0 and row["income"] is not None for row in bounded)


def test_forms_of_the_input_make_no_difference(ssba_command: Command, some: Path, tmp_path: Path) -> None:
    table = pd.read_csv(some)
    zipped, columns = tmp_path / "some.csv.gz", tmp_path / "some.parquet"
    table.to_csv(zipped, index=False)
    table.to_parquet(columns)
    written = []
    for number, file in enumerate((some, zipped, columns)):
        assert ssba_command("batch", file, "--out", tmp_path / f"{number}.parquet").code == 0
        written.append(pq.read_table(tmp_path / f"{number}.parquet"))
    assert every(one.equals(written[0]) for one in written)


@pytest.mark.slow
def test_a_ray_cluster_writes_what_one_process_does(
    many: Path, project: Path, out: Path, by_one_process: Path
) -> None:
    done = run("batch", "--project", project, many, "--out", out, *OPTIONS, "--ray")
    assert (done.returncode, done.stderr) == (0, "")
    assert out.read_bytes() == by_one_process.read_bytes()


def test_whole_explanations_can_be_added(by_one_process: Path) -> None:
    written = rows(by_one_process)
    read = [Explanation.from_json(row["explanation"]) for row in written]
    assert every(one.seconds == 0 for one in read)
    assert [one.status for one in read] == [row["status"] for row in written]


def test_whole_numbers_and_codes_in_a_chunk_are_read_as_the_project_has_them(
    ssba_command: Command, tmp_path: Path, out: Path
) -> None:
    file = tmp_path / "whole.csv"
    file.write_text("id,home,age,income,debt\n007,rent,30,20,10\n008,own,40,30.0,20\n", encoding="utf-8")
    said = ssba_command("batch", file, "--out", out)
    assert said.code == 0, said.err
    assert [row["id"] for row in rows(out)] == ["007", "008"]
    assert [row["age"] for row in rows(out)] == [30, 40]


BAD = """\
id,income,debt,age,home
p0,20,10,30,rent
p1,much,10,30,rent
p2,20,10,30
p3,20,10,30,boat
p4,,10,30,own
"""


def test_row_that_cannot_be_read_or_scored_stops_the_batch(
    ssba_command: Command, tmp_path: Path, out: Path
) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(BAD, encoding="utf-8")
    said = ssba_command("batch", file, "--out", out, "--chunk", 1)
    assert said.code == REFUSED
    (line,) = said.err.splitlines()
    assert "row 1 (line 3): column 'income': 'much' is not a number" in line
    assert "--on-error row" in line
    assert "what is finished is kept" in line
    assert not out.exists()


def test_a_wrong_constraint_is_told_before_any_row(ssba_command: Command, tmp_path: Path, out: Path) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(BAD, encoding="utf-8")
    said = ssba_command("batch", file, "--out", out, "--constraint", "foo == 3", "--on-error", "row")
    assert said.code == REFUSED
    assert "unknown column 'foo'" in said.err
    assert [one.name for one in tmp_path.iterdir()] == ["bad.csv"]


def test_rows_that_cannot_be_read_or_scored_can_be_passed_over(
    ssba_command: Command, tmp_path: Path, out: Path
) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(BAD, encoding="utf-8")
    said = ssba_command("batch", file, "--out", out, "--on-error", "row")
    assert said.code == 0
    assert "5 rows explained: 4 error, 1 found; the column sentence says why" in said.out
    written = rows(out)
    assert [row["status"] for row in written] == ["found", *["error"] * 4]
    reasons = ["'much' is not a number", "it has 4 cells, where the header names 5", "'boat'", "missing"]
    for number, reason in enumerate(reasons, start=1):
        assert written[number]["sentence"].startswith(f"row {number} (line {number + 2})")
        assert reason in written[number]["sentence"]
        assert written[number]["reached"] is None


def test_batch_of_something_else_is_not_gone_on_with(
    ssba_command: Command, some: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_after(2, monkeypatch)
    assert ssba_command("batch", some, "--out", out, "--chunk", 2).code == INTERRUPTED
    monkeypatch.undo()
    for options, what in (
        ((some, "--chunk", 2, "--sparsity", "strong"), "request"),
        ((some, "--chunk", 3), "request"),
        (("--chunk", 2), "input"),
        ((some, "--chunk", 2, "--seed", 1), "project"),
    ):
        said = ssba_command("batch", "--out", out, *options)
        assert said.code == REFUSED
        assert f"begun with another {what}; repeat that call" in said.err
    forced = ssba_command("batch", some, "--out", out, "--chunk", 2, "--evidence", 0, "--force")
    assert (forced.code, forced.err) == (0, "")


def test_ctrl_c_leaves_with_130_and_the_same_command_goes_on(
    ssba_command: Command, some: Path, tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_after(2, monkeypatch)
    said = ssba_command("batch", some, "--out", out, "--chunk", 2)
    monkeypatch.undo()
    assert said.code == INTERRUPTED
    assert said.err == (
        f"ssba: interrupted; finished chunks are in {out}.parts; run the same command again to go on\n"
    )
    resumed = ssba_command("batch", some, "--out", out, "--chunk", 2)
    assert resumed.code == 0
    assert f"{out}: 4 of 8 rows are finished already: going on" in resumed.err
    whole = tmp_path / "whole.parquet"
    ssba_command("batch", some, "--out", whole, "--chunk", 2)
    assert out.read_bytes() == whole.read_bytes()


def interrupt_after(chunks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Press Ctrl-C once so many chunks are explained."""
    # A test run in the background of a shell has it ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    whole: Callable[..., Any] = Service.explain_frame
    begun: list[int] = []

    def explain(*arguments: Any) -> Any:
        begun.append(1)
        if len(begun) > chunks:
            signal.raise_signal(signal.SIGINT)
        return whole(*arguments)

    monkeypatch.setattr(Service, "explain_frame", explain)


COMMAND = [sys.executable, "-c", "from ssba.apps.cli import main; main()"]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False)


def begin(project: Path, many: Path, out: Path, *options: str) -> subprocess.Popen[str]:
    """Begin a batch in processes of its own, and wait for its first finished chunk."""
    arguments = [*COMMAND, "batch", "--project", project, many, "--out", out, *OPTIONS, *options]
    begun = subprocess.Popen(
        [str(one) for one in arguments], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    wait_for(lambda: any(out.parent.glob("out.parquet.parts/part-*")) or begun.poll() is not None)
    return begun


def test_batch_that_was_killed_goes_on_where_it_was(
    ssba_command: Command, project: Path, many: Path, out: Path, by_one_process: Path
) -> None:
    begun = begin(project, many, out)
    begun.kill()
    begun.communicate()
    assert begun.returncode == -signal.SIGKILL
    assert not out.exists()
    said = ssba_command("batch", many, "--out", out, *OPTIONS)
    assert said.code == 0
    assert "rows are finished already: going on" in said.err
    assert out.read_bytes() == by_one_process.read_bytes()
    assert [one.name for one in out.parent.iterdir()] == ["out.parquet"]


def test_second_run_on_an_output_is_refused(ssba_command: Command, some: Path, out: Path) -> None:
    with held(out):
        said = ssba_command("batch", some, "--out", out, "--force")
    assert said.code == REFUSED
    (line,) = said.err.splitlines()
    assert "another run of ssba is at work on it" in line
    assert list(out.parent.iterdir()) == []


def test_ctrl_c_in_the_middle_of_a_chunk_writes_nothing_of_it(
    ssba_command: Command, project: Path, many: Path, out: Path, by_one_process: Path
) -> None:
    begun = begin(project, many, out)
    begun.send_signal(signal.SIGINT)
    _, err = begun.communicate()
    assert begun.returncode == INTERRUPTED
    assert "run the same command again to go on" in err
    assert ssba_command("batch", many, "--out", out, *OPTIONS).code == 0
    assert out.read_bytes() == by_one_process.read_bytes()


@pytest.mark.slow
def test_many_processes_can_be_interrupted_and_write_what_one_does(
    ssba_command: Command, project: Path, many: Path, out: Path, by_one_process: Path
) -> None:
    begun = begin(project, many, out, "--workers", "2")
    os.killpg(begun.pid, signal.SIGINT)
    _, err = begun.communicate()
    assert begun.returncode == INTERRUPTED
    (line,) = err.splitlines()
    assert "run the same command again to go on" in line
    assert ssba_command("batch", many, "--out", out, *OPTIONS, "--workers", 2).code == 0
    assert out.read_bytes() == by_one_process.read_bytes()


def test_sigterm_ends_many_processes_as_ctrl_c_does(project: Path, many: Path, out: Path) -> None:
    begun = begin(project, many, out, "--workers", "2")
    begun.terminate()
    _, err = begun.communicate()
    assert begun.returncode == TERMINATED
    assert err == (
        f"ssba: terminated; finished chunks are in {out}.parts; run the same command again to go on\n"
    )


def wait_for(condition: Callable[[], bool]) -> None:
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("what was waited for did not come")


def test_file_that_is_there_is_kept_without_force(ssba_command: Command, some: Path, out: Path) -> None:
    out.write_bytes(b"precious")
    said = ssba_command("batch", some, "--out", out)
    assert said.code == REFUSED
    assert "is there already; choose another name, or add --force" in said.err
    assert out.read_bytes() == b"precious"
    assert ssba_command("batch", some, "--out", out, "--force").code == 0
    assert pq.read_metadata(out).num_rows >= SOME


def test_refusals_are_one_line(ssba_command: Command, some: Path, out: Path, tmp_path: Path) -> None:
    short, broken = tmp_path / "short.csv", tmp_path / "broken.parquet"
    short.write_text("id,income,debt\np1,1,2\n", encoding="utf-8")
    broken.write_bytes(b"no")
    for options, reason in (
        ((some, "--out", tmp_path / "out.csv"), "the name must end in .parquet"),
        ((some, "--out", tmp_path / "no" / "out.parquet"), "there is no folder"),
        ((tmp_path / "none.csv", "--out", out), "there is no such file"),
        ((tmp_path / "rows.txt", "--out", out), "the name must end in one of .csv, .csv.gz, .parquet"),
        ((short, "--out", out), "short.csv: columns 'age', 'home' are missing"),
        ((broken, "--out", out), "this is not a Parquet file"),
        ((some, "--out", out, "--ray", "--workers", 2), RAY_TOO),
        ((some, "--out", out, "--constraint", "wealth > 2"), "'wealth'"),
    ):
        said = ssba_command("batch", *options)
        assert said.code == (USAGE if reason in ("the name must end in .parquet", RAY_TOO) else REFUSED)
        (line,) = said.err.splitlines()
        assert reason in line


def test_manifest_says_what_the_chunks_are_about(
    ssba_command: Command, some: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_after(1, monkeypatch)
    ssba_command("batch", some, "--out", out, "--chunk", 2)
    manifest = json.loads((out.parent / "out.parquet.parts" / "manifest.json").read_text(encoding="utf-8"))
    assert set(manifest) == {"format", "project", "request", "input"}

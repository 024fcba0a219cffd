"""`ssba check`: a table of columns and one line, or the problem by its line."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from skops import io
from typer.testing import CliRunner

from ssba.apps.cli import commands, main

WIDTH = 80


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_check_without_a_project_is_of_the_packaged_one(folder: Path) -> None:
    done = CliRunner().invoke(commands(), ["check"])
    assert done.exit_code == 0
    assert "this is the packaged heart project" in done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) > WIDTH, "the summary is one line"
    assert max(map(len, lines[:-1])) <= WIDTH
    assert lines[-1] == (
        "The project is sound: 303 rows with 13 columns; 177 rows reach 'no disease' already; 13 constraints."
    )
    assert any(line.split()[:3] == ["chol", "integer", "126"] for line in lines)
    assert "\x1b" not in done.stdout


def test_check_as_json_has_all_of_it(folder: Path) -> None:
    done = CliRunner().invoke(commands(), ["check", "--json", "--target", "disease"])
    told = json.loads(done.stdout)
    assert told["rows"] == 303
    assert told["target"] == "'disease'"
    assert told["classes"] == ["disease", "no disease"]
    assert len(told["columns"]["items"]) == 13


def test_every_problem_of_a_file_is_a_line_on_stderr(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "ssba.toml").write_text('model = "m.skops"\nsede = 3\nseed = -1\n', encoding="utf-8")
    with pytest.raises(SystemExit) as left:
        main(["check"])
    out, err = capsys.readouterr()
    assert (left.value.code, out) == (1, "")
    assert err.splitlines() == [
        "ssba: ssba.toml: data is missing; it names the file of the background rows",
        "ssba: ssba.toml, line 2: sede is not a setting; did you mean seed?",
        "ssba: ssba.toml, line 3: seed is -1; allowed are numbers from 0",
    ]


def test_kinds_that_the_values_decided_have_a_reason(folder: Path) -> None:
    rows = pd.DataFrame({"dose": np.arange(60.0) / 10, "age": np.arange(60)})
    rows.to_csv("rows.csv", index=False)
    io.dump(LogisticRegression().fit(rows, rows["age"] > 30), "model.skops")
    done = CliRunner().invoke(commands(), ["check", "--data", "rows.csv", "--model", "model.skops"])
    head, _, dose, age, *_ = done.stdout.splitlines()
    assert head.split() == ["column", "kind", "values", "why"]
    assert dose.split()[:5] == ["dose", "numeric", "0", "to", "5.9"]
    assert "0.1" in dose
    assert age.split() == ["age", "integer", "0", "to", "59"], "its dtype says so"

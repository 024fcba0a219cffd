"""`ssba init`: files that work, and nothing overwritten by accident."""

import re
import shlex
from pathlib import Path

import joblib
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from skops import io
from tests.support import every

import ssba
from ssba.apps.cli import main
from ssba.apps.project.choice import ProjectChoice, open_choice
from ssba.apps.project.heart import heart_settings
from ssba.apps.project.read import read_project

TABLE = pd.DataFrame({"x": range(20), "y": [1, 2] * 10, "label": ["low"] * 10 + ["high"] * 10})


class Runner:
    """Runs commands in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, line: str) -> tuple[int, str, str]:
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main(shlex.split(line))
        out, err = self.capsys.readouterr()
        assert isinstance(left.value.code, int)
        return left.value.code, out, err


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    """A folder with data and models, in which commands run."""
    monkeypatch.chdir(tmp_path)
    TABLE.to_csv("rows.csv", index=False)
    model = LogisticRegression(C=100).fit(TABLE[["x", "y"]], TABLE["label"])
    io.dump(model, "model.skops")
    joblib.dump(model, "model.joblib")
    return Runner(capsys)


def test_init_writes_a_project_that_passes_its_check(run: Runner) -> None:
    code, out, err = run("init --data rows.csv --model model.skops --target high")
    assert (code, err) == (0, "")
    assert out.startswith("ssba.toml is written: 20 rows with 2 columns, toward 'high'. ")
    settings, _ = read_project(Path("ssba.toml"))
    assert (settings.data, settings.model, settings.target) == ("rows.csv", "model.skops", "high")
    assert settings.labels == "label"
    code, out, err = run("check")
    assert (code, err) == (0, "")
    assert "The project is sound: 20 rows with 2 columns; 10 rows reach 'high' already" in out


def test_next_commands_name_a_row_with_something_to_change(run: Runner) -> None:
    _, out, _ = run("init --data rows.csv --model model.skops --target high")
    commands = re.findall(r"^  ssba (\S+)(.*)$", out, flags=re.MULTILINE)
    assert [name for name, _ in commands] == ["check", "explain", "plan", "serve"]
    (row,) = {found[1] for _, more in commands if (found := re.search(r"--row (\d+)", more))}
    assert int(row) < 10, "the first ten rows are low"


def test_what_is_there_is_overwritten_only_when_told_to(run: Runner) -> None:
    Path("ssba.toml").write_text("precious")
    line = "init --data rows.csv --model model.skops"
    code, out, err = run(line)
    assert (code, out) == (1, "")
    assert err == "ssba: ssba.toml is there already; add --force to overwrite\n"
    assert Path("ssba.toml").read_text() == "precious"
    assert run(f"{line} --force")[0] == 0
    assert read_project(Path("ssba.toml"))[0].target is None


def test_paths_are_relative_to_the_file_that_is_written(run: Runner) -> None:
    Path("deep/er").mkdir(parents=True)
    code, out, _ = run("init --data rows.csv --model model.skops --out deep/er/mine.toml")
    assert code == 0
    assert "ssba check --project deep/er/mine.toml" in out
    assert read_project(Path("deep/er/mine.toml"))[0].data == "../../rows.csv"
    assert run("check --project deep/er/mine.toml")[0] == 0


def test_options_are_written_down(run: Runner) -> None:
    TABLE.assign(name=range(20), note="a").to_csv("rows.csv", index=False)
    options = "--labels label --id name --ignore note --feature x=integer:low=0"
    assert run(f"init --data rows.csv --model model.skops {options}")[0] == 0
    settings, _ = read_project(Path("ssba.toml"))
    assert (settings.labels, settings.id, settings.ignore) == ("label", "name", ("note",))
    assert settings.features["x"].low == 0


def test_trust_in_types_is_written_down_and_trust_in_pickles_is_not(run: Runner) -> None:
    io.dump(DecisionTreeClassifier().fit(TABLE[["x", "y"]], TABLE["label"]), "tree.skops")
    line = "init --data rows.csv --model tree.skops --force"
    code, _, err = run(line)
    assert code == 1
    (option,) = re.findall(r"add (--trust-type \S+),", err)
    assert run(f"{line} {option}")[0] == 0
    assert run("check")[0] == 0, "the file trusts the type"
    code, out, err = run("init --data rows.csv --model model.joblib --force --trust-pickle")
    assert code == 0
    assert err.startswith("ssba: warning: model.joblib is a pickle")
    assert every("--trust-pickle" in line for line in out.splitlines() if line.startswith("  ssba "))
    assert run("check")[0] == 1
    assert run("check --trust-pickle")[0] == 0


def test_wrong_usage_leaves_with_2(run: Runner) -> None:
    lines = ["init", "init --data rows.csv", "init folder", "init --heart --target x", "init --heart --id x"]
    assert [run(line)[0] for line in lines] == [2] * len(lines)


def test_only_toml_is_written(run: Runner) -> None:
    code, _, err = run("init --data rows.csv --model model.skops --out ssba.yaml")
    assert (code, err) == (2, "ssba: --out ssba.yaml: the name of the file must end in .toml\n")


def test_heart_is_a_whole_example(run: Runner) -> None:
    code, out, err = run("init --heart 'my patients'")
    assert (code, err) == (0, "")
    folder = Path("my patients")
    assert {one.name for one in folder.iterdir()} == {"heart.csv", "model.skops", "ssba.toml"}
    assert read_project(folder / "ssba.toml")[0] == heart_settings()
    assert f"# {ssba.datasets.load_heart().attribution}" in (folder / "ssba.toml").read_text(encoding="utf-8")
    (line,) = re.findall(r"^  ssba (check .*)$", out, flags=re.MULTILINE)
    assert run(line)[0] == 0
    code, _, err = run("init --heart 'my patients'")
    assert code == 1
    assert err.count("my patients/") == 3
    assert run("init --heart 'my patients' --force")[0] == 0


def test_written_heart_answers_as_the_packaged_one(run: Runner, tmp_path: Path) -> None:
    _, out, _ = run("init --heart heart")
    row = int(re.findall(r"explain --row (\d+)", out)[0])
    choices = [ProjectChoice(project=Path("heart")), ProjectChoice()]
    found = []
    for project in (open_choice(one, quiet=True) for one in choices):
        answer = project.explainer().explain(project.rows.iloc[row], project.settings.constraints)
        assert answer.best is not None, "the row that is named can be turned"
        found.append(answer.best.values)
    assert found[0] == found[1]

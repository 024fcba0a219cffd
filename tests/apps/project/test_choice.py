"""Which project is opened, and what the options change about it."""

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer
from sklearn.linear_model import LinearRegression, LogisticRegression
from skops import io as skops_io
from tests.support import every
from typer.testing import CliRunner

from ssba.apps.project.choice import (
    HEART_NOTICE,
    ProjectChoice,
    find_project,
    open_choice,
    with_files,
    with_project,
)
from ssba.apps.project.settings import FeatureSettings
from ssba.errors import ArgumentError, ModelError, SchemaError, TargetError

ROWS = pd.DataFrame({"x": np.arange(8.0), "pain": ["none", "some"] * 4})

PROJECT = """
data = "rows.csv"
model = "model.skops"
target = "high"
labels = "label"
ignore = ["pain"]
seed = 5
"""


def write_files(folder: Path, classes: Any) -> None:
    """Write a model that turns from the first of two classes to the second between x = 3 and x = 4."""
    labels = np.repeat(np.array(classes), 4)
    ROWS.assign(label=labels).to_csv(folder / "rows.csv", index=False)
    skops_io.dump(LogisticRegression(C=100).fit(ROWS[["x"]], labels), folder / "model.skops")


def written(folder: Path, classes: Any = ("low", "high")) -> ProjectChoice:
    """Options for such a model, without a project file."""
    write_files(folder, classes)
    return ProjectChoice(data=folder / "rows.csv", model=folder / "model.skops", ignore=["pain", "label"])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project file, and what it names."""
    write_files(tmp_path, ["low", "high"])
    (tmp_path / "ssba.toml").write_text(PROJECT, encoding="utf-8")
    return tmp_path / "ssba.toml"


def test_a_project_file_is_found_by_its_name_its_folder_or_in_the_current_folder(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_project(project) == project
    assert find_project(project.parent) == project
    monkeypatch.chdir(project.parent)
    assert find_project() == Path("ssba.toml")
    project.rename(project.with_name("ssba.yml"))
    assert find_project() == Path("ssba.yml")
    project.with_name("ssba.yaml").touch()
    with pytest.raises(ArgumentError, match=r"^ssba\.yaml and ssba\.yml are in one folder; name the one"):
        find_project()


def test_a_project_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"none\.toml: there is no such file; `ssba init` writes one"):
        find_project(tmp_path / "none.toml")
    with pytest.raises(ArgumentError, match=r"the folder has no ssba\.toml; `ssba init` writes one"):
        find_project(tmp_path)


def test_paths_of_a_project_file_are_relative_to_it(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project.parent / "elsewhere").mkdir()
    monkeypatch.chdir(project.parent / "elsewhere")
    opened = open_choice(ProjectChoice(project=Path("../ssba.toml")))
    assert list(opened.rows.columns) == ["x"]
    assert list(opened.labels) == ["low"] * 4 + ["high"] * 4
    assert repr(opened.explainer()) == (
        "<Explainer of LogisticRegression toward 'high', 1 columns, 8 background rows>"
    )


def test_options_replace_what_the_file_says(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.parent)
    ROWS.head(6).assign(label="low", id=0).to_csv("fewer.csv", index=False)
    options: dict[str, Any] = {"data": Path("fewer.csv"), "target": "low", "ignore": ["id"], "seed": 7}
    opened = open_choice(ProjectChoice(**options, feature=["x=numeric:step=0.5"]))
    assert len(opened.rows) == 6
    assert list(opened.rows.columns) == ["x"], "pain and label come from the file, id from the option"
    assert (opened.settings.target, opened.settings.seed) == ("low", 7)
    assert opened.declarations["x"].step == 0.5


def test_what_the_file_says_about_a_column_that_an_option_takes_away_is_left_out(project: Path) -> None:
    ROWS.assign(dose=range(8), label=["low"] * 4 + ["high"] * 4, pain=0).to_csv(
        project.with_name("rows.csv"), index=False
    )
    about = '[weights]\ndose = 2\n[scale]\ndose = 3\nx = 1\n[features.dose]\nkind = "integer"\n'
    project.write_text(f"{PROJECT}{about}", encoding="utf-8")
    for labels, ignore in (("pain", ["dose", "label"]), ("dose", ["label"])):
        opened = open_choice(ProjectChoice(project=project, labels=labels, ignore=ignore))
        assert list(opened.rows.columns) == ["x"]
        said = opened.settings
        assert (said.features, said.weights, said.scale) == ({}, {}, {"x": 1})


def test_meaning_of_a_column_outlives_another_kind(project: Path) -> None:
    project.write_text(f'{PROJECT}[features.x]\nmeaning = "dose"\nstep = 1', encoding="utf-8")
    opened = open_choice(ProjectChoice(project=project, feature=["x=numeric:step=0.5"]))
    assert opened.settings.features["x"] == FeatureSettings(kind="numeric", step=0.5, meaning="dose")


def test_without_options_the_file_counts(project: Path) -> None:
    settings = open_choice(ProjectChoice(project=project)).settings
    assert (settings.target, settings.seed, settings.labels) == ("high", 5, "label")


def test_data_and_model_alone_are_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    opened = open_choice(replace(written(tmp_path), target="high"))
    best = opened.explainer().explain({"x": 0.0}).best
    assert best is not None
    assert best.prediction == "high"


@pytest.mark.parametrize(("given", "missing"), [("data", "model"), ("model", "data")])
def test_one_of_data_and_model_is_not_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, missing: str
) -> None:
    monkeypatch.chdir(tmp_path)
    only: dict[str, Any] = {given: Path("x.csv")}
    with pytest.raises(ArgumentError, match=f"^--{given} without a project file needs --{missing}, too"):
        open_choice(ProjectChoice(**only))


def test_without_anything_the_packaged_project_is_opened_and_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    opened = open_choice(ProjectChoice(target="disease", seed=3))
    assert (opened.settings.target, opened.settings.seed, len(opened.table)) == ("disease", 3, 303)
    assert capsys.readouterr().err == f"ssba: {HEART_NOTICE}\n"
    open_choice(ProjectChoice(), quiet=True)
    assert capsys.readouterr().err == ""


def test_a_project_file_in_a_folder_above_is_pointed_at(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    below = project.parent / "notes" / "today"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    open_choice(ProjectChoice())
    above = "(../../ssba.toml is there: --project ../..)"
    assert capsys.readouterr().err == f"ssba: {HEART_NOTICE} {above}\n"
    assert open_choice(ProjectChoice(project=Path("../.."))).settings.target == "high"


def test_a_choice_means_the_same_in_another_process(
    project: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.parent)
    choice = ProjectChoice(data=Path("rows.csv"), target="low").absolute()
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    opened = open_choice(pickle.loads(pickle.dumps(choice)))  # noqa: S301
    assert (opened.settings.target, opened.settings.seed) == ("low", 5)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"labels": "lable"}, r"^--labels: unknown column 'lable' \(did you mean 'label'\?\)"),
        ({"ignore": ["pian"]}, r"^--ignore: unknown column 'pian' \(did you mean 'pain'\?\)"),
        ({"feature": ["xx=integer"]}, r"^--feature: unknown column 'xx'"),
    ],
)
def test_an_option_that_names_no_column_is_told_by_its_name(project: Path, option: Any, said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        open_choice(ProjectChoice(project=project, **option))


@pytest.mark.parametrize(
    ("classes", "target"),
    [([0, 1], "1"), (["0", "1"], "1"), ([1.0, 2.0], "2"), ([False, True], "True"), (["a", "b"], "b")],
    ids=["whole numbers", "text of digits", "numbers", "truths", "text"],
)
def test_target_becomes_a_class_of_the_model_whatever_its_type(
    tmp_path: Path, classes: list[Any], target: str
) -> None:
    choice = replace(written(tmp_path, classes), target=target)
    best = open_choice(choice).explainer().explain({"x": 0.0}).best
    assert best is not None
    assert best.prediction == classes[1]


def test_unknown_class_names_the_classes_and_the_forms(tmp_path: Path) -> None:
    choice = replace(written(tmp_path, [0, 1]), target="2")
    with pytest.raises(TargetError, match=r"target 2 is not a class .* classes: 0, 1; as a target: LABEL, "):
        open_choice(choice).explainer()


def test_numbers_are_a_target_of_a_regressor(tmp_path: Path) -> None:
    ROWS[["x"]].to_csv(tmp_path / "rows.csv", index=False)
    skops_io.dump(LinearRegression().fit(ROWS[["x"]], 10 * ROWS["x"]), tmp_path / "model.skops")
    choice = ProjectChoice(data=tmp_path / "rows.csv", model=tmp_path / "model.skops", target="value:50..60")
    best = open_choice(choice).explainer().explain({"x": 0.0}).best
    assert best is not None
    # The model is y = 10 x, so that x = 5 is the nearest to reach 50.
    assert best.values["x"] == pytest.approx(5.0, rel=1e-3)
    with pytest.raises(TargetError, match=r"gives numbers .* value:LOW\.\.HIGH"):
        open_choice(replace(choice, target="50")).explainer()


def test_trust_in_pickles_never_comes_from_a_project_file(project: Path) -> None:
    (project.parent / "model.skops").rename(project.parent / "model.pkl")
    project.write_text(PROJECT.replace(".skops", ".pkl"), encoding="utf-8")
    with pytest.raises(ModelError, match="add --trust-pickle"):
        open_choice(ProjectChoice(project=project))
    project.write_text(f"{PROJECT.replace('.skops', '.pkl')}\ntrust_pickle = true", encoding="utf-8")
    with pytest.raises(ArgumentError, match="trust_pickle"):
        open_choice(ProjectChoice(project=project))


def options_of(decorate: Callable[..., Callable[..., None]], *arguments: str) -> tuple[int, list[Any]]:
    told: list[Any] = []

    @decorate
    def command(choice: ProjectChoice, index: Path, own: int = 3) -> None:
        """Do something."""
        told.extend([choice, index, own])

    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, list(arguments)).exit_code, told


def test_command_of_a_project_has_its_own_options_and_one_for_each_field() -> None:
    given = ["here", "--data", "a.csv", "--model", "m.onnx", "--ignore", "b", "--ignore", "c", "--own", "4"]
    code, told = options_of(with_project, *given)
    assert code == 0
    assert told == [
        ProjectChoice(data=Path("a.csv"), model=Path("m.onnx"), ignore=["b", "c"]),
        Path("here"),
        4,
    ]
    assert options_of(with_project, "here") == (0, [ProjectChoice(), Path("here"), 3])


def test_command_of_files_alone_has_no_options_about_columns() -> None:
    assert options_of(with_files, "here", "--data", "a.csv")[0] == 0
    refused = [options_of(with_files, "here", option, "x")[0] for option in ("--target", "--labels")]
    assert every(code == 2 for code in refused)

"""Checking a project: what is counted, and every problem by its line."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skops import io
from tests.support import every

from ssba.apps.project.check import check_project
from ssba.apps.project.choice import ProjectChoice, open_choice
from ssba.apps.project.problems import ProjectFileError
from ssba.errors import SsbaError

ROWS = pd.DataFrame({"x": np.arange(20.0), "y": np.arange(20.0) % 7})
BASE = 'model = "model.skops"\ndata = "rows.csv"\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that says yes above x = 9.5."""
    place = tmp_path_factory.mktemp("project")
    ROWS.to_csv(place / "rows.csv", index=False)
    io.dump(LogisticRegression(C=1000, max_iter=1000).fit(ROWS, ROWS["x"] > 9.5), place / "model.skops")
    return place


def checked(folder: Path, text: str, **options: Any) -> Any:
    (folder / "ssba.toml").write_text(BASE + text, encoding="utf-8")
    return check_project(open_choice(ProjectChoice(project=folder, **options)))


def test_a_sound_project_is_counted(folder: Path) -> None:
    found = checked(folder, 'target = true\nconstraints = ["y == x.y", "x >= 5"]')
    assert (found.rows, found.reached, found.constraints, found.points) == (20, 10, 2, None)
    assert found.looked_at.asked == 20
    assert found.looked_at.broken == 5, "x is below 5 in five rows"
    assert found.sentence == (
        "The project is sound: 20 rows with 2 columns; 10 rows reach True already; 2 constraints; 5 of 20 "
        "rows looked at do not meet them as they are."
    )
    plain = found.to_dict()
    assert plain["classes"] == [False, True]
    assert plain["looked_at"] == {"asked": 20, "broken": 5, "clashing": 0}


def test_columns_that_the_model_does_not_look_at_are_told(folder: Path) -> None:
    table = ROWS.assign(truth=["yes", "no"] * 10)
    picking = make_pipeline(ColumnTransformer([("all", StandardScaler(), ["x", "y"])]), LogisticRegression())
    project = open_choice(ProjectChoice(data=folder / "rows.csv", model=folder / "model.skops"))
    project = replace(project, table=table, model=picking.fit(ROWS, ROWS["x"] > 9.5))
    found = check_project(project)
    assert found.not_taken == ("truth",)
    assert "20 rows with 3 columns" in found.sentence
    assert "But the model does not look at 'truth': name it in labels, id or ignore" in found.sentence
    labelled = project.settings.model_copy(update={"labels": "truth"})
    assert check_project(replace(project, settings=labelled)).not_taken == ()


def test_rows_are_not_counted_where_any_other_class_is_the_target(folder: Path) -> None:
    found = checked(folder, "")
    assert found.reached is None
    assert found.sentence == "The project is sound: 20 rows with 2 columns; 0 constraints."


def test_constraints_that_contradict_each_other_for_some_rows_are_counted(folder: Path) -> None:
    found = checked(folder, 'target = true\nconstraints = ["x >= x.x", "x <= 15"]')
    assert found.looked_at.clashing == 4, "x is 16 to 19 there"
    assert "for 4 of 20 they contradict each other" in found.sentence


def test_the_index_is_opened(folder: Path) -> None:
    opened = open_choice(ProjectChoice(data=folder / "rows.csv", model=folder / "model.skops", target="true"))
    opened.explainer().sample_boundary(30, path=folder / "points")
    assert checked(folder, 'target = true\nindex = "points"').points == 30


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("target = 3", r"^ssba\.toml, line 3: target: target 3 is not a class .* classes: False, True"),
        (
            'target = "probability:true>0.7"',
            r"^ssba\.toml, line 3: target: target .* is not understood; give",
        ),
        ('target = "probability:true>=70%"', r"^ssba\.toml, line 3: target: target .* is not understood"),
        ('labels = "lable"', r"^ssba\.toml, line 3: labels: unknown column 'lable'"),
        ('ignore = [\n"x",\n"z"]', r"^ssba\.toml, line 5: ignore\[1\]: unknown column 'z'"),
        ('ignore = ["x"]', r"^ssba\.toml, line 3: ignore\[0\]: the model takes column 'x', so it cannot be"),
        ("[weights]\nz = 2", r"^ssba\.toml, line 4: weights\.z: unknown column 'z'"),
        ("scale = { z = 2 }", r"^ssba\.toml, line 3: scale\.z: unknown column 'z'"),
        (
            '[features.y]\nkind = "ordinal"\nlevels = [0, 1]',
            r"^ssba\.toml, line 3: features\.y: column 'y': the data holds 2, which is not among",
        ),
        (
            'classes = { true = "yes", "2" = "maybe" }',
            r"^ssba\.toml, line 3: classes\.2: no class of the model; its classes are false, true$",
        ),
        ("[features.z]\nlow = 3", r"^ssba\.toml, line 3: features\.z: unknown column 'z'"),
        ('[features.x]\nkind = "boolean"\nlow = 3', r"^ssba\.toml, line 3: features\.x: low says nothing"),
        (
            'constraints = [\n  "x >= x.x",\n  "x <= x.z",\n]',
            r"^ssba\.toml, line 5: constraints\[1\]: constraint 'x <= x\.z'",
        ),
        (
            'constraints = ["x >= 10", "x <= 5"]',
            r"^ssba\.toml, line 3: constraints: No row can meet the constraints at once: .* contradict",
        ),
        ('index = "nowhere"', r"^ssba\.toml, line 3: index: .*nowhere"),
    ],
)
def test_problem_is_told_by_its_line(folder: Path, text: str, told: str) -> None:
    with pytest.raises(SsbaError, match=told):
        checked(folder, text)


def test_problem_of_an_option_is_told_by_the_option(folder: Path) -> None:
    with pytest.raises(SsbaError, match=r"^--target: target 3 is not a class"):
        checked(folder, "target = true", target="3")
    with pytest.raises(SsbaError, match=r"^--feature x: .*low must not be above high"):
        checked(folder, "[features.x]\nlow = 3", feature=["x=integer:low=9,high=1"])


def lines_told(folder: Path, text: str) -> list[str]:
    with pytest.raises(ProjectFileError) as refused:
        checked(folder, text)
    return [one.partition(": ")[2][:28] for one in str(refused.value).splitlines()]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            'labels = "lable"\nid = "nr"\nignore = ["z"]\nweights = { z = 2 }\n[features.w]\nlow = 3',
            [
                "id: unknown column 'nr'; col",
                "labels: unknown column 'labl",
                "ignore[0]: unknown column 'z",
                "features.w: unknown column '",
                "weights.z: unknown column 'z",
            ],
        ),
        (
            '[features.x]\nlow = 9\nhigh = 1\n[features.y]\nlevels = ["a"]',
            ["features.x: integer(low=9.0,", "features.y: levels says noth"],
        ),
        (
            'constraints = ["x <= x.z", "y == x.y", "y >="]',
            ["constraints[0]: constraint '", "constraints[2]: cannot read "],
        ),
        (
            'classes = { "2" = "a", "3" = "b" }',
            ["classes.2: no class of the m", "classes.3: no class of the m"],
        ),
    ],
    ids=["names of columns", "kinds", "constraints", "classes"],
)
def test_all_problems_of_a_stage_are_told_together(folder: Path, text: str, told: list[str]) -> None:
    assert lines_told(folder, text) == told


def test_constraint_on_a_column_that_the_model_does_not_take_says_who_took_it_away(folder: Path) -> None:
    ROWS.assign(z=1).to_csv(folder / "wider.csv", index=False)
    wider: dict[str, Any] = {"data": folder / "wider.csv"}
    text = 'target = true\nconstraints = ["x >= 5", "z == x.z"]'
    with pytest.raises(SsbaError, match=r"line 4: .*'z == x\.z' is about column 'z', which --ignore takes"):
        checked(folder, text, **wider, ignore=["z"])
    with pytest.raises(SsbaError, match=r"about column 'z', which ssba\.toml, line 5: ignore\[0\] takes"):
        checked(folder, f'{text}\nignore = ["z"]', **wider)


def test_constraints_that_cannot_be_read_are_told_in_one_line_each_without_a_caret(folder: Path) -> None:
    with pytest.raises(ProjectFileError) as refused:
        checked(folder, 'constraints = ["x < 200 or y > 3", "y >="]')
    first, second = str(refused.value).splitlines()
    assert "found 'or' at 'or y > 3'; write two constraints" in first
    assert "^" not in first + second


def test_declared_bounds_of_the_columns_of_a_clash_are_told(folder: Path) -> None:
    text = 'constraints = ["x <= 5"]\n[features.x]\nlow = 10\n[features.y]\nhigh = 3'
    with pytest.raises(SsbaError, match=r'"x <= 5"; ssba\.toml, line 4: features\.x has low = 10\.$'):
        checked(folder, text)


def test_missing_model_and_missing_data_are_told_together(folder: Path) -> None:
    (folder / "ssba.toml").write_text('model = "none.skops"\ndata = "none.csv"', encoding="utf-8")
    with pytest.raises(ProjectFileError) as refused:
        open_choice(ProjectChoice(project=folder))
    model, data = str(refused.value).splitlines()
    assert model.startswith("ssba.toml, line 1: model ")
    assert data.startswith("ssba.toml, line 2: data ")
    assert every(one.endswith("there is no such file") for one in (model, data))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            BASE.replace("rows.csv", "none.csv"),
            r"^ssba\.toml, line 2: data .*none\.csv: there is no such file",
        ),
        (
            BASE.replace(".skops", ".h5"),
            r"^ssba\.toml, line 1: model .*model\.h5: the name must end in one of",
        ),
    ],
)
def test_file_that_cannot_be_opened_is_told_by_its_line(folder: Path, text: str, told: str) -> None:
    (folder / "ssba.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SsbaError, match=told):
        open_choice(ProjectChoice(project=folder))

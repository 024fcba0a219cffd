"""Project files as they are written: they read back, whatever is in them."""

import re
import tomllib
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ssba
from ssba.apps.project.heart import heart_project
from ssba.apps.project.read import read_project
from ssba.apps.project.settings import BudgetSettings, FeatureSettings, ProjectSettings
from ssba.apps.project.write import project_text, toml_key, toml_value

ROWS = pd.DataFrame(
    {
        "age": [30, 40, 50, 60] * 10,
        "pain \n level": ["none", "some", "much", "some"] * 10,
        'a "quoted" = name': [0.5, 1.0, 1.5, 2.5] * 10,
    }
)
COLUMNS = ssba.Explainer(lambda rows: rows["age"] > 45, ROWS).columns


def switched_on(text: str) -> str:
    """A file with all that is switched off in it."""
    return re.sub(r"^(\s*)#(?=\S)", r"\1", text, flags=re.MULTILINE)


def read_back(text: str, folder: Path) -> ProjectSettings:
    (folder / "ssba.toml").write_text(text, encoding="utf-8")
    return read_project(folder / "ssba.toml")[0]


EVERYTHING = ProjectSettings(
    title='Who "is"\nwell? é \x7f',
    model="m.skops",
    data="../d.csv",
    target=1,
    labels="lab # el",
    id="id",
    ignore=("a", "b"),
    constraints=("age >= x.age", "exang: 'yes' -> {'no'}", "x" * 100),
    classes={"0": "well", "1": "not well"},
    features={
        "a b": FeatureSettings(kind="ordinal", levels=(1, 2.5, "x", True)),
        "chol": FeatureSettings(low=1, high=2.5, step=0.1, unit="mg/dl", meaning="fat"),
    },
    index="points",
    caution="Careful.",
    distance="gower",
    scale={"age": 3.0},
    weights={"age": 2.0},
    background_rows=10,
    seed=3,
    budget=BudgetSettings(rows=5, seconds=1.5),
    module="a.b:C",
    trust_types=("x.Y",),
)


def test_every_setting_reads_back(tmp_path: Path) -> None:
    left_out = [name for name in ProjectSettings.model_fields if name not in EVERYTHING.model_fields_set]
    assert left_out == [], "the example has every setting"
    suggestions = ssba.suggest_constraints(ROWS[["age"]])
    notes = {"labels": "a\nguess", "title": "long " * 30}
    # Suggested constraints would be a second list of constraints.
    assert read_back(project_text(EVERYTHING, COLUMNS, notes=notes), tmp_path) == EVERYTHING
    without = EVERYTHING.model_copy(update={"constraints": ()})
    assert read_back(project_text(without, COLUMNS, suggestions, notes), tmp_path) == without


def test_what_is_as_by_default_is_left_out(tmp_path: Path) -> None:
    text = project_text(ProjectSettings(model="m", data="d"), COLUMNS)
    assert tomllib.loads(text) == {"model": "m", "data": "d"}


def test_classes_are_named_where_there_is_no_target() -> None:
    text = project_text(ProjectSettings(model="m", data="d"), COLUMNS, notes={"target": "classes: 0, 1"})
    assert "\n# no target: any class but the predicted one; classes: 0, 1\n" in text


def test_columns_are_listed_with_their_kinds() -> None:
    text = project_text(ProjectSettings(model="m", data="d"), COLUMNS)
    assert re.search(r"^#   age +integer +30 to 60$", text, flags=re.MULTILINE)
    assert re.search(r"^#   pain   level +categorical +'much', 'none', 'some'$", text, flags=re.MULTILINE)


def test_suggestions_that_are_switched_on_read_back_and_can_be_used(tmp_path: Path) -> None:
    heart = heart_project()
    columns, suggestions = heart.explainer().columns, ssba.suggest_constraints(heart.rows)
    settings = heart.settings.model_copy(update={"constraints": (), "features": {}})
    read = read_back(switched_on(project_text(settings, columns, suggestions)), tmp_path)
    assert read.constraints == suggestions.texts
    assert set(read.features) == set(suggestions.features)
    assert read.features["slope"].levels == ("downsloping", "flat", "upsloping")


def test_suggestions_with_odd_names_read_back(tmp_path: Path) -> None:
    text = project_text(ProjectSettings(model="m", data="d"), COLUMNS, ssba.suggest_constraints(ROWS))
    assert read_back(text, tmp_path).constraints == ()
    assert read_back(switched_on(text), tmp_path).constraints == ssba.suggest_constraints(ROWS).texts


def test_every_suggestion_has_its_reason() -> None:
    suggestions = ssba.suggest_constraints(ROWS[["age"]])
    text = project_text(ProjectSettings(model="m", data="d"), COLUMNS, suggestions)
    assert '    #"age >= x.age",  # by its name: it only grows with time' in text


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_a_key_and_a_value(text: str) -> None:
    assert tomllib.loads(f"{toml_key(text)} = {toml_value(text)}") == {text: text}


@pytest.mark.parametrize("value", [True, 0, -1.5, 1e300, ["a", 1], ["long"] * 40])
def test_values_read_back(value: object) -> None:
    assert tomllib.loads(f"x = {toml_value(value)}") == {"x": value}

"""What a model and its data tell about each other."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from ssba.apps.project.draft import draft_project
from ssba.apps.project.opened import OpenedProject
from ssba.apps.project.settings import ProjectSettings
from ssba.errors import ModelError, SchemaError, TargetError

_rng = np.random.default_rng(0)
ROWS = pd.DataFrame({"income": _rng.normal(50, 10, 60), "debt": _rng.normal(20, 5, 60)})
GRANTED = (ROWS["income"] > 2 * ROWS["debt"]).astype(int)
TABLE = pd.DataFrame(
    {
        "client": [f"c{number}" for number in range(60)],
        "income": ROWS["income"],
        "debt": ROWS["debt"],
        "granted": GRANTED,
        "region": ["north", "south", "east"] * 20,
        "checksum": _rng.normal(size=60),
    }
)
MODEL = LogisticRegression().fit(ROWS, GRANTED)


def drafted(model: Any = MODEL, table: pd.DataFrame = TABLE, **settings: Any) -> Any:
    said = ProjectSettings(model="m", data="d", **settings)
    return draft_project(OpenedProject(said, Path(), table, model))


def test_columns_that_the_model_does_not_take_are_labels_names_of_rows_or_ignored() -> None:
    draft = drafted(target="1")
    settings = draft.project.settings
    assert (settings.labels, settings.id, settings.ignore) == ("granted", "client", ("region", "checksum"))
    assert list(draft.project.rows.columns) == ["income", "debt"]
    assert set(draft.notes) == {"labels", "id", "ignore", "target"}
    assert draft.notes["target"] == "classes: 0, 1"


def test_a_cell_for_which_the_model_refuses_the_data_is_named() -> None:
    cells = TABLE["income"].astype(str).tolist()
    cells[4] = "high"
    with pytest.raises(
        SchemaError, match=r"^data: column 'income' holds 'high' in row 4, which is no number"
    ):
        drafted(table=TABLE.assign(income=cells))


def test_the_target_is_written_as_the_model_has_it() -> None:
    assert drafted(target="1").project.settings.target == 1
    texts = LogisticRegression().fit(ROWS, GRANTED.astype(str))
    assert drafted(texts, target="1").project.settings.target == "1"
    assert drafted(target="probability:1>=0.7").project.settings.target == "probability:1>=0.7"
    with pytest.raises(TargetError, match="its classes: 0, 1"):
        drafted(target="2")


def test_what_is_said_is_not_guessed() -> None:
    settings = drafted(labels="region", id="checksum", ignore=("client",)).project.settings
    assert (settings.labels, settings.id) == ("region", "checksum")
    assert settings.ignore == ("client", "granted")


def test_two_columns_of_classes_are_not_guessed_between() -> None:
    table = TABLE.assign(paid=GRANTED)
    settings = drafted(table=table).project.settings
    assert settings.labels is None
    assert {"granted", "paid"} <= set(settings.ignore)


def test_a_model_of_numbers_has_no_classes_to_find() -> None:
    model = LinearRegression().fit(ROWS, ROWS["income"])
    draft = drafted(model, target="value:60..")
    assert draft.project.settings.labels is None
    assert draft.explainer.classes is None


def test_columns_that_are_missing_or_said_to_be_unused_are_told() -> None:
    with pytest.raises(SchemaError, match="the model takes: unknown column 'debt'"):
        drafted(table=TABLE.drop(columns="debt"))
    with pytest.raises(SchemaError, match="the model takes column 'debt', so it cannot be left out"):
        drafted(ignore=("debt",))
    with pytest.raises(SchemaError, match=r"unknown column 'regoin' \(did you mean 'region'\?\)"):
        drafted(labels="regoin")


def test_a_model_without_names_needs_to_be_told_which_columns_it_does_not_take() -> None:
    unnamed = LogisticRegression().fit(ROWS.to_numpy(), GRANTED)
    with pytest.raises(ModelError, match="name those that it does not take with --labels, --id and --ignore"):
        drafted(unnamed)

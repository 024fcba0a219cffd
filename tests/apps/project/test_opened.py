"""An opened project: which columns the model takes, what is said about columns, and its explainers."""

import re
from dataclasses import replace
from typing import Any

import pytest
from tests.apps.projects import Slow, heart, loans

import ssba
from ssba.apps.project.opened import OpenedProject
from ssba.apps.project.settings import FeatureSettings, ProjectSettings
from ssba.errors import ArgumentError, ModelError, SchemaError, TargetError


def with_settings(**changed: Any) -> OpenedProject:
    settings = ProjectSettings.model_validate({**loans().settings.model_dump(), **changed})
    return replace(loans(), settings=settings)


def test_the_model_gets_its_own_columns_only() -> None:
    assert list(loans().rows.columns) == ["income", "debt"]
    assert list(heart().rows.columns) == list(ssba.datasets.load_heart().columns)
    assert heart().labels.tolist()[:2] == ["no disease", "disease"]
    assert loans().labels is None


def test_settings_reach_the_explainer() -> None:
    project = with_settings(distance="l1", scale={"income": 10.0, "debt": 5.0}, weights={"debt": 2.0}, seed=7)
    explained = project.explainer().explain(project.rows.iloc[0])
    assert (explained.metric, explained.seed) == ("l1", 7)
    assert {one.name: (one.scale, one.weight) for one in explained.columns} == {
        "income": (10.0, 1.0),
        "debt": (5.0, 2.0),
    }
    assert explained.units == {"income": "k$"}


def test_a_unit_alone_leaves_the_kind_to_the_data() -> None:
    declared = heart().declarations
    assert (declared["oldpeak"].kind, declared["oldpeak"].step) == ("numeric", 0.1)
    assert (declared["chol"].kind, declared["chol"].unit) == ("integer", "mg/dl")
    assert "sex" not in declared, "only a meaning is said about it"


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (
            ["3.5", "n/a?", "4"],
            "holds 'n/a?' in row 1, which is no number; correct the cell, or leave it empty",
        ),
        (["3,5", "2,25", "4"], "holds '3,5' in row 0, which is no number; write numbers as 1234.5"),
    ],
)
@pytest.mark.parametrize("said", [{"unit": "k$"}, {"kind": "numeric"}])
def test_a_cell_that_is_no_number_is_named(cells: list[str], told: str, said: dict[str, str]) -> None:
    table = loans().table.iloc[:3].assign(income=cells)
    project = replace(with_settings(features={"income": said}), table=table)
    with pytest.raises(SchemaError, match=f"features.income: .*column 'income' {re.escape(told)}"):
        _ = project.declarations


def test_a_unit_of_a_column_of_words_is_refused() -> None:
    table = loans().table.iloc[:3].assign(income=["much", "some", "3rd"])
    project = replace(with_settings(features={"income": {"unit": "k$"}}), table=table)
    with pytest.raises(ArgumentError, match="unit says nothing about a column of kind categorical"):
        _ = project.declarations


@pytest.mark.parametrize("cell", ["high", "1,233"])
def test_a_cell_for_which_the_model_refuses_the_data_is_named(cell: str) -> None:
    cells = loans().table["income"].astype(str).tolist()
    cells[7] = cell
    project = replace(with_settings(features={}), table=loans().table.assign(income=cells))
    with pytest.raises(SchemaError, match=f"^data: column 'income' holds '{cell}' in row 7, which is no num"):
        project.explainer()


def test_codes_of_which_some_are_no_numbers_are_not_blamed_for_a_model_that_fails_otherwise() -> None:
    def fail(calls: int) -> None:
        raise RuntimeError("no licence")

    cells = ["1", "A", "B"] * 66 + ["1", "2"]
    project = replace(with_settings(features={}), table=loans().table.assign(debt=cells), model=Slow(fail))
    with pytest.raises(ModelError, match="no licence"):
        project.explainer()


def test_levels_and_bounds_are_declared() -> None:
    features = {
        "income": {"kind": "numeric", "low": 0, "high": 100, "step": 5},
        "debt": {"kind": "categorical", "levels": list(range(60))},
    }
    declared = with_settings(features=features).declarations
    assert declared["income"] == ssba.numeric(step=5, low=0, high=100)
    assert declared["debt"].levels == tuple(range(60))


@pytest.mark.parametrize(
    ("changed", "error", "said"),
    [
        ({"features": {"incom": {"kind": "integer"}}}, SchemaError, "did you mean 'income'"),
        (
            {"features": {"debt": {"kind": "boolean", "low": 1}}},
            ArgumentError,
            "features.debt: low says nothing",
        ),
        ({"features": {"debt": {"kind": "ordinal"}}}, ArgumentError, "features.debt: ordinal"),
        (
            {"features": {"debt": {"low": 9, "high": 1}}},
            ArgumentError,
            "features.debt: integer.*low must not",
        ),
        ({"ignore": ["regoin"]}, SchemaError, "did you mean 'region'"),
        ({"ignore": ["income", "debt", "region"]}, SchemaError, "leave no column"),
        ({"target": "given"}, TargetError, "its classes: 0, 1"),
    ],
)
def test_what_does_not_fit_the_data_is_refused_by_name(changed: Any, error: Any, said: str) -> None:
    with pytest.raises(error, match=said):
        with_settings(**changed).explainer()


def test_meanings_are_of_the_columns_that_have_one() -> None:
    assert loans().settings.meanings == {"income": "yearly income"}
    assert FeatureSettings().meaning is None


def test_stored_points_are_opened_where_the_project_has_some(tmp_path: Any) -> None:
    explainer = loans().explainer()
    explainer.sample_boundary(50, path=tmp_path / "points")
    project = replace(with_settings(index="points"), folder=tmp_path)
    opened = project.boundary(explainer)
    assert opened is not None
    assert len(opened) == 50
    assert loans().boundary(explainer) is None

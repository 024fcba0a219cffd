"""Rows of a project's data, found by what they hold."""

from dataclasses import replace
from typing import Any

import pytest

from ssba.apps.project.heart import heart_project
from ssba.apps.project.opened import OpenedProject
from ssba.apps.project.settings import FeatureSettings
from ssba.apps.rows import matching_rows
from ssba.errors import SchemaError


def named_by(column: str) -> OpenedProject:
    """The heart patients with a column of names, which the project declares."""
    heart = heart_project()
    table = heart.table.assign(**{column: [f"C{number:04}" for number in range(len(heart.table))]})
    return replace(heart, table=table, settings=heart.settings.model_copy(update={"id": column}))


def test_column_that_names_the_rows_is_also_known_as_id() -> None:
    project = named_by("patient")
    assert matching_rows(project, {"id": "C0017"}) == matching_rows(project, {"patient": "C0017"}) == [17]
    assert matching_rows(project, {"id": "C0017", "patient": "C0018"}) == []


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ({"age": "abc"}, "where: column 'age' holds numbers, and 'abc' is none"),
        ({"age": True}, "where: column 'age' holds numbers, and True is none"),
        (
            {"sex": "MALE"},
            r"unknown level 'MALE' \(did you mean 'male'\?\); known levels are 'male', 'female'",
        ),
        ({"sex": "alien"}, "where: column 'sex': unknown level 'alien'; known levels are"),
        ({"sex": 1}, "where: column 'sex': unknown level 1; known levels are"),
    ],
)
def test_what_a_column_of_the_model_never_holds_is_refused(where: Any, told: str) -> None:
    with pytest.raises(SchemaError, match=told):
        matching_rows(heart_project(), where)


def test_values_that_no_row_happens_to_have_are_no_mistake() -> None:
    project = named_by("patient")
    declared = FeatureSettings(kind="categorical", levels=("male", "female", "other"))
    project.settings.features["sex"] = declared
    for where in ({"age": 99}, {"age": "99"}, {"id": "C9999"}, {"diagnosis": "unclear"}, {"sex": "other"}):
        assert matching_rows(project, where) == []
    assert matching_rows(project, {"age": None}) == []


def test_id_is_unknown_where_no_column_names_the_rows() -> None:
    with pytest.raises(SchemaError, match="where: unknown column 'id'"):
        matching_rows(heart_project(), {"id": "C0017"})


def test_every_word_of_a_search_is_in_some_cell() -> None:
    project = heart_project()
    table = project.table
    wanted = [
        number
        for number in matching_rows(project, {"sex": "female"})
        if any("62" in str(cell) for cell in table.iloc[number])
    ]
    assert set(matching_rows(project, {"sex": "female", "age": 62})) < set(wanted)
    assert matching_rows(project, {}, "  62 FEMALE ") == matching_rows(project, {}, "female 62") == wanted
    assert matching_rows(project, {}, "female 62 nowhere") == []

"""Rows of a project's data, found by what they hold."""

from dataclasses import replace

import pytest

from ssba.apps.project.heart import heart_project
from ssba.apps.project.opened import OpenedProject
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

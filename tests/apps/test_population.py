"""Strips of the data: every known cell is in one bin, of the group that the model puts its row in."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.apps.projects import PATIENT, heart, loans
from tests.support import every

from ssba.apps.page_requests import PopulationReply
from ssba.apps.project.opened import OpenedProject
from ssba.apps.project.settings import ProjectSettings
from ssba.apps.service import Service


@pytest.fixture(scope="module")
def found() -> PopulationReply:
    return Service(heart()).population()


def test_groups_are_the_predicted_classes_the_target_last(found: PopulationReply) -> None:
    assert [(one.name, one.reached) for one in found.groups] == [("disease", False), ("no disease", True)]


def test_every_known_cell_is_counted_once_in_the_group_of_its_row(found: PopulationReply) -> None:
    table = heart().rows
    said = Counter(heart().model.predict(table))
    for strip in found.strips:
        known = table[strip.name].notna().to_numpy()
        assert np.sum(strip.counts) == known.sum()
    whole = next(one for one in found.strips if one.name == "age")
    assert [sum(one) for one in whole.counts] == [said["disease"], said["no disease"]]


def test_levels_have_a_bin_each_and_few_whole_numbers_too(found: PopulationReply) -> None:
    strips = {one.name: one for one in found.strips}
    sex = Counter(heart().rows["sex"])
    assert [sum(both) for both in zip(*strips["sex"].counts, strict=True)] == [sex["female"], sex["male"]]
    assert strips["sex"].low is None
    vessels = Counter(heart().rows["ca"].dropna())
    assert (strips["ca"].low, strips["ca"].high) == (-0.5, 3.5)
    assert [sum(both) for both in zip(*strips["ca"].counts, strict=True)] == [vessels[n] for n in range(4)]


def test_typical_values_rules_and_the_row_to_begin_with(found: PopulationReply) -> None:
    typical = {one.name: one.typical for one in found.strips}
    assert typical["sex"] == "male"
    assert typical["age"] == heart().rows["age"].sort_values().iloc[len(heart().rows) // 2]
    assert [one.text for one in found.rules] == list(heart().settings.constraints)
    assert every(len(one.columns) == 1 for one in found.rules)
    assert found.example == PATIENT
    first = Service(loans()).population().example
    assert first == int(np.argmin(loans().model.predict(loans().rows)))


def numbers(model: Any, **settings: Any) -> OpenedProject:
    table = pd.DataFrame({"a": np.arange(50), "day": pd.date_range("2024-01-01", periods=50), "same": 1.5})
    return OpenedProject(ProjectSettings(model="m", data="d", **settings), Path(), table, model)


def test_of_a_number_there_is_the_target_and_the_rest() -> None:
    project = numbers(lambda rows: rows["a"].to_numpy() * 1.0, target="value:10..20")
    with pytest.warns(match="same"):
        found = Service(project).population()
    assert [(one.name, one.reached) for one in found.groups] == [("", False), ("", True)]
    assert [sum(one) for one in found.strips[0].counts] == [39, 11]


def test_of_many_classes_as_well_and_dates_are_in_days() -> None:
    project = numbers(lambda rows: (rows["a"] // 10).to_numpy(), target=2)
    with pytest.warns(match="same"):
        found = Service(project).population()
    assert [one.reached for one in found.groups] == [False, True]
    assert [sum(one) for one in found.strips[0].counts] == [40, 10]
    _, day, same = found.strips
    assert (day.low, day.high) == (19_723.0, 19_772.0)
    assert day.typical == "2024-01-26"
    assert same.counts == ((40,), (10,))


def test_where_any_other_class_is_the_target_no_group_is() -> None:
    project = replace(loans(), settings=loans().settings.model_copy(update={"target": None}))
    found = Service(project).population()
    assert [(one.name, one.reached) for one in found.groups] == [("granted", False), ("refused", False)]

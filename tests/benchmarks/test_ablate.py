"""`python -m benchmarks.ablate`: variants are in force only while they are, and figures say what changed."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.ablate.__main__ import main
from benchmarks.ablate.measuring import Found, Table, chosen, measure
from benchmarks.ablate.report import as_markdown, as_text, change
from benchmarks.ablate.variants import Variant, moves, scaled, setting_names, settings, value_of
from benchmarks.nearest.limits import Limits
from benchmarks.nearest.plans import build
from tests.support import every

from ssba.search import nearest
from ssba.search.settings import SETTINGS, Look


def test_each_move_but_the_first_is_left_out_once() -> None:
    assert [one.without for one in moves()] == [move.name for move in nearest.MOVES[1:]]


def test_a_move_is_left_out_only_meanwhile() -> None:
    before = nearest.MOVES
    with Variant(without="descent").in_force():
        assert [move.name for move in before if move not in nearest.MOVES] == ["descent"]
    assert nearest.MOVES is before


def test_a_setting_is_changed_only_meanwhile() -> None:
    before = SETTINGS.race.sections
    with Variant(setting="race.sections", value=99).in_force():
        assert SETTINGS.race.sections == 99
    assert before == SETTINGS.race.sections


def test_every_number_is_halved_and_doubled() -> None:
    names = setting_names()
    assert len(names) == sum(len(fields(getattr(SETTINGS, one.name))) for one in fields(SETTINGS))
    assert [one.setting for one in settings()] == [name for name in names for _ in range(2)]
    assert every(
        one.value != value_of(str(one.setting)) for one in settings() if value_of(str(one.setting)) != 1
    )
    assert {str(one.setting).split(".")[0] for one in settings("race.")} == {"race"}


@pytest.mark.parametrize(
    ("value", "half", "double"),
    [
        (8, 4, 16),
        (1, 1, 2),
        (0.5, 0.25, 1.0),
        (0.98, 0.96, 0.99),
        ((2, 0.5), (1, 0.25), (4, 1.0)),
        (Look(0.1, 2.0, 4), Look(0.05, 1.0, 2), Look(0.2, 4.0, 8)),
    ],
)
def test_numbers_are_scaled_each_in_its_way(value: Any, half: Any, double: Any) -> None:
    assert repr(scaled(value, 0.5)) == repr(half) or scaled(value, 0.5) == pytest.approx(half)
    assert repr(scaled(value, 2.0)) == repr(double) or scaled(value, 2.0) == pytest.approx(double)


BASE: Table = {("case", "labels"): Found((1.0, 1.1), (100, 200)), ("case", "scores"): Found((1.0,), (50,))}
WORSE: Table = {("case", "labels"): Found((1.1, np.inf), (90, 180)), ("case", "scores"): Found((1.0,), (50,))}


def test_a_missed_query_counts_as_twice_as_far() -> None:
    farther, dearer = change(BASE["case", "labels"], WORSE["case", "labels"])
    assert (farther, dearer) == pytest.approx((0.55, -0.1))


def test_the_table_names_the_cases_that_change() -> None:
    told = as_markdown(BASE, {Variant(without="descent"): WORSE})
    assert "| without descent | +27.50% | -5.0% | 1 of 2 |" in told
    assert "| without descent | case | labels | 1.0500 → 1.1000, 1 missed | 150 → 135 |" in told
    assert "| without descent | case | scores |" not in told
    assert "case labels +55.00%" in as_text(Variant(without="descent"), BASE, WORSE)


def test_a_case_is_measured_as_its_golden_answers_are() -> None:
    case, limits = build("synthetic-20-mlp"), Limits()
    which = chosen(case, limits, "second", 2)
    if not which:
        pytest.skip("other versions of the libraries train this model differently")
    found = measure(case, "scores", which, limits)
    assert every(0.999 <= one <= 1.2 for one in found.over_limit)
    with Variant(without="descent").in_force():
        assert measure(case, "scores", which, limits).distance > 1.2 * found.distance


def test_the_command_prints_and_keeps_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "SETTINGS.md"
    given = ["settings", "--only", "race.sections", "--cases", "synthetic-20-logistic", "--queries", "1"]
    assert main([*given, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "race.sections = 4" in said
    assert "race.sections = 14" in said
    assert out.read_text(encoding="utf-8").startswith("# What each of the settings is good for")

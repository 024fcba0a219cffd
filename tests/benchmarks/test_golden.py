"""The kept answers of `python -m benchmarks.golden`: some are asked anew here, `check` compares them all."""

from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.golden.asking import answers, numbers, ways
from benchmarks.golden.comparing import Comparison, compare, figures
from benchmarks.golden.laws import LAWS
from benchmarks.golden.report import as_markdown, laws_as_markdown
from benchmarks.golden.table import Answer, read, write
from benchmarks.nearest.limits import BEATEN, Limits
from benchmarks.nearest.plans import NAMES, build
from tests.support import every

ASKED_ANEW = {"synthetic-20-mlp": 4, "cancer-histgb": 4, "heart-mixed": 2}
"""A smooth case, one of trees and a mixed one, none of which needs a folder of data; queries of each."""


@pytest.mark.parametrize("name", ASKED_ANEW)
@pytest.mark.parametrize("by", ["labels", "scores"])
def test_answers_are_as_near_as_the_kept_ones_and_as_cheap(name: str, by: str) -> None:
    case, limits = build(name), Limits()
    which = numbers(case, limits, ASKED_ANEW[name])
    if not which:
        pytest.skip("other versions of the libraries train this model differently")
    (way,) = (one for one in ways(name) if one.name == by)
    (compared,) = compare(read(), answers(case, [way], which, limits))
    assert len(compared.now) == ASKED_ANEW[name]
    assert compared.faults == [], compared.text


def test_a_case_that_is_kept_is_kept_in_every_way() -> None:
    kept = {(one.case, one.way) for one in read().values()}
    assert kept == {(name, way.name) for name in {case for case, _ in kept} for way in ways(name)}
    assert every(name in NAMES for name, _ in kept)


def test_no_kept_answer_is_nearer_than_its_limit() -> None:
    ratios = [one.over_limit for one in read().values() if one.over_limit is not None]
    assert every(ratio >= 1 - BEATEN for ratio in ratios)


def test_both_halves_of_every_case_are_kept() -> None:
    halves = {(one.case, one.half) for one in read().values()}
    assert halves == {(name, half) for name in {case for case, _ in halves} for half in ("first", "second")}


def one(query: int = 1, **changes: object) -> Answer:
    made = Answer("case", "labels", query, "model", "found", 2.0, 1.0, "proved", 100, 10)
    return replace(made, **changes)  # type: ignore[arg-type]


MISSED = one(status="bounded", distance=None, over_limit=None)


class TestComparing:
    def test_nothing_is_said_where_nothing_is_worse(self) -> None:
        compared = Comparison("case by labels", [one()], [one(distance=2.01, over_limit=1.005, rows=129)])
        assert compared.faults == compared.worse == []

    def test_a_query_that_is_missed(self) -> None:
        compared = Comparison("case by labels", [one()], [MISSED])
        assert compared.faults == ["a query that was answered is missed"]
        assert compared.worse == ["1 (1.000 to missed)"]

    def test_a_miss_that_is_known_is_no_fault(self) -> None:
        assert Comparison("case by labels", [one(2), MISSED], [one(2), MISSED]).faults == []

    def test_a_mean_that_is_farther(self) -> None:
        compared = Comparison("case by labels", [one()], [one(distance=2.1, over_limit=1.05)])
        assert compared.faults == ["the mean distance over the limit was 1.0000 and is 1.0500"]
        assert compared.worse == ["1 (1.000 to 1.050)"]

    def test_one_query_that_is_farther_is_named_though_the_mean_is_not(self) -> None:
        kept = [one(i) for i in range(10)]
        now = [*kept[:9], one(9, distance=2.1, over_limit=1.05)]
        compared = Comparison("case by labels", kept, now)
        assert (compared.faults, compared.worse) == ([], ["9 (1.000 to 1.050)"])

    def test_rows_that_grew(self) -> None:
        compared = Comparison("case by labels", [one()], [one(rows=131)])
        assert compared.faults == ["the mean of rows was 100 and is 131"]

    def test_the_kept_distance_is_held_against_the_limit_of_now(self) -> None:
        (compared,) = compare({one().key: one()}, [one(over_limit=1.25)])
        assert (compared.kept[0].over_limit, compared.faults) == (1.25, [])

    def test_what_was_not_kept_or_is_of_another_model_is_left_out(self) -> None:
        kept = {one(1).key: one(1), one(2).key: one(2, model="trained elsewhere")}
        (compared,) = compare(kept, [one(1), one(2), one(3)])
        assert [found.query for found in compared.now] == [1]

    def test_figures_leave_misses_out_of_distances_but_count_them(self) -> None:
        told = figures([one(over_limit=1.2), one(3, over_limit=1.0), MISSED])
        assert (told.queries, told.missed, told.mean, told.worst) == (3, 1, 1.1, 1.2)


class TestLaws:
    def test_labels_with_a_nearer_answer_break_one(self) -> None:
        law = LAWS[0]
        assert law.broken([one(), one(way="scores", distance=2.1)]) == [one(way="scores", distance=2.1)]

    def test_a_query_that_only_scores_miss_breaks_it(self) -> None:
        missed = replace(MISSED, way="scores")
        assert LAWS[0].broken([one(), missed]) == [missed]

    def test_about_the_same_distance_breaks_none(self) -> None:
        assert LAWS[0].broken([one(), one(way="scores", distance=2.015)]) == []

    def test_answers_that_were_not_asked_in_both_ways_are_not_compared(self) -> None:
        assert LAWS[0].compared([one(), one(2, way="scores")]) == []


def test_a_table_survives_the_way_to_a_file_and_back(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    write([one(), replace(MISSED, query=2)], path)
    assert list(read(path).values()) == [one(), replace(MISSED, query=2)]
    assert read(tmp_path / "none.csv") == {}


def test_a_report_is_about_the_second_half() -> None:
    told = [
        one(0, over_limit=9.0),
        one(1, over_limit=1.5, distance=3.0),
        one(3),
        replace(MISSED, query=5),
        one(1, way="scores", limit="best known", distance=4.0),
    ]
    line = as_markdown(told).splitlines()[-1]
    assert line == "| case | 3 | proved | 1.250 (1.50), 1 missed | 100 | 10 | 1.000 (1.00) | 100 | 10 |"
    assert "| 1 | 1 | case: 1 |" in laws_as_markdown(told).splitlines()[2]

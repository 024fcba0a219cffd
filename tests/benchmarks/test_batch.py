"""The harness of `python -m benchmarks.batch`: what it counts, draws, compares and prints."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.batch import __main__ as batch
from benchmarks.batch import dice, measures, runs, sources
from benchmarks.batch.figures import FIGURES
from benchmarks.batch.measures import Measured, Setup
from benchmarks.batch.meter import Meter
from benchmarks.batch.problems import Problem
from benchmarks.batch.reporting import as_json, as_line
from benchmarks.batch.runs import Row, Task, measured
from benchmarks.nearest.cases import Case, Column, Rules
from benchmarks.nearest.running import one_thread
from tests.support import every


class Desk:
    """Class 1 for 100 or more of age and hours together at a desk."""

    def predict(self, rows: pd.DataFrame) -> Any:
        return ((rows["age"] + rows["hours"] >= 100) & (rows["job"] == "desk")).to_numpy().astype(int)

    def predict_proba(self, rows: pd.DataFrame) -> Any:
        return np.eye(2)[self.predict(rows)]


@pytest.fixture
def problem() -> Problem:
    data = pd.DataFrame(
        {
            "age": [20, 60, 30, 70],
            "hours": [10.5, 50.0, 60.0, 35.25],
            "job": ["desk", "desk", "field", "desk"],
        }
    )
    columns = (
        Column("age", "whole"),
        Column("hours", "real"),
        Column("job", "category", levels=("desk", "field")),
    )
    return Problem(Case("tiny", Desk(), data, data[:1], 1, columns, Rules(), "made up"), ())


def test_a_meter_counts_calls_and_rows_and_gives_the_models_answer() -> None:
    meter = Meter(lambda rows: rows.sum(axis=1))
    assert meter.predict(np.ones((3, 2))).tolist() == [2, 2, 2]
    meter.predict(np.ones((4, 2)))
    assert (meter.calls, meter.rows) == (2, 7)
    assert meter.cpu >= 0
    meter.reset()
    assert (meter.calls, meter.rows, meter.cpu, meter.wall) == (0, 0, 0, 0)


def test_a_call_that_fails_is_counted_too() -> None:
    def model(rows: Any) -> Any:
        raise ValueError("no")

    meter = Meter(model)
    with pytest.raises(ValueError, match="no"):
        meter.predict(np.ones((3, 2)))
    assert (meter.calls, meter.rows) == (1, 3)


def test_drawn_queries_are_undesired_rows_of_values_that_occur(problem: Problem) -> None:
    drawn = problem.queries(50)
    assert len(drawn) == 50
    assert every(problem.case.labels(drawn) == 0)
    for name in drawn:
        assert set(drawn[name]) <= set(problem.case.data[name])
    pd.testing.assert_frame_equal(drawn, problem.queries(50))
    # More different rows than the data have, so that a batch is no repetition of a few queries.
    assert len(drawn.drop_duplicates()) > len(problem.case.data)


def test_a_worker_has_one_thread_and_the_sources_that_are_measured(tmp_path: Path) -> None:
    variables = one_thread(tmp_path)
    assert variables["OMP_NUM_THREADS"] == "1"
    assert str(tmp_path) in variables["PYTHONPATH"].split(os.pathsep)


def test_both_sources_take_turns_and_medians_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {"now": [1.0, 2.0, 9.0], "base": [20.0, 10.0, 30.0]}
    order = []

    def run(task: Task, where: Path) -> Measured:
        order.append(where.name)
        return Measured({"labels": seconds[where.name].pop(0)})

    monkeypatch.setattr(runs, "_run", run)
    row = measured(Task("logistic", None, 3, None), Path("now"), Path("base"))
    assert order == ["base", "now"] * 3
    assert row.base is not None
    assert (row.now.shown, row.base.shown) == ({"labels": 2.0}, {"labels": 20.0})


def test_peers_are_measured_once_without_the_base(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_run", lambda task, where: Measured({"labels": 1.0}))
    row = measured(Task("dice-toy-svc", None, 1, None), Path("now"), Path("base"))
    assert row.base is None


@pytest.mark.parametrize(("given", "asked"), [(None, 1000), (7, 7), (5000, 1000)])
def test_the_number_of_queries_is_only_ever_lowered(given: int | None, asked: int) -> None:
    assert Task("logistic", given, 1, None).asked == asked


def test_a_relative_figure_shows_its_share_of_the_base() -> None:
    row = Row(
        "logistic", 1000, Measured({"labels": 3.0, "scores": 1.0}), Measured({"labels": 12.0, "scores": 4.0})
    )
    assert "| 12 / 4 | 3 / 1 (0.25 / 0.25 of it) |" in as_line(row)


def test_a_row_without_figures_says_why() -> None:
    row = Row(
        "logistic", 5, Measured({}, note="NoDataError: adult.csv is not there"), Measured({"labels": 12.0})
    )
    assert "| 12 | NoDataError: adult.csv is not there |" in as_line(row)
    assert as_line(replace(row, base=None)).count(" |  | ") == 1


def test_json_holds_every_number_by_figure() -> None:
    row = Row("mlp-20", 10, Measured({"labels": 2.0}, {"labels, calls": 80.0}), None)
    found = json.loads(as_json([row], {"queries": 10, "repeats": 1}))
    assert found["results"]["mlp-20"]["now"]["more"] == {"labels, calls": 80.0}
    assert found["settings"] == {"queries": 10, "repeats": 1}
    assert found["machine"]["base"] == sources.BASE


def test_titles_tell_figures_apart() -> None:
    titles = [figure.title for figure in FIGURES.values()]
    assert len(set(titles)) == len(titles)


def test_a_commit_that_git_does_not_know_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sources, "BASE", "no-such-commit")
    monkeypatch.setattr(sources, "CACHE", tmp_path / "cache")
    with pytest.raises(sources.NoBaseError, match="git archive failed"):
        sources.base_sources()
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_model_is_also_measured_without_a_function_around_it(problem: Problem) -> None:
    alone = measures.seconds_itself(lambda folder: problem)(Setup(queries=2))
    assert 0 < alone.more["seconds, least"] <= alone.shown["seconds"] <= alone.more["seconds, most"]
    batch = measures.itself_over_model(lambda folder: problem)(Setup(queries=3))
    assert batch.shown["ratio"] == pytest.approx(
        batch.more["CPU ms a query"] / batch.more["CPU ms a query inside the model"]
    )
    assert batch.more["calls"] > 0


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[float, float]]:
    """The share solved and the seconds of DiCE's methods, which a test may change."""
    found = {"dice random": (0.8, 0.1), "dice genetic": (0.9, 0.4), "dice kdtree": (1.0, 0.2)}
    monkeypatch.setattr(dice, "_peer", lambda case, limits, method, which, setup: found[method])
    monkeypatch.setattr(
        dice,
        "_ours",
        lambda case, answers, which, setup: {"labels": 0.02, "scores": 0.01, "itself": 0.004}[answers],
    )
    return found


def test_dice_counts_by_its_fastest_method_that_solves_nine_in_ten(
    peers: dict[str, tuple[float, float]],
) -> None:
    told = dice.beside_dice("synthetic-20-logistic")(Setup(queries=100))
    assert told.shown == pytest.approx({"labels": 0.1, "scores": 0.05, "itself": 0.02})
    assert told.note == "of 0.2 s by dice kdtree"
    assert told.more["dice random, solved"] == 0.8


def test_where_no_method_of_dice_solves_nine_in_ten_there_is_no_ratio(
    peers: dict[str, tuple[float, float]],
) -> None:
    peers.update(dict.fromkeys(peers, (0.5, 0.1)))
    told = dice.beside_dice("synthetic-20-logistic")(Setup(queries=100))
    assert (told.shown, told.note) == ({}, "no method of DiCE solves nine in ten")
    assert told.more["labels, CPU seconds"] == 0.02


@pytest.mark.slow
def test_a_worker_that_fails_gives_its_last_line() -> None:
    row = measured(Task("dice-toy-svc", 1, 1, None), Path("src"), None)
    assert row.now.shown == {}
    assert "toy_dataset.csv" in row.now.note


@pytest.mark.slow
def test_a_table_is_printed_and_kept(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    kept = tmp_path / "figures.json"
    batch.main(["--only", "calls-logistic", "--queries", "1", "--no-base", "--json", str(kept)])
    head, *_, calls = capsys.readouterr().out.strip().splitlines()
    assert "cores, one thread; Python" in head
    assert calls.startswith(
        "| model calls one after the other for one query, logistic regression, 20 columns"
    )
    found = json.loads(kept.read_text())["results"]["calls-logistic"]
    assert found["queries"] == 1
    # Scores lead the search in fewer steps.
    assert 0 < found["now"]["shown"]["scores"] < found["now"]["shown"]["labels"]

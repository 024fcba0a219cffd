"""The harness of `python -m benchmarks.nearest`: what it counts, what it keeps, what it stops."""

import argparse
import subprocess
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.nearest import __main__ as nearest
from benchmarks.nearest import methods, running
from benchmarks.nearest.cases import Case, Column, Rules
from benchmarks.nearest.counting import count_rows
from benchmarks.nearest.limit_grid import enumerate_rows
from benchmarks.nearest.limit_smooth import descend, halfspace
from benchmarks.nearest.limits import LimitBeatenError, Limits, chosen
from benchmarks.nearest.measuring import check, figures, lower_limits
from benchmarks.nearest.plans import build
from benchmarks.nearest.reporting import as_markdown
from benchmarks.nearest.running import Answer, Task
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC


class Threshold:
    """Class 1 where age + hours is 100 or more and the job is "desk"."""

    def predict(self, rows: pd.DataFrame) -> Any:
        return ((rows["age"] + rows["hours"] >= 100) & (rows["job"] == "desk")).to_numpy().astype(int)

    def predict_proba(self, rows: pd.DataFrame) -> Any:
        return np.eye(2)[self.predict(rows)]


def frame(*rows: tuple[int, float, str]) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=["age", "hours", "job"])


@pytest.fixture
def case() -> Case:
    data = frame((20, 10.0, "desk"), (60, 50.0, "desk"), (30, 60.0, "field"))
    columns = (
        Column("age", "whole"),
        Column("hours", "real"),
        Column("job", "category", levels=("desk", "field")),
    )
    queries = frame((40, 50.0, "desk"), (20, 10.0, "desk"), (60, 50.0, "field"))
    return Case("tiny", Threshold(), data, queries, 1, columns, Rules(free=("age", "hours")), "made up")


@pytest.fixture
def limits(tmp_path: Path) -> Limits:
    return Limits(tmp_path / "limits.json")


def answer(query: int, *rows: tuple[float, float, float]) -> Answer:
    return Answer(query, [list(row) for row in rows], seconds=2.0, cpu=1.0, rows=10)


def linear_case(seed: int, target: int = 1) -> Case:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 4))
    model = LogisticRegression().fit(X, X @ rng.normal(size=4) + 0.3 * rng.normal(size=80) > 0)
    queries = X[model.predict(X) != target][:3]
    columns = tuple(Column(f"x{j}", "real") for j in range(4))
    return Case("linear", model, X, queries, target, columns, Rules(), "made up")


def test_rows_survive_the_way_to_a_matrix_and_back(case: Case) -> None:
    pd.testing.assert_frame_equal(case.rows(case.matrix(case.data)), case.data)


@pytest.mark.parametrize(
    ("row", "broken"),
    [
        ((45.0, 55.0, 0.0), False),
        ((45.5, 55.0, 0.0), True),
        ((61.0, 55.0, 0.0), True),
        ((45.0, 9.0, 0.0), True),
        ((45.0, 55.0, 1.0), True),
        ((45.0, np.nan, 0.0), True),
    ],
    ids=["legal", "not whole", "above", "below", "fixed column changed", "missing"],
)
def test_a_row_that_breaks_a_rule_is_a_violation(case: Case, row: tuple[float, ...], broken: bool) -> None:
    assert case.violates(np.array([row]), [0]).tolist() == [broken]


def test_a_changed_category_counts_one(case: Case) -> None:
    assert case.distance(case.X[0], np.array([43.0, 54.0, 1.0])) == pytest.approx(np.sqrt(9 + 16 + 1))


def test_planted_bad_answers_are_found_and_do_not_count_as_solved(case: Case, limits: Limits) -> None:
    limits.put(case, 0, "l2", np.array([45.0, 55.0, 0.0]), "by hand", proved=False)
    limits.put(case, 1, "l2", np.array([55.0, 45.0, 0.0]), "by hand", proved=False)
    answers = [
        answer(0, (41.0, 51.0, 0.0), (45.0, 57.0, 0.0)),  # does not reach; good
        answer(1, (90.0, 10.0, 0.0), (20.0, 10.0, 9.0)),  # out of bounds; no such category
    ]
    told = figures(case, limits, [check(case, one) for one in answers], answers)
    assert (told["offered"], told["invalid"], told["violations"]) == (4, 2, 2)
    assert told["solved"] == 0.5
    assert told["l2 mean"] == pytest.approx(np.hypot(5, 7) / np.hypot(5, 5))
    assert (told["l0"], told["rows"], told["cpu"]) == (2, 10, 1.0)


def test_no_answer_at_all_has_no_ratio(case: Case, limits: Limits) -> None:
    limits.put(case, 0, "l2", np.array([45.0, 55.0, 0.0]), "by hand", proved=False)
    told = figures(case, limits, [check(case, answer(0))], [answer(0)])
    assert (told["solved"], told["l2 mean"], told["offered"]) == (0.0, None, 0)


def test_limits_are_only_lowered(case: Case, limits: Limits) -> None:
    limits.put(case, 0, "l2", np.array([45.0, 56.0, 0.0]), "first", proved=False)
    assert not limits.lower(case, 0, "l2", np.array([50.0, 60.0, 0.0]), "farther")
    assert not limits.lower(case, 0, "l2", np.array([41.0, 51.0, 0.0]), "does not reach")
    assert not limits.lower(case, 0, "l2", np.array([44.5, 55.5, 0.0]), "not whole")
    assert limits.lower(case, 0, "l2", np.array([45.0, 55.0, 0.0]), "nearer")
    kept = limits.get(case, 0)
    assert kept is not None
    assert kept.how == "nearer"
    assert kept.distance == pytest.approx(np.hypot(5, 5))


def test_answers_of_a_run_lower_the_limits(case: Case, limits: Limits) -> None:
    limits.put(case, 0, "l2", np.array([45.0, 57.0, 0.0]), "first", proved=False)
    found = check(case, answer(0, (41.0, 51.0, 0.0), (45.0, 55.0, 0.0)))
    assert lower_limits(case, limits, [found], "some method") == (1, [])
    kept = limits.get(case, 0)
    assert kept is not None
    assert kept.how == "best seen, some method"


def test_a_proved_limit_that_is_beaten_is_a_fault(case: Case, limits: Limits) -> None:
    limits.put(case, 0, "l2", np.array([45.0, 57.0, 0.0]), "wrong proof", proved=True)
    with pytest.raises(LimitBeatenError, match="wrong proof"):
        limits.lower(case, 0, "l2", np.array([45.0, 55.0, 0.0]), "some method")
    found = check(case, answer(0, (45.0, 55.0, 0.0)))
    lowered, faults = lower_limits(case, limits, [found], "some method")
    assert lowered == 0
    assert len(faults) == 1


def test_a_proof_of_something_farther_than_is_known_is_a_fault(case: Case, limits: Limits) -> None:
    limits.put(case, 0, "l2", np.array([45.0, 55.0, 0.0]), "seen", proved=False)
    with pytest.raises(LimitBeatenError, match="is known"):
        limits.put(case, 0, "l2", np.array([45.0, 57.0, 0.0]), "wrong proof", proved=True)
    with pytest.raises(LimitBeatenError, match="a row is known"):
        limits.put(case, 0, "l2", None, "wrong proof", proved=True)


def test_saved_limits_keep_the_better_of_two_processes(case: Case, limits: Limits) -> None:
    other = Limits(limits.path)
    limits.put(case, 0, "l2", np.array([45.0, 55.0, 0.0]), "nearer", proved=False)
    other.put(case, 0, "l2", np.array([45.0, 57.0, 0.0]), "farther", proved=False)
    other.put(case, 1, "l2", None, "enumeration", proved=True)
    limits.save()
    other.save()
    read = Limits(limits.path)
    first, second = read.get(case, 0), read.get(case, 1)
    assert first is not None
    assert second is not None
    assert (first.how, first.row) == ("nearer", (45.0, 55.0, 0.0))
    assert not second.reachable
    assert chosen(case, read, 2).tolist() == [0, 2]


def test_limits_of_another_model_are_not_used(limits: Limits) -> None:
    one = linear_case(0)
    limits.put(one, 0, "l2", halfspace(one, 0), "closed form", proved=True)
    retrained = replace(one, model=LogisticRegression(C=0.01).fit(one.data, one.model.predict(one.data)))
    assert limits.get(one, 0) is not None
    assert limits.get(retrained, 0) is None


@pytest.mark.parametrize("target", [0, 1])
def test_the_limit_of_a_linear_model_is_its_distance_from_the_plane(target: int) -> None:
    one = linear_case(1, target)
    for i, x in enumerate(one.X):
        row = halfspace(one, i)
        assert row is not None
        distance = abs(one.model.decision_function([x])[0]) / np.linalg.norm(one.model.coef_)
        # the plane's nearest point lies within the data's range for these queries
        assert one.distance(x, row) == pytest.approx(distance, rel=1e-6)
        assert not one.violates(row[None], [i])[0]


def test_branch_and_bound_agrees_with_asking_all_rows() -> None:
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.integers(0, 12, size=(120, 3)), columns=["a", "b", "c"])
    model = LogisticRegression().fit(X, X["a"] + 2 * X["b"] - X["c"] > 11)
    columns = tuple(Column(name, "whole") for name in ("a", "b", "c"))
    queries = X[model.predict(X) == 0].head(8)
    one = Case("whole", model, X, queries, 1, columns, Rules(), "made up")
    for i in range(len(queries)):
        exact, found = enumerate_rows(one, i), halfspace(one, i)
        assert exact is not None
        assert found is not None
        assert one.distance(one.X[i], found) == pytest.approx(float(one.distance(one.X[i], exact)))


def test_descents_reach_the_limit_of_a_ball() -> None:
    # the RBF machine of one blob: by symmetry the nearest way out is about straight away from its middle
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 0.3, (60, 2)), rng.uniform(-4, 4, (240, 2))])
    model = SVC().fit(X, np.linalg.norm(X, axis=1) > 1)
    columns = tuple(Column(f"x{j}", "real") for j in range(2))
    one = Case("ball", model, X, X[model.predict(X) == 0][:2], 1, columns, Rules(), "made up")
    angles = np.linspace(0, 2 * np.pi, 2001)
    for i, x in enumerate(one.X):
        found = descend(one, i, np.zeros((0, 2)))
        assert found is not None
        radius = one.distance(x, found) * 0.999
        ring = x + radius * np.column_stack([np.cos(angles), np.sin(angles)])
        assert (one.labels(ring) == 0).all()
        assert one.reaches(found[None], [i])[0]


@pytest.mark.parametrize(
    "model",
    [RandomForestClassifier(9, max_depth=4, random_state=0), HistGradientBoostingClassifier(max_iter=12)],
    ids=["forest", "boosting"],
)
@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_the_solver_finds_the_nearest_cell_of_an_ensemble(model: Any, norm: Any) -> None:
    pytest.importorskip("ortools")
    from benchmarks.nearest.limit_trees import nearest_cell
    from benchmarks.nearest.whitebox import ensemble

    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(200, 2)), 2)
    model.fit(X, (X[:, 0] * X[:, 1] > 0.2).astype(int))
    columns = tuple(Column(f"x{j}", "real") for j in range(2))
    one = Case("cells", model, X, X[model.predict(X) == 0][:4], 1, columns, Rules(), "made up")
    known = X[model.predict(X) == 1]
    measure = one.distance if norm == "l2" else one.distance_l1
    grid = _cells(one, ensemble(one))
    inside = grid[one.labels(grid) == 1]
    for i, x in enumerate(one.X):
        row, proved = nearest_cell(one, i, norm, known[np.argmin(measure(x, known))], seconds=20)
        assert proved
        assert row is not None
        assert one.reaches(row[None], [i])[0]
        # a grid cell's corner nearest to x, rounded outward by the grid's tiny step
        nearest_corner = measure(x, _pulled(one, x, inside)).min()
        assert measure(x, row) == pytest.approx(nearest_corner, abs=1e-4)


def _cells(one: Case, opened: Any) -> Any:
    """A row just on each side of every split, in all combinations."""
    per_column = []
    for j in range(2):
        splits = {t for tree in opened.trees for leaf in tree for column, t, _ in leaf.path if column == j}
        sides = sorted({t + side for t in splits for side in (-1e-5, 1e-5)} | set(one.X[:, j]))
        low, high = one.low[0, j], one.high[0, j]
        per_column.append([value for value in sides if low <= value <= high])
    return np.array(list(product(*per_column)))


def _pulled(one: Case, x: Any, rows: Any) -> Any:
    """The rows with each cell put back to the query's where the model does not mind."""
    pulled = rows.copy()
    for j in range(rows.shape[1]):
        back = pulled.copy()
        back[:, j] = x[j]
        fine = one.labels(back) == 1
        pulled[fine] = back[fine]
    return np.concatenate([rows, pulled])


def test_rows_are_counted_once_where_a_model_asks_itself() -> None:
    model = RandomForestClassifier(5, random_state=0).fit(np.eye(4), [0, 1, 0, 1])
    counter = count_rows(model)
    model.predict(np.eye(4))
    model.predict_proba(np.eye(4)[:3])
    assert (counter.rows, counter.calls) == (7, 2)
    assert isinstance(model, RandomForestClassifier)


def test_a_worker_that_hangs_is_stopped_and_its_lines_kept(tmp_path: Path) -> None:
    out = tmp_path / "lines"
    script = f"""
import time
with open({str(out)!r}, "w", buffering=1) as lines:
    lines.write('{{"status": "ready"}}\\n{{"query": 0}}\\n')
    time.sleep(600)
"""
    process = subprocess.Popen([sys.executable, "-c", script])
    told = running._watched(process, out, wait=0.5, first_wait=0.5)
    assert told == [{"status": "ready"}, {"query": 0}]
    assert process.poll() is not None


def test_a_peer_without_its_environment_is_reported_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = replace(methods.ENTRIES["nice"], environment="that-nobody-made")
    monkeypatch.setitem(methods.ENTRIES, "nice", entry)
    assert running.run(Task("synthetic-20-logistic", "nice", [0], None, 5.0)).status == "not installed"


def test_a_method_that_cannot_be_used_says_so() -> None:
    outcome = running.run(Task("heart-mixed", "growing spheres", [0], None, 30.0))
    assert (outcome.status, outcome.why) == ("not applicable", "spheres know numbers only")


def test_a_case_goes_through_from_end_to_end(limits: Limits) -> None:
    one = build("synthetic-20-logistic")
    for i in range(2):
        limits.put(one, i, "l2", halfspace(one, i), "closed form", proved=True)
    wished = argparse.Namespace(queries=2, batch=0, data=None, budget_seconds=60.0, reuse_peers=False)
    lines = nearest.measured(one, ["ssba labels", "growing spheres"], limits, wished)
    assert [line.status for line in lines] == ["ready", "ready"]
    for line in lines:
        told = line.figures
        assert (told["queries"], told["invalid"], told["violations"]) == (2, 0, 0)
        assert told["l2 mean"] >= 1 - 1e-6
        assert told["rows"] > 0
    assert "| ssba labels | 2 | 100% | 0 | 0 |" in as_markdown(lines, {"queries": 2, "budget_seconds": 60.0})

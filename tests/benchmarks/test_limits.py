"""What the limits of `benchmarks.nearest` are made of, held against brute force and models' own scores."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.nearest.cases import Case, Column, Rules
from benchmarks.nearest.limit_grid import enumerate_cells, enumerate_rows
from benchmarks.nearest.limit_local import pull_in, put_back
from benchmarks.nearest.limit_trees import nearest_cell
from benchmarks.nearest.limits import solver
from benchmarks.nearest.plans import NAMES
from benchmarks.nearest.whitebox import _margin_at, duels, ensemble
from scipy.special import logit
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from tests.support import every

pytest.importorskip("ortools")


def lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=10, n_jobs=1, verbose=-1)


def xgboost() -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=10, n_jobs=1)


def catboost() -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(iterations=10, thread_count=1, verbose=False, allow_writing_files=False)


MODELS = {
    "forest": lambda: RandomForestClassifier(10, random_state=0),
    "gradient boosting": lambda: GradientBoostingClassifier(n_estimators=10, random_state=0),
    "lightgbm": lightgbm,
    "xgboost": xgboost,
    "catboost": catboost,
}


def whole_case(model: Any) -> Case:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.integers(0, 12, size=(300, 3)), columns=["a", "b", "c"])
    model.fit(rows, (rows["a"] * rows["b"] - 3 * rows["c"] > 8).astype(int))
    columns = tuple(Column(name, "whole", scale) for name, scale in zip("abc", (1.0, 3.0, 0.5), strict=True))
    queries = rows[model.predict(rows) == 0].head(6)
    return Case("whole", model, rows, queries, 1, columns, Rules(free=("a", "b")), "made up")


@pytest.mark.parametrize("name", MODELS)
def test_the_solver_finds_the_nearest_row_of_whole_numbers(name: str) -> None:
    case = whole_case(MODELS[name]())
    for i, x in enumerate(case.X):
        exact = enumerate_rows(case, i)
        found, proved = nearest_cell(case, i, "l2", None, seconds=20)
        assert proved
        assert (found is None) == (exact is None)
        if exact is not None and found is not None:
            assert case.distance(x, found) == pytest.approx(float(case.distance(x, exact)))
            assert case.reaches(found[None], [i])[0]
            assert not case.violates(found[None], [i])[0]


def test_a_tie_of_a_forest_is_won_by_class_0() -> None:
    rng = np.random.default_rng(1)
    rows = pd.DataFrame(rng.integers(0, 8, size=(200, 2)), columns=["a", "b"])
    noisy = rows["a"] + rows["b"] + rng.normal(size=200) * 3 > 7
    model = RandomForestClassifier(2, random_state=0).fit(rows, noisy.astype(int))
    columns = (Column("a", "whole"), Column("b", "whole"))
    queries = rows[model.predict(rows) == 1].head(30)
    case = Case("ties", model, rows, queries, 0, columns, Rules(), "made up")
    tied = 0
    for i, x in enumerate(case.X):
        exact = enumerate_rows(case, i)
        found, proved = nearest_cell(case, i, "l2", None, seconds=20)
        assert proved
        assert exact is not None
        assert found is not None
        assert case.distance(x, found) == pytest.approx(float(case.distance(x, exact)))
        tied += bool(case.scores(case.rows(found[None]))[0, 0] == 0.5)
    assert tied > 0


@pytest.mark.parametrize("name", [name for name in MODELS if name != "forest"])
def test_leaves_add_up_to_the_score_of_the_model(name: str) -> None:
    case = whole_case(MODELS[name]())
    opened = ensemble(case)
    margins = [_margin_at(opened.trees, z) + opened.constant for z in case.background[:20]]
    assert margins == pytest.approx(logit(case.scores(case.data[:20])[:, 1]), rel=1e-4)


def test_cells_of_a_forest_hold_the_nearest_row_of_a_fine_grid() -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"kind": rng.choice(["p", "q"], 400), "a": rng.normal(size=400)})
    rows["b"] = rng.normal(size=400) * 3
    encode = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["kind"]), (StandardScaler(), ["a", "b"])
    )
    model = make_pipeline(encode, RandomForestClassifier(10, max_depth=4, random_state=0))
    model.fit(rows, (rows["a"] * rows["b"] > 1).astype(int))
    columns = (
        Column("kind", "category", levels=("p", "q")),
        Column("a", "real"),
        Column("b", "real", scale=3.0),
    )
    queries = rows[model.predict(rows) == 0].head(4).reset_index(drop=True)
    case = Case("cells", model, rows, queries, 1, columns, Rules(free=("a", "b")), "made up")
    for i, x in enumerate(case.X):
        found = enumerate_cells(case, i)
        assert found is not None
        assert case.reaches(found[None], [i])[0]
        steps = [np.linspace(case.low[i][j], case.high[i][j], 301) for j in (1, 2)]
        grid = np.repeat(x[None], 301 * 301, axis=0)
        grid[:, 1:] = np.stack(np.meshgrid(*steps), axis=-1).reshape(-1, 2)
        nearest = case.distance(x, grid[case.labels(case.rows(grid)) == 1]).min()
        # cells may be thinner than the grid, never coarser
        assert case.distance(x, found) <= nearest


def machine_case() -> Case:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    labels = np.argmax(X @ np.array([[1.0, -1.0, 0.0], [0.3, 0.3, -1.0]]), axis=1)
    model = SVC().fit(X, labels)
    columns = tuple(Column(name, "real") for name in ("x0", "x1"))
    return Case("machine", model, X, X[:9], None, columns, Rules(), "made up")


def test_duels_are_those_of_the_vector_machine() -> None:
    case = machine_case()
    shown = SVC(decision_function_shape="ovo").fit(case.data, case.model.predict(case.data))
    model = replace(case, model=shown)
    signs = {0: (-1, -1, 0), 1: (1, 0, -1), 2: (0, 1, 1)}
    for i, x in enumerate(model.X):
        duel = shown.decision_function(x[None])[0]
        expected = [s * one for s, one in zip(signs[int(model.own_labels[i])], duel, strict=True) if s]
        assert [one.value(x) for one in duels(model, i)] == pytest.approx(expected)


def test_any_class_but_the_query_s_own_is_reached() -> None:
    case = machine_case()
    assert not case.reaches(case.X, range(9)).any()
    other = next(j for j in range(9) if case.own_labels[j] != case.own_labels[0])
    assert case.reaches(case.X[[other]], [0])[0]
    with pytest.raises(TypeError, match="any class but the query's own"):
        _ = case.one_target


def test_local_searches_end_at_the_nearest_row_where_that_is_simple() -> None:
    case = whole_case(GradientBoostingClassifier(n_estimators=10, random_state=0))
    exact = [enumerate_rows(case, i) for i in range(len(case.X))]
    found = [pull_in(case, i, np.zeros((0, 3))) for i in range(len(case.X))]
    lengths = [
        (case.distance(x, near), case.distance(x, best))
        for x, near, best in zip(case.X, found, exact, strict=True)
        if near is not None and best is not None
    ]
    # two free columns: a move of both reaches every row, but for steps that are no power of two
    assert every(best <= near <= 1.2 * best for near, best in lengths)


def test_columns_that_do_not_matter_are_put_back() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 30))
    model = RandomForestClassifier(10, max_features=None, random_state=0).fit(X, (X[:, 3] > 0).astype(int))
    columns = tuple(Column(f"x{j}", "real") for j in range(30))
    case = Case("many", model, X, X[model.predict(X) == 0][:3], 1, columns, Rules(), "made up")
    for i, x in enumerate(case.X):
        row = put_back(case, i)
        assert row is not None
        assert np.flatnonzero(row != x).tolist() == [3]
        # the trees split near 0; half of their way is the bisection's own step
        assert -x[3] - 0.2 < case.distance(x, row) < -x[3] + 0.2


def test_more_changes_than_allowed_are_a_violation() -> None:
    case = replace(whole_case(RandomForestClassifier(3, random_state=0)), max_changes=(1,) * 6)
    one, two = case.X[0] + [1, 0, 0], case.X[0] + [1, 1, 0]
    assert case.violates(np.array([one, two]), [0, 0]).tolist() == [False, True]
    assert case.limited(0) == {"max_changes": 1}
    assert case.only(np.array([2, 3])).max_changes == (1, 1)


def test_a_column_that_may_only_rise_begins_at_the_query() -> None:
    case = whole_case(RandomForestClassifier(3, random_state=0))
    case = replace(case, rules=Rules(free=("a", "b"), rising=("b",)))
    assert np.array_equal(case.low[:, 1], case.X[:, 1])
    assert "`b` >= x.`b`" in case.constraints


def test_every_case_has_a_solver() -> None:
    assert every(callable(solver(name)) for name in NAMES)
    with pytest.raises(LookupError, match="no-such-case"):
        solver("no-such-case")

"""Garbage in every public argument: used where it makes sense, else refused by an error of ours."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression

import ssba

_rng = np.random.default_rng(0)
X = _rng.normal(size=(80, 3))
FRAME = pd.DataFrame(
    {
        "age": _rng.integers(20, 80, size=80),
        "chol": _rng.normal(240, 40, size=80),
        "pain": _rng.choice(["none", "mild", "strong"], size=80),
    }
)
ROW: dict[str, Any] = {"age": 50, "chol": 230.0, "pain": "mild"}
TINY = ssba.Budget(rows=20)


def on_arrays(rows: Any) -> Any:
    return rows[:, 0] > 0


def on_frames(rows: Any) -> Any:
    return np.asarray(rows["age"]) > 50


ARRAYS = ssba.Explainer(on_arrays, X)
FRAMES = ssba.Explainer(on_frames, FRAME)

GARBAGE: list[Any] = [
    None,
    True,
    -1,
    0,
    3,
    10**400,
    1.5,
    float("nan"),
    float("inf"),
    1j,
    "",
    "x0",
    "x0 >= 0",
    "\x00",
    b"x0",
    [],
    [None],
    [[]],
    [1, [2], 3],
    ["x0 >= 0", 5],
    (),
    {},
    {"x0": 1},
    {None: None},
    {"x0": None, "x1": None, "x2": None},
    set(),
    {"x0 >= 0"},
    object(),
    Ellipsis,
    range(3),
    np.array(5.0),
    np.zeros(3),
    np.zeros((0, 3)),
    np.zeros((2, 3), dtype="M8[s]"),
    np.array([None, "a", 1]),
    np.float64("nan"),
    pd.NA,
    pd.NaT,
    pd.Timestamp("2020-01-01"),
    pd.DataFrame(),
    pd.Series(dtype=float),
    pl.DataFrame(),
    pa.table({}),
    lambda *_: None,
    type,
    ssba,
    ssba.fixed("x0"),
    ssba.Budget(),
    ssba.value_between(0, 1),
    ssba.numeric(),
    Exception("x"),
]

SURFACE: dict[str, Any] = {
    "Explainer(model)": lambda one: ssba.Explainer(one, X),
    "Explainer(data)": lambda one: ssba.Explainer(on_arrays, one),
    "Explainer(target)": lambda one: ssba.Explainer(on_arrays, X, one),
    "Explainer(features)": lambda one: ssba.Explainer(on_arrays, X, features=one),
    "Explainer(features[x0])": lambda one: ssba.Explainer(on_arrays, X, features={"x0": one}),
    "Explainer(distance)": lambda one: ssba.Explainer(on_arrays, X, distance=one),
    "Explainer(scale)": lambda one: ssba.Explainer(on_arrays, X, distance=ssba.Distance(scale=one)),
    "Explainer(scale[x0])": lambda one: ssba.Explainer(
        on_arrays, X, distance=ssba.Distance(scale={"x0": one})
    ),
    "Explainer(weights)": lambda one: ssba.Explainer(on_arrays, X, distance=ssba.Distance(weights=one)),
    "Explainer(weights[x0])": lambda one: ssba.Explainer(
        on_arrays, X, distance=ssba.Distance(weights={"x0": one})
    ),
    "Explainer(seed)": lambda one: ssba.Explainer(on_arrays, X, seed=one),
    "explain(row)": lambda one: ARRAYS.explain(one, budget=TINY),
    "explain(row[x1])": lambda one: ARRAYS.explain({"x0": 0, "x1": one, "x2": 0}, budget=TINY),
    "explain(frame row[pain])": lambda one: FRAMES.explain({**ROW, "pain": one}, budget=TINY),
    "explain(frame row[age])": lambda one: FRAMES.explain({**ROW, "age": one}, budget=TINY),
    "explain(constraints)": lambda one: ARRAYS.explain(X[0], one, budget=TINY),
    "explain([constraint])": lambda one: ARRAYS.explain(X[0], [one], budget=TINY),
    "explain(k)": lambda one: ARRAYS.explain(X[0], k=one, budget=TINY),
    "explain(budget)": lambda one: ARRAYS.explain(X[0], budget=one),
    "explain(boundary)": lambda one: ARRAYS.explain(X[0], boundary=one, budget=TINY),
    "explain_many(rows)": lambda one: ARRAYS.explain_many(one, budget=TINY),
    "explain_many(constraints)": lambda one: ARRAYS.explain_many(X[:2], one, budget=TINY),
    "sample_boundary(n)": lambda one: ARRAYS.sample_boundary(one),
    "sample_boundary(tolerance)": lambda one: ARRAYS.sample_boundary(5, one),
    "sample_boundary(labels)": lambda one: ARRAYS.sample_boundary(5, labels=one),
    "Budget(rows)": lambda one: ssba.Budget(rows=one),
    "Budget(seconds)": lambda one: ssba.Budget(seconds=one),
    "fixed": ssba.fixed,
    "increase": ssba.increase,
    "decrease": ssba.decrease,
    "may_fill": ssba.may_fill,
    "between(column)": lambda one: ssba.between(one, 0, 1),
    "between(low)": lambda one: ssba.between("x0", one, 1),
    "between(high)": lambda one: ssba.between("x0", 0, one),
    "within(percent)": lambda one: ssba.within("x0", percent=one),
    "within(amount)": lambda one: ssba.within("x0", amount=one),
    "one_of(values)": lambda one: ssba.one_of("x0", one),
    "one_of([value])": lambda one: ssba.one_of("x0", [one]),
    "transition(moves)": lambda one: ssba.transition("x0", one),
    "transition(ends)": lambda one: ssba.transition("x0", {"a": one}),
    "relation": ssba.relation,
    "constraint": ssba.constraint,
    "numeric(step)": lambda one: ssba.numeric(step=one),
    "numeric(low)": lambda one: ssba.numeric(low=one),
    "numeric(high)": lambda one: ssba.numeric(high=one),
    "integer(low)": lambda one: ssba.integer(low=one),
    "ordinal": ssba.ordinal,
    "ordinal([level])": lambda one: ssba.ordinal(["a", one]),
    "categorical": ssba.categorical,
    "categorical([level])": lambda one: ssba.categorical([one]),
    "probability(at_least)": lambda one: ssba.probability(True, at_least=one),
    "probability(label)": lambda one: ssba.Explainer(
        LogisticRegression().fit(X, X[:, 0] > 0), X, ssba.probability(one, at_least=0.7)
    ),
    "value_between(low)": lambda one: ssba.value_between(one, 1),
    "value_between(high)": lambda one: ssba.value_between(0, one),
    "load_heart(backend)": lambda one: ssba.datasets.load_heart(backend=one),
    "from_json": ssba.results.Explanation.from_json,
    "to_frame(backend)": lambda one: ARRAYS.explain(X[0], budget=TINY).to_frame(backend=one),
}


@pytest.mark.filterwarnings("ignore::ssba.SsbaWarning")
@pytest.mark.parametrize("name", SURFACE)
def test_garbage_is_used_or_refused_by_an_error_of_ours(name: str) -> None:
    leaks = []
    for one in GARBAGE:
        try:
            SURFACE[name](one)
        except ssba.SsbaError:
            continue
        except Exception as error:
            leaks.append(f"{one!r:.60} -> {type(error).__name__}: {error!s:.100}")
    assert leaks == []

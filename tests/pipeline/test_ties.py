"""Equalities that tie real numbers to whole ones: few rows are legal, and all of them can be counted here."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ssba

RNG = np.random.default_rng(1)
DATA = pd.DataFrame(
    {
        "a": RNG.normal(size=300).round(2),
        "k": RNG.integers(0, 30, 300),
        "g": RNG.choice(["u", "v", "w"], 300),
        "f": RNG.random(300) < 0.4,
    }
)


def model(rows: Any) -> Any:
    return rows["a"] + rows["k"] / 10 + (rows["g"] == "w") + rows["f"] * 0.5 > 3


QUERY = DATA[~model(DATA)].iloc[0]


def legal(a_of: Callable[[int], float]) -> pd.DataFrame:
    rows = pd.DataFrame(
        [{"a": a_of(k), "k": k, "g": g, "f": f} for k in range(30) for g in "uvw" for f in (True, False)]
    )
    within: pd.DataFrame = rows[(rows["a"] >= DATA["a"].min()) & (rows["a"] <= DATA["a"].max())]
    return within


def distance(explainer: ssba.Explainer, rows: pd.DataFrame) -> Any:
    gaps = [(rows[name] - QUERY[name]) / explainer.columns[name].scale for name in ("a", "k")]
    levels = [rows[name] != QUERY[name] for name in ("g", "f")]
    return np.sqrt(sum(gap**2 for gap in gaps) + sum(levels))


@pytest.mark.parametrize(
    ("rule", "a_of"),
    [
        ("a + k == 3", lambda k: 3.0 - k),
        ("a - k == 1", lambda k: 1.0 + k),
        ("a + k == 2.6", lambda k: 2.6 - k),
        ("a == 0.1 * k", lambda k: 0.1 * k),
    ],
)
def test_the_nearest_row_is_found_and_no_more_is_claimed_than_was_drawn(
    rule: str, a_of: Callable[[int], float]
) -> None:
    explainer = ssba.Explainer(model, DATA, target=True)
    explanation = explainer.explain(QUERY, [rule], evidence=2000)
    rows = legal(a_of)
    far, reach = distance(explainer, rows), model(rows)
    best = explanation.best
    assert best is not None
    assert best.values["a"] == pytest.approx(a_of(best.values["k"]), abs=1e-6)
    assert best.distance == pytest.approx(far[reach].min(), rel=1e-3)
    # No more draws count than there are nearer rows.
    assert explanation.evidence.drawn <= (far < best.distance).sum()


def test_a_single_row_that_reaches_is_found() -> None:
    data = DATA[["a", "k"]]
    explainer = ssba.Explainer(lambda rows: (rows["a"] > 1.5).to_numpy(), data, target=True)
    for rules in (["a + k == 5"], ["a + k >= 5", "a + k <= 5.001"]):
        best = explainer.explain({"a": 0.35, "k": 29}, rules).best
        assert best is not None
        assert best.values["k"] == 3
        assert best.values["a"] == pytest.approx(2, abs=2e-3)

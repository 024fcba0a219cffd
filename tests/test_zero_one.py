"""Columns of 0 and 1: two values for the search, numbers for the model and in constraints."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.support import every, setting

import ssba

_rng = np.random.default_rng(4)
_colors = _rng.integers(0, 3, 300)
FRAME = pd.DataFrame(
    {
        "red": (_colors == 0).astype(float),
        "blue": (_colors == 1).astype(float),
        "green": (_colors == 2).astype(float),
        "old": _rng.integers(0, 2, 300),
        "size": _rng.normal(size=300),
    }
)
QUERY = {"red": 1.0, "blue": 0.0, "green": 0.0, "old": 1, "size": 0.0}
ONE_HOT = "red + blue + green == 1"
WEIGHTS = np.array([-2.0, 0.5, 1.0, -0.7, 1.0])


def model(rows: Any) -> Any:
    return np.asarray(rows, dtype=float) @ WEIGHTS > 0.2


def nearest(rules: Any) -> float:
    """Return the distance of the nearest row, by trying all flags with the least size that reaches."""
    best = np.inf
    for flags in itertools.product((0, 1), repeat=4):
        if rules(*flags):
            short = max(0.0, 0.2 - float(WEIGHTS[:4] @ flags)) / FRAME["size"].std(ddof=0)
            changed = sum(one != other for one, other in zip(flags, (1, 0, 0, 1), strict=True))
            best = min(best, float(np.hypot(np.sqrt(changed), short)))
    return best


TRUTHS = FRAME.astype(dict.fromkeys(["red", "blue", "green", "old"], bool))


@pytest.fixture(scope="module", params=["pandas", "polars", "numpy", "truths", "polars truths"])
def explainer(request: Any) -> ssba.Explainer:
    data = {
        "pandas": FRAME,
        "polars": pl.from_pandas(FRAME),
        "numpy": FRAME.to_numpy(),
        "truths": TRUTHS,
        "polars truths": pl.from_pandas(TRUTHS),
    }[request.param]
    names = list(FRAME.columns) if request.param == "numpy" else None
    return ssba.Explainer(model, data, True, columns=names)


def test_they_are_boolean_and_a_change_counts_one(explainer: ssba.Explainer) -> None:
    assert [one.kind for one in explainer.columns] == ["boolean"] * 4 + ["numeric"]
    best = explainer.explain(QUERY).best
    assert best is not None
    assert best.distance == pytest.approx(nearest(lambda *flags: True), rel=0.02)


def test_the_model_gets_numbers_of_the_datas_dtype(explainer: ssba.Explainer) -> None:
    best = explainer.explain(QUERY, [ONE_HOT]).best
    assert best is not None
    assert model(best.row).tolist() == [True]
    assert every(value in (0, 1) for value in list(best.values.values())[:4])


@pytest.mark.parametrize(
    ("texts", "rules"),
    [
        ([ONE_HOT], lambda red, blue, green, old: red + blue + green == 1),
        (["red == 1"], lambda red, blue, green, old: red == 1),
        (["old >= x.old"], lambda red, blue, green, old: old >= 1),
        (["blue + green <= 1"], lambda red, blue, green, old: blue + green <= 1),
        (["red >= green", "old within 0"], lambda red, blue, green, old: red >= green and old == 1),
        (["blue > 0.5"], lambda red, blue, green, old: blue == 1),
        (["if red changes: old == x.old"], lambda red, blue, green, old: red == 1 or old == 1),
    ],
)
def test_constraints_calculate_with_them(explainer: ssba.Explainer, texts: list[str], rules: Any) -> None:
    best = explainer.explain(QUERY, texts).best
    assert best is not None
    assert rules(*(best.values[name] for name in ("red", "blue", "green", "old")))
    assert best.distance == pytest.approx(nearest(rules), rel=0.02)


def test_a_relation_of_them_with_a_number_is_exact(explainer: ssba.Explainer) -> None:
    best = explainer.explain(QUERY, ["size <= 0.5 * green + 0.3 * blue"]).best
    assert best is not None
    values = best.values
    assert values["size"] <= 0.5 * values["green"] + 0.3 * values["blue"]


def test_what_cannot_be_met_is_named(explainer: ssba.Explainer) -> None:
    clash = explainer.explain(QUERY, ["red + blue >= 2", "red <= 0"])
    assert clash.status == "infeasible"
    assert set(clash.clash) == {"red + blue >= 2", "red <= 0"}


def test_what_to_relax_is_a_flag(explainer: ssba.Explainer) -> None:
    fixed = ["red >= 1", "blue == x.blue", "green == x.green", "old == x.old", "size == x.size"]
    bounded = explainer.explain(QUERY, fixed)
    assert bounded.best is None
    words = [word for one in explainer.why_not(bounded).relaxations for word in one.words]
    assert every("0." not in word or "size" in word for word in words)


def test_unknown_values_are_refused(explainer: ssba.Explainer) -> None:
    with pytest.raises(ssba.errors.ConstraintError, match=r"neither 0 nor 1|unknown level 2"):
        explainer.explain(QUERY, ["red == 2"])
    with pytest.raises(ssba.errors.SchemaError, match=r"neither 0 nor 1|unknown level 0\.3"):
        explainer.explain({**QUERY, "red": 0.3})


def test_dummies_of_pandas_are_one_hot() -> None:
    dummies = pd.get_dummies(pd.Series(np.array(["p", "q", "r"])[_colors], name="g"), prefix="g")
    data = pd.DataFrame({"x": FRAME["size"]}).join(dummies)
    explainer = ssba.Explainer(lambda rows: rows["x"] + rows["g_p"] > 0.5, data, target=True)
    query = {"x": -2.0, "g_p": False, "g_q": True, "g_r": False}
    one_hot = "g_p + g_q + g_r == 1"
    best = explainer.explain(query, [one_hot, "x <= 0"]).best
    assert best is not None
    assert [best.values[name] for name in ("g_p", "g_q", "g_r")] == [True, False, False]
    assert explainer.explain(query, [one_hot, "x <= 0", "g_q >= x.g_q"]).best is None


def test_a_bound_on_one_of_them_is_one_region() -> None:
    where = setting(FRAME)
    for text, levels in (
        ("red <= 9", [True, True]),
        ("red >= 0.5", [False, True]),
        ("red < 1", [True, False]),
    ):
        region = where.region(QUERY, text)
        assert region.allowed[0].tolist() == levels

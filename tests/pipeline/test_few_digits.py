"""Answers have few digits: no more than the data, as long as such a row reaches the target."""

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.problems import half_space
from tests.support import every

import ssba
from ssba.columns.distance import Distance
from ssba.engine import Settings, build_engine
from ssba.pipeline.few_digits import short_forms

WEIGHTS = (1.0, 2.0, -1.5)
plane = half_space(*WEIGHTS, at=1.0)


def places(number: float) -> int:
    """Return how many decimals a number is written with."""
    return max(0, -int(Decimal(repr(number)).normalize().as_tuple().exponent))


def data(decimals: int | None) -> Any:
    rows = np.random.default_rng(3).normal(size=(400, 3))
    return rows if decimals is None else rows.round(decimals)


def answers(decimals: int | None, model: Any = plane, **settings: Any) -> ssba.results.Explanations:
    rows = data(decimals)
    explainer = ssba.Explainer(model, rows, True, distance=ssba.Distance(scale="none"), **settings)
    return explainer.explain_many(rows[~plane(rows)][:12])


@pytest.mark.parametrize("decimals", [2, 3, 6])
@pytest.mark.parametrize("read", [False, True])
def test_answers_have_no_more_decimals_than_the_data(decimals: int, read: bool) -> None:
    found = answers(decimals, plane.logistic(data(None)) if read else plane)
    assert every(one.status == "found" for one in found)
    assert every(places(after) <= decimals for one in found for _, after in one.answers[0].changes.values())


@pytest.mark.parametrize("decimals", [2, 3])
def test_they_cost_at_most_one_of_the_last_decimal_in_each_column(decimals: int) -> None:
    unit = math.sqrt(3) * 10.0**-decimals
    found = answers(decimals)
    assert every(
        one.best is not None
        and one.evidence.nearer_than is not None
        and one.best.distance <= 1.001 * one.evidence.nearer_than + unit
        for one in found
    )


def test_finer_digits_are_for_where_no_row_in_those_of_the_data_reaches() -> None:
    explainer = ssba.Explainer(
        lambda Z: Z[:, 0] > 0.1025, data(2), True, distance=ssba.Distance(scale="none")
    )
    best = explainer.explain([0.1, 0.0, 0.0], ["x0 <= 0.104"]).best
    assert best is not None
    assert 0.1025 < best.values["x0"] <= 0.104
    assert places(best.values["x0"]) <= 6


def test_numbers_of_all_digits_are_answered_in_few() -> None:
    found = answers(None)
    assert every(places(after) <= 6 for one in found for _, after in one.answers[0].changes.values())


def test_a_cell_that_is_filled_has_few_digits_too() -> None:
    rows = data(2)
    rows[::7, 0] = np.nan
    explainer = ssba.Explainer(lambda Z: np.nan_to_num(Z[:, 0], nan=-9.0) > 0.123456, rows, True)
    best = explainer.explain([None, 0.25, 0.5], [ssba.may_fill("x0"), "x1 == x.x1"]).best
    assert best is not None
    assert places(best.values["x0"]) <= 2


def test_a_column_that_is_declared_continuous_takes_any_number() -> None:
    rows = np.round(data(None) * 4)
    continuous = {f"x{j}": ssba.numeric() for j in range(3)}
    explainer = ssba.Explainer(plane, rows, True, features=continuous, distance=ssba.Distance(scale="none"))
    best = explainer.explain([0.0, 0.0, 0.0]).best
    assert best is not None
    assert best.distance == pytest.approx(plane.distance(), rel=2e-3)


@pytest.mark.parametrize("decimals", [2, None])
def test_a_bounded_move_has_few_digits_too(decimals: int | None) -> None:
    rows = data(decimals)
    query = rows[~plane(rows)][0]
    answer = ssba.Explainer(plane, rows, True).explain(query, [f"x{j} within 0.0333" for j in range(3)])
    assert answer.status == "bounded"
    assert answer.bounded is not None
    assert answer.bounded.changes
    assert every(places(after) <= (decimals or 9) for _, after in answer.bounded.changes.values())


def test_a_query_off_its_step_keeps_the_cells_that_need_not_change() -> None:
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"a": 0.3 * rng.integers(0, 16, 60), "b": rng.normal(size=60).round(2)})
    explainer = ssba.Explainer(
        lambda rows: (rows["b"] > 0.2473).to_numpy(),
        data,
        target=True,
        features={"a": ssba.numeric(step=0.3)},
        distance=ssba.Distance(scale="none"),
    )
    best = explainer.explain({"a": 4.49, "b": -0.77}).best
    assert best is not None
    assert best.changes == {"b": (-0.77, 0.25)}


@pytest.mark.parametrize("by", ["labels", "scores"])
@pytest.mark.parametrize("relevant", [2, 4, 6])
def test_columns_that_the_model_ignores_are_no_part_of_the_answer(relevant: int, by: str) -> None:
    rng = np.random.default_rng(relevant)
    rows, weights = rng.normal(size=(300, 12)), np.zeros(12)
    weights[rng.choice(12, relevant, replace=False)] = rng.normal(size=relevant)
    weights /= np.linalg.norm(weights)

    def model(Z: Any) -> Any:
        lead = Z @ weights - 1
        chance = 1 / (1 + np.exp(-lead))
        return (lead > 0).astype(int) if by == "labels" else np.column_stack([1 - chance, chance])

    explainer = ssba.Explainer(model, rows, 1, distance=ssba.Distance(scale="none"))
    matter = {f"x{j}" for j in np.flatnonzero(weights)}
    for one in explainer.explain_many(rows[rows @ weights < 1][:12]):
        assert one.best is not None
        assert set(one.best.changes) <= matter


class TestForms:
    @pytest.mark.parametrize("decimals", [None, 0, 2])
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_those_of_many_rows_are_those_of_each(self, decimals: int | None, dtype: Any) -> None:
        rng = np.random.default_rng(7)
        rows = (rng.normal(size=(300, 4)) * [1, 100, 0.01, 10]).astype(dtype)
        rows = rows if decimals is None else rows.round(decimals)
        made = build_engine(
            lambda rows: np.asarray(rows)[:, 0] > 0,
            rows,
            Settings(target=True, features={"x3": ssba.numeric(step=0.5)}),
        )
        x = made.judging.background[:40]
        found = made.space.grid.snap(
            x + rng.normal(size=x.shape) * made.metric.scale * (rng.random(x.shape) < 0.5)
        )
        together = short_forms(made, found, x)
        alone = [short_forms(made, found[i : i + 1], x[i : i + 1]) for i in range(len(x))]
        np.testing.assert_array_equal(together.rows, np.concatenate([one.rows for one in alone]))
        assert together.of.tolist() == [i for i, one in enumerate(alone) for _ in one.of]

    def test_the_last_is_the_row_as_it_was_found(self) -> None:
        made = build_engine(plane, data(2), Settings(target=True, distance=Distance(scale="none")))
        found = np.array([[0.123456789, 0.5, -0.25], [0.1, 0.2, 0.3]])
        x = np.array([[0.0, 0.5, 0.0], [0.1, 0.2, 0.3]])
        forms = short_forms(made, found, x)
        ends = np.flatnonzero(np.diff(forms.of, append=2))
        np.testing.assert_array_equal(forms.rows[ends], found)
        assert forms.of.tolist().count(1) == 1

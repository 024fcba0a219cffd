"""One absurd cell neither stretches a column's range nor its scale, and is named."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ssba
from ssba.columns.by_values import far_cells

RNG = np.random.default_rng(0)
AGES = RNG.normal(50, 10, 300).round(1)


@pytest.mark.parametrize("absurd", [1e300, -1e300, 1.7e308, 1e13])
def test_what_is_beyond_all_measure_is_far(absurd: float) -> None:
    numbers = AGES.copy()
    numbers[[7, 100]] = absurd, np.nan
    assert np.flatnonzero(far_cells(numbers)).tolist() == [7]


@pytest.mark.parametrize(
    "numbers",
    [
        AGES,
        np.full(20, 3.0),
        np.array([0.0] * 15 + [1e300] * 5),
        np.array([]),
        np.array([np.nan]),
        AGES * 1e290,
    ],
    ids=["usual", "constant", "mostly equal", "none", "missing", "large"],
)
def test_nothing_else_is(numbers: Any) -> None:
    assert not far_cells(numbers).any()


def test_even_a_fortune_among_incomes_is_not() -> None:
    incomes = np.exp(RNG.normal(10.5, 0.6, 1000))
    incomes[3] = 3e11
    assert not far_cells(incomes).any()


class TestExplainer:
    DATA = pd.DataFrame({"age": AGES, "b": RNG.normal(size=300)}, index=[f"p{i}" for i in range(300)])

    def model(self, rows: Any) -> Any:
        return (rows["age"] > 72.1).to_numpy()

    def test_the_answer_is_as_near_as_without_the_cell(self) -> None:
        spoilt = self.DATA.copy()
        spoilt.loc["p17", "age"] = 1e300
        with pytest.warns(ssba.SsbaWarning, match=r"'age' holds 1e\+300 in row 17 \(index 'p17'\)") as caught:
            explainer = ssba.Explainer(self.model, spoilt, target=True)
        assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            best = explainer.explain({"age": 50.0, "b": 0.0}).best
        assert best is not None
        assert best.changes == {"age": (50.0, 72.2)}
        assert best.distance == pytest.approx(22.2 / AGES.std(), rel=0.02)

    def test_the_data_stay_as_they_are(self) -> None:
        spoilt = self.DATA.copy()
        spoilt.loc["p17", "age"] = 1e300
        with pytest.warns(ssba.SsbaWarning):
            ssba.Explainer(self.model, spoilt, target=True)
        assert spoilt.loc["p17", "age"] == 1e300

"""What an explainer says about arguments that were not meant so, and about columns that cannot change."""

import copy
import pickle
import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from tests.support import every

import ssba
from ssba.errors import ArgumentError, ModelError, SchemaError
from ssba.pipeline.ask import Ask

_rng = np.random.default_rng(1)
X = pd.DataFrame({"a": _rng.normal(size=120), "b": _rng.normal(size=120), "c": _rng.choice(["u", "v"], 120)})
NUMBERS = X[["a", "b"]]
MODEL = LogisticRegression().fit(NUMBERS, np.where(NUMBERS.sum(axis=1) > 0, "well", "ill"))


def above(rows: Any) -> Any:
    return np.asarray(rows["a"]) > 0.5


@pytest.fixture(scope="module")
def explainer() -> ssba.Explainer:
    return ssba.Explainer(MODEL, NUMBERS, "well")


class TestTargetsInTheWrongPlace:
    @pytest.mark.parametrize("given", ["ill", ["ill"], ["a >= 0", "ill"]], ids=str)
    def test_a_label_among_the_constraints_is_a_target(self, explainer: ssba.Explainer, given: Any) -> None:
        with pytest.raises(
            ArgumentError, match=r"'ill', a class of the model; write toward\('ill'\).explain"
        ):
            explainer.explain(NUMBERS.iloc[0], given)
        with pytest.raises(ArgumentError, match=r"write toward\('ill'\)"):
            explainer.explain_many(NUMBERS[:2], given)


class TestWhichRow:
    """Where one row of many is bad, it is named."""

    def test_one_that_does_not_fit(self) -> None:
        rows = X[:4].set_axis(["p", "q", "r", "s"]).assign(c=["u", "v", "w", "u"])
        with pytest.raises(
            ssba.errors.SchemaError, match=r"row 2 \(index 'r'\), column 'c': unknown level 'w'"
        ):
            ssba.Explainer(above, X, True).explain_many(rows)

    def test_one_that_the_model_fails_on(self, explainer: ssba.Explainer) -> None:
        rows = NUMBERS[:4].set_axis(["p", "q", "r", "s"])
        rows.loc["r", "b"] = np.nan
        with pytest.raises(ModelError, match=r"row 2 \(index 'r'\): .* asked about a batch of 1 row, raised"):
            explainer.explain_many(rows)

    def test_one_of_a_list(self, explainer: ssba.Explainer) -> None:
        with pytest.raises(ModelError, match=r"^row 1: "):
            explainer.explain_many([{"a": 0.0, "b": 0.0}, {"a": 0.0, "b": None}])

    def test_none_is_named_where_the_model_fails_on_other_rows(self) -> None:
        def picky(rows: Any) -> Any:
            if len(rows) == 2:
                raise ValueError("not two")
            return rows["a"] > 0.5

        with pytest.raises(ModelError, match=r"^function picky, asked about a batch of 2 rows, raised"):
            ssba.Explainer(picky, X, True).explain_many(X[:2])


class TestConstantColumns:
    def warned(self, **constant: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            explainer = ssba.Explainer(above, NUMBERS.assign(**constant), True)
            query = {"a": 0.0, "b": 0.0, **constant}
            explainer.levers(explainer.toward(False).explain(query))
            explainer.explain_many([query, query])
        return [str(one.message) for one in caught]

    def test_one_holds_a_single_value(self) -> None:
        assert self.warned(k=1) == [
            "column 'k' holds a single value in the background data and is held fixed; give data in which it "
            "varies if it may change: bounds, declared or in constraints, do not free it"
        ]

    def test_several_hold_one(self) -> None:
        assert self.warned(k=1, m="u", n=2.5) == [
            "columns 'k', 'm' and 'n' hold a single value in the background data and are held fixed; give "
            "data in which they vary if they may change: bounds, declared or in constraints, do not free them"
        ]

    def test_many_are_counted(self) -> None:
        (said,) = self.warned(**{f"k{i}": 1 for i in range(9)})
        assert said.startswith(
            "columns 'k0', 'k1', 'k2', 'k3', 'k4' and 4 more (9 in all) hold a single value"
        )


class TestFarQueries:
    """Cells whose squared distance from the data no float can hold."""

    @pytest.mark.parametrize("cell", [-1e300, 1e308, 1e155])
    def test_they_are_refused_by_column_and_row(self, cell: float) -> None:
        explainer = ssba.Explainer(above, NUMBERS, True)
        said = re.escape(f"column 'a': {cell:g} is too far from the background data's")
        with pytest.raises(SchemaError, match=f"^{said}"):
            explainer.explain({"a": cell, "b": 1.0})
        with pytest.raises(SchemaError, match=f"^row 1, {said}"):
            explainer.explain_many([{"a": 0.0, "b": 1.0}, {"a": cell, "b": 1.0}])
        assert explainer.predict({"a": cell, "b": 1.0}).values["a"] == cell

    def test_what_can_be_measured_is_answered_without_a_warning(self) -> None:
        for cell in (-1e100, 1e140):
            assert ssba.Explainer(above, NUMBERS, True).explain({"a": cell, "b": 1.0}).query["a"] == cell


def test_rows_sent_to_a_worker_are_refused_where_they_are_too_far_away() -> None:
    data = pd.DataFrame({"a": np.linspace(-2, 2, 50)})
    explainer = ssba.Explainer(lambda rows: rows["a"] > 1, data, target=True)
    with pytest.raises(SchemaError, match=r"row 1, column 'a': -1e\+300 is too far from the background data"):
        Ask().explained(explainer._engine, pd.DataFrame({"a": [0.0, -1e300]}))


def test_many_rows_may_be_none() -> None:
    explainer = ssba.Explainer(above, NUMBERS, True)
    assert repr(explainer.explain_many([])) == repr(explainer.explain_many(NUMBERS[:0]))
    assert explainer.predict_many([]) == ()


class TestPickle:
    @pytest.mark.parametrize(
        "library", [pd.DataFrame, pl.DataFrame, np.asarray], ids=["pandas", "polars", "numpy"]
    )
    def test_one_that_was_pickled_answers_the_same(self, library: Any) -> None:
        labels = NUMBERS.sum(axis=1) > 0
        forest = RandomForestClassifier(10, random_state=0).fit(NUMBERS.to_numpy(), labels)
        data = library(NUMBERS)
        own: dict[str, Any] = {} if library is np.asarray else {"features": {"a": ssba.numeric(step=0.1)}}
        explainer = ssba.Explainer(
            forest.predict if library is np.asarray else OfArrays(forest), data, True, **own
        )
        again = pickle.loads(pickle.dumps(explainer))  # noqa: S301
        queries = data[: len(data) // 8]
        before, after = explainer.explain_many(queries), again.explain_many(queries)
        assert every(
            one.counterfactuals == two.counterfactuals for one, two in zip(before, after, strict=True)
        )
        assert [one.rows_used for one in before] == [one.rows_used for one in after]
        first = before[before.answered[0]]
        assert again.plan(first) == explainer.plan(first)

    def test_a_function_of_a_module_can_be_pickled(self) -> None:
        explainer = ssba.Explainer(above, X, True)
        again = pickle.loads(pickle.dumps(explainer))  # noqa: S301
        assert again.explain(X.iloc[0]).best == explainer.explain(X.iloc[0]).best

    def test_nothing_is_warned_about_a_second_time(self) -> None:
        with pytest.warns(ssba.SsbaWarning, match="'k' holds a single value"):
            explainer = ssba.Explainer(above, NUMBERS.assign(k=1), True)
        pickle.loads(pickle.dumps(explainer))  # noqa: S301

    def test_a_function_inside_another_is_refused_by_its_name(self) -> None:
        def inner(rows: Any) -> Any:
            return rows["a"] > 0

        for model, name in ((inner, "inner"), (lambda rows: rows["a"] > 0, "<lambda>")):
            explainer = ssba.Explainer(model, X, True)
            with pytest.raises(
                ModelError, match=f"the model {name} cannot be pickled.* at the top of a module"
            ):
                pickle.dumps(explainer)

    def test_a_copy_is_the_explainer_itself(self) -> None:
        explainer = ssba.Explainer(lambda rows: rows["a"] > 0, X, True)
        assert copy.copy(explainer) is copy.deepcopy(explainer) is explainer


class OfArrays:
    """A model of frames that has no names of columns."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict(self, rows: Any) -> Any:
        return self.model.predict(np.asarray(rows))

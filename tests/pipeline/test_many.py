"""Many queries side by side: the same answers as one by one, in fewer model calls."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from tests.support import every

import ssba
from ssba.engine import Settings, build_engine
from ssba.options import Prove
from ssba.pipeline.answer import Request, explain_requests

_rng = np.random.default_rng(8)
X = _rng.normal(size=(250, 4))
Y = (X[:, 0] + np.sin(2 * X[:, 1]) > 0.4).astype(int)
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(kind=_rng.choice(["p", "q", "r"], size=250))
SMALL = ssba.Budget(rows=500)


def mixed(rows: pd.DataFrame) -> Any:
    return np.where(rows["a"] + rows["b"] ** 2 + (rows["kind"] == "r") > 0.9, "up", "down")


@pytest.fixture(scope="module")
def explainer() -> ssba.Explainer:
    return ssba.Explainer(mixed, FRAME)


def values_of(explanation: ssba.results.Explanation) -> list[dict[str, Any]]:
    return [answer.values for answer in explanation.counterfactuals]


def same(one: ssba.results.Explanation, other: ssba.results.Explanation) -> bool:
    """Whether all but the clock is the same."""
    kept = [{**each.to_dict(), "seconds": 0.0} for each in (one, other)]
    return kept[0] == kept[1]


class TestBatch:
    @pytest.mark.parametrize(
        "model", [LogisticRegression(), MLPClassifier((16, 8), solver="lbfgs", max_iter=200, random_state=0)]
    )
    def test_scores_of_a_batch_do_not_change_an_answer(self, model: Any) -> None:
        # Sums over a batch and over a single row differ in their last bits.
        explainer = ssba.Explainer(model.fit(X, Y), X)
        rules: list[Any] = ["x3 == x.x3", ssba.increase("x2")]
        together = explainer.explain_many(X[:20], rules, budget=SMALL)
        for i in range(20):
            alone = explainer.explain(X[i], rules, budget=SMALL)
            assert values_of(alone) == values_of(together[i])

    def test_everything_but_the_clock_is_the_same_alone(self, explainer: ssba.Explainer) -> None:
        together = explainer.explain_many(FRAME[:8], ["kind == x.kind"], k=2, budget=SMALL)
        for i in range(8):
            alone = explainer.explain(FRAME.iloc[i], ["kind == x.kind"], k=2, budget=SMALL)
            assert same(alone, together[i])

    def test_the_order_of_the_rows_does_not_matter(self, explainer: ssba.Explainer) -> None:
        forward = explainer.explain_many(FRAME[:10], budget=SMALL)
        backward = explainer.explain_many(FRAME[:10][::-1], budget=SMALL)
        assert every(same(*pair) for pair in zip(forward, reversed(backward), strict=True))

    def test_repeated_rows_get_the_same_answer(self, explainer: ssba.Explainer) -> None:
        twice = explainer.explain_many(pd.concat([FRAME[:4], FRAME[:4]]), budget=SMALL)
        assert every(same(twice[i], twice[i + 4]) for i in range(4))

    def test_queries_share_model_calls(self) -> None:
        calls: list[int] = []

        def counted(rows: pd.DataFrame) -> Any:
            calls.append(len(rows))
            return mixed(rows)

        explainer = ssba.Explainer(counted, FRAME)
        explainer.explain(FRAME.iloc[0], budget=SMALL)
        calls.clear()
        for i in range(10):
            explainer.explain(FRAME.iloc[i], budget=SMALL)
        one_by_one = len(calls)
        calls.clear()
        explainer.explain_many(FRAME[:10], budget=SMALL)
        assert len(calls) < one_by_one / 2

    def test_more_queries_than_run_side_by_side(self, explainer: ssba.Explainer) -> None:
        tiny = ssba.Budget(rows=40)
        many = pd.concat([FRAME] * 3)[:600]
        answers = explainer.explain_many(many, budget=tiny)
        assert len(answers) == 600
        assert every(same(answers[i], answers[i + 250]) for i in range(0, 250, 50))

    def test_a_mix_of_statuses_leaves_each_query_its_own(self, explainer: ssba.Explainer) -> None:
        rows = FRAME[:4]
        everything = [ssba.fixed(name) for name in FRAME.columns]
        rules: list[Any] = [[], ["a >= 3", "a <= 2"], everything, ["kind == 'r'"]]
        answers = explainer.explain_many(rows, rules, budget=SMALL)
        assert [one.status.value for one in answers] == ["found", "infeasible", "bounded", "found"]
        alone = explainer.explain(FRAME.iloc[3], rules[3], budget=SMALL)
        assert same(answers[3], alone)


class TestRows:
    @pytest.mark.parametrize("library", [pl.from_pandas, pa.Table.from_pandas])
    def test_rows_may_come_in_another_frame_library(self, explainer: ssba.Explainer, library: Any) -> None:
        own = explainer.explain_many(FRAME[:5], budget=SMALL)
        other = explainer.explain_many(library(FRAME[:5]), budget=SMALL)
        assert [values_of(one) for one in own] == [values_of(one) for one in other]

    def test_columns_may_stand_in_another_order_and_rows_have_any_index(
        self, explainer: ssba.Explainer
    ) -> None:
        turned = FRAME[:5][[*"dcba", "kind"]].set_axis(list("vwxyz"), axis=0)
        own = explainer.explain_many(FRAME[:5], budget=SMALL)
        other = explainer.explain_many(turned, budget=SMALL)
        assert [values_of(one) for one in own] == [values_of(one) for one in other]

    def test_no_rows_give_no_explanations(self, explainer: ssba.Explainer) -> None:
        nothing = explainer.explain_many(FRAME[:0])
        assert len(nothing) == 0
        assert list(nothing) == []
        assert repr(nothing) == "<0 explanations: none>"
        assert len(nothing.to_frame()) == 0


def rich_pandas() -> pd.DataFrame:
    levels = _rng.choice(["u", "v", "w"], size=200)
    return pd.DataFrame(
        {
            "n": pd.array(_rng.integers(0, 9, size=200), dtype="Int64"),
            "f": pd.array([None if i % 9 == 0 else X[i, 0] for i in range(200)], dtype="Float64"),
            "b": pd.array(_rng.random(200) < 0.5, dtype="boolean"),
            "c": pd.Categorical(levels, categories=["z", "u", "v", "w"]),
            "o": pd.Categorical(_rng.choice(["lo", "hi"], size=200), ["lo", "mid", "hi"], ordered=True),
            "s": pd.array(levels, dtype="string"),
        }
    )


def rich_polars() -> pl.DataFrame:
    levels = _rng.choice(["u", "v", "w"], size=200).tolist()
    return pl.DataFrame(
        {
            "n": pl.Series(_rng.integers(0, 9, size=200), dtype=pl.UInt8),
            "f": pl.Series(X[:200, 0], dtype=pl.Float32),
            "e": pl.Series(levels, dtype=pl.Enum(["u", "v", "w"])),
            "c": pl.Series(levels, dtype=pl.Categorical),
        }
    )


def rich_pyarrow() -> pa.Table:
    levels = pa.array(_rng.choice(["u", "v", "w"], size=200).tolist()).dictionary_encode()
    numbers = [None if i % 9 == 0 else i % 9 for i in range(200)]
    return pa.table({"n": pa.array(numbers, type=pa.int16()), "f": pa.array(X[:200, 0]), "d": levels})


def as_floats(column: Any) -> Any:
    cells = column.to_pylist() if isinstance(column, pa.ChunkedArray) else list(column)
    return np.array([0.0 if pd.isna(cell) else float(cell) for cell in cells])


class TestDtypes:
    @pytest.mark.parametrize("make", [rich_pandas, rich_polars, rich_pyarrow])
    def test_the_model_only_ever_gets_the_dtypes_of_the_data(self, make: Any) -> None:
        data = make()
        dtypes = data.dtypes.to_dict() if isinstance(data, pd.DataFrame) else data.schema

        def model(rows: Any) -> Any:
            assert (rows.dtypes.to_dict() if isinstance(rows, pd.DataFrame) else rows.schema) == dtypes
            size, height = (as_floats(rows[name]) for name in ("n", "f"))
            return size / 3 + height > 1.5

        rows = data.slice(0, 12) if isinstance(data, pa.Table) else data[:12]
        for explanation in ssba.Explainer(model, data).explain_many(rows, k=2, budget=SMALL):
            assert explanation.status == "found"


class TestConstraints:
    def test_one_list_a_row(self, explainer: ssba.Explainer) -> None:
        rules: list[Any] = [[ssba.fixed("a")], [], ["b <= x.b", "kind == 'p'"]]
        answers = explainer.explain_many(FRAME[:3], rules, budget=SMALL)
        for i, own in enumerate(rules):
            assert same(answers[i], explainer.explain(FRAME.iloc[i], own, budget=SMALL))
        assert answers[2].constraints == ("b <= x.b", "kind == 'p'")

    @pytest.mark.parametrize("rules", ["a == x.a", ssba.fixed("a"), [ssba.fixed("a")], ("a == x.a",)])
    def test_one_list_or_one_constraint_for_all_rows(self, explainer: ssba.Explainer, rules: Any) -> None:
        for one in explainer.explain_many(FRAME[:3], rules, budget=SMALL):
            assert one.constraints == ("a == x.a",)

    @pytest.mark.parametrize("rules", [[["a == x.a"]], [["a == x.a"], "b == x.b", []], [[], [], [], []]])
    def test_lists_for_other_numbers_of_rows_are_refused(self, explainer: ssba.Explainer, rules: Any) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match=r"3 rows.*one list of constraints a row"):
            explainer.explain_many(FRAME[:3], rules)


class TestExplanations:
    def test_they_are_a_sequence(self, explainer: ssba.Explainer) -> None:
        answers = explainer.explain_many(FRAME[:4], budget=SMALL)
        assert isinstance(answers[1:3], ssba.results.Explanations)
        assert answers[1:3][0] is answers[1]
        assert answers[-1] is list(answers)[3]

    def test_the_frame_numbers_the_queries(self, explainer: ssba.Explainer) -> None:
        frame = explainer.explain_many(FRAME[:4], budget=SMALL).to_frame(only_changes=False)
        assert sorted(set(frame["query"])) == [0, 1, 2, 3]
        assert set(FRAME.columns) <= set(frame.columns)

    def test_a_progress_bar_is_shown_where_asked_for(
        self, explainer: ssba.Explainer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        explainer.explain_many(FRAME[:3], budget=SMALL)
        assert capsys.readouterr().err == ""
        explainer.explain_many(FRAME[:3], budget=SMALL, progress=True)
        assert "queries" in capsys.readouterr().err


@pytest.mark.parametrize("prove", ["auto", False, True])
@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, Y),
        LogisticRegression().fit(X, Y),
        MLPClassifier((4,), max_iter=20, random_state=0),
    ],
    ids=["trees", "linear", "network"],
)
def test_each_query_counts_once(model: Any, prove: Prove) -> None:
    # Some are there already, some are solved or proved from the model's inside, some are searched.
    if isinstance(model, MLPClassifier):
        with warnings.catch_warnings(action="ignore"):
            model.fit(X, Y)
    engine, told = build_engine(model, X, Settings(target=1)), list[float]()
    requests = [Request(x, (), ssba.Options(prove=prove)) for x in X[:6]]
    explain_requests(engine, requests, SMALL, None, told.append)
    assert sum(told) == len(requests)


def test_a_batch_in_several_parts_is_answered_as_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    explainer = ssba.Explainer(lambda rows: rows[:, 0] + 0.5 * rows[:, 1] > 1, X)
    together = explainer.explain_many(X[:11])
    monkeypatch.setattr("ssba.pipeline.answer.TOGETHER", 4)
    in_parts = explainer.explain_many(X[:11])
    assert len(in_parts) == 11
    assert every(same(one, other) for one, other in zip(together, in_parts, strict=True))

"""Results as frames of the user's library."""

from dataclasses import replace
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ssba

QUERY: dict[str, Any] = {"age": 61, "chol": 286.0, "pain": "strong", "ca": None}


def answer(chol: float, pain: str = "strong", distance: float = 1.0) -> ssba.results.Counterfactual:
    values = {**QUERY, "chol": chol, "pain": pain}
    changes = {name: (QUERY[name], values[name]) for name in QUERY if values[name] != QUERY[name]}
    return ssba.results.Counterfactual(values, changes, distance, "well", 0.75)


FOUND = ssba.results.Explanation(
    status=ssba.results.Status.FOUND,
    query=QUERY,
    prediction="ill",
    score=0.25,
    target="'well'",
    counterfactuals=(answer(240.0), answer(250.0, "mild", 1.5)),
)
INFEASIBLE = replace(
    FOUND,
    status=ssba.results.Status.INFEASIBLE,
    prediction=None,
    score=None,
    counterfactuals=(),
    clash=("a", "b"),
)
BOUNDED = replace(FOUND, status=ssba.results.Status.BOUNDED, counterfactuals=(), bounded=answer(260.0))


def cells(frame: Any) -> dict[str, list[Any]]:
    if isinstance(frame, pd.DataFrame):
        return {str(name): [None if pd.isna(cell) else cell for cell in frame[name]] for name in frame}
    if isinstance(frame, pl.DataFrame):
        return frame.to_dict(as_series=False)
    return dict(frame.to_pydict())


@pytest.mark.parametrize(
    ("backend", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)]
)
class TestBackends:
    def test_only_changes(self, backend: str, kind: type) -> None:
        frame = FOUND.to_frame(backend=backend)
        assert isinstance(frame, kind)
        assert cells(frame) == {
            "row": ["query", "counterfactual", "counterfactual"],
            "chol": [286.0, 240.0, 250.0],
            "pain": ["strong", "strong", "mild"],
            "prediction": ["ill", "well", "well"],
            "score": [0.25, 0.75, 0.75],
            "distance": [0.0, 1.0, 1.5],
        }

    def test_all_columns_in_the_users_order(self, backend: str, kind: type) -> None:
        frame = cells(FOUND.to_frame(only_changes=False, backend=backend))
        assert list(frame) == ["row", *QUERY, "prediction", "score", "distance"]
        assert frame["ca"] == [None, None, None]

    def test_a_bounded_move_is_labelled(self, backend: str, kind: type) -> None:
        assert cells(BOUNDED.to_frame(backend=backend))["row"] == ["query", "bounded"]

    def test_without_answers_the_query_stands_alone(self, backend: str, kind: type) -> None:
        frame = cells(INFEASIBLE.to_frame(backend=backend))
        assert frame["row"] == ["query"]
        assert frame["chol"] == [286.0]
        assert frame["prediction"] == [None]

    def test_many_in_one_frame(self, backend: str, kind: type) -> None:
        many = ssba.results.Explanations((FOUND, INFEASIBLE, BOUNDED))
        frame = cells(many.to_frame(backend=backend))
        assert frame["query"] == [0, 0, 0, 1, 2, 2]
        assert frame["status"] == ["found", "found", "found", "infeasible", "bounded", "bounded"]
        assert "age" not in frame
        assert frame["chol"] == [286.0, 240.0, 250.0, 286.0, 286.0, 260.0]

    def test_none_at_all(self, backend: str, kind: type) -> None:
        assert isinstance(ssba.results.Explanations(()).to_frame(backend=backend), kind)


class TestNames:
    def test_the_users_own_columns_are_never_overwritten(self) -> None:
        query = {"row": 1.5, "score": 2.5, "distance": 3.5, "prediction": 4.5, "query": 5.5, "status": 6.5}
        values = {**query, "score": 9.5}
        one = ssba.results.Explanation(
            status=ssba.results.Status.FOUND,
            query=dict(query),
            prediction="ill",
            score=0.25,
            target="'well'",
            counterfactuals=(ssba.results.Counterfactual(values, {"score": (2.5, 9.5)}, 1.0, "well", 0.75),),
        )
        for frame in (one.to_frame(False), ssba.results.Explanations((one,)).to_frame(False)):
            for name, cell in query.items():
                assert frame[name].tolist() == [cell, values[name]]
            flat = [cell for column in cells(frame).values() for cell in column]
            assert "counterfactual" in flat
            assert "well" in flat
            assert 0.75 in flat

    def test_an_unknown_library_is_refused_with_the_known_ones(self) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match=r"'dask'.*'pandas', 'polars', 'pyarrow'"):
            FOUND.to_frame(backend="dask")

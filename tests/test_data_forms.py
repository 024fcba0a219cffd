"""Forms of data and queries: names for an array's columns, lists of dicts, frames whose names are numbers."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.problems import half_space
from tests.support import every

import ssba

X = np.random.default_rng(8).normal(size=(200, 3))
NAMES = ["age", "max HR", "chol"]
QUERY = {"age": 0.1, "max HR": -0.2, "chol": 0.3}


plane = half_space(1.0, 2.0, -0.5, at=1)


def test_a_model_is_asked_about_a_polars_null_as_null() -> None:
    """It has no answer then, which is told; NaN, which polars orders above all numbers, would reach."""
    explainer = ssba.Explainer(lambda rows: rows["a"] > 0, pl.DataFrame({"a": X[:, 0]}), target=True)
    for ask in (explainer.predict, explainer.explain):
        with pytest.raises(ssba.errors.ModelError, match=r"gave no answer for row 0.*'a': None"):
            ask(pl.DataFrame({"a": [None]}, schema={"a": pl.Float64}))


class TestNamesOfAnArray:
    def test_queries_answers_and_constraints_go_by_them(self) -> None:
        named = ssba.Explainer(plane, X, target=True, columns=NAMES)
        found = named.explain(QUERY, [ssba.fixed("max HR"), "age <= 2"])
        assert found.best is not None
        assert list(found.best.values) == NAMES
        assert "max HR" not in found.best.changes
        assert [one.name for one in found.columns] == NAMES

    def test_the_answers_are_those_without_names(self) -> None:
        named, bare = (
            ssba.Explainer(plane, X, target=True, columns=NAMES),
            ssba.Explainer(plane, X, target=True),
        )
        one, other = named.explain(list(QUERY.values())).best, bare.explain(list(QUERY.values())).best
        assert one is not None
        assert other is not None
        assert list(one.values.values()) == list(other.values.values())
        assert list(other.values) == ["x0", "x1", "x2"]

    def test_the_model_still_gets_arrays(self) -> None:
        seen: list[Any] = []

        def model(rows: Any) -> Any:
            seen.append(rows)
            return plane(rows)

        best = ssba.Explainer(model, X, target=True, columns=NAMES).explain(QUERY).best
        assert seen
        assert every(type(rows) is np.ndarray for rows in seen)
        assert best is not None
        assert type(best.row) is np.ndarray
        assert plane(best.row).all()

    def test_features_weights_and_scales_go_by_them(self) -> None:
        explainer = ssba.Explainer(
            plane,
            X,
            target=True,
            columns=NAMES,
            features={"chol": ssba.numeric(step=0.5, unit="mmol/l")},
            distance=ssba.Distance(scale={"max HR": 2.0}, weights={"age": 3.0}),
        )
        by_name = {one.name: one for one in explainer.explain(QUERY).columns}
        assert (by_name["chol"].step, by_name["chol"].unit) == (0.5, "mmol/l")
        assert (by_name["age"].weight, by_name["max HR"].scale) == (3.0, 2.0)

    @pytest.mark.parametrize(
        ("columns", "says"),
        [
            (["a", "b"], "columns has 2 different names, but data has 3 columns"),
            (["a", "b", "a"], "columns has 2 different names, but data has 3 columns"),
            (["a", "b", "c", "d"], "columns has 4 different names"),
            ("abc", "columns is 'abc'"),
            (3, "columns is 3"),
        ],
    )
    def test_a_wrong_list_of_names_is_refused(self, columns: Any, says: str) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match=says):
            ssba.Explainer(plane, X, target=True, columns=columns)

    @pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
    def test_a_frame_has_names_of_its_own(self, make: Any) -> None:
        frame = make(dict(zip(NAMES, X.T, strict=True)))
        with pytest.raises(ssba.errors.ArgumentError, match="data is a frame with names"):
            ssba.Explainer(plane, frame, target=True, columns=NAMES)


class TestListsOfDicts:
    FRAME = pd.DataFrame(X, columns=NAMES).assign(kind=np.where(X[:, 0] > 0, "u", "v"))
    ROWS: tuple[dict[str, Any], ...] = tuple(
        {str(name): cell for name, cell in row.items()} for row in FRAME[:5].to_dict("records")
    )

    def explainer(self) -> ssba.Explainer:
        return ssba.Explainer(lambda rows: plane(rows[NAMES]), self.FRAME, target=True)

    def test_they_are_queries_like_a_frames_rows(self) -> None:
        by_dicts, by_frame = (
            self.explainer().explain_many(rows) for rows in (list(self.ROWS), self.FRAME[:5])
        )
        assert len(by_dicts) == 5
        assert [one.counterfactuals for one in by_dicts] == [one.counterfactuals for one in by_frame]
        assert any(one.best for one in by_dicts)

    def test_the_order_of_their_names_does_not_matter(self) -> None:
        turned = [dict(reversed(list(row.items()))) for row in self.ROWS]
        explainer = self.explainer()
        assert [one.counterfactuals for one in explainer.explain_many(turned)] == [
            one.counterfactuals for one in explainer.explain_many(self.ROWS)
        ]

    def test_their_answers_are_rows_in_the_datas_form(self) -> None:
        answers = self.explainer().explain_many(list(self.ROWS))
        rows = answers.rows()
        assert list(rows.columns) == list(self.FRAME.columns)
        assert rows.index.tolist() == list(answers.answered)

    @pytest.mark.parametrize(
        ("change", "says"),
        [({"agee": 1.0}, "unknown column 'agee'|beside them it has 'agee'"), ({"kind": "z"}, "'z'")],
    )
    def test_one_that_does_not_fit_is_refused(self, change: dict[str, Any], says: str) -> None:
        rows = [*self.ROWS[:2], {**self.ROWS[2], **change}]
        with pytest.raises(ssba.errors.SchemaError, match=says):
            self.explainer().explain_many(rows)


class TestNamesThatAreNumbers:
    FRAME = pd.DataFrame(X)

    def explainer(self) -> ssba.Explainer:
        def model(rows: Any) -> Any:
            assert list(rows.columns) == [0, 1, 2]
            return plane(rows)

        return ssba.Explainer(model, self.FRAME, target=True)

    @pytest.mark.parametrize("query", [FRAME.iloc[[0]], FRAME.iloc[0], dict(FRAME.iloc[0]), X[0]], ids=type)
    def test_queries_go_by_numbers(self, query: Any) -> None:
        found = self.explainer().explain(query)
        expected = self.explainer().explain(dict(zip("012", X[0], strict=True)))
        assert found.query == expected.query == dict(zip("012", X[0].tolist(), strict=True))
        assert found.counterfactuals == expected.counterfactuals

    def test_constraints_name_columns_by_number(self) -> None:
        query = self.FRAME.iloc[int(np.argmin(X @ [1.0, 2.0, -0.5]))]
        rules: list[Any] = [
            ssba.fixed(0),
            ssba.increase(1),
            ssba.between(2, -50, 50),
            "`1` <= 50",
        ]
        found = self.explainer().explain(query, rules)
        assert found.constraints == ("`0` == x.`0`", "`1` >= x.`1`", "-50 <= `2` <= 50", "`1` <= 50")
        assert found.best is not None
        assert set(found.best.changes) <= {"1", "2"}
        by_only = self.explainer().explain(query, [ssba.only(1, 2), *rules[1:]])
        assert by_only.counterfactuals == found.counterfactuals

    def test_rows_of_answers_have_the_numbers_as_names(self) -> None:
        found = self.explainer().explain(self.FRAME.iloc[int(np.argmin(X @ [1.0, 2.0, -0.5]))])
        for one in (found, ssba.results.Explanation.from_json(found.to_json())):
            assert one.best is not None
            assert one.best.row.columns.tolist() == [0, 1, 2]
            assert plane(one.best.row).all()

    def test_many_rows_go_by_numbers_too(self) -> None:
        answers = self.explainer().explain_many(self.FRAME[:4])
        assert answers.rows().columns.tolist() == [0, 1, 2]
        assert answers.rows().index.tolist() == list(answers.answered)
        assert len(answers.answered) > 0

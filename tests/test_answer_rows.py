"""`best.row` and `rows()`: answers in the very form of the user's data, which the model takes as they are."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ssba
from ssba.results.explanation import Explanation

_rng = np.random.default_rng(4)
N = 200
NUMBERS, SMALL = _rng.normal(size=N), _rng.integers(0, 50, N)
LEVELS, FLAGS = _rng.choice(["u", "v", "w"], N), _rng.random(N) < 0.5


def score(rows: Any) -> Any:
    """The same model of every library: it needs numbers and texts to be what they are in the data."""
    count, size = (np.asarray(rows[name], dtype=float) for name in ("count", "size"))
    kind = np.array([str(cell) for cell in rows["kind"]])
    return count / 10 + size + 2 * (kind == "w") > 5


PANDAS = pd.DataFrame(
    {
        "count": SMALL,
        "size": NUMBERS.astype(np.float32),
        "kind": pd.Categorical(LEVELS, categories=["w", "v", "u"]),
        "flag": FLAGS,
        "rank": pd.Categorical(LEVELS, categories=["u", "v", "w"], ordered=True),
        "nullable": pd.array(SMALL, dtype="Int64"),
        "text": pd.array(LEVELS, dtype="string"),
        "words": LEVELS.astype(object),
        "maybe": pd.array(FLAGS, dtype="boolean"),
        "tiny": SMALL.astype(np.uint8),
    }
)
POLARS = pl.DataFrame(
    {
        "size": NUMBERS.astype(np.float32),
        "count": pl.Series(SMALL, dtype=pl.UInt8),
        "kind": pl.Series(LEVELS.tolist(), dtype=pl.Enum(["w", "u", "v"])),
        "other": pl.Series(LEVELS.tolist(), dtype=pl.Categorical),
        "flag": pl.Series(FLAGS, dtype=pl.Boolean),
        "text": LEVELS.tolist(),
    }
)
ARROW = pa.table(
    {
        "count": pa.array(SMALL, type=pa.int32()),
        "size": pa.array(NUMBERS, type=pa.float32()),
        "kind": pa.array(LEVELS.tolist()).dictionary_encode(),
        "text": pa.array(LEVELS.tolist()),
        "flag": pa.array(FLAGS.tolist()),
    }
)
FRAMES: dict[str, Any] = {"pandas": PANDAS, "polars": POLARS, "pyarrow": ARROW}


def as_answered(explanation: Explanation) -> Explanation:
    return explanation


def from_json(explanation: Explanation) -> Explanation:
    return Explanation.from_json(explanation.to_json())


def from_pickle(explanation: Explanation) -> Explanation:
    read: Explanation = pickle.loads(pickle.dumps(explanation))  # noqa: S301
    return read


WAYS = [as_answered, from_json, from_pickle]


def first_row(frame: Any) -> Any:
    """A row that does not reach the target, with the very cells of the data."""
    place = int(np.argmin(score(frame)))
    return frame.iloc[[place]] if isinstance(frame, pd.DataFrame) else frame[place : place + 1]


def schema_of(frame: Any) -> Any:
    """Column names, their order and their dtypes, as the library has them."""
    if isinstance(frame, pd.DataFrame):
        return list(frame.dtypes.items())
    return frame.schema if isinstance(frame, pa.Table) else list(frame.schema.items())


def cells_of(frame: Any) -> dict[str, Any]:
    """The cells of a one-row frame, as Python values."""
    if isinstance(frame, pd.DataFrame):
        return {str(name): frame[name].tolist()[0] for name in frame.columns}
    (row,) = frame.to_pylist() if isinstance(frame, pa.Table) else frame.to_dicts()
    return dict(row)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("library", FRAMES)
class TestFrames:
    def best(self, library: str, way: Callable[[Explanation], Explanation]) -> Any:
        data = FRAMES[library]
        explanation = way(ssba.Explainer(score, data, target=True).explain(first_row(data)))
        assert explanation.best is not None
        return explanation.best

    def test_it_has_the_columns_order_and_dtypes_of_the_data(self, library: str, way: Any) -> None:
        row = self.best(library, way).row
        assert type(row) is type(FRAMES[library])
        assert len(row) == 1
        assert schema_of(row) == schema_of(FRAMES[library])

    def test_its_cells_are_the_values(self, library: str, way: Any) -> None:
        best = self.best(library, way)
        assert cells_of(best.row) == best.values

    def test_the_model_takes_it_and_it_reaches_the_target(self, library: str, way: Any) -> None:
        best = self.best(library, way)
        assert score(best.row).tolist() == [True]


class TestRarerPandas:
    def test_texts_of_arrow_stay_texts_of_arrow(self) -> None:
        texts: Any = pd.Series(LEVELS).astype(pd.ArrowDtype(pa.string()))
        data = pd.DataFrame({"a": NUMBERS, "text": texts})
        explainer = ssba.Explainer(lambda rows: (rows["a"] > 1).to_numpy(), data, target=True)
        best = explainer.explain({"a": 0.0, "text": "u"}).best
        assert best is not None
        assert schema_of(best.row) == schema_of(data)

    @pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
    def test_names_of_several_parts_stay_so(self, way: Any) -> None:
        data = pd.DataFrame({("a", "x"): NUMBERS, ("a", "y"): NUMBERS[::-1]})
        explainer = ssba.Explainer(lambda rows: rows.to_numpy()[:, 0] > 1, data, target=True)
        best = way(explainer.explain(data.iloc[[int(np.argmin(NUMBERS))]])).best
        assert best is not None
        assert best.row.columns.tolist() == data.columns.tolist()


class TestMissingCells:
    def test_they_are_missing_in_the_row_as_in_the_data(self) -> None:
        data = pd.DataFrame(
            {
                "a": NUMBERS,
                "gap": np.where(FLAGS, np.nan, NUMBERS),
                "whole": pd.Series(SMALL, dtype="Int64").where(~FLAGS),
                "kind": pd.Series(LEVELS, dtype="category").where(~FLAGS),
            }
        )
        explainer = ssba.Explainer(lambda rows: (rows["a"] > 1).to_numpy(), data, target=True)
        best = explainer.explain({"a": 0.0, "gap": None, "whole": None, "kind": None}).best
        assert best is not None
        assert best.row[["gap", "whole", "kind"]].isna().all(axis=None)
        assert schema_of(best.row) == schema_of(data)

    @pytest.mark.parametrize("library", ["polars", "pyarrow"])
    def test_they_are_null_where_the_library_has_nulls(self, library: str) -> None:
        cells = {"a": NUMBERS.tolist(), "kind": [None if one == "w" else one for one in LEVELS.tolist()]}
        data: Any = pl.DataFrame(cells) if library == "polars" else pa.table(cells)
        explainer = ssba.Explainer(lambda rows: np.asarray(rows["a"]) > 1, data, target=True)
        best = explainer.explain({"a": 0.0, "kind": None}).best
        assert best is not None
        assert cells_of(best.row)["kind"] is None


class TestArrays:
    @pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8])
    def test_it_is_one_row_of_the_arrays_dtype(self, dtype: Any, way: Any) -> None:
        data = _rng.integers(0, 50, size=(N, 3)).astype(dtype)
        explainer = ssba.Explainer(lambda rows: rows.astype(float) @ [1, 2, 0.5] > 120, data, target=True)
        best = way(explainer.explain(data[np.argmin(data.sum(axis=1))])).best
        assert best is not None
        assert (best.row.dtype, best.row.shape) == (np.dtype(dtype), (1, 3))
        assert best.row[0].tolist() == list(best.values.values())
        assert (best.row.astype(float) @ [1, 2, 0.5] > 120).all()


class TestByHand:
    def test_an_answer_that_was_made_by_hand_has_no_row(self) -> None:
        made = ssba.results.Counterfactual({"a": 1}, {}, 0.0, "well")
        with pytest.raises(ssba.errors.ArgumentError, match="use values"):
            _ = made.row


class TestManyRows:
    LABELLED = PANDAS.set_index(pd.Index([f"patient {i}" for i in range(N)]))

    def test_a_pandas_frame_keeps_its_index(self) -> None:
        explainer = ssba.Explainer(score, PANDAS, target=True)
        asked = self.LABELLED[~score(self.LABELLED)].iloc[[5, 2, 9]]
        answers = explainer.explain_many(asked)
        for one in (answers, ssba.results.Explanations.from_json(answers.to_json())):
            rows = one.rows()
            assert rows.index.tolist() == asked.index.tolist()
            assert schema_of(rows) == schema_of(PANDAS)
            assert score(rows).all()

    def test_an_index_of_several_levels_survives_json(self) -> None:
        explainer = ssba.Explainer(score, PANDAS, target=True)
        index = pd.MultiIndex.from_product([["a", "b"], range(N // 2)])
        asked = PANDAS.set_index(index)[~score(PANDAS)][:3]
        answers = explainer.explain_many(asked)
        assert answers.rows().index.tolist() == asked.index.tolist()
        again = ssba.results.Explanations.from_json(answers.to_json())
        assert again.rows().index.tolist() == asked.index.tolist()

    def test_queries_without_an_answer_are_left_out(self) -> None:
        explainer = ssba.Explainer(score, PANDAS, target=True)
        there, wanting = self.LABELLED[score(self.LABELLED)][:2], self.LABELLED[~score(self.LABELLED)][:3]
        answers = explainer.explain_many(pd.concat([there, wanting]))
        assert [one.status for one in answers] == ["already_there"] * 2 + ["found"] * 3
        assert answers.answered == (2, 3, 4)
        assert answers.rows().index.tolist() == wanting.index.tolist()

    def test_a_part_of_the_answers_keeps_its_part_of_the_index(self) -> None:
        explainer = ssba.Explainer(score, PANDAS, target=True)
        asked = self.LABELLED[~score(self.LABELLED)][:3]
        answers = explainer.explain_many(asked)
        assert answers[1:].rows().index.tolist() == asked.index[1:].tolist()

    @pytest.mark.parametrize("library", ["polars", "pyarrow"])
    def test_other_libraries_tell_by_numbers_which_queries_were_answered(self, library: str) -> None:
        data = FRAMES[library]
        answers = ssba.Explainer(score, data, target=True).explain_many(data[:12])
        there = score(data[:12])
        assert answers.answered == tuple(np.flatnonzero(~there).tolist())
        assert schema_of(answers.rows()) == schema_of(data)
        assert len(answers.rows()) == (~there).sum() > 0

    def test_none_answered_gives_a_frame_without_rows(self) -> None:
        explainer = ssba.Explainer(score, PANDAS, target=True)
        answers = explainer.explain_many(PANDAS[score(PANDAS)][:2])
        assert len(answers.rows()) == 0
        assert schema_of(answers.rows()) == schema_of(PANDAS)

    def test_arrays_give_an_array(self) -> None:
        data = np.stack([NUMBERS, SMALL], axis=1)
        answers = ssba.Explainer(lambda rows: rows[:, 0] > 1, data, target=True).explain_many(data[:9])
        rows = answers.rows()
        assert rows.shape == (len(answers.answered), 2)
        assert len(rows) > 0
        assert (rows[:, 0] > 1).all()


class TestTables:
    @pytest.mark.parametrize("library", FRAMES)
    def test_they_are_in_the_datas_library(self, library: str) -> None:
        data = FRAMES[library]
        explainer = ssba.Explainer(score, data, target=True)
        one = explainer.explain(first_row(data))
        for made in (one, from_json(one), explainer.explain_many(data[:3])):
            assert type(made.to_frame()) is type(data)
            assert type(made.to_frame(backend="polars")) is pl.DataFrame


class TestLabels:
    """pandas' own names of rows and axes come back with the answers; whatever they are, nothing breaks."""

    EXPLAINER = ssba.Explainer(score, PANDAS, target=True)
    WANTING = PANDAS[~score(PANDAS)]

    @pytest.mark.parametrize("way", WAYS)
    def test_a_series_gives_its_name(self, way: Callable[[Explanation], Explanation]) -> None:
        row = self.WANTING.iloc[3]
        best = way(self.EXPLAINER.explain(row)).best
        assert best is not None
        assert best.row.index.tolist() == [row.name]

    @pytest.mark.parametrize("way", WAYS)
    def test_a_one_row_frame_gives_its_index(self, way: Callable[[Explanation], Explanation]) -> None:
        row = self.WANTING.iloc[[3]].set_axis(pd.Index(["patient 7"], name="patient"))
        best = way(self.EXPLAINER.explain(row)).best
        assert best is not None
        assert best.row.index.equals(row.index)
        assert best.row.index.name == "patient"

    @pytest.mark.parametrize("form", ["dict", "array", "nameless"])
    def test_other_forms_have_no_label(self, form: str) -> None:
        row = self.WANTING.iloc[3]
        forms = {"dict": row.to_dict(), "array": row.tolist(), "nameless": row.rename(None)}
        found = self.EXPLAINER.explain(forms[form])
        assert found.row_label is None
        assert found.best is not None
        assert found.best.row.index.tolist() == [0]

    def test_a_bounded_move_has_the_label_too(self) -> None:
        row = self.WANTING.iloc[3]
        found = self.EXPLAINER.explain(row, [ssba.fixed("count", "kind"), ssba.within("size", amount=0.01)])
        assert found.bounded is not None
        assert found.bounded.row.index.tolist() == [row.name]

    def test_many_rows_keep_the_names_of_index_and_columns(self) -> None:
        data = PANDAS.rename_axis(columns="measure")
        asked = data[~score(data)][:3].rename_axis(index="patient")
        answers = ssba.Explainer(score, data, target=True).explain_many(asked)
        for one in (answers, ssba.results.Explanations.from_json(answers.to_json())):
            assert one.rows().index.name == "patient"
            assert one.rows().columns.name == "measure"
            assert one[0].best is not None
            assert one[0].best.row.index.tolist() == asked.index[:1].tolist()

    def test_levels_of_an_index_keep_their_names(self) -> None:
        index = pd.MultiIndex.from_product([["a", "b"], range(N // 2)], names=["ward", "bed"])
        asked = PANDAS.set_index(index)[~score(PANDAS)][:3]
        rows = self.EXPLAINER.explain_many(asked).rows()
        assert rows.index.equals(asked.index)
        assert list(rows.index.names) == ["ward", "bed"]

    @pytest.mark.parametrize("label", [np.nan, pd.NA, pd.NaT, pd.Period("2026-01"), None], ids=str)
    def test_a_label_may_be_missing_or_have_no_json(self, label: Any) -> None:
        asked = self.WANTING[:2].set_axis(pd.Index([label, "b"], dtype=object))
        answers = self.EXPLAINER.explain_many(asked)
        assert answers.rows().index.isna().tolist() == asked.index.isna().tolist()
        assert answers.rows().index[1] == "b"
        again = ssba.results.Explanations.from_json(answers.to_json())
        assert again.rows().index[1] == "b"
        assert self.EXPLAINER.explain(asked.iloc[0]).status == "found"

    def test_positions_align_answers_of_arrays_with_their_queries(self) -> None:
        data = np.stack([NUMBERS, SMALL], axis=1)
        answers = ssba.Explainer(lambda rows: rows[:, 0] > 1, data, target=True).explain_many(data[:9])
        queries, rows = data[list(answers.answered)], answers.rows()
        assert len(rows) > 0
        # The model looks at the first column alone, so that each answer keeps its query's second.
        np.testing.assert_array_equal(rows[:, 1], queries[:, 1])

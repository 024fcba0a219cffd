"""Misuse gets an error of ours that names the thing, what came, what is allowed and a likely fix."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

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


def on_arrays(rows: Any) -> Any:
    return rows[:, 0] > 0


def on_frames(rows: Any) -> Any:
    return np.asarray(rows["age"]) > 50


ARRAYS = ssba.Explainer(on_arrays, X)
FRAMES = ssba.Explainer(on_frames, FRAME)


def refused(error: type[ssba.SsbaError], *parts: str) -> Any:
    """An error of this very class whose message holds all the parts."""

    def check(raised: BaseException) -> bool:
        return type(raised) is error and all(part in str(raised) for part in parts)

    return pytest.raises(error, check=check)


class TestData:
    @pytest.mark.parametrize(
        ("data", "parts"),
        [
            (X[:, 0], ("(80,)", "2-D", "reshape(-1, 1)")),
            (X[:, :, None], ("(80, 3, 1)", "2-D")),
            (X[:0], ("empty", "background rows")),
            (X[:, :0], ("empty",)),
            (X.astype(object), ("object", "frame")),
            (X.astype(str), ("<U", "numbers")),
            (X.astype(complex), ("complex128",)),
            (X.tolist(), ("list", "2-D array")),
            (None, ("NoneType", "frame")),
            ({"a": [1, 2]}, ("dict", "frame")),
            (FRAME["age"], ("Series", "frame")),
            (pl.from_pandas(FRAME).lazy(), ("LazyFrame",)),
        ],
    )
    def test_what_is_no_table_of_rows(self, data: Any, parts: tuple[str, ...]) -> None:
        with refused(ssba.errors.SchemaError, *parts):
            ssba.Explainer(on_arrays, data)

    def test_infinity_names_the_column(self) -> None:
        data = X.copy()
        data[3, 1] = np.inf
        with refused(ssba.errors.SchemaError, "'x1'", "infinite", "missing cell"):
            ssba.Explainer(on_arrays, data)
        with refused(ssba.errors.SchemaError, "'chol'", "infinite"):
            ssba.Explainer(on_frames, FRAME.assign(chol=-np.inf))

    def test_masked_cells_are_not_used_as_values(self) -> None:
        with pytest.raises(ssba.errors.SchemaError, match="MaskedArray"):
            ssba.Explainer(on_arrays, np.ma.masked_array(X, X > 1))

    @pytest.mark.parametrize(
        ("frame", "parts"),
        [
            (FRAME.set_axis(["age", "chol", "age"], axis=1), ("'age'", "duplicate", "rename")),
            (FRAME.assign(when=pd.Timedelta(days=1)), ("'when'", "timedelta64", "convert")),
            (FRAME.assign(odd=pd.Series([[1]] * 80, dtype=object)), ("'odd'", "convert")),
            (FRAME.assign(odd=pd.Series([{}] * 80, dtype=object)), ("'odd'", "convert")),
            (FRAME.assign(odd=pd.Series([b"x"] * 80, dtype=object)), ("'odd'", "b'x'", "convert")),
            (FRAME.assign(odd=pd.Series([1, 2] * 40, dtype=object)), ("'odd'", "object", "astype(float)")),
            (FRAME.assign(odd=1j), ("'odd'", "complex128")),
            (pl.DataFrame({"age": [[1], [2]]}), ("'age'", "List")),
            (pa.table({"age": [b"x", b"y"]}), ("'age'", "Binary")),
            (pd.DataFrame({"age": []}), ("empty",)),
            (pd.DataFrame(), ("empty",)),
        ],
    )
    def test_columns_that_cannot_be_read(self, frame: Any, parts: tuple[str, ...]) -> None:
        with refused(ssba.errors.SchemaError, *parts):
            ssba.Explainer(on_frames, frame)

    def test_whole_numbers_that_a_float_cannot_hold_are_not_rounded(self) -> None:
        with refused(ssba.errors.SchemaError, "'id'", "2**53", "text"):
            ssba.Explainer(on_frames, FRAME.assign(id=2**60 + np.arange(80)))


class TestFeatures:
    @pytest.mark.parametrize(
        ("features", "error", "parts"),
        [
            ({"ag": ssba.integer()}, ssba.errors.SchemaError, ("'ag'", "did you mean 'age'", "'chol'")),
            ({"age": "integer"}, ssba.errors.ArgumentError, ("'age'", "'integer'", "ssba.integer()")),
            ({"pain": ssba.numeric()}, ssba.errors.SchemaError, ("'pain'", "numeric", "ssba.categorical()")),
            (
                {"pain": ssba.ordinal(["none", "mild"])},
                ssba.errors.SchemaError,
                ("'pain'", "'strong'", "declared"),
            ),
            ({"pain": ssba.boolean()}, ssba.errors.SchemaError, ("'pain'", "boolean", "3 values")),
            ({"chol": ssba.integer()}, ssba.errors.SchemaError, ("'chol'", "whole number", "ssba.numeric()")),
            ("age", ssba.errors.ArgumentError, ("features",)),
            (5, ssba.errors.ArgumentError, ("features",)),
        ],
    )
    def test_declarations_that_do_not_fit(
        self, features: Any, error: type[ssba.SsbaError], parts: tuple[str, ...]
    ) -> None:
        with refused(error, *parts):
            ssba.Explainer(on_frames, FRAME, features=features)

    @pytest.mark.parametrize(
        "declare",
        [
            lambda: ssba.numeric(step="a"),  # type: ignore[arg-type]
            lambda: ssba.numeric(step=0),
            lambda: ssba.numeric(low=None),  # type: ignore[arg-type]
            lambda: ssba.numeric(low=2, high=1),
            lambda: ssba.integer(high=float("nan")),
            lambda: ssba.integer(low="a"),  # type: ignore[arg-type]
            lambda: ssba.ordinal(5),  # type: ignore[arg-type]
            lambda: ssba.ordinal(["a"]),
            lambda: ssba.ordinal(["a", "a"]),
            lambda: ssba.ordinal([["a"], ["b"]]),
            lambda: ssba.categorical([]),
            lambda: ssba.categorical([None, "a"]),
            lambda: ssba.categorical([float("nan"), 1.0]),
        ],
    )
    def test_declarations_that_make_no_sense(self, declare: Any) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match=r"numeric\(|integer\(|ordinal\(|categorical\("):
            declare()


class TestSettings:
    @pytest.mark.parametrize(
        ("settings", "parts"),
        [
            ({"distance": "l3"}, ("distance", "'l3'", "'gower'")),
            ({"distance": None}, ("distance", "None")),
            ({"distance": np.array(["l1", "l2"])}, ("distance",)),
            ({"seed": -1}, ("seed", "-1")),
            ({"seed": 1.5}, ("seed", "1.5")),
            ({"seed": None}, ("seed", "None")),
            ({"seed": True}, ("seed", "True")),
        ],
    )
    def test_settings_that_are_not_allowed(self, settings: dict[str, Any], parts: tuple[str, ...]) -> None:
        with refused(ssba.errors.ArgumentError, *parts):
            ssba.Explainer(on_arrays, X, **settings)

    @pytest.mark.parametrize(
        ("parts_of_it", "parts"),
        [
            ({"norm": "l3"}, ("norm", "'l3'", "'gower'")),
            ({"norm": None}, ("norm", "None")),
            ({"scale": "sd"}, ("scale", "'sd'", "'std'")),
            ({"scale": 5}, ("scale", "5")),
            ({"scale": np.array([1.0, 2.0])}, ("scale",)),
            ({"scale": {"x0": 0}}, ("scale", "'x0'", "positive")),
            ({"scale": {"x0": "a"}}, ("scale", "'x0'", "positive")),
            ({"weights": {"x0": -1}}, ("weights", "'x0'", "-1", "positive")),
            ({"weights": {"x0": None}}, ("weights", "'x0'", "positive")),
            ({"weights": {"x0": [1]}}, ("weights", "'x0'", "positive")),
            ({"weights": {"x0": 10**400}}, ("weights", "'x0'", "positive")),
            ({"weights": 5}, ("weights",)),
        ],
    )
    def test_distances_that_are_not_allowed(
        self, parts_of_it: dict[str, Any], parts: tuple[str, ...]
    ) -> None:
        with refused(ssba.errors.ArgumentError, *parts):
            ssba.Distance(**parts_of_it)

    @pytest.mark.parametrize("setting", ["weights", "scale"])
    def test_unknown_columns(self, setting: str) -> None:
        factors: dict[str, Any] = {setting: {"x9": 1.0}}
        with refused(ssba.errors.SchemaError, setting, "'x9'", "'x0', 'x1', 'x2'"):
            ssba.Explainer(on_arrays, X, distance=ssba.Distance(**factors))

    @pytest.mark.parametrize("k", [0, -1, 1.5, "a", None, float("nan"), [1]])
    def test_how_many_answers(self, k: Any) -> None:
        with refused(ssba.errors.ArgumentError, "k ", repr(k), "whole number"):
            ARRAYS.explain(X[0], k=k)

    @pytest.mark.parametrize("rows", [0, -1, "x", None, float("nan"), [1]])
    def test_budgets_of_rows(self, rows: Any) -> None:
        with refused(ssba.errors.ArgumentError, "Budget(rows=", repr(rows), "whole number"):
            ssba.Budget(rows=rows)

    @pytest.mark.parametrize("seconds", [0, -1, "a", float("nan"), [1]])
    def test_budgets_of_seconds(self, seconds: Any) -> None:
        with refused(ssba.errors.ArgumentError, "Budget(seconds=", repr(seconds), "above 0"):
            ssba.Budget(seconds=seconds)

    @pytest.mark.parametrize("budget", [5, "x", {"rows": 3}, {}])
    def test_a_budget_that_is_none(self, budget: Any) -> None:
        with refused(ssba.errors.ArgumentError, "budget", "ssba.Budget("):
            ARRAYS.explain(X[0], budget=budget)

    @pytest.mark.parametrize("boundary", [5, "x", X])
    def test_boundary_points_that_are_none(self, boundary: Any) -> None:
        with refused(ssba.errors.ArgumentError, "boundary", "sample_boundary"):
            ARRAYS.explain(X[0], boundary=boundary)

    @pytest.mark.parametrize("n", [0, -5, "a", None, 1.5])
    def test_how_many_boundary_points(self, n: Any) -> None:
        with refused(ssba.errors.ArgumentError, "n_pairs=", repr(n), "whole number"):
            ARRAYS.sample_boundary(n)

    @pytest.mark.parametrize("tolerance", [0, 1, -0.1, "a", None, float("nan")])
    def test_tolerances(self, tolerance: Any) -> None:
        with refused(ssba.errors.ArgumentError, "tolerance", repr(tolerance), "between 0 and 1"):
            ARRAYS.sample_boundary(5, tolerance)


class TestQuery:
    @pytest.mark.parametrize(
        ("change", "parts"),
        [
            ({"age": 50.5}, ("'age'", "50.5", "whole number", "ssba.numeric()")),
            ({"age": None}, ("'age'", "missing")),
            ({"age": "fifty"}, ("'age'", "'fifty'", "not a number")),
            ({"age": True}, ("'age'", "True", "not a number")),
            ({"chol": "230"}, ("'chol'", "'230'", "not a number")),
            ({"chol": np.inf}, ("'chol'", "inf", "finite")),
            ({"chol": [230]}, ("'chol'", "[230]")),
            ({"chol": np.array([1, 2])}, ("'chol'",)),
            ({"chol": 10**400}, ("'chol'",)),
            ({"chol": 1j}, ("'chol'", "1j")),
            ({"pain": "midl"}, ("'pain'", "'midl'", "'none'", "did you mean 'mild'")),
            ({"pain": 3}, ("'pain'", "3", "'strong'")),
            ({"pain": ["mild"]}, ("'pain'",)),
        ],
    )
    def test_cells_that_do_not_fit(self, change: dict[str, Any], parts: tuple[str, ...]) -> None:
        with refused(ssba.errors.SchemaError, *parts):
            FRAMES.explain({**ROW, **change})

    def test_missing_extra_and_renamed_columns(self) -> None:
        with refused(ssba.errors.SchemaError, "column 'chol' is missing"):
            FRAMES.explain({"age": 50, "pain": "mild"})
        with refused(ssba.errors.SchemaError, "'height'", "'age'"):
            FRAMES.explain({**ROW, "height": 170})
        with refused(ssba.errors.SchemaError, "'chol' is missing", "'Chol'", "did you mean 'chol'"):
            FRAMES.explain({"age": 50, "Chol": 230.0, "pain": "mild"})

    @pytest.mark.parametrize(
        "row",
        [
            None,
            5,
            "abc",
            [1, 2],
            [1, [2], 3],
            np.zeros((2, 3)),
            np.zeros((1, 1, 3)),
            iter([1, 2, 3]),
            {},
            object(),
            np.array(["a", "b", "c"]),
            pd.Series([1.0, 2.0, 3.0]),
            pl.Series([1.0, 2.0]),
        ],
    )
    def test_what_is_no_row(self, row: Any) -> None:
        with pytest.raises(ssba.errors.SchemaError, match=r"'?x[01]"):
            ARRAYS.explain(row)

    @pytest.mark.parametrize("rows", [FRAME[:2], FRAME[:0], pl.from_pandas(FRAME)])
    def test_a_frame_of_another_number_of_rows(self, rows: Any) -> None:
        with refused(ssba.errors.SchemaError, "one row", str(len(rows)), "explain_many"):
            FRAMES.explain(rows)

    @pytest.mark.parametrize(
        ("dtype", "cell", "held"),
        [("int8", 1000, "127"), ("uint8", -10, "0 to 255"), ("int16", 10**6, "32767")],
    )
    def test_numbers_that_the_columns_dtype_cannot_hold(self, dtype: str, cell: int, held: str) -> None:
        explainer = ssba.Explainer(on_frames, FRAME.astype({"age": dtype}))
        with refused(ssba.errors.SchemaError, "'age'", str(cell), held, "wider dtype"):
            explainer.explain({**ROW, "age": cell})


class TestRows:
    @pytest.mark.parametrize(
        ("rows", "parts"),
        [
            (None, ("NoneType",)),
            ([[0.0, 0.0, 0.0]], ("list",)),
            ([ROW], ("'x0' is missing",)),
            ([ROW, None], ("list",)),
            (X[0], ("(3,)", "2-D")),
            (X[:, :2], ("2 columns", "3")),
            (np.where(X > 2, np.inf, X), ("'x", "row", "infinite")),
            (X.astype(object), ("object",)),
        ],
    )
    def test_arrays_that_do_not_fit(self, rows: Any, parts: tuple[str, ...]) -> None:
        with refused(ssba.errors.SchemaError, *parts):
            ARRAYS.explain_many(rows)

    @pytest.mark.parametrize(
        ("rows", "parts"),
        [
            (FRAME.drop(columns="chol"), ("'chol' is missing",)),
            (FRAME.assign(extra=1), ("'extra'",)),
            (FRAME.rename(columns={"chol": "cholesterol"}), ("'chol' is missing", "'cholesterol'")),
            (FRAME.assign(pain="midl"), ("'pain'", "'midl'", "did you mean 'mild'")),
            (FRAME.assign(age=50.5), ("'age'", "50.5", "row 0")),
            (FRAME.assign(age="old"), ("'age'", "'old'", "not a number")),
            (FRAME.assign(chol=pd.Timestamp("2020-01-01")), ("'chol'",)),
            (pl.from_pandas(FRAME).with_columns(chol=pl.lit("x")), ("'chol'", "'x'")),
            (pa.Table.from_pandas(FRAME.assign(pain="?")), ("'pain'", "'?'")),
        ],
    )
    def test_frames_that_do_not_fit(self, rows: Any, parts: tuple[str, ...]) -> None:
        with refused(ssba.errors.SchemaError, *parts):
            FRAMES.explain_many(rows[:3])


class TestConstraints:
    @pytest.mark.parametrize(
        ("constraint", "parts"),
        [
            (ssba.fixed("cholst"), ("'cholst'", "did you mean 'chol'", "'age'")),
            ("chl >= 100", ("'chl'", "did you mean 'chol'")),
            ("pain == 'midl'", ("'pain'", "'midl'", "'mild'")),
            (ssba.one_of("pain", ["mild", "awful"]), ("'pain'", "'awful'", "'strong'")),
            (ssba.transition("pain", {"strong": ["gone"]}), ("'pain'", "'gone'")),
            (ssba.increase("pain"), ("'pain'", "categorical", "order")),
            (ssba.within("pain", percent=5), ("'pain'", "numbers")),
            (ssba.between("chol", "a", 3), ("'chol'", "'a'", "not a number")),
            ("age + pain >= 3", ("'pain'",)),
            ("chol", ("chol", "expected")),
            ("", ("constraint",)),
            ("__import__('os').system('true')", ("cannot be called",)),
            (5, ("5", "fixed(")),
            ([["age >= 3"]], ("age >= 3",)),
        ],
    )
    def test_constraints_that_do_not_fit(self, constraint: Any, parts: tuple[str, ...]) -> None:
        with refused(ssba.errors.ConstraintError, *parts):
            FRAMES.explain(ROW, constraint if isinstance(constraint, list) else [constraint])

    @pytest.mark.parametrize("constraints", [5, 3.5, object(), True])
    def test_what_is_no_list_of_constraints(self, constraints: Any) -> None:
        with pytest.raises(ssba.SsbaError, match="constraint"):
            FRAMES.explain(ROW, constraints)
        with pytest.raises(ssba.SsbaError, match="constraint"):
            FRAMES.explain_many(FRAME[:2], constraints)

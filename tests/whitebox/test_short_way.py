"""The last step of a pipeline is asked about inputs that have the bits of those its other steps make."""

import json
import pickle
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from tests.support import every

import ssba
from ssba.columns.space import build_space
from ssba.engine import engine
from ssba.errors import ModelError
from ssba.models.prepared import ShortWay
from ssba.whitebox.short_way import short_way

RANDOM = np.random.default_rng(0)
COUNT = 200
FRAME = pd.DataFrame(
    {
        "age": RANDOM.integers(18, 90, COUNT),
        "pay": RANDOM.gamma(2, 1000, COUNT),
        "rate": RANDOM.normal(size=COUNT).round(2),
        "job": RANDOM.choice(["clerk", "cook", "nurse", "smith"], COUNT, p=[0.5, 0.3, 0.17, 0.03]),
        "size": pd.Categorical(RANDOM.choice(["s", "m", "l"], COUNT), ["s", "m", "l"], ordered=True),
        "owner": RANDOM.choice([True, False], COUNT),
        "kids": RANDOM.choice([0.0, 1.0], COUNT),
    }
)
TWO = (FRAME["pay"] / 1000 + FRAME["rate"] + FRAME["owner"] > 2.5).astype(int)
NUMBERS, LEVELS = ["age", "pay", "rate"], ["job", "size", "owner", "kids"]

HOLED = FRAME.astype({"age": float}).mask(RANDOM.random(FRAME.shape) < 0.05).assign(owner=FRAME["owner"])
ARRAY = FRAME[["age", "pay", "rate", "kids"]].to_numpy(float)


def one_hot(**settings: Any) -> OneHotEncoder:
    return OneHotEncoder(**{"sparse_output": False} | settings)


def apart(numbers: Any, levels: Any, **settings: Any) -> ColumnTransformer:
    return make_column_transformer((levels, LEVELS), (numbers, NUMBERS), **settings)


def filled(*then: Any) -> Pipeline:
    return make_pipeline(SimpleImputer(strategy="median"), *then)


def way_to(data: Any, *steps: Any, labels: Any = TWO) -> tuple[Pipeline, ShortWay | None]:
    model = make_pipeline(*steps, RandomForestClassifier(3, random_state=0)).fit(data, labels)
    return model, short_way(model, *build_space(data))


def same_bits(ours: Any, theirs: Any) -> bool:
    if hasattr(theirs, "toarray"):
        names = ("indptr", "indices", "data")
        return type(ours) is type(theirs) and all(
            same_bits(getattr(ours, name), getattr(theirs, name)) for name in names
        )
    same_form = ours.dtype == theirs.dtype and ours.flags.f_contiguous == theirs.flags.f_contiguous
    return bool(same_form and ours.tobytes() == theirs.tobytes())


def drawn(data: Any, *, missing: float = 0.0) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Legal rows, mostly none of the data: every column drawn apart, numbers somewhere between and beyond."""
    space, Z = build_space(data)
    rng = np.random.default_rng(1)
    rows = np.stack([rng.choice(column[~np.isnan(column)], 400) for column in Z.T], axis=1)
    numbers = [j for j, feature in enumerate(space.features) if not feature.has_levels]
    rows[:, numbers] *= rng.uniform(-1, 2, (400, len(numbers)))
    low, high = space.declared_range
    rows = space.grid.snap(np.clip(rows, low, high))
    return np.where((rng.random(rows.shape) < missing) & np.array(space.nullable), np.nan, rows)


def check_bits(model: Pipeline, way: ShortWay | None, data: Any, *, missing: float = 0.0) -> None:
    assert way is not None
    space, _ = build_space(data)
    for rows in (drawn(data, missing=missing), drawn(data, missing=missing)[:1]):
        prepared = way(rows)
        assert prepared is not None
        assert same_bits(prepared.inputs, model[:-1].transform(space.decode(rows.copy())))


STEPS: dict[str, Callable[[], list[Any]]] = {
    "standard": lambda: [apart(StandardScaler(), one_hot())],
    "no mean": lambda: [apart(StandardScaler(with_mean=False), one_hot())],
    "no deviation": lambda: [apart(StandardScaler(with_std=False), one_hot())],
    "min and max": lambda: [apart(MinMaxScaler((-1, 2)), one_hot())],
    "clipped": lambda: [apart(MinMaxScaler(clip=True), one_hot())],
    "largest": lambda: [apart(MaxAbsScaler(), one_hot())],
    "robust": lambda: [apart(RobustScaler(), one_hot())],
    "robust, no center": lambda: [apart(RobustScaler(with_centering=False), one_hot())],
    "robust, no scale": lambda: [apart(RobustScaler(with_scaling=False), one_hot())],
    "as they are": lambda: [apart("passthrough", one_hot())],
    "idle function": lambda: [apart(FunctionTransformer(), one_hot())],
    "numbers dropped": lambda: [apart("drop", one_hot())],
    "sparse": lambda: [apart(StandardScaler(), OneHotEncoder(), sparse_threshold=1.0)],
    "sparse made dense": lambda: [apart(StandardScaler(), OneHotEncoder(), sparse_threshold=0.0)],
    "first dropped": lambda: [apart(StandardScaler(), one_hot(drop="first"))],
    "binary dropped": lambda: [apart(StandardScaler(), one_hot(drop="if_binary"))],
    "rare together": lambda: [apart(StandardScaler(), one_hot(min_frequency=20))],
    "few categories": lambda: [
        apart(StandardScaler(), one_hot(max_categories=3, handle_unknown="infrequent_if_exist"))
    ],
    "unknown ignored": lambda: [apart(StandardScaler(), one_hot(handle_unknown="ignore"))],
    "one hot in 32 bits": lambda: [apart(StandardScaler(), one_hot(dtype=np.float32))],
    "ordinal": lambda: [apart(StandardScaler(), OrdinalEncoder())],
    "ordinal, scaled": lambda: [apart(StandardScaler(), make_pipeline(OrdinalEncoder(), MinMaxScaler()))],
    "whole numbers alone": lambda: [make_column_transformer(("passthrough", ["age"]))],
    "one column": lambda: [make_column_transformer((StandardScaler(), ["pay"]))],
    "remainder": lambda: [
        make_column_transformer((one_hot(), ["job", "size"]), remainder="passthrough"),
        StandardScaler(),
    ],
    "remainder scaled": lambda: [
        make_column_transformer((one_hot(), ["job", "size"]), ("drop", ["pay"]), remainder=RobustScaler())
    ],
    "by dtype": lambda: [
        make_column_transformer(
            (StandardScaler(), make_column_selector(dtype_include="number")), (one_hot(), ["job"])
        )
    ],
    "a column twice": lambda: [
        make_column_transformer((StandardScaler(), NUMBERS), (MinMaxScaler(), ["pay", "age"]))
    ],
    "scaled twice": lambda: [apart(make_pipeline(StandardScaler(), MinMaxScaler()), one_hot())],
    "scaled after": lambda: [apart("passthrough", one_hot()), StandardScaler()],
    "selected": lambda: [apart(StandardScaler(), one_hot()), VarianceThreshold(0.1), SelectKBest(k=4)],
    "filled": lambda: [apart(filled(StandardScaler()), one_hot())],
    "union": lambda: [make_column_transformer((make_union(StandardScaler(), MinMaxScaler()), NUMBERS))],
    "column transformers": lambda: [
        apart("passthrough", one_hot()),
        make_column_transformer((StandardScaler(), slice(-3, None)), remainder="passthrough"),
    ],
    "nothing before": lambda: ["passthrough", apart(StandardScaler(), one_hot())],
    "frames between": lambda: [
        apart("passthrough", one_hot()).set_output(transform="pandas"),
        StandardScaler(),
    ],
}


class TestInputsAreThoseOfTheSteps:
    @pytest.mark.parametrize("name", STEPS)
    def test_in_pandas(self, name: str) -> None:
        check_bits(*way_to(FRAME, *STEPS[name]()), FRAME)

    @pytest.mark.parametrize("name", ["standard", "as they are", "remainder", "sparse", "ordinal", "filled"])
    def test_in_polars(self, name: str) -> None:
        data = pl.from_pandas(FRAME.astype({"size": str}))
        check_bits(*way_to(data, *STEPS[name]()), data)

    @pytest.mark.parametrize(
        "dtypes",
        [
            {"age": "int8", "kids": "int64"},
            {"age": "uint16", "owner": int},
            {"age": "Int64", "pay": "Float64", "owner": "boolean"},
            {"age": float, "job": "category"},
            {"job": "string", "size": object},
        ],
    )
    def test_in_other_dtypes(self, dtypes: dict[str, Any]) -> None:
        data = FRAME.astype(dtypes)
        check_bits(*way_to(data, apart(StandardScaler(), one_hot())), data)

    @pytest.mark.parametrize(
        "steps",
        [
            [StandardScaler()],
            [MinMaxScaler(clip=True)],
            [make_column_transformer((one_hot(), [3]), remainder=StandardScaler())],
            [SimpleImputer(), RobustScaler()],
            [FeatureUnion([("one", MaxAbsScaler()), ("two", "passthrough"), ("three", "drop")])],
        ],
    )
    @pytest.mark.parametrize("order", ["C", "F"])
    def test_in_arrays(self, steps: list[Any], order: Any) -> None:
        data = np.asarray(ARRAY, order=order)
        check_bits(*way_to(data, *steps), data)

    def test_in_arrays_of_whole_numbers(self) -> None:
        data = FRAME[["age", "owner", "kids"]].to_numpy(int)
        check_bits(*way_to(data, StandardScaler()), data)

    def test_in_frames_of_floats(self) -> None:
        data = pd.DataFrame(ARRAY, columns=list("abcd"))
        check_bits(*way_to(data, StandardScaler()), data)

    @pytest.mark.parametrize(
        "steps",
        [
            [apart(filled(StandardScaler()), one_hot(handle_unknown="ignore"))],
            [apart(StandardScaler(), make_pipeline(SimpleImputer(strategy="most_frequent"), one_hot()))],
            [
                apart(
                    filled(MinMaxScaler()),
                    OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
                )
            ],
            [apart(SimpleImputer(strategy="constant", fill_value=-5.0), one_hot(), remainder="drop")],
        ],
    )
    def test_with_missing_cells(self, steps: list[Any]) -> None:
        check_bits(*way_to(HOLED, *steps), HOLED, missing=0.2)

    def test_of_columns_in_another_order_than_where_the_model_was_fitted(self) -> None:
        model = make_pipeline(apart(StandardScaler(), one_hot()), RandomForestClassifier(3)).fit(FRAME, TWO)
        data = FRAME[FRAME.columns[::-1]]
        check_bits(model, short_way(model, *build_space(data)), data)

    def test_of_32_bit_columns_that_no_step_computes_with(self) -> None:
        data = FRAME.astype({"pay": "float32", "rate": "float32"})
        check_bits(*way_to(data, apart("passthrough", one_hot())), data)

    def test_dates_that_are_dropped_are_no_hindrance(self) -> None:
        data = FRAME.assign(since=pd.date_range("2020-01-01", periods=COUNT))
        check_bits(*way_to(data, apart(StandardScaler(), one_hot())), data)

    def test_columns_that_the_steps_drop_need_not_be_there(self) -> None:
        steps = make_column_transformer((one_hot(), LEVELS), ("drop", ["rate"]), remainder=StandardScaler())
        model = make_pipeline(steps, RandomForestClassifier(3)).fit(FRAME, TWO)
        data = FRAME.drop(columns="rate")
        check_bits(model, short_way(model, *build_space(data)), data)

    def test_sparse_ones_are_made_in_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("ssba.whitebox.short_way._BLOCK_CELLS", 100)
        check_bits(*way_to(FRAME, *STEPS["sparse"]()), FRAME)

    def test_negative_zeros_stay_where_the_column_has_them(self) -> None:
        data = pd.DataFrame({"whole": [0, 1, 2, 5], "real": [0.0, 0.25, 0.123456, 2.0]})
        _, way = way_to(data, FunctionTransformer(validate=True), labels=[0, 1, 0, 1])
        assert way is not None
        prepared = way(np.array([[-0.0, -0.0]]))
        assert prepared is not None
        assert np.signbit(prepared.inputs).tolist() == [[False, True]]


class Halved(StandardScaler):  # type: ignore[misc]
    """A scaler of the user's own."""


class Doubled(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    def fit(self, X: Any, y: Any = None) -> "Doubled":
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Any) -> Any:
        return X * 2


class TestTheUsualWayIsTaken:
    @pytest.mark.parametrize(
        "steps",
        [
            [apart(Halved(), one_hot())],
            [apart(Doubled(), one_hot())],
            [apart(FunctionTransformer(np.tanh), one_hot())],
            [apart(QuantileTransformer(n_quantiles=10), one_hot())],
            [ColumnTransformer([("pay", StandardScaler(), ["pay"])], transformer_weights={"pay": 2.0})],
            [apart(StandardScaler(), one_hot()).set_output(transform="pandas")],
            [make_column_transformer((one_hot(), ["job", "age"]), remainder="drop")],
            [apart(SimpleImputer(missing_values=18), one_hot())],
        ],
    )
    def test_by_steps_that_are_not_known_well_enough(self, steps: list[Any]) -> None:
        assert way_to(FRAME, *steps)[1] is None

    def test_by_arithmetic_in_32_bits(self) -> None:
        single = FRAME.astype(dict.fromkeys(NUMBERS, "float32"))
        assert way_to(single, apart(StandardScaler(), one_hot()))[1] is None
        assert way_to(ARRAY.astype(np.float32), StandardScaler())[1] is None

    def test_by_an_imputer_that_adds_columns(self) -> None:
        steps = apart(SimpleImputer(add_indicator=True), one_hot(handle_unknown="ignore"))
        assert way_to(HOLED, steps)[1] is None

    def test_by_very_many_levels(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("ssba.whitebox.short_way._MOST_CELLS", 100)
        assert way_to(FRAME, apart(StandardScaler(), one_hot()))[1] is None

    def test_by_dates(self) -> None:
        data = FRAME.assign(since=pd.date_range("2020-01-01", periods=COUNT))
        assert way_to(data, make_column_transformer((StandardScaler(), ["since"])))[1] is None

    @pytest.mark.parametrize(
        "where", [lambda model: model, lambda model: model[0], lambda model: model[0][1]]
    )
    def test_by_replaced_methods(self, where: Callable[[Any], Any]) -> None:
        model = make_pipeline(make_pipeline("passthrough", StandardScaler()), LinearRegression())
        model.fit(ARRAY, TWO)
        assert short_way(model, *build_space(ARRAY)) is not None
        held = where(model)
        method = "predict" if held is model else "transform"
        setattr(held, method, getattr(held, method))
        assert short_way(model, *build_space(ARRAY)) is None

    def test_by_models_that_are_no_pipelines(self) -> None:
        forest = RandomForestClassifier(3).fit(ARRAY, TWO)
        assert short_way(forest, *build_space(ARRAY)) is None
        assert short_way(make_pipeline(forest), *build_space(ARRAY)) is None
        assert short_way(forest.predict, *build_space(ARRAY)) is None

    def test_by_thresholds_around_pipelines(self) -> None:
        inner = make_pipeline(StandardScaler(), LogisticRegression())
        model = FixedThresholdClassifier(inner, threshold=0.7).fit(ARRAY, TWO)
        assert short_way(model, *build_space(ARRAY)) is None

    def test_by_routed_metadata(self) -> None:
        model, way = way_to(ARRAY, StandardScaler())
        assert way is not None
        with sklearn.config_context(enable_metadata_routing=True):
            assert short_way(model, *build_space(ARRAY)) is None

    def test_by_rows_with_cells_missing_where_the_steps_take_none(self) -> None:
        _, way = way_to(FRAME, apart(StandardScaler(), one_hot(handle_unknown="error")))
        assert way is not None
        space, Z = build_space(FRAME)
        assert way(Z[:4]) is not None
        Z[1, space.index("pay")] = np.nan
        assert way(Z[:4]) is not None
        Z[2, space.index("job")] = np.nan
        assert way(Z[:4]) is None


@pytest.mark.parametrize(
    "steps",
    [
        [apart(StandardScaler(), one_hot()), PCA(2)],
        [apart(StandardScaler(), one_hot()), Doubled(), Halved()],
        [apart("passthrough", OneHotEncoder(), sparse_threshold=1.0), MaxAbsScaler()],
        [apart("passthrough", one_hot()), MaxAbsScaler(), "passthrough", QuantileTransformer(n_quantiles=9)],
        [apart(filled(), one_hot()), MaxAbsScaler().set_output(transform="pandas")],
    ],
)
def test_the_way_ends_before_a_step_that_is_not_known_well_enough(steps: list[Any]) -> None:
    model, way = way_to(FRAME, *steps)
    assert way is not None
    rows = drawn(FRAME)
    prepared = way(rows)
    assert prepared is not None
    assert len(prepared.steps) > 0
    space, _ = build_space(FRAME)
    assert (prepared.answer("predict_proba") == model.predict_proba(space.decode(rows))).all()


class TestWrappers:
    @pytest.mark.parametrize(
        "wrap",
        [
            lambda inner: GridSearchCV(inner, {}, cv=[(range(COUNT), range(9))]),
            lambda inner: FrozenEstimator(inner.fit(FRAME, TWO)),
            lambda inner: Pipeline([("inner", inner)]),
        ],
    )
    def test_around_a_pipeline_are_passed_by(self, wrap: Callable[[Any], Any]) -> None:
        last = LogisticRegression(max_iter=1000)
        model = wrap(make_pipeline(apart(StandardScaler(), one_hot()), last)).fit(FRAME, TWO)
        space, Z = build_space(FRAME)
        way = short_way(model, space, Z)
        assert way is not None
        prepared = way(Z)
        assert prepared is not None
        assert (prepared.answer("predict_proba") == model.predict_proba(space.decode(Z))).all()

    def test_a_threshold_behind_the_steps_is_asked_itself(self) -> None:
        last = FixedThresholdClassifier(LogisticRegression(), threshold=0.9)
        model = make_pipeline(StandardScaler(), last).fit(ARRAY, TWO)
        way = short_way(model, *build_space(ARRAY))
        assert way is not None
        prepared = way(ARRAY)
        assert prepared is not None
        assert (prepared.answer("predict") == model.predict(ARRAY)).all()


@cache
def heart() -> Any:
    return ssba.datasets.load_heart()


@cache
def heart_model() -> Pipeline:
    data = heart().frame
    text = data.select_dtypes(exclude="number").columns.tolist()
    steps = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="most_frequent"), one_hot()), text),
        remainder=filled(StandardScaler()),
    )
    return make_pipeline(steps, MLPClassifier((16,), max_iter=300, random_state=0, tol=1e-2)).fit(
        data, heart().target
    )


@cache
def network() -> Pipeline:
    return make_pipeline(
        apart(StandardScaler(), OneHotEncoder()), MLPClassifier((8,), max_iter=400, random_state=0, tol=1e-2)
    ).fit(FRAME, TWO)


def told(answers: Any) -> list[Any]:
    """All that explanations say, but for the time they took."""
    return [one.to_dict() | {"seconds": 0.0} for one in answers]


def both_ways(explain: Callable[[], Any], patch: pytest.MonkeyPatch) -> tuple[list[Any], list[Any]]:
    short = told(explain())
    patch.setattr(engine, "short_way", lambda *_: None)
    return short, told(explain())


class TestAnswersAreTheSame:
    def test_of_heart_patients(self, monkeypatch: pytest.MonkeyPatch) -> None:
        data = heart().frame
        ill = data[heart_model().predict(data) == "disease"]
        rows = pd.concat([ill[:3], ill[ill.isna().any(axis=1)][:2]])

        def explain() -> Any:
            explainer = ssba.Explainer(heart_model(), data)
            alone = [explainer.explain(rows.iloc[[0]], ["age == x.age", "sex == x.sex"], k=3)]
            return alone + list(explainer.explain_many(rows, ["age == x.age"]))

        short, usual = both_ways(explain, monkeypatch)
        assert json.dumps(short) == json.dumps(usual)

    @pytest.mark.parametrize("options", [{"target": 1}, {"target": ssba.probability(1, at_least=0.7)}])
    def test_of_mixed_frames(self, options: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        rows = FRAME[network().predict(FRAME) == 0][:4]
        short, usual = both_ways(
            lambda: ssba.Explainer(network(), FRAME, **options).explain_many(rows, ["job == x.job"]),
            monkeypatch,
        )
        assert short == usual

    def test_where_only_labels_are_known(self, monkeypatch: pytest.MonkeyPatch) -> None:
        last = GridSearchCV(FixedThresholdClassifier(LogisticRegression()), {"threshold": [0.3]}, cv=2)
        model = make_pipeline(apart(StandardScaler(), one_hot()), last).fit(FRAME, TWO)
        rows = FRAME[model.predict(FRAME) == 0][:2]
        short, usual = both_ways(lambda: ssba.Explainer(model, FRAME).explain_many(rows), monkeypatch)
        assert short == usual

    def test_of_numbers(self, monkeypatch: pytest.MonkeyPatch) -> None:
        model = make_pipeline(apart(RobustScaler(), one_hot()), KNeighborsRegressor()).fit(
            FRAME, FRAME["pay"]
        )
        wanted = ssba.value_between(3000, 4000)
        short, usual = both_ways(
            lambda: ssba.Explainer(model, FRAME, target=wanted).explain_many(FRAME[:3], ["pay <= 2000"]),
            monkeypatch,
        )
        assert short == usual

    def test_of_rows_in_arrays(self, monkeypatch: pytest.MonkeyPatch) -> None:
        model = make_pipeline(StandardScaler(), HistGradientBoostingClassifier(max_iter=5)).fit(ARRAY, TWO)
        rows = ARRAY[model.predict(ARRAY) == 0][:2]
        short, usual = both_ways(
            lambda: ssba.Explainer(model, ARRAY).explain_many(rows, prove=False), monkeypatch
        )
        assert short == usual

    def test_of_boundary_points(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def points() -> Any:
            return ssba.Explainer(network(), FRAME).sample_boundary(50).points

        short = points()
        monkeypatch.setattr(engine, "short_way", lambda *_: None)
        assert (np.asarray(short) == np.asarray(points())).all()


def test_the_pipeline_itself_has_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[Any]()
    transform = ColumnTransformer.transform

    def remember(self: ColumnTransformer, X: Any, **more: Any) -> Any:
        asked.append(X)
        return transform(self, X, **more)

    explainer = ssba.Explainer(network(), FRAME)
    row = FRAME[network().predict(FRAME) == 0].iloc[[0]]
    monkeypatch.setattr(ColumnTransformer, "transform", remember)
    found = explainer.explain(row)
    assert found.rows_used > 50
    assert sum(map(len, asked)) < 25
    answer = found.counterfactuals[0].row
    assert any((rows == answer[rows.columns].iloc[0]).all(axis=1).any() for rows in asked)


class Touchy(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Fails on whatever it was not fitted on."""

    def fit(self, X: Any, y: Any) -> "Touchy":
        self.classes_ = np.array([0, 1])
        self.highest_ = X.max(axis=0)
        self.known_ = {row.tobytes() for row in X}
        return self

    def predict(self, X: Any) -> Any:
        if any(row.tobytes() not in self.known_ for row in X):
            raise ValueError("never seen")
        return (X[:, -2] > 0).astype(int)


def test_errors_show_the_row_as_the_user_has_it() -> None:
    model = make_pipeline(apart(StandardScaler(), one_hot()), Touchy()).fit(FRAME, TWO)
    explainer = ssba.Explainer(model, FRAME)
    with pytest.raises(ModelError, match=r"Pipeline.predict.* raised ValueError: never seen.*'job': '\w+'"):
        explainer.explain(FRAME.iloc[[0]])


def test_a_pickled_explainer_and_other_processes_go_the_same_way() -> None:
    explainer = ssba.Explainer(network(), FRAME)
    rows = FRAME[network().predict(FRAME) == 0][:6]
    alone = told(explainer.explain_many(rows))
    again = pickle.loads(pickle.dumps(explainer))  # noqa: S301
    assert again._engine.judging.short_way is not None
    assert every([told(again.explain_many(rows)) == alone])
    assert told(explainer.explain_many(rows, workers=2)) == alone

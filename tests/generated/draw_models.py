"""Drawing models: functions with a boundary that is known, linear models and trees behind pipelines."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    Ridge,
    RidgeClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.generated.columns import Column, Matrix
from tests.generated.draw_columns import Rng, pick
from tests.generated.functions import Function, HalfSpaces, OutsideBall, Rugged, Shape
from tests.generated.models import Fitted
from tests.generated.worlds import Family

Trees = Literal["tree", "forest", "boosting"]


def units(data: Matrix) -> Matrix:
    """Return the spread of each column, 1 where there is none."""
    spread = np.nanstd(data, axis=0)
    return np.where(spread > 0, spread, 1.0)


def draw_function(rng: Rng, columns: tuple[Column, ...], data: Matrix, family: Family) -> Function:
    mode: Any = pick(rng, ("labels", 4), ("probability", 2), ("scores", 1), ("number", 1))
    shape = _rugged(rng, data) if family == "table" else _smooth(rng, data)
    labels: Any = pick(rng, ((False, True), 2), (("no", "yes"), 1), ((0, 1), 1))
    return Function(columns, shape, mode, labels)


def _rugged(rng: Rng, data: Matrix) -> Shape:
    share = float(rng.choice([0.02, 0.1, 0.3, 0.5]))
    slope: tuple[float, ...] = ()
    if rng.random() < 0.5:
        slope = tuple((np.round(rng.normal(size=data.shape[1]) / units(data), 3) * 0.3).round(4).tolist())
        share -= float(np.nanmedian(np.nan_to_num(data) @ np.array(slope)))
    return Rugged(int(rng.integers(1, 2**31)), share, slope)


def _smooth(rng: Rng, data: Matrix) -> Shape:
    filled, unit = np.nan_to_num(data), units(data)
    kind = pick(rng, ("one", 2), ("all", 3), ("any", 2), ("ball", 2))
    if kind == "ball":
        center = filled[int(rng.integers(len(filled)))]
        distances = np.sqrt((((filled - center) / unit) ** 2).sum(axis=1))
        radius = float(np.quantile(distances, rng.uniform(0.4, 0.8)))
        return OutsideBall(tuple(center.tolist()), tuple(unit.tolist()), max(radius, 0.1))
    count = 1 if kind == "one" else 2
    weights = np.round(rng.normal(size=(count, data.shape[1])) / unit, 3)
    if rng.random() < 0.2:
        weights = np.round(weights * unit)
    share = 0.85 if kind == "any" else rng.uniform(0.5, 0.8)
    thresholds = np.quantile(filled @ weights.T, share, axis=0)
    # A threshold that sums of the cells can hit exactly makes ties.
    thresholds = np.round(thresholds, int(rng.choice([0, 1, 4])))
    return HalfSpaces(
        tuple(tuple(own) for own in weights.tolist()),
        tuple(thresholds.tolist()),
        "any" if kind == "any" else "all",
    )


def draw_fitted(
    rng: Rng, columns: tuple[Column, ...], data: Matrix, as_array: bool, family: Family
) -> tuple[Fitted, bool]:
    """Return a model to fit, and whether it gives numbers."""
    regression = bool(rng.random() < 0.2)
    y = _outcomes(rng, data, regression)
    if family == "linear":
        return _linear(rng, columns, data, as_array, y, regression), regression
    trees: Trees = "tree" if family == "tree" else "forest" if family == "forest" else "boosting"
    model = _trees(rng, trees, regression, bool(np.isnan(data).any()))
    if type(model).__name__ == "XGBClassifier":
        # It takes no text for classes.
        y = np.unique(y, return_inverse=True)[1]
    if any(one.dtype == "str" for one in columns):
        model = make_pipeline(_encoded(rng, columns, data, as_array, scaled=False), model)
    elif isinstance(model, GradientBoostingClassifier | GradientBoostingRegressor) and np.isnan(data).any():
        model = make_pipeline(SimpleImputer(keep_empty_features=True), model)
    return Fitted(model, y), regression


def _outcomes(rng: Rng, data: Matrix, regression: bool) -> NDArray[Any]:
    """Return labels or numbers that have something to do with the data."""
    scaled = np.nan_to_num((data - np.nanmean(data, axis=0)) / units(data))
    weights = rng.normal(size=data.shape[1])
    risk = scaled @ weights + 0.3 * rng.normal(size=len(data)) + 0.5 * scaled[:, 0] * scaled[:, -1]
    if regression:
        return np.asarray(np.round(risk, 3))
    if rng.random() < 0.15:
        return np.asarray(np.array(["low", "mid", "top"])[np.digitize(risk, np.quantile(risk, [0.4, 0.75]))])
    high = risk > np.quantile(risk, rng.uniform(0.5, 0.8))
    return np.asarray(high if rng.random() < 0.6 else np.where(high, "well", "ill"))


def _linear(
    rng: Rng, columns: tuple[Column, ...], data: Matrix, as_array: bool, y: NDArray[Any], regression: bool
) -> Fitted:
    plain = not np.isnan(data).any() and all(one.dtype != "str" for one in columns)
    if plain and not regression and len(np.unique(y)) == 2 and rng.random() < 0.3:
        weights = rng.integers(-3, 4, data.shape[1]).astype(float)
        weights[int(rng.integers(len(weights)))] = 1.0
        middle = np.round(np.quantile(data @ weights, rng.uniform(0.3, 0.8)))
        return Fitted(Perceptron(), y, tuple(weights.tolist()), -float(middle))
    if regression:
        last = pick(rng, (LinearRegression(), 1), (Ridge(), 1), (Lasso(alpha=0.01), 1))
    else:
        last = pick(rng, (LogisticRegression(max_iter=2000), 4), (RidgeClassifier(), 1))
    if plain and rng.random() < 0.4:
        return Fitted(last, y)
    if plain and rng.random() < 0.4:
        return Fitted(make_pipeline(StandardScaler(), last), y)
    return Fitted(make_pipeline(_encoded(rng, columns, data, as_array, scaled=True), last), y)


def _encoded(rng: Rng, columns: tuple[Column, ...], data: Matrix, as_array: bool, scaled: bool) -> Any:
    """Return a transformer for columns of every kind: encoders, scalers and imputers."""
    parts = []
    for j, one in enumerate(columns):
        where = [j if as_array else one.name]
        if one.dtype == "str" or (one.kind in ("integer", "categorical") and rng.random() < 0.2):
            parts.append((_encoder(rng), where))
        elif one.dtype == "int64" and (data[:, j] == 0).any() and rng.random() < 0.25:
            parts.append(
                (
                    make_pipeline(
                        SimpleImputer(missing_values=0, keep_empty_features=True), StandardScaler()
                    ),
                    where,
                )
            )
        else:
            parts.append((_number_steps(rng, bool(np.isnan(data[:, j]).any()), scaled), where))
    return make_column_transformer(*parts)


def _encoder(rng: Rng) -> Any:
    return pick(
        rng,
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), 3),
        (OneHotEncoder(handle_unknown="ignore", drop="first", sparse_output=False), 1),
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2), 1),
    )


def _number_steps(rng: Rng, missing: bool, scaled: bool) -> Any:
    if missing:
        return make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
    if not scaled or rng.random() < 0.3:
        return "passthrough"
    return StandardScaler() if rng.random() < 0.7 else MinMaxScaler()


def _trees(rng: Rng, family: Trees, regression: bool, missing: bool) -> Any:
    depth, seed = int(rng.integers(2, 5)), int(rng.integers(100))
    if family == "tree":
        kind = DecisionTreeRegressor if regression else DecisionTreeClassifier
        return kind(max_depth=depth, random_state=seed)
    count = int(rng.integers(3, 7))
    if family == "forest":
        kind = RandomForestRegressor if regression else RandomForestClassifier
        if not regression and not missing and rng.random() < 0.2:
            kind = ExtraTreesClassifier
        return kind(count, max_depth=3, random_state=seed)
    drawn = rng.random()
    if regression:
        return GradientBoostingRegressor(n_estimators=count, max_depth=2, random_state=seed)
    if drawn < 0.15:
        return HistGradientBoostingClassifier(max_iter=count, max_depth=3, random_state=seed)
    if drawn < 0.25:
        return _boosted_elsewhere(rng, count, seed)
    return GradientBoostingClassifier(n_estimators=2 * count, max_depth=2, random_state=seed)


def _boosted_elsewhere(rng: Rng, count: int, seed: int) -> Any:
    if rng.random() < 0.5:
        from lightgbm import LGBMClassifier

        return LGBMClassifier(
            n_estimators=count, max_depth=3, min_child_samples=5, random_state=seed, n_jobs=1, verbose=-1
        )
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=count, max_depth=3, random_state=seed, n_jobs=1)

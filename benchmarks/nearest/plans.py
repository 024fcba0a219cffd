"""How each case is made: its table, its model, its rules; trained once and then read from a cache."""

import hashlib
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import sklearn
from benchmarks.nearest import sources
from benchmarks.nearest.cases import Case, Column, Rules
from benchmarks.nearest.sources import Table
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

MOST_QUERIES = 100
_FEW = 40
SEED = 0
CACHE = Path(__file__).resolve().parent.parent / ".cache"


def build(name: str, folder: Path | None = None) -> Case:
    """The case of this name, trained now or read from the cache; `folder` is the one given with --data."""
    kept = CACHE / f"{name}-{_recipe(folder)}.joblib"
    if kept.exists():
        case = joblib.load(kept)
        if isinstance(case, Case):
            return case
    case = _train(name, folder)
    CACHE.mkdir(exist_ok=True)
    # Others may read it at any moment: it is there whole, or not at all.
    own = kept.with_suffix(f".{os.getpid()}")
    joblib.dump(case, own)
    own.replace(kept)
    return case


_ALL_FREE = Rules()


@dataclass(frozen=True)
class _Plan:
    table: Callable[[Path | None], Table]
    model: Callable[[Table], Any]
    target: int | None
    rules: Rules = _ALL_FREE
    most: int = MOST_QUERIES
    max_changes: tuple[int, ...] | None = None


def _svc(table: Table) -> Any:
    """The paper's SVC, on raw columns."""
    return SVC(kernel="poly", C=10, degree=2)


def _logistic(table: Table) -> Any:
    return LogisticRegression(max_iter=1000)


def _mlp(table: Table) -> Any:
    """Two hidden layers, on columns in standard deviations."""
    return make_pipeline(StandardScaler(), _network(500))


def _network(iterations: int) -> Any:
    return MLPClassifier((64, 32), max_iter=iterations, random_state=0)


def _on_mixed_columns(table: Table, last: Any) -> Any:
    text = [name for name in table.rows if not pd.api.types.is_numeric_dtype(table.rows[name])]
    numbers = [name for name in table.rows if name not in text]
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), text), (StandardScaler(), numbers)
    )
    return make_pipeline(columns, last)


def _xgboost(table: Table) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=100, random_state=0, n_jobs=1)


def _lightgbm(table: Table) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=0, n_jobs=1, verbose=-1)


def _catboost(table: Table) -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(random_seed=0, thread_count=1, verbose=False, allow_writing_files=False)


_MODELS: dict[str, Callable[[Table], Any]] = {
    "lightgbm": _lightgbm,
    "gradientboosting": lambda table: GradientBoostingClassifier(random_state=0),
    "histgradientboosting": lambda table: HistGradientBoostingClassifier(random_state=0),
    "forest": lambda table: RandomForestClassifier(random_state=0),
    "xgboost": _xgboost,
    "catboost": _catboost,
    "mlp": lambda table: make_pipeline(StandardScaler(), MLPClassifier(random_state=0)),
}
"""Models as their libraries make them, with nothing but a seed."""

_HEART = Rules(free=("trestbps", "chol", "thalach", "oldpeak", "ca"), percent=20)
_TWO_OF_ADULT = Rules(free=("age", "hours_per_week"))
_RAW_ADULT = Rules(
    free=("age", "workclass", "education", "occupation", "hours_per_week"), rising=("age",), scale="std"
)
_NEITHER_AGE_NOR_SEX = (
    "cp",
    "trestbps",
    "chol",
    "fbs",
    "restecg",
    "thalach",
    "exang",
    "oldpeak",
    "slope",
    "ca",
    "thal",
)
_MIXED = Rules(free=_NEITHER_AGE_NOR_SEX, scale="std")


def _synthetic(features: int, model: Callable[[Table], Any]) -> _Plan:
    return _Plan(lambda folder: sources.synthetic(features), model, target=1)


def _unseen(features: int) -> _Plan:
    """A network on data that no setting of the search was chosen on."""
    return _Plan(lambda folder: sources.synthetic(features, seed=1000 + features), _mlp, target=1, most=_FEW)


def _breast_cancer(model: Callable[[Table], Any]) -> _Plan:
    return _Plan(lambda folder: sources.breast_cancer(), model, target=1)


def _few_changes(model: Callable[[Table], Any], max_changes: tuple[int, ...]) -> _Plan:
    """Breast cancer, with as many changes a query as its nearest row has where they are not limited.

    So the nearest row is the same one, and its proof holds here, too.
    """
    table = sources.breast_cancer
    return _Plan(lambda folder: table(), model, 1, most=len(max_changes), max_changes=max_changes)


def _wide(model: str) -> _Plan:
    return _Plan(lambda folder: sources.wide(), _MODELS[model], target=1, most=_FEW)


def _adult(last: Callable[[], Any], rules: Rules) -> _Plan:
    return _Plan(sources.adult, lambda table: _on_mixed_columns(table, last()), 1, rules)


_PLANS: dict[str, _Plan] = {
    "toy-svc": _Plan(sources.toy, _svc, target=1),
    "synthetic-20-logistic": _synthetic(20, _logistic),
    "synthetic-20-mlp": _synthetic(20, _mlp),
    "synthetic-50-logistic": _synthetic(50, _logistic),
    "synthetic-50-mlp": _synthetic(50, _mlp),
    "unseen-20-mlp": _unseen(20),
    "unseen-30-mlp": _unseen(30),
    "unseen-50-mlp": _unseen(50),
    "wine-svm-any-other": _Plan(lambda folder: sources.wine(), lambda table: SVC(), None, most=_FEW),
    "heart-svc": _Plan(sources.heart, _svc, 0, _HEART),
    "heart-mlp": _Plan(sources.heart, _mlp, 0, _HEART),
    **{
        f"heart-whole-{name}": _Plan(sources.whole_heart, model, 0, _MIXED, most=_FEW)
        for name, model in _MODELS.items()
    },
    "heart-mixed": _Plan(
        lambda folder: sources.mixed_heart(),
        lambda table: _on_mixed_columns(table, _logistic(table)),
        0,
        _MIXED,
    ),
    "adult-forest": _adult(lambda: RandomForestClassifier(100, random_state=0), _TWO_OF_ADULT),
    "adult-mlp": _adult(lambda: _network(60), _TWO_OF_ADULT),
    "adult-two-forest": _Plan(
        sources.real_adult,
        lambda table: _on_mixed_columns(table, RandomForestClassifier(100, random_state=0)),
        1,
        _TWO_OF_ADULT,
        most=_FEW,
    ),
    "adult-raw-mlp": _adult(lambda: _network(60), _RAW_ADULT),
    "adult-raw-forest": _adult(lambda: RandomForestClassifier(100, random_state=0), _RAW_ADULT),
    "adult-raw-gradientboosting": _adult(lambda: GradientBoostingClassifier(random_state=0), _RAW_ADULT),
    "cancer-svm": _breast_cancer(lambda table: SVC()),
    "cancer-forest": _breast_cancer(lambda table: RandomForestClassifier(50, random_state=0)),
    "cancer-histgb": _breast_cancer(lambda table: HistGradientBoostingClassifier(random_state=0)),
    "cancer-xgboost": _breast_cancer(_xgboost),
    "cancer-few-gradientboosting": _few_changes(
        _MODELS["gradientboosting"], (7, 5, 6, 3, 4, 5, 7, 8, 3, 4, 3, 6, 6, 5, 4, 5, 6, 3, 8, 7)
    ),
    "cancer-few-histgradientboosting": _few_changes(
        _MODELS["histgradientboosting"], (13, 8, 5, 4, 10, 6, 11, 10, 8, 8, 7, 10, 10, 9, 14, 7, 10, 5, 11, 6)
    ),
    "cancer-few-forest": _few_changes(
        lambda table: RandomForestClassifier(50, random_state=0),
        (17, 7, 10, 13, 10, 9, 8, 12, 9, 8, 5, 6, 6, 11, 12, 12, 9, 10, 10, 14),
    ),
    "wide-1000-histgradientboosting": _wide("histgradientboosting"),
    "wide-1000-forest": _wide("forest"),
}

NAMES = tuple(_PLANS)
"""All cases, smooth models first within each data set."""


def _train(name: str, folder: Path | None) -> Case:
    plan = _PLANS[name]
    table = plan.table(folder)
    model = plan.model(table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(table.rows, table.labels)
    return Case(
        name,
        model,
        table.rows,
        _queries(table.rows, _undesired(model.predict(table.rows), plan.target), plan.most),
        plan.target,
        _columns(table.rows, plan.rules.scale),
        plan.rules,
        table.source,
        plan.max_changes,
    )


def _undesired(labels: Any, target: int | None) -> NDArray[np.bool_]:
    """Which rows can be queries: all of them, where any other class is wanted."""
    return np.ones(len(labels), dtype=bool) if target is None else np.asarray(labels) != target


def _queries(rows: Any, undesired: NDArray[np.bool_], most: int) -> Any:
    chosen = np.random.default_rng(SEED).permutation(np.flatnonzero(undesired))[:most]
    return rows[chosen] if isinstance(rows, np.ndarray) else rows.iloc[chosen].reset_index(drop=True)


def _columns(rows: Any, scale: str) -> tuple[Column, ...]:
    if isinstance(rows, np.ndarray):
        rows = pd.DataFrame(rows, columns=[f"x{j}" for j in range(rows.shape[1])])
    return tuple(_column(rows[name], scale) for name in rows)


def _column(cells: Any, scale: str) -> Column:
    name = str(cells.name)
    if not pd.api.types.is_numeric_dtype(cells):
        return Column(name, "category", levels=tuple(sorted(cells.unique())))
    spread = float(cells.std(ddof=0)) if scale == "std" else 1.0
    return Column(name, "whole" if pd.api.types.is_integer_dtype(cells) else "real", spread)


def _recipe(folder: Path | None) -> str:
    """Changes with the code that makes cases, the environment and the folder: no stale case is read."""
    here = Path(__file__).parent
    made_by = b"".join((here / f"{name}.py").read_bytes() for name in ("cases", "plans", "sources"))
    versions = f"{np.__version__} {pd.__version__} {sklearn.__version__}"
    where = f"{sys.prefix} {folder and folder.resolve()}"
    return hashlib.sha256(made_by + versions.encode() + where.encode()).hexdigest()[:12]

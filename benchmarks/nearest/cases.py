"""The cases: a fixed trained model, its rows, queries, constraints and metric, the same for all methods.

    from pathlib import Path
    from benchmarks.nearest.cases import NAMES, build

    case = build("synthetic-20-mlp", Path("../shared/data"))     # trained, or from the cache, in seconds
    explainer = ssba.Explainer(case.labels, case.data, **case.options())  # or case.scores, or case.model
    found = explainer.explain_many(case.queries[:20], case.constraints)
    Z = case.answers([one.best.values for one in found])         # as a matrix, categories as codes
    case.distance(case.X[:20], Z), case.violates(Z, np.arange(20)), case.reaches(Z)

Rows have two forms. The *own* form is what the model takes: a NumPy array, or a pandas frame for the heart
and Adult cases (`case.data`, `case.queries`). The *matrix* form has one float a column, categories as the
position of their level in `Column.levels` (`case.X` are the queries); bounds, metric, limits and peers use
it. `case.matrix` and `case.rows` translate.

Legality is the same for all methods and for the limits. Free numbers stay between `case.low` and
`case.high`: the range of the training rows, or 20% around the query's value in the two numeric heart cases.
Columns are whole numbers exactly where the data's dtype says so (age and hours of Adult, the mixed heart
case); the numeric heart cases are floats, continuous as in the paper. Columns that are not free have
low = high = the query's value.

Queries are up to 100 training rows that the model puts into the undesired class, in seeded order. Labels
are 0 and 1 everywhere, so `case.target` is also the column of `case.scores`.
"""

import hashlib
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import joblib
import numpy as np
import pandas as pd
import sklearn
from benchmarks.nearest import sources
from benchmarks.nearest.sources import Table
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

Matrix = NDArray[np.float64]

MOST_QUERIES = 100
SEED = 0
CACHE = Path(__file__).resolve().parent.parent / ".cache"

_ROUNDING = 1e-6
"""How far a cell may lie beyond its bound, as a share of the bound: its rounding in 32 bits."""


@dataclass(frozen=True)
class Column:
    """A column in matrix form: real and whole numbers as they are, categories as positions in `levels`."""

    name: str
    kind: Literal["real", "whole", "category"]
    scale: float = 1.0
    levels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rules:
    """What may change: free columns (None: all), within percent of the query (None: the data's range)."""

    free: tuple[str, ...] | None = None
    percent: float | None = None
    scale: Literal["none", "std"] = "none"


@dataclass(frozen=True)
class Case:
    """One problem for all methods; the module's docstring shows how to use it."""

    name: str
    model: Any
    data: Any
    queries: Any
    target: int
    columns: tuple[Column, ...]
    rules: Rules
    source: str

    def labels(self, rows: Any) -> NDArray[np.int64]:
        """The model's classes, and nothing else about it."""
        return np.asarray(self.model.predict(rows)).astype(np.int64)

    def scores(self, rows: Any) -> Matrix:
        """Two columns that sum to 1; the larger one is the predicted class."""
        if hasattr(self.model, "predict_proba"):
            return np.asarray(self.model.predict_proba(rows), dtype=np.float64)
        chance = 1 / (1 + np.exp(-self.model.decision_function(rows)))
        return np.column_stack([1 - chance, chance])

    def options(self) -> dict[str, Any]:
        """What `ssba.Explainer` needs to know besides model and data: kinds are those of all methods."""
        # Peers are measured in environments of their own, without ssba.
        import ssba

        kinds = {"real": ssba.numeric(), "whole": ssba.integer()}
        features = {one.name: kinds[one.kind] for one in self.columns if one.kind in kinds}
        return {"target": self.target, "scale": self.rules.scale, "features": features}

    @property
    def constraints(self) -> tuple[str, ...]:
        """The rules as ssba texts; what they leave out is the data's range, which is ssba's default."""
        percent = self.rules.percent
        held = [f"`{one.name}` == x.`{one.name}`" for one in self.columns if not self._is_free(one)]
        if percent is None:
            return tuple(held)
        return (*held, *(f"`{one.name}` within {percent:g}%" for one in self.columns if self._is_free(one)))

    @cached_property
    def X(self) -> Matrix:
        """The queries in matrix form."""
        return self.matrix(self.queries)

    @cached_property
    def background(self) -> Matrix:
        """The training rows in matrix form."""
        return self.matrix(self.data)

    @cached_property
    def low(self) -> Matrix:
        """The least allowed value of every cell of every query, in matrix form."""
        return self._bounds()[0]

    @cached_property
    def high(self) -> Matrix:
        """The largest allowed value of every cell of every query, in matrix form."""
        return self._bounds()[1]

    @cached_property
    def free(self) -> NDArray[np.bool_]:
        """Which columns may change."""
        return np.array([self._is_free(one) for one in self.columns])

    @cached_property
    def is_category(self) -> NDArray[np.bool_]:
        return np.array([one.kind == "category" for one in self.columns])

    @cached_property
    def is_whole(self) -> NDArray[np.bool_]:
        return np.array([one.kind != "real" for one in self.columns])

    @cached_property
    def scale(self) -> Matrix:
        """What a difference in each column is divided by."""
        return np.array([one.scale for one in self.columns])

    def distance(self, X: Matrix, Z: Matrix) -> Matrix:
        """L2 between rows in matrix form, in the case's units; one changed category counts 1."""
        return np.asarray(np.sqrt((self._parts(X, Z) ** 2).sum(axis=-1)))

    def distance_l1(self, X: Matrix, Z: Matrix) -> Matrix:
        return np.asarray(self._parts(X, Z).sum(axis=-1))

    def changed(self, X: Matrix, Z: Matrix) -> NDArray[np.int64]:
        """How many columns differ (L0)."""
        return np.asarray((X != Z).sum(axis=-1))

    def violates(self, Z: Matrix, of: Sequence[int] | NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each row of `Z`, an answer to query number `of`, breaks a bound or a column's kind."""
        low, high = self.low[of], self.high[of]
        slack = _ROUNDING * np.maximum(np.abs(low), np.abs(high)) * self.free
        outside = ~((Z >= low - slack) & (Z <= high + slack))
        broken = self.is_whole & (Z != np.round(Z))
        return np.asarray((outside | broken).any(axis=-1))

    def reaches(self, Z: Matrix) -> NDArray[np.bool_]:
        """Whether the model puts each row into the target class, asked one by one as a user would."""
        return np.array([self.labels(self.rows(z[None]))[0] == self.target for z in Z], dtype=bool)

    def matrix(self, rows: Any) -> Matrix:
        """Rows of the own form as floats."""
        if isinstance(rows, np.ndarray):
            return np.asarray(rows, dtype=np.float64)
        cells = [_codes(rows[one.name].tolist(), one) for one in self.columns]
        return np.array(cells, dtype=np.float64).T.reshape(len(rows), len(self.columns))

    def rows(self, Z: Matrix) -> Any:
        """Rows of the matrix form as the model takes them; numbers are written as they are, legal or not."""
        if isinstance(self.data, np.ndarray):
            return np.asarray(Z, dtype=np.float64)
        return pd.DataFrame({one.name: _cells(Z[:, j], one) for j, one in enumerate(self.columns)})

    def answers(self, values: Sequence[Mapping[str, Any] | None]) -> Matrix:
        """ssba's answers, a dict of values each, in matrix form; NaN where there is none."""
        Z = np.full((len(values), len(self.columns)), np.nan)
        for i, answer in enumerate(values):
            if answer is not None:
                Z[i] = [
                    _codes([cell], one)[0] for cell, one in zip(answer.values(), self.columns, strict=True)
                ]
        return Z

    def first(self, count: int) -> "Case":
        """The same case with its first queries only."""
        return self.only(np.arange(min(count, len(self.queries))))

    def only(self, which: NDArray[np.int64]) -> "Case":
        """The same case with some of its queries."""
        kept = self.queries[which] if isinstance(self.queries, np.ndarray) else self.queries.iloc[which]
        return Case(
            self.name,
            self.model,
            self.data,
            kept,
            self.target,
            self.columns,
            self.rules,
            self.source,
        )

    @cached_property
    def fingerprint(self) -> str:
        """A short name of the trained model, by its scores of some training rows."""
        rows = self.data[:200] if isinstance(self.data, np.ndarray) else self.data.iloc[:200]
        return hashlib.sha256(np.round(self.scores(rows), 6).tobytes()).hexdigest()[:12]

    def digest(self, i: int) -> str:
        """A short name of query `i`, by its values."""
        return hashlib.sha256(np.round(self.X[i], 9).tobytes()).hexdigest()[:12]

    def _is_free(self, column: Column) -> bool:
        return self.rules.free is None or column.name in self.rules.free

    def _bounds(self) -> tuple[Matrix, Matrix]:
        X = self.X
        if self.rules.percent is None:
            low, high = self.background.min(axis=0), self.background.max(axis=0)
        else:
            reach = np.abs(X) * self.rules.percent / 100
            low, high = X - reach, X + reach
        return np.where(self.free, low, X), np.where(self.free, high, X)

    def _parts(self, X: Matrix, Z: Matrix) -> Matrix:
        return np.where(self.is_category, (X != Z).astype(float), np.abs(Z - X) / self.scale)


def build(name: str, folder: Path | None = None) -> Case:
    """The case of this name, trained now or read from the cache; `folder` is the one given with --data."""
    kept = CACHE / f"{name}-{_recipe(folder)}.joblib"
    if kept.exists():
        case = joblib.load(kept)
        if isinstance(case, Case):
            return case
    case = _train(name, folder)
    CACHE.mkdir(exist_ok=True)
    joblib.dump(case, kept)
    return case


@dataclass(frozen=True)
class _Plan:
    table: Callable[[Path | None], Table]
    model: Callable[[Table], Any]
    target: int
    rules: Rules = Rules()


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


_HEART = Rules(free=("trestbps", "chol", "thalach", "oldpeak", "ca"), percent=20)
_ADULT = Rules(free=("age", "hours_per_week"))
_MIXED = Rules(
    free=(
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
    ),
    scale="std",
)


def _synthetic(features: int, model: Callable[[Table], Any]) -> _Plan:
    return _Plan(lambda folder: sources.synthetic(features), model, target=1)


def _breast_cancer(model: Callable[[Table], Any]) -> _Plan:
    return _Plan(lambda folder: sources.breast_cancer(), model, target=1)


_PLANS: dict[str, _Plan] = {
    "toy-svc": _Plan(sources.toy, _svc, target=1),
    "synthetic-20-logistic": _synthetic(20, _logistic),
    "synthetic-20-mlp": _synthetic(20, _mlp),
    "synthetic-50-logistic": _synthetic(50, _logistic),
    "synthetic-50-mlp": _synthetic(50, _mlp),
    "heart-svc": _Plan(sources.heart, _svc, 0, _HEART),
    "heart-mlp": _Plan(sources.heart, _mlp, 0, _HEART),
    "adult-forest": _Plan(
        sources.adult,
        lambda table: _on_mixed_columns(table, RandomForestClassifier(100, random_state=0)),
        1,
        _ADULT,
    ),
    "adult-mlp": _Plan(sources.adult, lambda table: _on_mixed_columns(table, _network(60)), 1, _ADULT),
    "cancer-svm": _breast_cancer(lambda table: SVC()),
    "cancer-forest": _breast_cancer(lambda table: RandomForestClassifier(50, random_state=0)),
    "cancer-histgb": _breast_cancer(lambda table: HistGradientBoostingClassifier(random_state=0)),
    "cancer-xgboost": _breast_cancer(_xgboost),
    "heart-mixed": _Plan(
        lambda folder: sources.mixed_heart(),
        lambda table: _on_mixed_columns(table, _logistic(table)),
        0,
        _MIXED,
    ),
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
        _queries(table.rows, np.asarray(model.predict(table.rows)) != plan.target),
        plan.target,
        _columns(table.rows, plan.rules.scale),
        plan.rules,
        table.source,
    )


def _queries(rows: Any, undesired: NDArray[np.bool_]) -> Any:
    chosen = np.random.default_rng(SEED).permutation(np.flatnonzero(undesired))[:MOST_QUERIES]
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


def _codes(cells: Sequence[Any], column: Column) -> list[float]:
    if column.kind != "category":
        return [float(cell) for cell in cells]
    code = {level: float(j) for j, level in enumerate(column.levels)}
    return [code[cell] for cell in cells]


def _cells(numbers: Matrix, column: Column) -> Any:
    if column.kind == "category":
        return [column.levels[int(number)] for number in numbers]
    whole = column.kind == "whole" and bool((numbers == np.round(numbers)).all())
    return numbers.astype(np.int64) if whole else numbers


def _recipe(folder: Path | None) -> str:
    """Changes with the code that makes cases, the environment and the folder: no stale case is read."""
    here = Path(__file__)
    made_by = here.read_bytes() + (here.parent / "sources.py").read_bytes()
    versions = f"{np.__version__} {pd.__version__} {sklearn.__version__}"
    where = f"{sys.prefix} {folder and folder.resolve()}"
    return hashlib.sha256(made_by + versions.encode() + where.encode()).hexdigest()[:12]

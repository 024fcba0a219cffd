"""The cases: a fixed trained model, its rows, queries, constraints and metric, the same for all methods.

    from pathlib import Path
    from benchmarks.nearest.plans import NAMES, build

    case = build("synthetic-20-mlp", Path("../shared/data"))     # trained, or from the cache, in seconds
    explainer = ssba.Explainer(case.labels, case.data, **case.options())  # or case.scores, or case.model
    found = explainer.explain_many(case.queries[:20], case.constraints)
    Z = case.answers([one.best.values for one in found])         # as a matrix, categories as codes
    case.distance(case.X[:20], Z), case.violates(Z, np.arange(20)), case.reaches(Z, np.arange(20))

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
are 0, 1, ..., so `case.target` is also the column of `case.scores`; where it is None any class but the
query's own is wanted.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import softmax

Matrix = NDArray[np.float64]


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
    """What may change: free columns (None: all), within percent of the query (None: the data's range).

    Numbers in `rising` may only grow.
    """

    free: tuple[str, ...] | None = None
    rising: tuple[str, ...] = ()
    percent: float | None = None
    scale: Literal["none", "std"] = "none"


@dataclass(frozen=True)
class Case:
    """One problem for all methods; the module's docstring shows how to use it."""

    name: str
    model: Any
    data: Any
    queries: Any
    target: int | None
    columns: tuple[Column, ...]
    rules: Rules
    source: str
    max_changes: tuple[int, ...] | None = None
    """How many columns each query's answer may change, where that is limited."""

    def labels(self, rows: Any) -> NDArray[np.int64]:
        """The model's classes, and nothing else about it."""
        return np.asarray(self.model.predict(rows)).astype(np.int64)

    def scores(self, rows: Any) -> Matrix:
        """A column a class, with the sum 1; the largest one is that of the predicted class."""
        if hasattr(self.model, "predict_proba"):
            return np.asarray(self.model.predict_proba(rows), dtype=np.float64)
        decision = np.asarray(self.model.decision_function(rows))
        if decision.ndim == 1:
            chance = 1 / (1 + np.exp(-decision))
            return np.column_stack([1 - chance, chance])
        return np.asarray(softmax(decision, axis=1))

    def options(self, norm: Literal["l2", "l1"] = "l2") -> dict[str, Any]:
        """What `ssba.Explainer` needs to know besides model and data: kinds are those of all methods."""
        # Peers are measured in environments of their own, without ssba.
        import ssba

        kinds = {"real": ssba.numeric(), "whole": ssba.integer()}
        features = {one.name: kinds[one.kind] for one in self.columns if one.kind in kinds}
        told: dict[str, Any] = {"target": self.target, "features": features}
        if not hasattr(ssba, "Distance"):
            # The sources that `benchmarks.batch` compares with have two arguments for it.
            return told | {"distance": norm, "scale": self.rules.scale}
        return told | {"distance": ssba.Distance(norm, scale=self.rules.scale)}

    @property
    def constraints(self) -> tuple[str, ...]:
        """The rules as ssba texts; what they leave out is the data's range, which is ssba's default."""
        percent = self.rules.percent
        held = [f"`{one.name}` == x.`{one.name}`" for one in self.columns if not self._is_free(one)]
        held += [f"`{name}` >= x.`{name}`" for name in self.rules.rising]
        if percent is None:
            return tuple(held)
        return (*held, *(f"`{one.name}` within {percent:g}%" for one in self.columns if self._is_free(one)))

    def limited(self, i: int) -> dict[str, Any]:
        """What query `i` asks of ssba beyond the constraints."""
        return {} if self.max_changes is None else {"max_changes": self.max_changes[i]}

    @cached_property
    def X(self) -> Matrix:
        """The queries in matrix form."""
        return self.matrix(self.queries)

    @cached_property
    def own_labels(self) -> NDArray[np.int64]:
        """The classes of the queries."""
        return self.labels(self.queries)

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
        wrong = (outside | broken).any(axis=-1)
        if self.max_changes is not None:
            wrong |= self.changed(self.X[of], Z) > np.array(self.max_changes)[of]
        return np.asarray(wrong)

    def reaches(self, Z: Matrix, of: Sequence[int] | NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each row of `Z` is what query number `of` wants, asked one by one as a user would."""
        labels = [self.labels(self.rows(z[None]))[0] for z in Z]
        return np.array([self.is_target(label, i) for label, i in zip(labels, of, strict=True)], dtype=bool)

    @property
    def one_target(self) -> int:
        """The target class, for those who cannot do with any other class."""
        if self.target is None:
            raise TypeError(f"{self.name}: its target is any class but the query's own")
        return self.target

    def is_target(self, labels: Any, i: int) -> Any:
        """Whether labels are what query `i` wants."""
        return labels != self.own_labels[i] if self.target is None else labels == self.target

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
        most = None if self.max_changes is None else tuple(self.max_changes[i] for i in which)
        return replace(self, queries=kept, max_changes=most)

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
        low = np.where([one.name in self.rules.rising for one in self.columns], X, low)
        return np.where(self.free, low, X), np.where(self.free, high, X)

    def _parts(self, X: Matrix, Z: Matrix) -> Matrix:
        return np.where(self.is_category, (X != Z).astype(float), np.abs(Z - X) / self.scale)


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

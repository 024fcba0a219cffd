"""A world: everything that one query depends on, as plain data."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from tests.generated.columns import Column, Matrix, to_rows, to_values
from tests.generated.models import Fitted, Judge, Model, Target
from tests.generated.rules import Rule
from tests.generated.verdicts import Ground

import ssba

Norm = Literal["l2", "l1", "gower"]
Family = Literal["table", "tree", "forest", "boosting", "linear", "function"]
Extra = Literal["budgets", "batch", "twice", "plan", "ranges", "why_not", "levers", "certificate"]

USUAL_ROWS = 2000
"""A budget that most searches end within."""

FAMILIES: tuple[Family, ...] = ("table", "tree", "forest", "boosting", "linear", "function")


@dataclass(frozen=True)
class Measure:
    """How far rows are apart: the norm, and what each column's change is divided by and multiplied with."""

    norm: Norm = "l2"
    scale: str | Mapping[str, float] = "std"
    weights: Mapping[str, float] = field(default_factory=dict)

    def given(self) -> ssba.Distance:
        """The distance as the user gives it; the usual scale is left out."""
        scale: Any = None if self.scale == "std" else self.scale
        return ssba.Distance(self.norm, scale, self.weights)


@dataclass(frozen=True)
class Options:
    """The arguments of `explain` beside row and rules."""

    k: int = 1
    sparsity: Literal["none", "balanced", "strong"] = "none"
    diversity: Literal["columns", "distance", "levers"] = "columns"
    max_changes: int | None = None
    plausible: bool = False
    ball: float | None = None
    score_margin: float | None = None
    evidence: int = 59
    prove: bool | Literal["auto"] = "auto"
    rows: int | None = None
    seconds: float | None = None

    def given(self) -> dict[str, Any]:
        """Return what differs from the defaults, as the library takes it."""
        usual = Options()
        names = ("k", "sparsity", "diversity", "max_changes", "plausible", "evidence", "prove")
        told = {name: getattr(self, name) for name in names if getattr(self, name) != getattr(usual, name)}
        if self.ball is not None:
            told["margin"] = ssba.ball(self.ball)
        if self.score_margin is not None:
            told["margin"] = ssba.score_margin(self.score_margin)
        if self.rows is not None or self.seconds is not None:
            told["budget"] = ssba.Budget(rows=self.rows or ssba.Budget().rows, seconds=self.seconds)
        return told

    @property
    def wants_sets(self) -> bool:
        """Whether answers may be longer than the nearest for the sake of fewer columns."""
        return self.sparsity != "none" or (self.diversity == "levers" and self.k > 1)


@dataclass(frozen=True, eq=False)
class World:
    """Columns, background rows, a model, a target, a query, rules and options; `extras` are more checks."""

    seed: int
    family: Family
    columns: tuple[Column, ...]
    data: Matrix
    as_array: bool
    measure: Measure
    model: Model
    target: Target
    query: Matrix
    rules: tuple[Rule, ...] = ()
    options: Options = Options()
    others: Matrix | None = None
    extras: frozenset[Extra] = frozenset()

    @property
    def names(self) -> list[str]:
        return [one.name for one in self.columns]

    @cached_property
    def rows(self) -> Any:
        """The background rows, as the user has them."""
        return to_rows(self.columns, self.data, self.as_array)

    @cached_property
    def built(self) -> Any:
        """The model, fitted."""
        return self.model.build(self.rows) if isinstance(self.model, Fitted) else self.model

    @cached_property
    def judge(self) -> Judge:
        return Judge(self.built, self.columns, self.as_array, self.target, self.query)

    @cached_property
    def ground(self) -> Ground:
        with np.errstate(invalid="ignore"):
            sizes = np.nanmax(np.abs(np.vstack([self.data, self.query, np.zeros(len(self.query))])), axis=0)
        return Ground(self.columns, self.query, sizes)

    @property
    def values(self) -> dict[str, Any]:
        """The query as the user gives it."""
        return to_values(self.columns, self.query)

    @property
    def features(self) -> dict[str, Any]:
        told = {one.name: one.declaration() for one in self.columns}
        return {name: one for name, one in told.items() if one is not None}

    def explainer(self, model: Any = None) -> ssba.Explainer:
        return ssba.Explainer(
            self.built if model is None else model,
            self.rows,
            self.target.given(),
            features=self.features,
            distance=self.measure.given(),
            seed=self.seed % 1000,
        )

    def given_rules(self) -> list[Any]:
        return [rule.given() for rule in self.rules]

    def with_rules(self, rules: tuple[Rule, ...]) -> "World":
        return replace(self, rules=rules)

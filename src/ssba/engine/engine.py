"""Columns, model, metric, target and background rows, put together once per explainer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ssba.columns.distance import Distance, Metric
from ssba.columns.features import Declaration
from ssba.columns.frames import is_frame
from ssba.columns.space import Matrix, Space, build_space, without_far_cells
from ssba.engine.background import Background
from ssba.engine.judging import Judging, choose_rows
from ssba.errors import ArgumentError
from ssba.models.costly import Costly
from ssba.models.model import Model, adapt
from ssba.models.oracle import Tally, counted, refuse_chance, with_few_threads
from ssba.models.targets import (
    Goal,
    Probability,
    ValueBetween,
    ValueChange,
    check_target,
    describe_target,
    resolve,
)
from ssba.results.column import Column, columns_of
from ssba.search.robust import Surface
from ssba.whitebox.short_way import short_way

# Of the rows that a model is tried out on, so many are asked about twice.
_ASKED_TWICE = 32


@dataclass(frozen=True)
class Settings:
    """The explainer's settings, as the user gave them."""

    target: Any = None
    features: Mapping[str, Declaration] | None = None
    columns: Sequence[str] | None = None
    distance: Distance = field(default_factory=Distance)
    background_rows: int = 2000
    seed: int = 0


@dataclass(frozen=True)
class Engine:
    """What no query changes: columns, metric and target, the model, and the background rows.

    `costly` tells that calls of the model are dear.
    """

    space: Space
    metric: Metric
    target: Any
    judging: Judging
    background: Background
    tally: Tally
    seed: int
    costly: bool = False

    @cached_property
    def surface(self) -> Surface:
        """The surface of balls around rows, inside what the columns can hold."""
        features, grid = self.space.features, self.space.grid
        low, high = self.space.declared_range
        return Surface(
            metric=self.metric,
            grid=grid,
            movable=~self.space.discrete & ~self.space.constant,
            low=grid.ceil(low),
            high=grid.floor(high),
            levels=tuple(len(one.levels) if one.is_discrete else 0 for one in features),
        )

    def toward(self, target: Any) -> "Engine":
        """Return the engine with another target; columns, metric and background rows stay."""
        judging = self.judging
        if _needs(target) == _needs(self.target):
            check_target(target, judging.model)
        else:
            model = _adapted(judging.source, target, self.space, judging.sample, self.tally)
            judging = replace(judging, model=model)
        background = replace(self.background, judging=judging, target=target)
        return replace(self, target=target, judging=judging, background=background)

    @property
    def goal(self) -> Goal | None:
        """The goal of every query; None where it depends on the query."""
        depends = self.target is None or isinstance(self.target, ValueChange)
        return None if depends else resolve(self.target, None)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns as plain data, for results."""
        return columns_of(self.space.features, self.metric)

    @property
    def target_text(self) -> str:
        """The target in words."""
        return describe_target(self.target)


def build_engine(model: Any, data: Any, settings: Settings) -> Engine:
    """Check model, data and settings once, and put them together."""
    _refuse_swapped(model, data)
    costly = isinstance(model, Costly)
    model = model.model if costly else model
    space, Z = build_space(data, settings.features, settings.columns)
    Z = without_far_cells(space, Z, data)
    complete = np.asarray(~np.isnan(Z).any(axis=1))
    if complete.mean() < 0.5:
        # Where most rows have a missing cell the model must be able to take them as they are.
        complete = np.ones(len(Z), dtype=bool)
    rows, incomplete = _on_grid(space, Z[complete]), _on_grid(space, Z[~complete])
    measured = settings.distance.metric(space.features, Z)
    chosen, tally = choose_rows(rows, measured, settings.background_rows), Tally()
    adapted = _adapted(model, settings.target, space, rows[chosen.sample], tally)
    judging = Judging(space, adapted, model, rows, chosen, short_way(model, space, rows))
    background = Background(rows, incomplete, complete, judging, measured, settings.target, settings.seed)
    return Engine(space, measured, settings.target, judging, background, tally, settings.seed, costly)


def _refuse_swapped(model: Any, data: Any) -> None:
    is_model = hasattr(data, "predict") or callable(data)
    if is_model and (is_frame(model) or isinstance(model, np.ndarray)):
        raise ArgumentError(
            f"model is of type {type(model).__name__} and data of type {type(data).__name__}: they are "
            "swapped; write ssba.Explainer(model, data)"
        )


def _adapted(model: Any, target: Any, space: Space, sample: Matrix, tally: Tally) -> Model:
    """Find out how to ask a model for what a target needs; refuse a target that it cannot be judged by."""
    # A model that works in place would spoil what is asked about twice.
    twice = space.decode(sample[:_ASKED_TWICE].copy())
    adapted = counted(with_few_threads(adapt(model, space.decode(sample), **_needs(target))), tally)
    tally.rows += len(sample)
    check_target(target, adapted)
    refuse_chance(adapted, twice)
    return adapted


def _needs(target: Any) -> dict[str, bool]:
    """What a model is asked for: numbers, probabilities, or just classes."""
    return {
        "wants_numbers": isinstance(target, ValueBetween | ValueChange),
        "wants_probabilities": isinstance(target, Probability),
    }


def _on_grid(space: Space, Z: Matrix) -> Matrix:
    """Round background rows to legal values inside the data's range; they are only ever asked about so."""
    low, high = space.data_range
    low_legal, high_legal = space.grid.ceil(low), space.grid.floor(high)
    fits = low_legal <= high_legal
    low, high = np.where(fits, low_legal, low), np.where(fits, high_legal, high)
    return np.asarray(np.clip(space.grid.snap(Z), low, high))

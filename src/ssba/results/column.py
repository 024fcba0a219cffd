"""A column as plain data: kind, legal values, what the data showed, how changes are measured."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ssba.arguments import is_number, number
from ssba.columns.distance import Metric, Norm
from ssba.columns.features import LARGEST_SINGLE, Declaration, Feature, Kind
from ssba.errors import ArgumentError


@dataclass(frozen=True)
class Column:
    """A column: its kind and legal values, and what a change is divided by and multiplied with.

    `low` and `high` are None where the column was declared without a bound. What the data showed, `data_low`
    and `data_high`, and whether numbers are `single`, of 32 bits, decide how far an equality may be off.
    `why` tells what decided the kind, and `by_values` that it was the data's values. `decimals` is how many
    the data's numbers have, where they have few and no step.
    """

    name: str
    kind: Kind
    levels: tuple[Any, ...] = ()
    step: float | None = None
    unit: str | None = None
    low: float | None = None
    high: float | None = None
    scale: float = 1.0
    weight: float = 1.0
    data_low: float | None = None
    data_high: float | None = None
    single: bool = False
    decimals: int | None = None
    why: str = ""
    by_values: bool = False

    def __post_init__(self) -> None:
        who = f"column {self.name!r:.40}"
        if self.feature.has_levels != bool(self.levels) and not self._is_all_missing:
            raise ArgumentError(f"{who} is {self.kind}, with levels {self.levels!r:.80}")
        for name in ("scale", "weight"):
            number(f"{who}, {name}", getattr(self, name), "a positive number", low=0, high=1e300)

    @property
    def _is_all_missing(self) -> bool:
        """Whether the data have no value of a column of levels, so that none is known."""
        return self.kind in ("categorical", "boolean") and self.data_low == self.data_high == 0

    @property
    def declaration(self) -> Declaration:
        """The column as a user declares it."""
        return Declaration(self.kind, self.levels, *_ends(self.low, self.high), self.step, self.unit)

    @property
    def range(self) -> tuple[Any, Any]:
        """The lowest and the highest value in the data, within declared bounds; None without an order.

        Where no value of the data is within, both are the declared bound that is nearest to them.
        """
        feature = self.feature
        if feature.is_discrete or self.data_low is None or self.data_high is None:
            return None, None
        low, high = np.clip([feature.data_low, feature.data_high], feature.low, feature.high).tolist()
        return feature.value(low), feature.value(high)

    @property
    def feature(self) -> Feature:
        """The column as the explainer saw it."""
        low, high = _ends(self.low, self.high)
        seen_low, seen_high = _ends(self.data_low, self.data_high)
        return Feature(
            name=self.name,
            kind=self.kind,
            levels=self.levels,
            low=low,
            high=high,
            step=self.step,
            unit=self.unit,
            data_low=seen_low,
            data_high=seen_high,
            storable=(-LARGEST_SINGLE, LARGEST_SINGLE) if self.single else (-math.inf, math.inf),
            why=self.why,
            by_values=self.by_values,
            decimals=self.decimals,
        )


def columns_of(features: Sequence[Feature], metric: Metric) -> tuple[Column, ...]:
    """Return the columns of an explainer as plain data."""
    return tuple(
        Column(
            name=one.name,
            kind=one.kind,
            levels=one.levels,
            step=one.step,
            unit=one.unit,
            low=_bound(one.low),
            high=_bound(one.high),
            scale=float(metric.scale[place]),
            weight=float(metric.weight[place]),
            data_low=_bound(one.data_low),
            data_high=_bound(one.data_high),
            single=one.is_single,
            decimals=one.decimals,
            why=one.why,
            by_values=one.by_values,
        )
        for place, one in enumerate(features)
    )


def metric_of(columns: Sequence[Column], norm: Norm) -> Metric:
    """Return the metric that distances are recomputed with."""
    return Metric(
        norm,
        np.array([one.scale for one in columns]),
        np.array([one.weight for one in columns]),
        np.array([one.feature.is_discrete for one in columns], dtype=bool),
    )


def signed_step(before: Any, after: Any, order: Sequence[Any] = ()) -> float | None:
    """Return how far a change goes up, negative for down: in levels of an ordinal column, else in numbers.

    `order` holds the levels of an ordinal column from low to high. None where a change has no direction.

    >>> signed_step("high", "low", ["low", "middle", "high"]), signed_step(2, 2.5), signed_step("a", "b")
    (-2, 0.5, None)
    """
    if before in order and after in order:
        return order.index(after) - order.index(before)
    return after - before if is_number(before) and is_number(after) else None


def _bound(value: float) -> float | None:
    return None if math.isinf(value) else value


def _ends(low: float | None, high: float | None) -> tuple[float, float]:
    return -math.inf if low is None else low, math.inf if high is None else high

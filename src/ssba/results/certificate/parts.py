"""The parts of a certificate: columns, target and digest, to and from JSON."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, get_args

import numpy as np

from ssba.arguments import number
from ssba.columns.distance import Metric, Norm
from ssba.columns.features import LARGEST_SINGLE, Declaration, Feature, Kind
from ssba.errors import ArgumentError
from ssba.models.targets import Probability, ValueBetween


@dataclass(frozen=True)
class Column:
    """A column: its kind and legal values, and what a change is divided by and multiplied with.

    `low` and `high` are None where the column was declared without a bound. What the data showed, `data_low`
    and `data_high`, and whether numbers are `single`, of 32 bits, decide how far an equality may be off.
    """

    name: str
    kind: Kind
    levels: tuple[Any, ...]
    step: float | None
    unit: str | None
    low: float | None
    high: float | None
    scale: float
    weight: float
    data_low: float | None
    data_high: float | None
    single: bool

    @property
    def declaration(self) -> Declaration:
        """The column as a user declares it."""
        low, high = _ends(self.low, self.high)
        return Declaration(self.kind, self.levels, low, high, self.step, self.unit)

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
        )


def column_parts(features: Sequence[Feature], metric: Metric) -> list[dict[str, Any]]:
    """Return the columns of an explainer in JSON's form."""
    return [
        asdict(
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
            )
        )
        for place, one in enumerate(features)
    ]


def read_columns(raw: Sequence[Mapping[str, Any]]) -> tuple[Column, ...]:
    """Read columns from JSON, and refuse what is none."""
    return tuple(_checked(Column(**{**one, "levels": tuple(one["levels"])})) for one in raw)


def metric_of(columns: Sequence[Column], norm: Norm) -> Metric:
    """Return the metric that distances are recomputed with."""
    return Metric(
        norm,
        np.array([one.scale for one in columns]),
        np.array([one.weight for one in columns]),
        np.array([one.feature.is_discrete for one in columns], dtype=bool),
    )


def target_part(target: Any) -> dict[str, Any]:
    """Return a target in JSON's form.

    >>> target_part("healthy"), target_part(None)
    ({'form': 'label', 'label': 'healthy'}, {'form': 'another'})
    """
    match target:
        case None:
            return {"form": "another"}
        case Probability(label, at_least):
            return {"form": "probability", "label": label, "at_least": at_least}
        case ValueBetween(low, high):
            return {"form": "value", "low": _bound(low), "high": _bound(high)}
    return {"form": "label", "label": target}


def read_target(raw: Mapping[str, Any]) -> Any:
    """Read a target from JSON.

    >>> read_target(target_part(ValueBetween(-math.inf, 120)))
    ValueBetween(low=-inf, high=120)
    """
    match raw:
        case {"form": "another"}:
            return None
        case {"form": "label", "label": str() | int() | float() | bool() as label}:
            return label
        case {"form": "probability", "label": label, "at_least": at_least}:
            return Probability(label, at_least)
        case {"form": "value", "low": low, "high": high}:
            return ValueBetween(*_ends(low, high))
    raise ArgumentError(f"the target {raw!r:.80} is not understood")


def seal_of(document: Mapping[str, Any]) -> str:
    """Return the sha256 of a document, whatever the order of its names and its white space."""
    written = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(written.encode()).hexdigest()


def plain_json(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return content as it will be once written and read again."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(content, allow_nan=False, default=_scalar))
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{error}; give the model labels of text, numbers or booleans") from None
    return plain


def _scalar(value: Any) -> Any:
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{value!r:.80} of type {type(value).__name__} has no JSON form")


def _checked(column: Column) -> Column:
    who = f"column {column.name!r:.40}"
    if not isinstance(column.name, str) or column.kind not in get_args(Kind):
        raise ArgumentError(f"{who} has the kind {column.kind!r:.40}")
    if column.feature.has_levels != bool(column.levels):
        raise ArgumentError(f"{who} is {column.kind}, with levels {column.levels!r:.80}")
    for name in ("scale", "weight"):
        number(f"{who}, {name}", getattr(column, name), "a positive number", low=0, high=1e300)
    if not isinstance(column.single, bool):
        raise ArgumentError(f"{who}, single is {column.single!r:.40}; give true or false")
    for name in ("step", "low", "high", "data_low", "data_high"):
        if getattr(column, name) is not None:
            number(f"{who}, {name}", getattr(column, name), "a number or null")
    return column


def _bound(value: float) -> float | None:
    return None if math.isinf(value) else value


def _ends(low: float | None, high: float | None) -> tuple[float, float]:
    return -math.inf if low is None else low, math.inf if high is None else high

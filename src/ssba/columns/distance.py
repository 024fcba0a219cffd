"""Distance between rows, in units a person chose.

A numeric, integer or ordinal column contributes its difference divided by the column's scale; a categorical
or boolean column that changed, or a missing cell that was filled, contributes 1 (Gower's rule). Every
contribution is multiplied by the column's weight. ``"l2"`` is the square root of the sum of squares,
``"l1"`` and ``"gower"`` the plain sum; ``"gower"`` divides by the range. `Distance` is what users say of
this, `Metric` what comes of it for the rows at hand.

Also which of some others are nearest to rows, and how far these are, for many rows at once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, cast, final, get_args

import numpy as np
from numpy.typing import NDArray

from ssba.arguments import mapping, number, one_of
from ssba.arrays import Array, Integers, Matrix, Vector, blocks, in_blocks, like, lowest, namespace
from ssba.columns.features import Feature, unknown_columns
from ssba.errors import ArgumentError, SchemaError

# Squares of numbers between these neither vanish nor overflow.
_SMALLEST, _LARGEST = 1e-150, 1e150
# A spread from here on leaves no room for sums of differences.
_WIDEST = 1e300


def is_lost(distance: Array) -> Array:
    """Tell which quick distances may have been lost, and have to be measured with care."""
    return ~((distance > _SMALLEST) & (distance < _LARGEST))


Norm = Literal["l2", "l1", "gower"]
ScaleName = Literal["std", "mad", "range", "none"]
_EXAMPLE = '{"chol": 2.0}'

# For fewer rows than this, preparing a matrix product takes longer than it saves.
_WORTH_PRODUCTS = 4


@final
@dataclass(frozen=True)
class Distance:
    """How the length of a change is measured: how columns add up, and the scale and weight of each.

    Parameters
    ----------
    norm : {"l2", "l1", "gower"}
        How changes add up; one changed category counts 1 in each. ``"gower"`` is ``"l1"`` with the range as
        its usual scale.
    scale : {"std", "mad", "range", "none"} or mapping, optional
        What a number's change is divided by: one spread of the data for all columns, or a number for each
        column, 1 (raw units) for those that are not named. ``"none"`` is the paper's raw units. By default
        ``"std"``, and ``"range"`` for ``"gower"``. Categories and truth values have none: a change counts 1.
    weights : mapping, optional
        Factors for columns whose change is harder (above 1) or easier (below 1).

    Examples
    --------
    >>> Distance("l1", scale="mad", weights={"chol": 2.0})
    Distance(norm='l1', scale='mad', weights={'chol': 2.0})
    """

    norm: Norm = "l2"
    scale: ScaleName | Mapping[str, float] | None = None
    weights: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        one_of("Distance(norm=...)", self.norm, get_args(Norm))
        if isinstance(self.scale, Mapping):
            object.__setattr__(self, "scale", _factors("scale", self.scale))
        elif self.scale is not None and (
            not isinstance(self.scale, str) or self.scale not in get_args(ScaleName)
        ):
            names = ", ".join(map(repr, get_args(ScaleName)))
            raise ArgumentError(
                f"Distance(scale=...) is {self.scale!r:.80}; choose one of {names}, or give a mapping from "
                f"column names, such as {_EXAMPLE}"
            )
        object.__setattr__(self, "weights", _factors("weights", self.weights))

    def metric(self, features: Sequence[Feature], Z: NDArray[np.float64]) -> "Metric":
        """Return the metric over rows with these features, whose spread encoded background rows show."""
        if isinstance(self.scale, Mapping):
            scale = _per_column(features, self.scale, "scale")
            _refuse_scaled_levels(features, self.scale)
        else:
            # What overflows is refused by name.
            with np.errstate(over="ignore", invalid="ignore"):
                scale = _spread(Z, self.scale or ("range" if self.norm == "gower" else "std"))
            _refuse_too_wide(features, scale)
        weight = _per_column(features, self.weights or {}, "weights")
        discrete = np.array([feature.is_discrete for feature in features], dtype=bool)
        return Metric(self.norm, scale, weight, discrete)


def distance_from(given: Any) -> Distance:
    """Return a distance that was given as one, or by the name of its norm."""
    if isinstance(given, Distance):
        return given
    if not isinstance(given, str) or given not in get_args(Norm):
        names = ", ".join(map(repr, get_args(Norm)))
        raise ArgumentError(
            f"distance is {given!r:.80}; choose one of {names}, or give ssba.Distance('l2', scale=..., "
            "weights=...)"
        )
    return Distance(cast(Norm, given))


@dataclass(frozen=True)
class Metric:
    """A weighted L1 or L2 distance over encoded rows."""

    norm: Norm
    scale: Array
    weight: Array
    discrete: Array

    def parts(self, Z: Array, x: Array) -> Array:
        """Return every column's contribution to the distance of each row of `Z` from `x`."""
        xp = namespace(Z)
        gap = xp.abs(self._gaps(Z, x))
        missing = xp.isnan(gap)
        if not xp.any(missing):
            return gap
        return xp.where(missing, xp.astype(changed_cells(Z, x), gap.dtype) * self.weight, gap)

    def _gaps(self, Z: Array, x: Array) -> Array:
        """Return contributions with their signs, and NaN wherever a cell is missing."""
        gap = Z - x
        if not self._all_numbers:
            xp = namespace(gap)
            gap = xp.where(self.discrete, xp.sign(gap), gap)
        return gap / self._unit if self._weighs_alike else gap / self._unit * self.weight

    def beside(self, rows: Array) -> "Metric":
        """Return the metric for rows that lie elsewhere."""
        scale, weight, discrete = (like(one, rows) for one in (self.scale, self.weight, self.discrete))
        return Metric(self.norm, scale, weight, discrete)

    @cached_property
    def columns(self) -> "list[Metric]":
        """The metrics of single columns."""
        arrays = self.scale, self.weight, self.discrete
        return [Metric(self.norm, *(one[j : j + 1] for one in arrays)) for j in range(len(self.scale))]

    @cached_property
    def _all_numbers(self) -> bool:
        return not bool(namespace(self.discrete).any(self.discrete))

    @cached_property
    def _weighs_alike(self) -> bool:
        return bool(namespace(self.weight).all(self.weight == 1))

    @cached_property
    def _unit(self) -> Array:
        """What a difference of 1 is; a change of level is one."""
        xp = namespace(self.scale)
        return xp.where(self.discrete, xp.ones_like(self.scale), self.scale)

    @property
    def adds_squares(self) -> bool:
        """Whether it is the squares of contributions that add up, to the square of the distance."""
        return self.norm == "l2"

    def cost(self, length: Array) -> Array:
        """Return what contributions, or distances, are in the units that add up."""
        return length * length if self.adds_squares else length

    def length(self, cost: Array) -> Array:
        """Return the distance of a cost; one below zero is rounding."""
        cost = np.maximum(cost, 0.0)
        return np.sqrt(cost) if self.adds_squares else cost

    def distance(self, Z: Array, x: Array) -> Array:
        """Return the distance of each row of `Z` from `x`."""
        one_by_one = Z.ndim == 2 and Z.shape == x.shape
        return in_blocks(self._distance, Z.shape[1], Z, x) if one_by_one else self._distance(Z, x)

    def _distance(self, Z: Array, x: Array) -> Array:
        xp = namespace(Z)
        total = self.quick_distance(Z, x)
        # A missing cell makes the sum NaN, so that no look at every cell is needed.
        fine = ~is_lost(total)
        if bool(xp.all(fine)):
            return total
        if total.ndim == 0:
            return self.total(self.parts(Z, x))
        rows, others = xp.broadcast_arrays(Z, x)
        total[~fine] = self.total(self.parts(rows[~fine], others[~fine]))
        return total

    def quick_distance(self, Z: Array, x: Array) -> Array:
        """Return the distance of rows, which may be lost: where squares are, or where a cell is missing."""
        xp, gap = namespace(Z), self._gaps(Z, x)
        if not self.adds_squares:
            return xp.sum(xp.abs(gap), axis=-1)
        with np.errstate(over="ignore"):
            return xp.sqrt(xp.sum(gap * gap, axis=-1))

    def total(self, parts: Array) -> Array:
        """Add up contributions along the last axis, as the norm says."""
        xp = namespace(parts)
        if self.norm != "l2":
            return xp.sum(parts, axis=-1)
        with np.errstate(over="ignore"):
            total = xp.sqrt(xp.sum(parts * parts, axis=-1))
        fine = (total > _SMALLEST) & (total < _LARGEST)
        return total if bool(xp.all(fine)) else xp.where(fine, total, _length(parts))


def changed_cells(Z: Array, x: Array) -> Array:
    """Tell which cells of rows differ from those of a row; a missing cell that stays missing does not."""
    xp = namespace(Z)
    return (Z != x) & ~(xp.isnan(Z) & xp.isnan(x))


def _length(parts: Array) -> Array:
    """Return the square root of the sum of squares of numbers whose squares may be too small or too large."""
    xp = namespace(parts)
    most = xp.max(parts, axis=-1, keepdims=True)
    unit = xp.where((most > 0) & (most < xp.inf), most, xp.ones_like(most))
    shares = parts / unit
    return unit[..., 0] * xp.sqrt(xp.sum(shares * shares, axis=-1))


def _factors(who: str, given: Any) -> dict[str, float]:
    """Return positive numbers by column, or refuse them."""
    factors = mapping(f"Distance({who}=...)", given, _EXAMPLE)
    for name, factor in factors.items():
        number(f"{who}[{name!r}]", factor, "a positive number, from 1e-50 to 1e50", low=1e-51, high=1e51)
    return factors


def _per_column(features: Sequence[Feature], given: Mapping[str, float], who: str) -> NDArray[np.float64]:
    names = [feature.name for feature in features]
    if strangers := [name for name in given if name not in names]:
        raise SchemaError(unknown_columns(strangers, names, who))
    return np.array([float(given.get(name, 1.0)) for name in names])


def _refuse_scaled_levels(features: Sequence[Feature], given: Mapping[str, float]) -> None:
    for feature in features:
        if feature.is_discrete and feature.name in given:
            raise ArgumentError(
                f"Distance(scale=...) names column {feature.name!r}, which is {feature.kind}: a change of it "
                f"counts 1 whatever its scale; leave it out, or say that its change counts more or less with "
                f"weights={{{feature.name!r}: ...}}"
            )


def _spread(Z: NDArray[np.float64], scale: ScaleName) -> NDArray[np.float64]:
    """Return the spread of each column; where the desired one is zero, the next coarser one that is not."""
    if scale == "none":
        return np.ones(Z.shape[1])
    present = np.where(np.isnan(Z).all(axis=0), 0.0, Z)
    extent = np.nanmax(present, axis=0) - np.nanmin(present, axis=0)
    # Squares of very small or very large differences would be lost.
    unit = np.where(
        (extent > 0) & ((extent < _SMALLEST) | (extent > _LARGEST)) & np.isfinite(extent), extent, 1.0
    )
    deviation = unit * np.nanstd(present / unit, axis=0)
    desired = {"std": deviation, "range": extent}.get(scale)
    if desired is None:
        desired = np.nanmedian(np.abs(present - np.nanmedian(present, axis=0)), axis=0)
    coarser = np.where(deviation > 0, deviation, 1.0)
    # The deviation of equal numbers may be rounding dust.
    return np.where(extent > 0, np.where(desired > 0, desired, coarser), 1.0)


def _refuse_too_wide(features: Sequence[Feature], scale: NDArray[np.float64]) -> None:
    """Refuse columns with numbers too far apart for distances: what is added up would be infinite."""
    for feature, spread in zip(features, scale.tolist(), strict=True):
        if not spread < _WIDEST:
            raise SchemaError(
                f"column {feature.name!r} holds numbers from {feature.data_low:g} to {feature.data_high:g}, "
                f"too far apart to be measured (a spread of {_WIDEST:g} or more); correct them, or give the "
                "column in a larger unit"
            )


def refuse_too_far(
    features: Sequence[Feature], metric: "Metric", X: Matrix, named: Callable[[int], str] | None = None
) -> None:
    """Refuse queries with a cell so far from the data that the squares of distances would overflow.

    `named` is what to call a row, where there are many.
    """
    ends = np.array([(one.data_low, one.data_high) for one in features]).T
    with np.errstate(over="ignore"):
        parts = metric.parts(X, np.clip(X, *ends))
    for row, j in np.argwhere(parts > _LARGEST)[:1].tolist():
        feature, place = features[j], "" if named is None else f"{named(row)}, "
        raise SchemaError(
            f"{place}column {feature.name!r}: {X[row, j]:g} is too far from the background data's "
            f"{feature.data_low:g} to {feature.data_high:g} to be measured; correct the cell"
        )


def least_distance(metric: Metric, Z: Matrix, rows: Matrix) -> Vector:
    """Return how far each row of `Z` is from the nearest of some rows; infinite where there are none."""
    return nearest_numbers(metric, Z, rows, 1)[1][:, 0] if len(rows) else np.full(len(Z), np.inf)


def nearest_numbers(metric: Metric, Z: Matrix, rows: Matrix, count: int) -> tuple[Integers, Matrix]:
    """Return the numbers of the `count` rows nearest to each row of `Z`, and how far they are.

    They are in order; of equally near ones the first come first. In L2 a matrix product tells which rows may
    be among the nearest, and only those are measured.
    """
    count = min(count, len(rows))
    near, far = np.empty((len(Z), count), dtype=np.int64), np.empty((len(Z), count))
    if len(Z) < _WORTH_PRODUCTS or not metric.adds_squares or np.isnan(rows).any() or np.isnan(Z).any():
        products = None
    else:
        products = _products(metric, Z, rows)
    for part in blocks(len(Z), rows.size if products is None else len(rows)):
        if products is None:
            measured = np.asarray(metric.distance(rows, Z[part][:, None]))
            near[part] = lowest(measured, count)
            far[part] = np.take_along_axis(measured, near[part], axis=1)
        else:
            near[part], far[part] = _nearest_by_products(metric, Z[part], rows, products(part), count)
    return near, far


def _nearest_by_products(
    metric: Metric, Z: Matrix, rows: Matrix, bounds: tuple[Matrix, Vector], count: int
) -> tuple[Integers, Matrix]:
    squares, slack = bounds
    last = squares.min(axis=1) if count == 1 else np.partition(squares, count - 1, axis=1)[:, count - 1]
    owner, near = np.nonzero(squares <= (last + slack)[:, None])
    far = np.asarray(metric.distance(rows[near], Z[owner]))
    order = np.lexsort((far, owner))
    kept = order[np.searchsorted(owner, np.arange(len(Z)))[:, None] + np.arange(count)]
    return near[kept], far[kept]


def _products(metric: Metric, Z: Matrix, rows: Matrix) -> Callable[[slice], tuple[Matrix, Vector]] | None:
    """Return what gives squares of distances, but for a constant in each row, and by how much they may err.

    None where numbers are too large for it.
    """
    # Where columns lie far from zero, products would lose the digits in which rows differ.
    middle = np.where(metric.discrete, 0.0, rows.mean(axis=0))
    one, other = flat(metric, Z - middle, rows - middle), flat(metric, rows - middle, rows - middle)
    with np.errstate(over="ignore"):
        length, other_length = (one * one).sum(axis=1), (other * other).sum(axis=1)
        # More than all roundings of products, sums and scaled cells can add up to, on both sides.
        float64 = np.finfo(np.float64)
        slack = 16 * (one.shape[1] + 8) * float64.eps * (length + other_length.max()) + float64.tiny
    if not np.isfinite(slack).all():
        return None
    return lambda part: (other_length - 2 * (one[part] @ other.T), slack[part])


def flat(metric: Metric, Z: Matrix, rows: Matrix) -> Matrix:
    """Return `Z` so that plain L1 or L2 to rows that were treated alike is the metric.

    Columns are scaled, and a category becomes one column for each of its levels among `rows`, and one for all
    others, so that two levels are as far apart as the metric says.
    """
    parts = [(Z / metric.scale * metric.weight)[:, ~metric.discrete]]
    # Two different levels differ in two of the columns.
    share = np.sqrt(0.5) if metric.adds_squares else 0.5
    for j in np.flatnonzero(metric.discrete):
        levels = np.unique(rows[:, j])
        is_level = Z[:, j : j + 1] == levels
        other = ~is_level.any(axis=1, keepdims=True)
        parts.append(np.c_[is_level, other] * share * metric.weight[j])
    return np.concatenate(parts, axis=1)

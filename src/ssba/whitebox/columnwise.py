"""What steps of known types make of every column: the same operations, in the same order and the same floats.

A step is followed only where its type and settings tell all of that for every value. Numbers are followed in
64 bits and in dense arrays: elsewhere scikit-learn rounds, or divides, in ways that differ with its version.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from ssba.arrays import Matrix, Vector
from ssba.columns.features import is_missing
from ssba.whitebox.check_reading import NotReadable
from ssba.whitebox.structure import ENCODERS, SCALERS, SELECTORS, is_a, is_idle

Change = tuple[str, tuple[float, ...]]
"""One operation on a column of numbers, a key of `OPERATIONS`, and its numbers."""


def _fill(X: Matrix, value: Vector) -> None:
    np.copyto(X, value, where=np.isnan(X))


def _round_to_single(X: Matrix) -> None:
    np.copyto(X, X.astype(np.float32))


OPERATIONS: dict[str, Callable[..., object]] = {
    "minus": lambda X, number: np.subtract(X, number, out=X),
    "over": lambda X, number: np.divide(X, number, out=X),
    "times": lambda X, number: np.multiply(X, number, out=X),
    "plus": lambda X, number: np.add(X, number, out=X),
    "clip": lambda X, low, high: np.clip(X, low, high, out=X),
    "fill": _fill,
    "single": _round_to_single,
}
"""Operations that work in place on columns, given a row of numbers for each argument."""


@final
@dataclass(frozen=True)
class Column:
    """A column on its way through the steps.

    Attributes
    ----------
    source
        The encoded column that it depends on.
    has_levels
        Whether that one has levels: a table then tells more than `changes`.
    name
        Its name in the user's frame; None once a step has made it.
    changes
        What was done to a number so far.
    single
        Whether its array may hold 32-bit floats.
    sparse
        Whether its array is sparse.
    """

    source: int
    has_levels: bool
    name: Any = None
    changes: tuple[Change, ...] = ()
    single: bool = False
    sparse: bool = False


def followed(steps: Iterable[Any], columns: Sequence[Column]) -> Sequence[Column]:
    """Return what the steps make of columns; `NotReadable` where that cannot be told."""
    for step in steps:
        columns = _after(step, columns)
    return columns


def refuse_overridden(step: Any) -> None:
    """Refuse an object of which a method was replaced: its type no longer tells what it does."""
    if any(callable(getattr(type(step), name, None)) for name in vars(step)):
        raise NotReadable(f"a method of {type(step).__name__} was replaced")


def _after(step: Any, columns: Sequence[Column]) -> Sequence[Column]:
    if step is None or isinstance(step, str):
        return [] if step == "drop" else columns
    refuse_overridden(step)
    if is_idle(step):
        return columns
    if is_a(step, "Pipeline"):
        return followed([one for _, one in step.steps], columns)
    if is_a(step, "ColumnTransformer"):
        return _side_by_side(step, columns)
    if is_a(step, "FeatureUnion"):
        return _union(step, columns)
    if is_a(step, *SELECTORS):
        return [replace(columns[i], name=None) for i in step.get_support(indices=True)]
    if is_a(step, *ENCODERS):
        return _encoded(step, columns)
    if is_a(step, *SCALERS):
        return _changed(columns, _scaling(step, len(columns)))
    if is_a(step, "SimpleImputer"):
        return _changed(columns, [[("fill", (value,))] for value in _filling(step, columns)])
    raise NotReadable(f"the step {type(step).__name__} is not one that can be followed")


def _side_by_side(step: Any, columns: Sequence[Column]) -> Sequence[Column]:
    _refuse_weights(step)
    names = [column.name for column in columns]
    by_name = hasattr(step, "feature_names_in_") and None not in names
    made = list[Column]()
    for name, one, _ in step.transformers_:
        if isinstance(one, str) and one == "drop":
            continue  # its columns need not even be there
        chosen = step._transformer_to_input_indices[name]
        # Columns of a frame may stand in another order than where the step was fitted.
        picked = [columns[names.index(step.feature_names_in_[i]) if by_name else i] for i in chosen]
        made += _after(one, picked) if picked else []
    return [replace(column, name=None, sparse=step.sparse_output_) for column in made]


def _union(step: Any, columns: Sequence[Column]) -> Sequence[Column]:
    _refuse_weights(step)
    made = [column for _, one in step.transformer_list for column in _after(one, columns)]
    sparse = any(column.sparse for column in made)
    return [replace(column, name=None, sparse=sparse) for column in made]


def _refuse_weights(step: Any) -> None:
    if step.transformer_weights:
        raise NotReadable(f"the {type(step).__name__} weighs its parts")


def _encoded(step: Any, columns: Sequence[Column]) -> Sequence[Column]:
    if not all(column.has_levels for column in columns):
        raise NotReadable("an encoder in the pipeline gets numbers")
    dtype, one_hot = np.dtype(step.dtype), is_a(step, "OneHotEncoder")
    counts = step._n_features_outs if one_hot else [1] * len(columns)
    single, sparse = dtype.kind == "f" and dtype.itemsize < 8, one_hot and step.sparse_output
    return [
        Column(column.source, has_levels=True, single=single, sparse=sparse)
        for column, count in zip(columns, counts, strict=True)
        for _ in range(count)
    ]


def _changed(columns: Sequence[Column], changes: Sequence[Sequence[Change]]) -> Sequence[Column]:
    """Append to each column its changes; their array is the one that a step gets, with a dtype for all."""
    single, sparse = any(column.single for column in columns), any(column.sparse for column in columns)
    if (single or sparse) and not all(column.has_levels for column in columns):
        raise NotReadable("a step in the pipeline computes in 32 bits, or in a sparse matrix")
    return [
        replace(column, name=None, changes=(*column.changes, *mine), single=single, sparse=sparse)
        for column, mine in zip(columns, changes, strict=True)
    ]


def _scaling(step: Any, width: int) -> list[list[Change]]:
    """Return the operations of a scaler for each column, as its `transform` does them."""
    rows: list[tuple[str, tuple[Any, ...]]]
    match type(step).__name__:
        case "StandardScaler":
            rows = [("minus", (step.mean_,))] if step.with_mean else []
            rows += [("over", (step.scale_,))] if step.with_std else []
        case "RobustScaler":
            rows = [("minus", (step.center_,))] if step.with_centering else []
            rows += [("over", (step.scale_,))] if step.with_scaling else []
        case "MaxAbsScaler":
            rows = [("over", (step.scale_,))]
            rows += [("clip", (-1.0, 1.0))] if getattr(step, "clip", False) else []
        case "MinMaxScaler":
            rows = [("times", (step.scale_,)), ("plus", (step.min_,))]
            rows += [("clip", step.feature_range)] if step.clip else []
        case other:
            raise NotReadable(f"the step {other} is not one that can be followed")
    wide = [(kind, [np.broadcast_to(np.float64(row), width) for row in numbers]) for kind, numbers in rows]
    return [[(kind, tuple(float(row[i]) for row in numbers)) for kind, numbers in wide] for i in range(width)]


def _filling(step: Any, columns: Sequence[Column]) -> list[float]:
    """Return what stands for a missing number in each column; of levels a table tells it."""
    if step.add_indicator or any(map(is_missing, step.statistics_)):
        raise NotReadable("a SimpleImputer in the pipeline adds columns, or leaves some out")
    marked = step.missing_values
    if not (isinstance(marked, float) and math.isnan(marked)) and not all(c.has_levels for c in columns):
        raise NotReadable("a SimpleImputer in the pipeline treats a number as missing")
    return [
        math.nan if column.has_levels else float(value)
        for column, value in zip(columns, step.statistics_, strict=True)
    ]

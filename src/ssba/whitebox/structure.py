"""What kind of map the steps before a model's last one are, told by their types and settings alone.

What the data happens to show proves nothing about values it does not hold. So a step is let through only if
its type and its own settings say what it does to every value.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ssba.columns.features import is_missing
from ssba.columns.space import Space

Columns = tuple[int, ...]

_SCALERS = ("StandardScaler", "MaxAbsScaler", "RobustScaler", "MinMaxScaler")
_SELECTORS = ("VarianceThreshold", "SelectKBest", "SelectPercentile", "SelectFromModel", "RFE", "RFECV")
# One value means one thing to them and the next another: affine on levels, where a table tells it all.
_ENCODERS = ("OneHotEncoder", "OrdinalEncoder")
_COLUMNWISE = (*_SCALERS, *_SELECTORS, *_ENCODERS, "SimpleImputer")
_MIXING = ("PCA", "TruncatedSVD")


def take_apart(model: Any) -> tuple[list[Any], Any]:
    """Return the steps before the last one, nested pipelines unfolded, and the last."""
    if not _is(model, "Pipeline"):
        return [], model
    before, last = take_apart(model.steps[-1][1])
    return [step for _, step in model.steps[:-1]] + before, last


def are_affine(steps: Sequence[Any], space: Space) -> bool:
    """Whether the steps together are an affine map of numbers and a table of levels."""
    kinds = list(_kinds(steps))
    clips = any(_is(step, "MinMaxScaler") and step.clip for step in kinds)
    known = all(is_idle(step) or _is(step, *_COLUMNWISE, *_MIXING) for step in kinds)
    return known and not clips and _spares_numbers(steps, space)


def are_columnwise(steps: Sequence[Any], space: Space) -> bool:
    """Whether each result of the steps depends on one column, and grows or falls with it if that is numbers.

    Quantiles and powers are left out: in floats they grow only up to rounding, and where they are flat a
    rounding error is a wide interval of the column.
    """
    known = all(is_idle(step) or _is(step, *_COLUMNWISE) for step in _kinds(steps))
    return known and _spares_numbers(steps, space)


def is_idle(step: Any) -> bool:
    """Whether a step gives back what it gets, or nothing."""
    if step is None or isinstance(step, str):
        return step in (None, "passthrough", "drop")
    return _is(step, "FunctionTransformer") and step.func is None


def _spares_numbers(steps: Sequence[Any], space: Space) -> bool:
    """Whether only columns of levels reach steps that treat single values apart."""
    reaching = _singled_out(steps, tuple(range(len(space.features))), space.names)
    return all(space.features[j].has_levels for j in reaching)


def _singled_out(steps: Sequence[Any], columns: Columns, names: Sequence[str]) -> set[int]:
    """Return which columns reach a step that treats single values apart, of those that enter the first."""
    found: set[int] = set()
    in_order = True
    for step in steps:
        if in_order:
            found |= _singled_out_by(step, columns, names)
        elif any(_singles_out(one) for one in _kinds([step])):
            # What an earlier step returns is in an order of its own: it may be any of them.
            found |= set(columns)
        in_order = in_order and is_idle(step)
    return found


def _singled_out_by(step: Any, columns: Columns, names: Sequence[str]) -> set[int]:
    if _is(step, "Pipeline"):
        return _singled_out([one for _, one in step.steps], columns, names)
    if _is(step, "ColumnTransformer"):
        parts = [(one, _picked(picked, columns, names)) for _, one, picked in step.transformers_]
    elif _is(step, "FeatureUnion"):
        parts = [(one, columns) for _, one in step.transformer_list]
    else:
        return set(columns) if _singles_out(step) else set()
    return {j for one, picked in parts for j in _singled_out_by(one, picked, names)}


def _picked(wanted: Any, columns: Columns, names: Sequence[str]) -> Columns:
    """Return the columns that a part of a column transformer gets; all of them where that is unclear."""
    mine = [names[j] for j in columns]
    try:
        if isinstance(wanted, slice):
            ends = [mine.index(end) if isinstance(end, str) else end for end in (wanted.start, wanted.stop)]
            # A slice of names includes its end.
            stop = ends[1] + 1 if isinstance(wanted.stop, str) else ends[1]
            return columns[slice(ends[0], stop, wanted.step)]
        cells = [wanted] if isinstance(wanted, str | int) else np.asarray(wanted).tolist()
        if cells and all(isinstance(cell, bool) for cell in cells):
            return tuple(j for j, chosen in zip(columns, cells, strict=True) if chosen)
        return tuple(columns[mine.index(cell) if isinstance(cell, str) else cell] for cell in cells)
    except (ValueError, IndexError, TypeError):
        return columns


def _singles_out(step: Any) -> bool:
    """Whether a step treats single values apart: an encoder, or an imputer of a value that is a number."""
    if _is(step, "SimpleImputer"):
        return not is_missing(step.missing_values)
    return _is(step, *_ENCODERS)


def _kinds(steps: Sequence[Any]) -> Iterator[Any]:
    """Yield the innermost steps of nested pipelines, unions and column transformers."""
    for step in steps:
        if _is(step, "Pipeline"):
            yield from _kinds([one for _, one in step.steps])
        elif _is(step, "ColumnTransformer"):
            yield from _kinds([one for _, one, _ in step.transformers_])
        elif _is(step, "FeatureUnion"):
            yield from _kinds([one for _, one in step.transformer_list])
        else:
            yield step


def _is(step: Any, *names: str) -> bool:
    return type(step).__module__.partition(".")[0] == "sklearn" and type(step).__name__ in names

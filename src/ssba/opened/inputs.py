"""From encoded rows to what a model's last step sees: pipelines whose steps treat each column alone.

No transformer is computed anew here. The types of the steps tell what kind of map they are together, and
the map itself is read off by asking them about rows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ssba.problem.model_tensors import float_array
from ssba.problem.space import Space

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Integers = NDArray[np.int64]

# More levels do not fit in the 64 bits that a set of them is kept in.
MOST_LEVELS = 63
# Values of each numeric column at which a step is checked to grow with it.
_PROBES = 64

_AFFINE = frozenset(
    [
        "StandardScaler",
        "MaxAbsScaler",
        "RobustScaler",
        "OneHotEncoder",
        "OrdinalEncoder",
        "SimpleImputer",
        "VarianceThreshold",
        "SelectKBest",
        "SelectPercentile",
        "SelectFromModel",
        "RFE",
        "RFECV",
    ]
)
_GROWING = _AFFINE | {"MinMaxScaler", "QuantileTransformer", "PowerTransformer"}
_MIXING = frozenset(("PCA", "TruncatedSVD"))


@final
@dataclass(frozen=True)
class Inputs:
    """What the last step of a model sees of encoded rows.

    `source` names for each input the encoded column it depends on, -1 for a constant; `tables` holds for each
    column of levels what the inputs are at each of its codes; `base` is one row of inputs.
    """

    ask: Callable[[Matrix], Matrix]
    source: Integers
    tables: dict[int, Matrix]
    base: Vector


def take_apart(model: Any) -> tuple[list[Any], Any]:
    """Return the steps before the last one, nested pipelines unfolded, and the last."""
    if not _is(model, "Pipeline"):
        return [], model
    before, last = take_apart(model.steps[-1][1])
    return [step for _, step in model.steps[:-1]] + before, last


def are_affine(steps: list[Any]) -> bool:
    """Whether the steps together are an affine map of numbers and a table of levels."""
    kinds = list(_kinds(steps))
    clips = any(_is(step, "MinMaxScaler") and step.clip for step in kinds)
    return not clips and all(
        _is_idle(step) or _is(step, *_AFFINE, "MinMaxScaler", *_MIXING) for step in kinds
    )


def are_columnwise(steps: list[Any]) -> bool:
    """Whether each result of the steps depends on one column, and grows with it if that holds numbers."""
    return all(_is_idle(step) or _is(step, *_GROWING) for step in _kinds(steps))


def transformed(steps: list[Any], rows: Any) -> Any:
    """Send rows through all steps."""
    for step in steps:
        rows = rows if step is None or isinstance(step, str) else step.transform(rows)
    return rows


def read_inputs(steps: list[Any], space: Space, background: Matrix) -> Inputs | None:
    """Find out which input depends on which column, or return None where one depends on several."""

    def ask(Z: Matrix) -> Matrix:
        return _dense(transformed(steps, space.decode(Z)))

    base = complete_row(background)
    answer = ask(base[None, :])[0]
    source = np.full(len(answer), -1, dtype=np.int64)
    tables: dict[int, Matrix] = {}
    for j, feature in enumerate(space.features):
        if feature.has_levels and len(feature.levels) > MOST_LEVELS:
            return None
        values = (
            np.arange(len(feature.levels), dtype=float) if feature.has_levels else _spread(background[:, j])
        )
        seen = ask(_with_column(space, base, j, values))
        varies = (seen != answer).any(axis=0)
        if (varies & (source >= 0)).any():
            return None
        source[varies] = j
        if feature.has_levels:
            tables[j] = seen
        elif (np.diff(seen, axis=0) < 0).any():
            return None
    return Inputs(ask, source, tables, answer)


def complete_row(background: Matrix) -> Vector:
    """Return the first row, with its missing cells taken from the first rows that have them."""
    return np.asarray(background[np.argmin(np.isnan(background), axis=0), np.arange(background.shape[1])])


def _with_column(space: Space, base: Vector, j: int, values: Vector) -> Matrix:
    """Return copies of a row with legal values in one column; its other cells stay as they are."""
    rows = np.tile(base, (len(values), 1))
    rows[:, j] = values
    rows[:, j] = space.grid.snap(rows)[:, j]
    return rows


def _spread(column: Vector) -> Vector:
    """Return some values of a column in rising order, and one beyond where it is constant."""
    distinct = np.unique(column[~np.isnan(column)])
    if len(distinct) < 2:
        return np.append(distinct, distinct + 1.0)
    return np.asarray(distinct[np.linspace(0, len(distinct) - 1, min(_PROBES, len(distinct))).astype(int)])


def _kinds(steps: list[Any]) -> Iterator[Any]:
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


def _is_idle(step: Any) -> bool:
    if step is None or isinstance(step, str):
        return step in (None, "passthrough", "drop")
    return _is(step, "FunctionTransformer") and step.func is None


def _is(step: Any, *names: str) -> bool:
    return type(step).__module__.partition(".")[0] == "sklearn" and type(step).__name__ in names


def _dense(rows: Any) -> Matrix:
    if hasattr(rows, "toarray"):
        rows = rows.toarray()
    return np.asarray(float_array(rows, "the model"), dtype=np.float64)

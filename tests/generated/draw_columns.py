"""Drawing columns, background rows, queries and measures."""

import math
from dataclasses import replace
from decimal import Decimal
from typing import Literal, get_args

import numpy as np
from tests.generated.columns import Column, Dtype, Matrix
from tests.generated.worlds import Measure, Norm

Rng = np.random.Generator
Taste = Literal["small", "numbers", "mixed", "smooth"]

_WORDS = ("red", "green", "blue", "high low", "it's")
_GRADES = ("none", "some", "much", "all")
_STEPS = (0.1, 0.25, 0.3, 0.5, 0.05, 2.0, 5.0)


def pick(rng: Rng, *choices: tuple[object, float]) -> object:
    """Return one of some things, each with its weight."""
    weights = np.array([weight for _, weight in choices])
    return choices[int(rng.choice(len(choices), p=weights / weights.sum()))][0]


def draw_columns(rng: Rng, taste: Taste, count: int, as_array: bool) -> tuple[Column, ...]:
    if as_array:
        return _array_columns(rng, taste, count)
    names = [f"a{j}" if rng.random() < 0.9 else f"a {j}" for j in range(count)]
    return tuple(_column(rng, name, taste) for name in names)


def _column(rng: Rng, name: str, taste: Taste) -> Column:
    kinds: dict[Taste, tuple[tuple[object, float], ...]] = {
        "small": (("integer", 4), ("step", 2), ("ordinal", 1), ("categorical", 2), ("boolean", 1)),
        "smooth": (("plain", 1),),
        "numbers": (("numeric", 5), ("integer", 1), ("step", 1)),
        "mixed": (
            ("numeric", 3),
            ("integer", 3),
            ("step", 2),
            ("ordinal", 1),
            ("categorical", 2),
            ("boolean", 1),
        ),
    }
    match pick(rng, *kinds[taste]):
        case "plain":
            return Column(name, "numeric", "float64")
        case "numeric":
            return Column(name, "numeric", "float32" if rng.random() < 0.15 else "float64")
        case "integer":
            return _whole(rng, name)
        case "step":
            dtype: Dtype = "float32" if rng.random() < 0.25 else "float64"
            return Column(name, "numeric", dtype, step=float(rng.choice(_STEPS)), declared=True)
        case "ordinal":
            levels = _GRADES[: int(rng.integers(2, 5))]
            return Column(name, "ordinal", "str", levels, declared=True)
        case "categorical":
            return _category(rng, name)
        case _:
            if rng.random() < 0.6:
                return Column(name, "boolean", "bool", (False, True))
            return Column(name, "boolean", "str", ("no", "yes"), declared=True)


def _whole(rng: Rng, name: str) -> Column:
    if rng.random() < 0.15:
        return Column(name, "integer", "int64", step=2.0, declared=True)
    if rng.random() < 0.3:
        return Column(name, "integer", "float64", step=1.0, declared=True)
    return Column(name, "integer", "int64", step=1.0)


def _category(rng: Rng, name: str) -> Column:
    if rng.random() < 0.2:
        return Column(name, "categorical", "int64", (1, 2, 5), declared=True)
    levels = tuple(sorted(_WORDS[: int(rng.integers(2, 5))]))
    return Column(name, "categorical", "str", levels, declared=bool(rng.random() < 0.3))


def _array_columns(rng: Rng, taste: Taste, count: int) -> tuple[Column, ...]:
    if taste == "smooth":
        return tuple(Column(f"x{j}", "numeric", "float64") for j in range(count))
    dtype = pick(rng, ("float64", 3), ("float32", 1), ("int64", 1 + 2 * (taste == "small")))
    if dtype == "int64":
        return tuple(Column(f"x{j}", "integer", "int64", step=1.0) for j in range(count))
    kept: Dtype = "float32" if dtype == "float32" else "float64"
    return tuple(_array_column(rng, f"x{j}", kept, taste) for j in range(count))


def _array_column(rng: Rng, name: str, dtype: Dtype, taste: Taste) -> Column:
    if taste == "small" or rng.random() < 0.4:
        if rng.random() < 0.5:
            return Column(name, "integer", dtype, step=1.0, declared=True)
        return Column(name, "numeric", dtype, step=float(rng.choice(_STEPS[:4])), declared=True)
    return Column(name, "numeric", dtype)


def draw_data(rng: Rng, columns: tuple[Column, ...], taste: Taste) -> Matrix:
    count = int(rng.integers(30, 120 if taste == "small" else 200))
    cells = [_cells(rng, one, count, taste) for one in columns]
    data = np.column_stack(cells)
    if taste != "smooth" and rng.random() < 0.25:
        for j, one in enumerate(columns):
            if one.can_be_missing and rng.random() < 0.5:
                data[rng.random(count) < 0.12, j] = np.nan
    if rng.random() < 0.05:
        j = int(rng.integers(len(columns)))
        data[:, j] = data[0, j]
    return _all_levels_shown(columns, data)


def _all_levels_shown(columns: tuple[Column, ...], data: Matrix) -> Matrix:
    """Let every undeclared level be seen, since levels are those that the data hold."""
    for j, one in enumerate(columns):
        if one.dtype == "str" and (one.kind == "boolean" or not one.declared):
            data[: len(one.levels), j] = np.arange(len(one.levels))
    return data


def _cells(rng: Rng, column: Column, count: int, taste: Taste) -> Matrix:
    if column.levels:
        return rng.integers(0, len(column.levels), count).astype(np.float64)
    if column.is_stepped:
        width = int(rng.integers(2, 7 if taste == "small" else 30))
        first = int(rng.choice([0, 0, 1, -3, -width]))
        return column.at(rng.integers(first, first + width + 1, count).astype(np.float64))
    shift, spread = float(rng.choice([0.0, 0.0, 3.0, -20.0, 120.0])), float(rng.choice([1.0, 1.0, 0.2, 15.0]))
    cells = rng.normal(shift, spread, count)
    return column.stored(np.round(cells, int(rng.choice([1, 2, 3]))) if rng.random() < 0.6 else cells)


def as_shown(columns: tuple[Column, ...], data: Matrix) -> tuple[Column, ...]:
    """Give columns that are not declared the kinds that docs/columns.md reads off their numbers."""
    return tuple(_shown(one, cells) for one, cells in zip(columns, data.T, strict=True))


def _shown(column: Column, cells: Matrix) -> Column:
    numbers = cells[np.isfinite(cells)]
    if column.declared or not column.is_number or len(numbers) < 10 or len(set(numbers)) == 1:
        return column
    if set(numbers) == {0.0, 1.0}:
        return replace(column, kind="boolean", levels=(0, 1), step=None)
    if column.dtype == "int64":
        return column
    texts = [str(np.float32(one)) if column.is_single else repr(float(one)) for one in numbers]
    places = max(-int(Decimal(text).normalize().as_tuple().exponent) for text in texts)
    if places <= 0:
        return replace(column, kind="integer", step=1.0)
    few = (max(map(Decimal, texts)) - min(map(Decimal, texts))) * 10**places <= 200
    return replace(column, step=float(f"1e-{places}")) if few else replace(column, decimals=places)


def declared_bounds(rng: Rng, columns: tuple[Column, ...], data: Matrix) -> tuple[Column, ...]:
    """Declare bounds of some numbers, a little within or beyond the data."""
    return tuple(_bounded(rng, one, cells) for one, cells in zip(columns, data.T, strict=True))


def _bounded(rng: Rng, column: Column, cells: Matrix) -> Column:
    if not column.is_number or rng.random() > 0.15 or not np.isfinite(cells).any():
        return column
    low, high = float(np.nanmin(cells)), float(np.nanmax(cells))
    width = max(high - low, 1.0)
    if rng.random() < 0.6:
        low = round(low + width * float(rng.choice([-0.5, 0.0, 0.1])), 1)
        column = replace(column, low=low, declared=True)
    if rng.random() < 0.6:
        high = round(high + width * float(rng.choice([0.5, 0.0, -0.1])), 1)
        column = replace(column, high=high, declared=True)
    leaves_some = ((cells >= column.low) & (cells <= column.high)).any()
    return column if leaves_some else replace(column, low=-math.inf, high=math.inf)


def draw_query(rng: Rng, columns: tuple[Column, ...], data: Matrix, start: Matrix) -> Matrix:
    """Return a row like one of the data, sometimes off its grid, outside the data's range, or incomplete."""
    z = start.copy()
    for j, one in enumerate(columns):
        if one.is_number and one.kind == "numeric" and rng.random() < 0.12 and not math.isnan(z[j]):
            unit = one.step or max(float(np.nanstd(data[:, j])), 0.01)
            z[j] = one.stored(np.array([round(z[j] + unit * float(rng.choice([0.3, -0.4, 0.5])), 3)]))[0]
        if one.is_number and rng.random() < 0.05 and not math.isnan(z[j]):
            beyond = np.array([float(np.nanmax(data[:, j])) + float(one.unit) * int(rng.integers(1, 4))])
            z[j] = one.snapped(beyond)[0]
        if one.is_number and not math.isnan(z[j]) and not one.low <= z[j] <= one.high:
            z[j] = next(value for value in data[:, j] if one.low <= value <= one.high)
        if one.can_be_missing and np.isnan(data[:, j]).any() and rng.random() < 0.3:
            z[j] = np.nan
    return z


def draw_measure(rng: Rng, columns: tuple[Column, ...]) -> Measure:
    norm: Norm = get_args(Norm)[int(rng.choice(3, p=[0.5, 0.35, 0.15]))]
    scale: object = pick(rng, ("std", 4), ("none", 3), ("range", 1), ("own", 2))
    names = [one.name for one in columns]
    if scale == "own":
        drawn = {name: float(rng.choice([0.5, 1.0, 2.0, 3.0])) for name in names if rng.random() < 0.8}
        scale = {one.name: drawn[one.name] for one in columns if one.name in drawn and not one.is_category}
    weights = {name: float(rng.choice([0.5, 2.0, 3.0])) for name in names if rng.random() < 0.3}
    return Measure(norm, scale, weights if rng.random() < 0.3 else {})  # type: ignore[arg-type]

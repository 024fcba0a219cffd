"""The moves of a plan: which columns move together, and in how many visits."""

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ssba.advice.context import Context
from ssba.advice.rows import changed_columns, feasible_rows
from ssba.arguments import mapping, number
from ssba.columns.distance import changed_cells
from ssba.columns.features import Feature, step_fraction, unknown_columns
from ssba.columns.space import Matrix
from ssba.errors import ArgumentError, SchemaError

# Visits that one change may be split into.
_MOST_VISITS = 100
# Ways of rounding the columns of a linked group that are tried between two visits.
_MOST_ROUNDINGS = 64
# Places on the way of a linked group that are tried where equal parts do not do.
_MOST_STOPS = 500
# Digits of numbers without a step that are tried there, behind the first one of the column's scale.
_DIGITS = (1, 2, 3, 6)


@dataclass(frozen=True)
class Unit:
    """Columns that move together: `levels` has their cells before the first visit and after each one."""

    columns: tuple[int, ...]
    levels: Matrix

    @property
    def visits(self) -> int:
        """How many visits it takes to move all the way."""
        return len(self.levels) - 1


def first_units(x: Matrix, z: Matrix) -> list[Unit]:
    """Return a unit for each changed column that moves all the way at once."""
    return [whole_unit(x, z, (j,)) for j in changed_columns(x, z)]


def whole_unit(x: Matrix, z: Matrix, columns: tuple[int, ...]) -> Unit:
    """Return the unit that moves some columns all the way at once."""
    return Unit(columns, np.stack([x[list(columns)], z[list(columns)]]))


def split_unit(context: Context, base: Matrix, unit: Unit, longest: Mapping[int, float]) -> Unit:
    """Return the unit with its way cut into visits, none of which moves a column more than `longest` allows.

    A single number goes in full steps; linked columns go in equal parts, each rounded so that the row stays
    feasible beside the other cells of `base`. Where no such row is found, a visit goes further.
    """
    if not any(j in longest for j in unit.columns):
        return unit
    if len(unit.columns) == 1:
        (j,) = unit.columns
        return Unit(unit.columns, _full_steps(context, j, unit.levels[:, 0], longest[j])[:, None])
    return _equal_parts(context, base, unit, longest)


def _full_steps(context: Context, j: int, ends: Matrix, most: float) -> Matrix:
    """Return the cells after each visit to a number: full steps, each rounded back to few digits."""
    start, end = float(ends[0]), float(ends[1])
    feature = context.engine.space.features[j]
    if math.isnan(start) or math.isnan(end):
        return ends
    size = _usable(feature, most)
    _count(feature, abs(end - start) / size, most)
    levels = [start]
    while abs(end - levels[-1]) > size * (1 + 1e-9):
        levels.append(_toward(context, j, levels[-1], levels[-1] + math.copysign(size, end - start), size))
    return np.array([*levels, end])


def _toward(context: Context, j: int, start: float, aim: float, size: float) -> float:
    """Return a legal value of column `j` at `aim` or a little nearer to `start`, in few digits."""
    unit = 10.0 ** (math.floor(math.log10(size)) - 1)
    # A sum such as 6.3 + 0.1 has noise behind its last digit, which must not cost a whole unit.
    count = round(aim / unit, 6)
    short = float(f"{(math.floor(count) if aim > start else math.ceil(count)) * unit:.12g}")
    grid = context.engine.space.grid
    row = context.x[None, :].copy()
    row[0, j] = float(f"{aim:.12g}") if grid.stepped[j] else short
    return float((grid.floor(row) if aim > start else grid.ceil(row))[0, j])


def _equal_parts(context: Context, base: Matrix, unit: Unit, longest: Mapping[int, float]) -> Unit:
    """Cut the way of linked columns into equal parts; where rows at their ends do not do, as they allow.

    Then it stops wherever a feasible row is found, and each visit goes as far as it may.
    """
    start, end = unit.levels[0], unit.levels[-1]
    count = max(
        _parts_needed(context, j, a, b, longest) for j, a, b in zip(unit.columns, start, end, strict=True)
    )
    most = np.array([longest.get(j, math.inf) for j in unit.columns])
    # Half of what a part leaves to the longest step: rounding may use it up at both of its ends.
    slack = np.nan_to_num((most - np.abs(end - start) / count) / 2)
    equal = {Fraction(part, count) for part in range(1, count)}
    levels = _stops(context, base, unit, equal, slack)
    if any(_is_beyond(*both, most) for both in itertools.pairwise(levels)):
        levels = _far_stops(_stops(context, base, unit, equal | _finer(context, unit), slack), most)
    return Unit(unit.columns, np.stack(levels))


def _stops(
    context: Context, base: Matrix, unit: Unit, shares: Collection[Fraction], slack: Matrix
) -> list[Matrix]:
    """Return the cells at the start, at those shares of the way that have feasible ones, and at the end."""
    end = unit.levels[-1]
    levels = [unit.levels[0]]
    for share in sorted(shares):
        choices = _roundings(context, unit, float(share), slack)
        moved = changed_cells(choices, levels[-1]).any(axis=1) & changed_cells(choices, end).any(axis=1)
        goes_back = ((choices - levels[-1]) * (end - levels[0]) < 0).any(axis=1)
        found = _first_feasible(context, base, unit, choices[moved & ~goes_back])
        levels += [] if found is None else [found]
    return [*levels, end]


def _far_stops(levels: Sequence[Matrix], most: Matrix) -> list[Matrix]:
    """Keep of the stops on a way as few as `most` allows, and no more where two of them are further apart."""
    kept = [levels[0]]
    for level, following in itertools.pairwise(levels[1:]):
        if _is_beyond(kept[-1], following, most):
            kept.append(level)
    return [*kept, levels[-1]]


def _is_beyond(before: Matrix, after: Matrix, most: Matrix) -> bool:
    """Tell whether a visit moves some column further than it may."""
    return bool((np.abs(after - before) > most * (1 + 1e-9)).any())


def _finer(context: Context, unit: Unit) -> set[Fraction]:
    """Return the shares of the way at which some column has made a whole number of steps, or all have."""
    steps = [_step(context.engine.space.features[j]) for j in unit.columns]
    far = np.nan_to_num(np.abs(unit.levels[-1] - unit.levels[0]))
    counts = [round(move / float(step)) for move, step in zip(far, steps, strict=True) if step]
    wholes = {max(counts, default=0), math.gcd(*counts)}
    return {
        Fraction(part, whole)
        for whole in wholes
        for part in range(1, whole, max(1, math.ceil(whole / _MOST_STOPS)))
    }


def _parts_needed(context: Context, j: int, start: float, end: float, longest: Mapping[int, float]) -> int:
    if j not in longest or math.isnan(start) or math.isnan(end):
        return 1
    feature = context.engine.space.features[j]
    size, step = _usable(feature, longest[j]), float(_step(feature) or 0)
    # Rounding to the column's step may add one step to a part.
    return _count(feature, abs(end - start) / (size - step if size > step else size), longest[j])


def _roundings(context: Context, unit: Unit, share: float, slack: Matrix) -> Matrix:
    """Return legal cells for some share of the way: few digits first, near ones first; last with all digits.

    Numbers without a step are rounded by no more than `slack`.
    """
    columns = list(unit.columns)
    start, end = unit.levels[0], unit.levels[-1]
    aim = start + share * (end - start)
    jumps = np.isnan(aim) | context.engine.metric.discrete[columns]
    grid = context.engine.space.grid
    magnitude = np.floor(np.log10(context.engine.metric.scale[columns]))
    found = []
    for digits in (*_DIGITS, None):
        short = aim
        if digits is not None:
            power = 10.0 ** (digits - magnitude)
            short = np.round(aim * power) / power
            short = np.where(grid.stepped[columns] | (np.abs(short - aim) > slack), aim, short)
        row = context.x[None, :].copy()
        row[:, columns] = short
        below, above = grid.floor(row)[0][columns], grid.ceil(row)[0][columns]
        below, above = np.where(jumps, start, below), np.where(jumps, end, above)
        pairs = [[one] if one == other else [one, other] for one, other in zip(below, above, strict=True)]
        cells = np.array(list(itertools.islice(itertools.product(*pairs), _MOST_ROUNDINGS)))
        gaps = np.nan_to_num(np.abs(cells - aim), nan=0.0).sum(axis=1)
        found.append(cells[np.argsort(gaps, kind="stable")])
    return np.concatenate(found)


def _first_feasible(context: Context, base: Matrix, unit: Unit, choices: Matrix) -> Matrix | None:
    """Return the first cells with which `base` is feasible; None where none are."""
    rows = np.repeat(base[None, :], len(choices), axis=0)
    rows[:, list(unit.columns)] = choices
    (feasible,) = np.nonzero(feasible_rows(context, rows))
    return np.asarray(choices[feasible[0]]) if len(feasible) else None


def _step(feature: Feature) -> Fraction | None:
    if feature.step is not None:
        return step_fraction(feature.step)
    return None if feature.kind == "numeric" else Fraction(1)


def _usable(feature: Feature, most: float) -> float:
    """Return the longest move of at most `most` that the column's step allows."""
    step = _step(feature)
    if step is None:
        return most
    steps = math.floor(Fraction(repr(most)) / step)
    if steps < 1:
        raise ArgumentError(
            f"max_step[{feature.name!r}] is {most:g}, but the column moves in steps of {float(step):g}; "
            f"give {float(step):g} or more"
        )
    return float(steps * step)


def _count(feature: Feature, visits: float, most: float) -> int:
    count = max(1, math.ceil(visits - 1e-9))
    if count > _MOST_VISITS:
        raise ArgumentError(
            f"max_step[{feature.name!r}] is {most:g}, which takes {count:,} visits; at most {_MOST_VISITS} "
            f"are planned: give {_rounded_up(most * count / _MOST_VISITS)} or more"
        )
    return count


def effort_factors(context: Context, effort: Any) -> Matrix:
    """Read `effort=`: what a visit to each column takes, 1 where nothing is said."""
    given = _by_column(context, "effort", effort, '{"chol": 2.0}')
    names = context.engine.space.names
    return np.array([given.get(j, 1.0) for j in range(len(names))])


def longest_steps(context: Context, max_step: Any) -> dict[int, float]:
    """Read `max_step=`: how far a visit may move some columns."""
    given = _by_column(context, "max_step", max_step, '{"chol": 20}')
    for j, most in given.items():
        feature = context.engine.space.features[j]
        if feature.is_discrete:
            raise ArgumentError(
                f"max_step[{feature.name!r}] is {most:g}, but the column is {feature.kind} and changes at "
                "once; leave it out"
            )
        _usable(feature, most)
    return given


def _by_column(context: Context, who: str, wanted: Any, example: str) -> dict[int, float]:
    names = context.engine.space.names
    given = mapping(who, wanted, example)
    if strangers := [name for name in given if name not in names]:
        raise SchemaError(unknown_columns(strangers, names, who))
    return {
        names.index(name): number(f"{who}[{name!r}]", value, "a positive number", low=0, high=1e300)
        for name, value in given.items()
    }


def _rounded_up(number: float) -> str:
    """Write a number in three digits that are not below it."""
    power = 10.0 ** (2 - math.floor(math.log10(number)))
    return f"{math.ceil(number * power) / power:.3g}"

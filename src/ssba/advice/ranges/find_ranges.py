"""Ranges: how far the changed cells of an answer may move, together, while it stays an answer.

A box around the answer is widened side by side as long as rows of what is added, corners among them, reach
the target and meet the constraints. The ends are rounded inward to few digits. Then rows are drawn from
the finished box; where some fail it is cut back, until hundreds of fresh ones hold.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ssba.advice.context import Context
from ssba.advice.ranges.box import Box, Mask, Rng, drawn, grow, peel, point_box, samples
from ssba.advice.rows import changed_columns, feasible_rows, inside_regions, is_answer, reaches
from ssba.arguments import whole
from ssba.columns.features import LARGEST_SINGLE, Feature
from ssba.columns.space import Matrix
from ssba.errors import ArgumentError
from ssba.models.targets import describe
from ssba.results.ranges import Interval, Ranges

_MOST_SAMPLES = 100_000
# Fresh rows that must all hold before a box is measured, and how often it is cut back for those that fail.
_TRIED = 400
_MOST_CUTS = 20
# The share of fresh rows that must hold in the end; what is promised is 99%.
_ENOUGH = 0.997
_MOST_MEASURED = 5
# Where neither data nor constraints limit a column, as many of its scales from the answer.
_FAR = 10.0
# Share of an interval that may be given up for fewer digits.
_SHORTER = 0.05


@dataclass
class _Field:
    """The rows around an answer in which only `columns` move; `asked` counts model rows."""

    context: Context
    z: Matrix
    columns: list[int]
    asked: int = 0

    def snapped(self, cells: Matrix) -> Matrix:
        """Return cells without the noise behind multiples of their step."""
        row = self.z.copy()
        row[self.columns] = cells
        return np.asarray(self.context.engine.space.grid.snap(row[None, :])[0][self.columns])

    def rows(self, cells: Matrix) -> Matrix:
        """Return whole rows, as written, from the cells that move."""
        rows = np.repeat(self.z[None, :], len(cells), axis=0)
        rows[:, self.columns] = cells
        return self.context.written(np.asarray(self.context.engine.space.grid.snap(rows)))

    def holds(self, cells: Matrix) -> Mask:
        """Tell which rows reach the target and lie in the query's regions."""
        return self._checked(cells, inside_regions)

    def holds_in_full(self, cells: Matrix) -> Mask:
        """Tell which rows reach the target and meet every constraint in user units."""
        return self._checked(cells, feasible_rows)

    def _checked(self, cells: Matrix, feasible: Callable[[Context, Matrix], Mask]) -> Mask:
        """Ask about rows that are feasible, each once."""
        once, back = np.unique(cells, axis=0, return_inverse=True)
        rows = self.rows(once)
        fine = feasible(self.context, rows)
        self.asked += int(fine.sum())
        fine[fine] = reaches(self.context, rows[fine]).reached
        return np.asarray(fine[back.reshape(-1)])


def find_ranges(context: Context, answer_z: Matrix, n_samples: int = 1000) -> Ranges:
    """Return intervals of the changed columns around an answer in which it stays an answer.

    Parameters
    ----------
    context : Context
        The query with its constraints.
    answer_z : array
        The counterfactual, encoded.
    n_samples : int
        How many rows to draw from the finished intervals, to tell which share of them holds.
    """
    count = whole("n_samples", n_samples, at_least=1)
    if count > _MOST_SAMPLES:
        raise ArgumentError(f"n_samples is {count:,}; give {_MOST_SAMPLES:,} or fewer")
    if not is_answer(context, answer_z):
        raise ArgumentError(
            "ranges() needs an answer that reaches the target, and this row does not, as a bounded move does "
            "not either; ask for its plan(), or for what to relax with why_not()"
        )
    changed = changed_columns(context.x, answer_z)
    discrete = context.engine.metric.discrete
    field = _Field(context, answer_z, [j for j in changed if not discrete[j] and not np.isnan(answer_z[j])])
    rng = np.random.default_rng([context.engine.seed, 23])
    box, held = _around(field), 1.0
    if field.columns:
        box = grow(box, field.holds, context.rows // 2, _rows_a_side(field), rng)
        box, held = _measured(field, _in_few_digits(box), count, rng)
    box = replace(box, low=field.snapped(box.low), high=field.snapped(box.high))
    return Ranges(_intervals(field, box, changed), count, held, describe(context.goal), field.asked)


def _rows_a_side(field: _Field) -> int:
    """Return how many rows speak for a side at each step: as many as the budget allows for some ten steps."""
    return int(np.clip(field.context.rows // (80 * len(field.columns)), 8, 48))


def _around(field: _Field) -> Box:
    """Return the box of the answer alone, with the limits that constraints and columns set."""
    context, columns = field.context, field.columns
    center = field.z[columns]
    homes = [one for one in context.regions if one.contains(field.z[None, :])[0]]
    low = np.min([one.lower for one in homes], axis=0)[columns]
    high = np.max([one.upper for one in homes], axis=0)[columns]
    far = _FAR * context.engine.metric.scale[columns]
    # The end of what 32 bits can hold is no more of a limit than infinity, and models overflow there.
    low = np.where(low > -LARGEST_SINGLE, low, center - far)
    high = np.where(high < LARGEST_SINGLE, high, center + far)
    low, high = np.minimum(low, center), np.maximum(high, center)
    grid = context.engine.space.grid
    step = np.where(grid.stepped, grid.numerator / grid.denominator, 0.0)[columns]
    box = point_box(center, low, high, step, np.zeros(len(columns), dtype=bool))
    return replace(box, worst=_worse_ends(field, box))


def _worse_ends(field: _Field, box: Box) -> Mask:
    """Tell for which columns the upper limit is further from the target than the lower one."""
    width = len(field.columns)
    if not width:
        return box.worst
    ends = np.repeat(box.center[None, :], 2 * width, axis=0)
    ends[range(width), range(width)] = box.low_limit
    ends[range(width, 2 * width), range(width)] = box.high_limit
    reply = reaches(field.context, field.rows(ends))
    field.asked += len(ends)
    value = np.asarray(reply.reached if reply.margin is None else reply.margin, dtype=np.float64)
    return value[width:] < value[:width]


def _in_few_digits(box: Box) -> Box:
    """Round ends that have no grid inward to few digits; a limit only by what nobody would notice."""
    low = [
        _short(end, center, _SHORTER if end != limit else 1e-9) if not step else end
        for end, center, limit, step in zip(box.low, box.center, box.low_limit, box.step, strict=True)
    ]
    high = [
        _short(end, center, _SHORTER if end != limit else 1e-9) if not step else end
        for end, center, limit, step in zip(box.high, box.center, box.high_limit, box.step, strict=True)
    ]
    return replace(box, low=np.array(low), high=np.array(high))


def _short(end: float, center: float, share: float) -> float:
    """Return a number near `end`, on the center's side of it, in as few digits as that share allows.

    >>> _short(211.8734, 180.0, 0.05), _short(0.123456, 0.5, 0.05), _short(3.0, 3.0, 0.05)
    (211.0, 0.13, 3.0)
    """
    if end == center:
        return float(end)
    most = share * abs(end - center)
    for digits in range(-12, 16):
        power = 10.0**digits
        near = (np.floor(end * power) if end > center else np.ceil(end * power)) / power
        if 0 <= (end - near if end > center else near - end) <= most:
            return float(near) + 0.0
    return float(end)


def _measured(field: _Field, box: Box, count: int, rng: Rng) -> tuple[Box, float]:
    """Cut the box back until fresh rows hold; return it with the share of `count` fresh rows that do."""
    for _ in range(_MOST_MEASURED):
        box = _cut_back(field, box, rng)
        rows = drawn(box.low, box.high, box.step, count, rng)
        fine = field.holds_in_full(rows)
        if fine.mean() >= _ENOUGH:
            return box, float(fine.mean())
        box = peel(box, rows[~fine])
    # Nothing around the answer holds well enough: it stands alone, and was checked.
    return replace(box, low=box.center, high=box.center), 1.0


def _cut_back(field: _Field, box: Box, rng: Rng) -> Box:
    for _ in range(_MOST_CUTS):
        rows = samples(box, _TRIED, rng)
        fine = field.holds(rows)
        if fine.all():
            return box
        box = _in_few_digits(peel(box, rows[~fine]))
    return replace(box, low=box.center, high=box.center)


def _intervals(field: _Field, box: Box, changed: list[int]) -> tuple[Interval, ...]:
    features, x, z = field.context.engine.space.features, field.context.x, field.z
    intervals = []
    for j in changed:
        if j in field.columns:
            i = field.columns.index(j)
            ends, limits = (box.low[i], box.high[i]), (box.low_limit[i], box.high_limit[i])
            intervals.append(_interval(features[j], x[j], z[j], ends, limits))
        else:
            value = features[j].value(z[j])
            intervals.append(
                Interval(
                    features[j].name, value, value, features[j].value(x[j]), value, unit=features[j].unit
                )
            )
    return tuple(intervals)


def _interval(
    feature: Feature, now: float, proposed: float, ends: tuple[float, float], limits: tuple[float, float]
) -> Interval:
    low, high = ends
    # A limit in fewer digits is still the limit.
    slack = 1e-6 * max(1e-300, limits[1] - limits[0])
    return Interval(
        column=feature.name,
        low=feature.value(low),
        high=feature.value(high),
        now=feature.value(now),
        proposed=feature.value(proposed),
        low_is_limit=bool(abs(low - limits[0]) <= slack),
        high_is_limit=bool(abs(high - limits[1]) <= slack),
        unit=feature.unit,
    )

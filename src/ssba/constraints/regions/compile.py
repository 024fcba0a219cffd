"""From constraints and a query to the regions of feasible rows, or to the constraints that clash."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import Vector, blocks
from ssba.columns.distance import Metric
from ssba.columns.space import Matrix, Space
from ssba.constraints.constraint import (
    Atom,
    Conjunction,
    Constraint,
    Fill,
    Keep,
    Linear,
    alternatives,
    columns,
    reads_values,
)
from ssba.constraints.regions.boxes import (
    Box,
    Ranges,
    boxed,
    boxed_queries,
    collected,
    empty_box,
    tighten,
    widened,
)
from ssba.constraints.regions.halfspaces import cannot_meet, with_rows
from ssba.constraints.regions.placing import Placed
from ssba.constraints.regions.region import Region
from ssba.interrupts import is_past
from ssba.models.oracle import tell_watcher

Numbers = NDArray[np.int64]

# If-then rules multiply: n rules can be obeyed in 2^n ways. Beyond this many, the first are searched.
MAX_REGIONS = 64
# Ways that are tried for these, and steps to find ways at all.
_MOST_TRIED, _MOST_STEPS = 512, 20_000
# Seconds beyond the budget in which those that clash may still be told from the others: mostly a few
# milliseconds are needed, and a budget's time may be over by half a second.
_TO_NAME_A_CLASH = 0.5


@dataclass(frozen=True)
class Compiled:
    """The regions of the rows that meet all constraints, the one that begins nearest first.

    `complete` tells that no way to meet them was left out. Then no region means that nothing meets them.
    """

    regions: tuple[Region, ...]
    complete: bool


def compile_regions(
    space: Space, metric: Metric, x: Vector, constraints: Sequence[Constraint]
) -> tuple[Region, ...]:
    """Return one region for each way to obey the constraints; none where none was found."""
    return compile_query(space, metric, x, constraints).regions


def compile_query(
    space: Space,
    metric: Metric,
    x: Vector,
    constraints: Sequence[Constraint],
    deadline: float = math.inf,
) -> Compiled:
    """Find the regions of the rows that obey the constraints, as far as time allows.

    The data's range is only a default. Where no row in it meets the relations between columns, their columns
    may go as far out as these need; and that nothing meets the constraints is said only if nothing
    does with columns that have no range at all.
    """
    return compile_queries(space, metric, x[None, :], constraints, deadline)[0]


def compile_queries(
    space: Space,
    metric: Metric,
    X: Matrix,
    constraints: Sequence[Constraint],
    deadline: float = math.inf,
) -> list[Compiled]:
    """Do the same for many queries: where constraints leave one box around each, for all of them at once."""
    compiled: list[Compiled] = []
    for some in blocks(len(X), space.has_code.size):
        compiled += _compile_block(Ranges(space, metric, X[some]), constraints, deadline)
    return compiled


def _compile_block(ranges: Ranges, constraints: Sequence[Constraint], deadline: float) -> list[Compiled]:
    tell_watcher()
    space, X = ranges.space, ranges.x
    found = [_found(space, X, one) for one in constraints]
    box, is_plain = empty_box(ranges), np.ones(len(X), dtype=bool)
    for by_query in found:
        for ways, queries in by_query:
            if len(ways) == 1 and not any(isinstance(atom, Linear) for atom in ways[0]):
                tighten(box, space, ways[0], queries)
            else:
                is_plain[queries] = False
    boxes = boxed_queries(ranges, box)
    is_over = is_past(deadline)
    compiled = [_box_only(region, is_over) for region in boxes]
    others = np.flatnonzero(~is_plain).tolist()
    ways_of = [_by_query(one) for one in found] if others else []
    for number in others:
        own = [ways[number] for ways in ways_of]
        compiled[number] = _compile_ways(Ranges(space, ranges.metric, X[number]), own, deadline)
    return compiled


def _by_query(found: Sequence[tuple[Sequence[Conjunction], Numbers]]) -> dict[int, Sequence[Conjunction]]:
    return {number: ways for ways, queries in found for number in queries.tolist()}


def _box_only(region: Region | None, is_over: bool) -> Compiled:
    if region is None:
        return Compiled((), complete=True)
    return Compiled((), complete=False) if is_over else Compiled((region,), complete=True)


def _found(space: Space, X: Matrix, constraint: Constraint) -> list[tuple[Sequence[Conjunction], Numbers]]:
    """Return the ways to meet a constraint, each with the queries that have these."""
    names = sorted(columns(constraint))
    places = [space.index(name) for name in names]
    cells = X[:, places]
    deciding = cells if reads_values(constraint, space.by_name) else np.isnan(cells)
    queries: dict[bytes, list[int]] = {}
    for number, row in enumerate(deciding):
        queries.setdefault(row.tobytes(), []).append(number)
    found: list[tuple[Sequence[Conjunction], Numbers]] = []
    for same in queries.values():
        tell_watcher()
        own = zip(names, places, cells[same[0]].tolist(), strict=True)
        values = {name: space.features[place].value(code) for name, place, code in own}
        found.append((alternatives(constraint, values, space.by_name), np.array(same)))
    return found


def _compile_ways(ranges: Ranges, found: Sequence[Sequence[Conjunction]], deadline: float) -> Compiled:
    """Find the regions of one query, given the ways to meet each constraint."""
    joint = _Ways(ranges, _fills_or_not(found, ranges.space, ranges.x), deadline)
    compiled = joint.compiled("default")
    for how in ("needed", "open") if joint.has_relations else ():
        if not compiled.regions:
            compiled = joint.compiled(how)
    return compiled


def clashing(
    space: Space,
    metric: Metric,
    x: Vector,
    constraints: Sequence[Constraint],
    deadline: float = math.inf,
) -> tuple[Constraint, ...]:
    """Return constraints that contradict each other and of which none can be left out.

    That they do is known already. Once the time is over, and a little more, those whose part in it is not
    known stay.
    """

    def clash(rest: Sequence[Constraint]) -> bool:
        compiled = compile_query(space, metric, x, rest, deadline + _TO_NAME_A_CLASH)
        return compiled.complete and not compiled.regions

    return needed_for(clash, constraints)


def needed_for(
    effect: Callable[[Sequence[Constraint]], bool], constraints: Sequence[Constraint]
) -> tuple[Constraint, ...]:
    """Return, of constraints that have some effect together, those of which none can be left out.

    More constraints never undo the effect. Of several such sets it is the one with the first constraints.
    """
    left_out: set[int] = set()
    # Most have no part in it as a rule: many are left out at once, and a half of them where that is too many.
    waiting = [range(len(constraints))]
    while waiting:
        span = waiting.pop()
        rest = [one for at, one in enumerate(constraints) if at not in left_out and at not in span]
        if effect(rest):
            left_out.update(span)
        elif len(span) > 1:
            middle = len(span) // 2
            waiting += [span[:middle], span[middle:]]
    return tuple(one for at, one in enumerate(constraints) if at not in left_out)


def _fills_or_not(
    found: Sequence[Sequence[Conjunction]], space: Space, x: Vector
) -> list[Sequence[Conjunction]]:
    """Let a missing cell that may be filled stay missing as well, where a relation speaks of it.

    A relation asks nothing of a cell that stays missing, so that the two are different ways.
    """
    related = {name for atom in _atoms(found) if isinstance(atom, Linear) for name, _ in atom.terms}
    ways: list[Sequence[Conjunction]] = []
    for choices in found:
        first = choices[0][0] if choices and choices[0] else None
        if isinstance(first, Fill) and first.column in related and np.isnan(x[space.index(first.column)]):
            choices = ((Keep(first.column),), (first,))
        ways.append(choices)
    return ways


def _atoms(found: Iterable[Iterable[Conjunction]]) -> Iterator[Atom]:
    return itertools.chain.from_iterable(itertools.chain.from_iterable(found))


@dataclass
class _Ways:
    """The ways to obey all constraints at once, one choice from each.

    `left_out` tells that some way was not looked at, or not to the end.
    """

    ranges: Ranges
    found: Sequence[Sequence[Conjunction]]
    deadline: float
    left_out: bool = field(default=False, init=False)

    @cached_property
    def settled(self) -> Conjunction:
        """What constraints say that can be met in one way only."""
        return tuple(itertools.chain.from_iterable(one[0] for one in self.found if len(one) == 1))

    @cached_property
    def choices(self) -> list[Sequence[Conjunction]]:
        """The ways to meet each of the other constraints, those with the fewest first; maybe none."""
        return sorted((self._nearest_first(one) for one in self.found if len(one) != 1), key=len)

    @property
    def has_relations(self) -> bool:
        return any(isinstance(atom, Linear) for atom in _atoms(self.found))

    def compiled(self, ranges: str) -> Compiled:
        """Return the regions of all ways, with default ranges that give way to relations so far."""
        self.left_out = False
        regions: list[Region] = []
        for tried, atoms in enumerate(self._joint(ranges)):
            if tried == _MOST_TRIED or len(regions) == MAX_REGIONS:
                self.left_out = True
                break
            placed = self._placed(atoms, ranges)
            if placed.region is not None:
                regions.append(placed.region)
            elif not placed.is_empty:
                self.left_out = True
        regions.sort(key=lambda one: one.begins)
        return Compiled(tuple(regions), complete=not self.left_out)

    def _placed(self, atoms: Sequence[Atom], ranges: str) -> Placed:
        tell_watcher()
        linear = [atom for atom in atoms if isinstance(atom, Linear)]
        box = collected(self.ranges, atoms)
        if not linear:
            region = boxed(self.ranges, box)
            return Placed(region, is_empty=region is None)
        if ranges != "needed":
            return self._with_rows(box if ranges == "default" else box.opened(linear, self.ranges), linear)
        placed = Placed(None)
        for wider in widened(self.ranges, box, linear):
            placed = self._with_rows(wider, linear)
            if placed.region is not None:
                break
        return placed

    def _with_rows(self, box: Box, linear: Sequence[Linear]) -> Placed:
        region = boxed(self.ranges, box)
        if region is None:
            return Placed(None, is_empty=True)
        return with_rows(self.ranges, region, linear, self.deadline)

    def _nearest_first(self, choices: Sequence[Conjunction]) -> Sequence[Conjunction]:
        if len(choices) < 2:
            return choices
        boxes = [boxed(self.ranges, collected(self.ranges, atoms)) for atoms in choices]
        begins = [math.inf if one is None else one.begins for one in boxes]
        return [choices[i] for i in sorted(range(len(choices)), key=begins.__getitem__)]

    def _joint(self, ranges: str) -> Iterator[Conjunction]:
        """Yield the ways that no single column and no single relation rules out, depth first."""
        # What leaves no choice comes first and rules out most ways before these multiply.
        waiting = [(self.settled, 0)] if self._may_be_met(self.settled, ranges) else []
        for _ in range(_MOST_STEPS):
            if not waiting:
                return
            if is_past(self.deadline):
                break
            atoms, depth = waiting.pop()
            if depth == len(self.choices):
                yield atoms
                continue
            choices = self.choices[depth]
            for choice in reversed(choices):
                joint = atoms + choice
                if self._may_be_met(joint, ranges):
                    waiting.append((joint, depth + 1))
        self.left_out = True

    def _may_be_met(self, atoms: Sequence[Atom], ranges: str) -> bool:
        tell_watcher()
        linear = [atom for atom in atoms if isinstance(atom, Linear)]
        box = collected(self.ranges, atoms)
        if ranges != "default":
            box = box.opened(linear, self.ranges)
        limits = self.ranges.limits(box)
        return limits is not None and not cannot_meet(self.ranges, limits, linear)

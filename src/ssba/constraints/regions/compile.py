"""From constraints and a query to the regions of feasible rows, or to the constraints that clash."""

import itertools
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ssba.columns.distance import Metric
from ssba.columns.space import Space
from ssba.constraints.constraint import Atom, Conjunction, Constraint, Fill, Keep, Linear, alternatives
from ssba.constraints.regions.boxes import Box, Ranges, boxed, collected, widened
from ssba.constraints.regions.halfspaces import cannot_meet, with_rows
from ssba.constraints.regions.placing import Placed
from ssba.constraints.regions.region import Region
from ssba.models.tally import tell_watcher

Vector = NDArray[np.float64]

# If-then rules multiply: n rules can be obeyed in 2^n ways. Beyond this many, the first are searched.
MAX_REGIONS = 64
# Ways that are tried for these, and steps to find ways at all.
_MOST_TRIED, _MOST_STEPS = 512, 20_000


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
    values = space.row_values(x)
    found = []
    for one in constraints:
        tell_watcher()
        found.append(alternatives(one, values, space.by_name))
    ways = _fills_or_not(found, space, x)
    joint = _Ways(Ranges(space, metric, x), ways, deadline)
    compiled = joint.compiled("default")
    for ranges in ("needed", "open") if joint.has_relations else ():
        if not compiled.regions:
            compiled = joint.compiled(ranges)
    return compiled


def clashing(
    space: Space,
    metric: Metric,
    x: Vector,
    constraints: Sequence[Constraint],
    deadline: float = math.inf,
) -> tuple[Constraint, ...]:
    """Return constraints that contradict each other and of which none can be left out."""
    left_out: set[int] = set()
    # Most have no part in it as a rule: many are left out at once, and a half of them where that is too many.
    waiting = [range(len(constraints))]
    while waiting:
        span = waiting.pop()
        rest = [one for at, one in enumerate(constraints) if at not in left_out and at not in span]
        compiled = compile_query(space, metric, x, rest, deadline)
        if compiled.complete and not compiled.regions:
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
            if time.monotonic() > self.deadline:
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

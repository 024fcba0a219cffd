"""One query on its way: what is asked, which never changes; what was spent; and what was found so far."""

import math
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from ssba.columns.space import Matrix
from ssba.constraints.constraint import Constraint
from ssba.constraints.regions.region import Region
from ssba.engine import Engine
from ssba.interrupts import is_interrupted, is_past
from ssba.models.targets import Goal
from ssba.options import Budget, Options
from ssba.pipeline.course import Course
from ssba.results.explanation import Counterfactual, Obstacle, Status
from ssba.search.archive import Archive
from ssba.search.starts import Pool
from ssba.search.stored import Stored

Vector = NDArray[np.float64]
Ended = Literal["rows", "seconds", "calls", "interrupted"]
"""What ends a search before it is done: a part of the budget, the few calls allowed, or Ctrl-C."""


# In how many calls searches ask where they are dear; checks before and after them take up to six.
_FEW_CALLS = {"scores": 19, "labels": 34}


@dataclass(frozen=True)
class Limits:
    """What a call may spend: model rows for each query, and a moment to stop at.

    With `until_found` a query is searched no further than to the first row that reaches. `course` learns how
    far its queries have come.
    """

    rows: float = math.inf
    deadline: float = math.inf
    until_found: bool = False
    course: Course = field(default_factory=Course, compare=False)

    @classmethod
    def from_now(cls, budget: Budget, tell: Callable[[float], object] | None) -> "Limits":
        """Turn a budget into limits that start now; `tell` learns how far queries have come."""
        seconds = budget.seconds
        deadline = math.inf if seconds is None else time.monotonic() + seconds
        return cls(budget.rows, deadline, course=Course(tell))

    def is_over(self) -> bool:
        """Tell whether there is no time for another model call and the last check, which is one, too."""
        return is_past(self.deadline - 2 * self.course.last_call)

    @property
    def time_ended_by(self) -> Literal["seconds", "interrupted"] | None:
        """Who ended the time, if it is over."""
        if is_interrupted():
            return "interrupted"
        return "seconds" if self.is_over() else None


@dataclass(frozen=True)
class Query:
    """What is asked: a row, the regions that its constraints leave, a goal, and options.

    `has_all_regions` tells that no way to meet the constraints was left out. The goal, and what the model
    says about the row itself, are unknown until it was asked.
    """

    x: Vector
    constraints: tuple[Constraint, ...] = ()
    options: Options = field(default_factory=Options)
    regions: tuple[Region, ...] = ()
    has_all_regions: bool = True
    known_goal: Goal | None = None
    prediction: Any = None
    score: float | None = None

    @property
    def goal(self) -> Goal:
        """What to reach."""
        assert self.known_goal is not None, "the model was not asked about this query"
        return self.known_goal

    @cached_property
    def is_countable(self) -> bool:
        """Whether the legal rows within some distance can be counted."""
        return all(region.is_countable for region in self.regions)

    def region_of(self, row: Vector) -> Region:
        """Return the region that a feasible row lies in."""
        return next(region for region in self.regions if region.contains(row[None, :])[0])


@dataclass
class Spent:
    """What a query may spend, and what was spent beside the searches, whose archives count for themselves.

    All searches took so many `calls`, of which those `calls_before` do not count for the last one.
    `stopped_by` is what ended a search before it was done; `ran_out` tells that more of the budget might have
    found an answer.
    """

    limits: Limits
    verified_rows: int = 0
    calls: int = 0
    calls_before: int = 0
    stopped_by: Ended | None = None
    ran_out: bool = False


@dataclass
class Found:
    """What is known about a query so far.

    `archives` hold what the searches asked: first one for each region, then those of later searches. `known`
    holds, by region, background rows that were found to reach the target before there was a query. What
    `scouts` found are no answers: they ignore the limits that the options set; those `apart` the constraints.
    `by_columns` are answers by different sets of columns, without superfluous columns where these are to be
    left out; so many searches for them were made, and so many were not. `robust_rows` are answers with a ball
    around them that reaches.
    `drawn` holds the distances of rows drawn at random that did not reach the target. `exhausted` tells that
    every nearer legal row was asked; `climbed` are feasible rows with good scores that do not reach,
    `obstacles` what stops the bounded move.
    `lower_bound` comes from those who can look inside the model; infinite where nothing can reach. `unproved`
    tells why they could not, or not far enough.
    """

    status: Status | None = None
    clash: tuple[str, ...] = ()
    archives: list[Archive] = field(default_factory=list)
    known: list[Archive] = field(default_factory=list)
    scouts: list[Archive] = field(default_factory=list)
    apart: list[Archive] = field(default_factory=list)
    by_columns: list[Vector] = field(default_factory=list)
    column_searches: int = 0
    column_searches_left: int = 0
    robust_rows: list[Vector] = field(default_factory=list)
    drawn: Vector = field(default_factory=lambda: np.empty(0))
    exhausted: bool = False
    lower_bound: float | None = None
    unproved: str | None = None
    answers: list[Counterfactual] = field(default_factory=list)
    climbed: list[Vector] = field(default_factory=list)
    bounded: Counterfactual | None = None
    obstacles: tuple[Obstacle, ...] = ()

    @property
    def finders(self) -> list[Archive]:
        """The archives of what was found, by searches and before."""
        return [*self.archives, *self.known]

    @property
    def best_distance(self) -> float:
        """Distance of the nearest row that reached the target; infinite while there is none."""
        return min([archive.best_distance for archive in self.finders], default=math.inf)

    @property
    def nearest_row(self) -> Vector:
        """The nearest row that reached the target."""
        best = min(self.finders, key=lambda archive: archive.best_distance)
        return np.asarray(best.nearest(1)[0])

    @property
    def is_settled(self) -> bool:
        """Whether the nearest row found is the nearest there is, or it is known that there is none."""
        return self.lower_bound is not None and self.best_distance <= self.lower_bound * (1 + 1e-4)

    def begins_nearer(self, region: Region) -> bool:
        """Tell whether a region begins nearer than the best answer so far."""
        return region.begins < self.best_distance

    @property
    def hits(self) -> Matrix:
        """All rows that reached the target, some of them more than once."""
        return np.concatenate([hits for archive in self.finders for hits in archive.hits])

    @property
    def has_hits(self) -> bool:
        """Whether any row is known to reach the target."""
        return any(archive.has_found for archive in self.finders)


@dataclass
class QueryState:
    """One query of one engine on its way.

    Its searches start from `near`, the numbers of background rows that reach its goal, from `points` on the
    boundary, and from what an index has `stored`.
    """

    engine: Engine
    query: Query
    spent: Spent
    found: Found = field(default_factory=Found)
    near: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    points: Matrix | None = None
    stored: Stored | None = None

    @property
    def x(self) -> Vector:
        """The query's row."""
        return self.query.x

    @property
    def options(self) -> Options:
        """What is asked of the answers."""
        return self.query.options

    @property
    def limits(self) -> Limits:
        """What may be spent."""
        return self.spent.limits

    @property
    def pool(self) -> Pool:
        """The rows that searches start from."""
        pool = self.engine.background.pool(self.near)
        return pool if self.points is None else pool.with_reaching(self.points)

    def new_archive(self, region: Region, among: list[Archive] | None = None) -> Archive:
        """Return the archive of one more search; `among` those whose finds are no answers, if it is one."""
        archive = Archive(region, self.engine.metric)
        (self.found.archives if among is None else among).append(archive)
        return archive

    def distance(self, rows: Matrix) -> Vector:
        """Return how far rows are from the query."""
        return np.asarray(self.engine.metric.distance(rows, self.x))

    @property
    def region_archives(self) -> list[Archive]:
        """The archives of the regions' own searches; those behind them belong to later searches."""
        return self.found.archives[: len(self.query.regions)]

    @property
    def bounded_archives(self) -> list[Archive]:
        """The archives of regions that a bounded move may lie in; parts of them if few columns may change."""
        parts = self.found.archives[len(self.query.regions) :]
        return self.region_archives if self.options.max_changes is None or not parts else parts

    @property
    def rows_asked(self) -> int:
        """Model rows that the searches spent."""
        found = self.found
        return sum(archive.rows_asked for archive in (*found.archives, *found.scouts, *found.apart))

    @property
    def rows_used(self) -> int:
        """Model rows spent on this query."""
        return self.rows_asked + self.spent.verified_rows

    @property
    def has_few_calls(self) -> bool:
        """Whether calls are dear, by the options or else by the model's own word."""
        asked = self.options.calls
        return self.engine.costly if asked is None else asked == "few"

    @property
    def calls_left(self) -> float:
        """In how many more calls a search may ask where they are dear; elsewhere there is no limit."""
        if not self.has_few_calls:
            return math.inf
        most = _FEW_CALLS["scores" if self.engine.judging.gives_margins else "labels"]
        return max(most - self.spent.calls + self.spent.calls_before, 0)

    @property
    def has_enough(self) -> bool:
        """Whether a row that reaches is all that was looked for, and there is one."""
        return self.limits.until_found and self.found.has_hits

    @property
    def may_go_on(self) -> bool:
        """Whether the budget allows for another search."""
        return self.limits.rows > self.rows_asked and not self.limits.is_over()

    @property
    def was_stopped(self) -> bool:
        """Whether the budget or the time ended a search before it was done."""
        return any(archive.stopped for archive in self.found.archives)


States = Sequence[QueryState]

Answered = TypeVar("Answered")
Searching = Generator[Any, Any, Answered]
"""A stage of a query: it yields rows and is sent a reply, or a wish for a search and is sent archives."""

"""One query on its way, what its call asked for, and what the call may spend."""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssba.columns.space import Matrix
from ssba.constraints.constraint import Constraint
from ssba.constraints.regions.region import Region
from ssba.models.targets import Goal
from ssba.results.explanation import Counterfactual, Status
from ssba.search.archive import Archive
from ssba.search.pick import Diversity
from ssba.search.robust import Ball, Margin, ScoreMargin
from ssba.search.sparse import PRICES, Sparsity
from ssba.search.starts import Pool
from ssba.search.stored import Stored

Vector = NDArray[np.float64]

# How much longer a change may get for the sake of fewer digits.
SHORTER = 1e-3
# A search that has asked so many rows and goes on draws some for evidence.
FIRST_DRAW = 1500


@dataclass
class Clock:
    """How long the last model call took, in seconds."""

    last_call: float = 0.0


@dataclass(frozen=True)
class Limits:
    """What a call may spend: model rows for each query, and a moment to stop at."""

    rows: float
    deadline: float
    clock: Clock = field(default_factory=Clock)

    def is_over(self) -> bool:
        """Tell whether there is no time for another model call and the last check, which is one, too."""
        return time.monotonic() + 2 * self.clock.last_call > self.deadline


def limits_from_now(rows: int, seconds: float | None) -> Limits:
    """Turn a budget into limits that start now."""
    return Limits(rows, math.inf if seconds is None else time.monotonic() + seconds)


@dataclass(frozen=True)
class Request:
    """What a call asks of its answers, beside the constraints."""

    k: int = 1
    sparsity: Sparsity = "none"
    diversity: Diversity = "distance"
    max_changes: int | None = None
    plausible: bool = False
    margin: Margin | None = None
    evidence: int = 59
    prove: bool = False

    @property
    def price(self) -> float:
        """How many times as long as the nearest an answer with fewer changed columns may be.

        Levers are sets of columns, so that superfluous ones are left out where sparsity is not asked for,
        too. What is kept back is what an answer in few digits may add.
        """
        wants_sets = self.diversity == "levers" and self.k > 1
        price = PRICES["balanced" if wants_sets and self.sparsity == "none" else self.sparsity]
        return max(1.0, price / (1 + SHORTER))

    @property
    def asks_only_for_goal(self) -> bool:
        """Whether a row that reaches the goal gives all that is asked for, but for a ball around it."""
        by_score = isinstance(self.margin, ScoreMargin)
        return self.max_changes is None and not self.plausible and not by_score

    @property
    def wants_few(self) -> bool:
        """Whether the number of changed columns matters."""
        return self.price > 1 or self.max_changes is not None

    @property
    def wishes(self) -> tuple[str, ...]:
        """What narrows the answers down and may be relaxed, in the words of the call."""
        told = []
        if self.max_changes is not None:
            told.append(f"max_changes={self.max_changes}")
        if self.plausible:
            told.append("plausible=True")
        if self.margin is not None:
            told.append(f"margin={self.margin.text}")
        return tuple(told)

    @property
    def radius(self) -> float | None:
        """The radius of the ball around each answer; None where none was asked for."""
        return self.margin.radius if isinstance(self.margin, Ball) else None


@dataclass
class Case:
    """One query on its way: what was asked, and what is known so far.

    `missed` holds the distances of all feasible rows that were asked and did not reach the target, `drawn`
    those of the random ones among them. `exhausted` tells that every nearer legal row was asked;
    `lower_bound` comes from those who can look inside the model; infinite where nothing can reach. A search
    that is `scouting` looks around without the request's limits; what it finds, in `scouts`, are no answers.
    `known` holds, by region, background rows that were found to reach the target before there was a query.
    `levers` are answers with no superfluous columns, `roomy` ones with a ball around them that reaches.
    """

    x: Vector
    constraints: tuple[Constraint, ...]
    request: Request = field(default_factory=Request)
    regions: tuple[Region, ...] = ()
    knows_all_regions: bool = True
    goal: Goal | None = None
    prediction: Any = None
    score: float | None = None
    status: Status | None = None
    archives: list[Archive] = field(default_factory=list)
    known: list[Archive] = field(default_factory=list)
    scouts: list[Archive] = field(default_factory=list)
    scouting: bool = False
    levers: list[Vector] = field(default_factory=list)
    roomy: list[Vector] = field(default_factory=list)
    pool: Pool = field(default_factory=lambda: Pool(np.empty((0, 0))))
    stored: Stored | None = None
    answers: list[Counterfactual] = field(default_factory=list)
    bounded: Counterfactual | None = None
    clash: tuple[str, ...] = ()
    ran_out: bool = False
    verified_rows: int = 0
    offers: Iterator[Matrix] = field(default_factory=lambda: iter(()))
    different: int = 0
    missed: list[Vector] = field(default_factory=list)
    drawn: Vector = field(default_factory=lambda: np.empty(0))
    next_draw: int = FIRST_DRAW
    exhausted: bool = False
    lower_bound: float | None = None

    @property
    def best_distance(self) -> float:
        """Distance of the nearest row that reached the target; infinite while there is none."""
        return min((archive.best_distance for archive in self._finders), default=math.inf)

    @property
    def nearest_row(self) -> Vector:
        """The nearest row that reached the target."""
        best = min(self._finders, key=lambda archive: archive.best_distance)
        return np.asarray(best.nearest(1)[0])

    @property
    def _finders(self) -> list[Archive]:
        """The archives of what was found, by searches and before."""
        return [*self.archives, *self.known]

    @property
    def is_settled(self) -> bool:
        """Whether the nearest row found is the nearest there is, or it is known that there is none."""
        return self.lower_bound is not None and self.best_distance <= self.lower_bound * (1 + 1e-4)

    def begins_nearer(self, region: Region) -> bool:
        """Tell whether a region begins nearer than the best answer so far."""
        return region.begins < self.best_distance

    @property
    def region_archives(self) -> list[Archive]:
        """The archives of the regions' own searches; those behind them belong to later searches."""
        return self.archives[: len(self.regions)]

    @property
    def bounded_archives(self) -> list[Archive]:
        """The archives of regions that a bounded move may lie in; parts of them if few columns may change."""
        parts = self.archives[len(self.regions) :]
        return self.region_archives if self.request.max_changes is None or not parts else parts

    @property
    def rows_used(self) -> int:
        """Model rows spent on this query."""
        return self.rows_asked + self.verified_rows

    @property
    def rows_asked(self) -> int:
        """Model rows that the searches spent."""
        return sum(archive.rows_asked for archive in (*self.archives, *self.scouts))

    @property
    def hits(self) -> Matrix:
        """All rows that reached the target, some of them more than once."""
        return np.concatenate([hits for archive in self._finders for hits in archive.hits])

    @property
    def has_hits(self) -> bool:
        """Whether any row is known to reach the target."""
        return any(archive.found is not None for archive in self._finders)

    @property
    def was_stopped(self) -> bool:
        """Whether the budget or the time ended a search before it was done."""
        return any(archive.stopped for archive in self.archives)

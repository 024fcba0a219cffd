"""The background rows: those on the target's side, pairs across the boundary, and some points on it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ssba.arguments import listed, number
from ssba.arrays import Array
from ssba.boundary.bisection import Path
from ssba.boundary.pairs import shuffle
from ssba.boundary.points import Sampling, Sides, Stream, shares
from ssba.columns.distance import Metric
from ssba.columns.space import Matrix
from ssba.engine.judging import Judging
from ssba.errors import ArgumentError, ModelError, TargetError
from ssba.models.answers import plain
from ssba.models.model import Output
from ssba.models.targets import (
    Goal,
    Leave,
    Probability,
    Reply,
    ValueBetween,
    ValueChange,
    describe,
    resolve,
    target_of,
)
from ssba.search.plausible import Neighbourhood
from ssba.search.starts import Pool

# Target-side rows that a query starts from; more cost time and find nothing nearer once refined.
_POOL_ROWS = 2000
# Target-side rows among which the nearest to an answer is looked for.
_NEIGHBOURS = 5000
# Boundary points that bounded moves begin with, sampled once per explainer.
_OWN_BOUNDARY = 500
# What background rows say about so many goals is kept.
_MOST_GOALS = 64
# A batch of segments large enough to outweigh the fixed cost of a model call, small enough for the cache.
_BATCH_CELLS = 131_072


Kept = TypeVar("Kept")


class OneSided(ModelError):
    """All background rows lie on one side of the boundary, so that there are no pairs."""


class _TimeIsUp(Exception):
    """A call's time ended before its boundary points were found."""


@dataclass(frozen=True)
class Background:
    """The background rows of one explainer, and what its target makes of them.

    `rows` have no missing cells; `incomplete` are the others, which serve a query as starts once their
    missing cells have taken its values. `complete` tells which rows of the data are which.
    """

    rows: Matrix
    incomplete: Matrix
    complete: NDArray[np.bool_]
    judging: Judging
    metric: Metric
    target: Any
    seed: int

    def _reached(self, goal: Goal) -> NDArray[np.bool_]:
        """Tell which rows reach a goal, as the model said when it was asked."""
        return np.asarray(self.judging.reply(goal, self.judging.predicted).reached)

    def pool(self, goal: Goal) -> Pool:
        """Return background rows on the target's side, and as guesses those with missing cells.

        A fixed choice of each if there are many.
        """
        reaching = self.rows[self.reaching(goal)]
        if not len(reaching) and self.judging.model.classes is not None and not isinstance(goal, Probability):
            self.refuse_one_side(goal)
        return Pool(reaching, self.incomplete[self._some(len(self.incomplete))])

    def reaching(self, goal: Goal) -> NDArray[np.int64]:
        """Return the numbers of background rows that reach a goal, as the model said when it was asked.

        A fixed choice if there are many.
        """

        def choose() -> NDArray[np.int64]:
            numbers = np.flatnonzero(self._reached(goal))
            return np.asarray(numbers[self._some(len(numbers))])

        return _kept(self._reaching, goal, choose)

    @cached_property
    def _reaching(self) -> dict[Goal, NDArray[np.int64]]:
        return {}

    def _some(self, count: int) -> NDArray[np.int64]:
        return np.asarray(shuffle(count, self.seed, salt=7)[:_POOL_ROWS])

    def neighbourhood(self, goal: Goal) -> Neighbourhood:
        """Return the complete background rows on the target's side, as neighbours; a fixed choice if many."""

        def choose() -> Neighbourhood:
            rows = self.rows[self._reached(goal)]
            chosen = rows[shuffle(len(rows), self.seed, salt=11)[:_NEIGHBOURS]]
            return Neighbourhood(chosen, self.metric)

        return _kept(self._neighbourhoods, goal, choose)

    @cached_property
    def _neighbourhoods(self) -> dict[Goal, Neighbourhood]:
        return {}

    def refuse_one_side(self, goal: Goal) -> None:
        """Raise because all background rows lie on one side of the boundary."""
        seen = "reaches" if len(self.rows) and self._reached(goal).all() else "misses"
        raise OneSided(
            f"{self.judging.model.name} {seen} {describe(goal)} on all {len(self.rows)} background rows: "
            "there is no boundary between them; give background data on both sides, or check target and model"
        )

    def sides(self, labels: Any = None) -> list[Sides]:
        """Split the background rows at the boundary: in two, or class by class where any other class will do.

        `labels` keeps only rows that the model predicts correctly (paper, algorithm 1, step 3).
        """
        keep = self._correct(labels)
        split = []
        for goal, among in self.goals:
            reached = self._reached(goal)
            leaving, reaching = (
                self.rows[~reached & keep & among],
                self.rows[reached & keep & among],
            )
            if len(leaving) and len(reaching):
                split.append(Sides(leaving, reaching, goal))
        if not split:
            self.refuse_one_side(self.goals[0][0])
        return split

    @cached_property
    def goals(self) -> list[tuple[Goal, NDArray[np.bool_]]]:
        """Return the goals whose boundaries make up the target's, each with the rows it concerns."""
        everyone = np.ones(len(self.rows), dtype=bool)
        if isinstance(self.target, ValueChange):
            raise TargetError(
                "ssba.value_change(...) is relative to a query, so that without one there is no boundary; "
                "use ssba.value_between(low, high) to sample it"
            )
        if self.target is not None:
            return [(resolve(self.target, None), everyone)]
        predicted = self.judging.predicted.labels
        assert predicted is not None
        seen = [label for label in self.judging.model.classes or () if (predicted == label).any()]
        goals: list[tuple[Goal, NDArray[np.bool_]]] = []
        for i, label in enumerate(seen[: max(1, len(seen) - 1)]):
            earlier = np.isin(predicted, np.array(seen[:i], dtype=predicted.dtype)) if i else ~everyone
            goals.append((Leave(label), ~earlier))
        return goals

    def _correct(self, labels: Any) -> NDArray[np.bool_]:
        if labels is None:
            return np.ones(len(self.rows), dtype=bool)
        members = listed("labels", labels, "give one label for each row of data")
        given = np.empty(len(members), dtype=object)
        given[:] = members
        if len(given) != len(self.complete):
            raise ArgumentError(
                f"labels has {len(given)} entries, but data has {len(self.complete)} rows; give one a row"
            )
        given = given[self.complete]
        if isinstance(self.target, ValueBetween):
            numbers = np.array([number("labels", one, "a number for each row") for one in given])
            desired = Output(values=numbers)
            return np.asarray(
                self.judging.reply(self.target, desired).reached
                == self.judging.reply(self.target, self.judging.predicted).reached
            )
        classes = self.judging.model.classes or ()
        if len(given) and not any(plain(one) in classes for one in given):
            raise ArgumentError(
                f"labels holds {plain(given[0])!r} and the like, but {self.judging.model.name} predicts only "
                f"{', '.join(map(repr, classes))}; give labels of the same type and spelling"
            )
        return np.asarray(
            given == self.judging.oracle().labels(self.rows.copy(), self.judging.may_miss).labels
        )

    def streams(self, tolerance: float, labels: Any = None, resolution: int = 1) -> list[Stream]:
        """Return the pairs of background rows from the two predicted sides, and how they are bisected."""
        sampling = self.sampling(tolerance, resolution)
        return [Stream(sides, sampling) for sides in self.sides(labels)]

    def sampling(self, tolerance: float, resolution: int = 1) -> Sampling:
        """Return how pairs of rows are bisected."""
        return Sampling(
            path=self.path,
            tolerance=tolerance,
            seed=self.seed,
            batch_rows=max(1024, _BATCH_CELLS // len(self.judging.space.features)),
            resolution=resolution,
        )

    @cached_property
    def path(self) -> Path:
        """How segments between rows are walked."""
        return Path(self.metric.discrete, self.judging.space.grid.snap, self.is_plain)

    def own_boundary(self, goal: Goal, is_over: Callable[[], bool] = lambda: False) -> Matrix:
        """Return some boundary points for bounded moves; none where one side is empty, or time is up.

        They are found when they are first needed, and kept. Where the target is relative to the query, so are
        they.
        """
        relative = isinstance(self.target, ValueChange)
        key = goal if relative else None
        if key not in self._boundary_points:
            background = replace(self, target=target_of(goal)) if relative else self
            found = background._find_boundary(is_over)
            if found is None:
                return self.rows[:0]
            self._boundary_points[key] = found
        return self._boundary_points[key]

    @cached_property
    def _boundary_points(self) -> dict[Goal | None, Matrix]:
        return {}

    def _find_boundary(self, is_over: Callable[[], bool]) -> Matrix | None:
        """Bisect pairs of background rows; None where time is up before all are done."""
        try:
            streams = self.streams(tolerance=1e-3)
        except OneSided:
            return self.rows[:0]
        oracle, found = self.judging.oracle(), []
        for one, count in zip(streams, shares([one.sides for one in streams], _OWN_BOUNDARY), strict=True):
            ask = self.judging.asker(one.sides.goal, oracle)

            def ask_in_time(rows: Array, ask: Callable[[Array], Reply] = ask) -> Reply:
                if is_over():
                    raise _TimeIsUp
                return ask(rows)

            try:
                found += [batch.points for batch in one.batches(range(count), ask_in_time)]
            except _TimeIsUp:
                return None
        return np.concatenate(found)

    @property
    def is_plain(self) -> bool:
        """Whether every point between background rows is a legal row."""
        return (
            self.judging.space.grid.trivial
            and not self.metric.discrete.any()
            and not np.isnan(self.rows).any()
        )


def _kept(known: dict[Goal, Kept], goal: Goal, make: Callable[[], Kept]) -> Kept:
    """Return what is known about a goal, or make it; the oldest goals are forgotten.

    Most explainers have one goal or one a class; where it is relative to the query there is one a query.
    """
    if goal not in known:
        if len(known) >= _MOST_GOALS:
            known.pop(next(iter(known)))
        known[goal] = make()
    return known[goal]

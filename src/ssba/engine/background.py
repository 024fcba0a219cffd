"""The background rows: those on the target's side, pairs across the boundary, and some points on it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ssba.arguments import listed, number
from ssba.arrays import Array, blocks
from ssba.boundary.bisection import Path
from ssba.boundary.pairs import shuffle
from ssba.boundary.points import Sampling, Sides, Stream, shares
from ssba.columns.distance import Metric, least_distance
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
from ssba.search.lanes import different
from ssba.search.robust import Neighbourhood
from ssba.search.starts import Pool

# A query asks about further background rows until so many are known that reach its goal.
_ENOUGH = 256
# Rows with missing cells that a query starts from, filled.
_INCOMPLETE = 2000
# Neighbours for so many goals are kept: a goal that is relative to the query has one a query.
_MOST_GOALS = 64
# Boundary points that bounded moves begin with, sampled once per explainer.
_OWN_BOUNDARY = 500
# A batch of segments large enough to outweigh the fixed cost of a model call, small enough for the cache.
_BATCH_CELLS = 131_072

Vector = NDArray[np.float64]
Numbers = NDArray[np.int64]
IsOver = Callable[[], bool]


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

    @cached_property
    def are_numbers(self) -> bool:
        """Whether the model gets encoded rows as they are: numbers, levels 0 and 1, no missing cells."""
        features = self.judging.space.features
        return all(
            one.kind != "date" and (not one.has_levels or one.is_zero_one) for one in features
        ) and not bool(np.isnan(self.rows).any())

    def reaching(
        self, X: Matrix, held: NDArray[np.bool_], goals: Sequence[Goal], is_over: IsOver
    ) -> list[Numbers]:
        """Return, for each query, the numbers of chosen rows that reach its goal; of many, those near it.

        `held` are the columns that each query's constraints hold, so that it does not matter what they hold.
        Queries for which the first block is enough share one array.
        """
        known = self.judging.known

        def are_wanted(_: float, found: Sequence[Numbers]) -> bool:
            return sum(map(len, found)) < _ENOUGH and not is_over()

        found = [known.first_reaching(goal) for goal in goals]
        wanting = np.flatnonzero(np.array([len(one) for one in found]) < _ENOUGH)
        for part in blocks(len(wanting) if known.has_more else 0, known.rows.size):
            some = wanting[part]
            own = X[some][:, None]
            distance = self._distance(np.where(held[some][:, None], own, known.rows), own)
            for query, far in zip(some.tolist(), distance, strict=True):
                found[query] = known.nearest_reaching(goals[query], far, are_wanted)
        return found

    def reaching_within(self, x: Vector, within: float, goal: Goal) -> Matrix:
        """Return all chosen rows nearer than `within` that reach a goal, the nearest first."""
        known = self.judging.known
        distance = self._distance(known.rows, x)
        found = known.nearest_reaching(goal, distance, lambda begins, _: begins < within)
        found = found[distance[found] < within]
        return np.asarray(known.rows[found[np.argsort(distance[found], kind="stable")]])

    def distances_to(self, Z: Matrix, goal: Goal, is_over: IsOver) -> Vector:
        """Return how far rows are from the nearest chosen row that reaches a goal; infinite without any.

        Blocks that were not asked about yet are, as long as they may hold a nearer one.
        """
        known = self.judging.known
        nearest = least_distance(self.metric, Z, known.reaching_so_far(goal))
        if not (blocks := known.unasked):
            return nearest
        begins = np.stack([least_distance(self.metric, Z, known.block(i)) for i in blocks], axis=1)
        order = np.argsort(begins, axis=1, kind="stable")
        going = np.arange(len(Z))
        for turn in range(len(blocks)):
            place = order[going, turn]
            nearer = begins[going, place] < nearest[going]
            going, place = going[nearer], place[nearer]
            for which in np.unique(place):
                if is_over():
                    return nearest
                some = going[place == which]
                rows = known.reaching_in(goal, blocks[which])
                nearest[some] = np.minimum(nearest[some], least_distance(self.metric, Z[some], rows))
        return nearest

    @cached_property
    def guesses(self) -> Matrix:
        """Rows with missing cells, which may serve a query once they are filled; a fixed choice of many."""
        return self.incomplete[shuffle(len(self.incomplete), self.seed, salt=7)[:_INCOMPLETE]]

    def pool(self, numbers: Numbers) -> Pool:
        """Return some of the chosen rows, which reach a goal, as rows to begin with; queries share them."""
        key = numbers.tobytes()
        if key not in self._pools:
            if len(self._pools) >= _MOST_GOALS:
                self._pools.pop(next(iter(self._pools)))
            self._pools[key] = Pool(self.judging.known.rows[numbers], self.guesses)
        return self._pools[key]

    @cached_property
    def _pools(self) -> dict[bytes, Pool]:
        return {}

    def best_scored(self, goal: Goal, count: int) -> Matrix:
        """Return the sample rows that come nearest to a goal by score; none where there are no scores.

        Which these are does not depend on how much of a score the goal asks for, while none reaches it.
        """
        margin = self.judging.reply(goal, self.judging.model.on_sample).margin
        if margin is None:
            return self.rows[:0]
        return np.asarray(self.judging.sample[np.argsort(-np.asarray(margin), kind="stable")[:count]])

    def neighbourhood(self, goal: Goal) -> Neighbourhood:
        """Return the different rows among the chosen ones that reach a goal, as neighbours."""
        if goal not in self._neighbourhoods:
            if len(self._neighbourhoods) >= _MOST_GOALS:
                self._neighbourhoods.pop(next(iter(self._neighbourhoods)))
            rows = self.judging.known.rows[self.judging.known.reached(goal)]
            # A row that occurs twice is no neighbour of itself.
            self._neighbourhoods[goal] = Neighbourhood(rows[different(rows)], self.metric)
        return self._neighbourhoods[goal]

    @cached_property
    def _neighbourhoods(self) -> dict[Goal, Neighbourhood]:
        return {}

    def _distance(self, rows: Matrix, x: Vector) -> Vector:
        return np.asarray(self.metric.distance(rows, x))

    def check_two_sides(self, goal: Goal) -> None:
        """Refuse a class that the model gives to none of the chosen rows, or to all of them."""
        if self.judging.model.classes is not None and not isinstance(goal, Probability):
            reached = self.judging.known.reached(goal)
            if not reached.any():
                self._refuse_one_side(goal, reached)

    def _refuse_one_side(self, goal: Goal, reached: NDArray[np.bool_]) -> NoReturn:
        """Raise because all background rows that were asked about lie on one side of the boundary."""
        seen = "reaches" if len(reached) and reached.all() else "misses"
        which = f"all {len(reached):,} background rows"
        remedy = "give background data on both sides, or check target and model"
        if len(reached) < len(self.rows):
            which += f" that were asked about, of {len(self.rows):,}"
            remedy = "ask about more of them with background_rows=..., or " + remedy
        raise OneSided(
            f"{self.judging.model.name} {seen} {describe(goal)} on {which}: there is no boundary between "
            f"them; {remedy}"
        )

    def sides(self, labels: Any = None) -> list[Sides]:
        """Split all background rows at the boundary: in two, or by class where any other class will do.

        `labels` keeps only rows that the model predicts correctly (paper, algorithm 1, step 3).
        """
        predicted = self.judging.predicted
        return self._split(
            self.rows,
            lambda goal: np.asarray(self.judging.reply(goal, predicted).reached),
            predicted.labels,
            self._correct(labels),
        )

    def _known_sides(self) -> list[Sides]:
        """Split the chosen rows in the same way."""
        known = self.judging.known
        labels = known.labels if self.target is None else None
        return self._split(known.rows, known.reached, labels, np.ones(len(known.rows), dtype=bool))

    def _split(
        self,
        rows: Matrix,
        reached: Callable[[Goal], NDArray[np.bool_]],
        labels: NDArray[Any] | None,
        keep: NDArray[np.bool_],
    ) -> list[Sides]:
        split = []
        goals = self._goals_of(labels, len(rows))
        for goal, among in goals:
            reaches = reached(goal)
            leaving, reaching = rows[~reaches & keep & among], rows[reaches & keep & among]
            if len(leaving) and len(reaching):
                split.append(Sides(leaving, reaching, goal))
        if not split:
            self._refuse_one_side(goals[0][0], reached(goals[0][0]))
        return split

    @cached_property
    def goals(self) -> tuple[Goal, ...]:
        """The goals whose boundaries make up the target's."""
        labels = self.judging.predicted.labels if self.target is None else None
        return tuple(goal for goal, _ in self._goals_of(labels, len(self.rows)))

    def _goals_of(self, labels: NDArray[Any] | None, count: int) -> list[tuple[Goal, NDArray[np.bool_]]]:
        """Return the goals whose boundaries make up the target's, each with the rows that it concerns."""
        everyone = np.ones(count, dtype=bool)
        if isinstance(self.target, ValueChange):
            raise TargetError(
                "ssba.value_change(...) is relative to a query, so that without one there is no boundary; "
                "use ssba.value_between(low, high) to sample it"
            )
        if self.target is not None:
            return [(resolve(self.target, None), everyone)]
        assert labels is not None
        seen = [label for label in self.judging.model.classes or () if (labels == label).any()]
        goals: list[tuple[Goal, NDArray[np.bool_]]] = []
        for i, label in enumerate(seen[: max(1, len(seen) - 1)]):
            earlier = np.isin(labels, np.array(seen[:i], dtype=labels.dtype)) if i else ~everyone
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
        """Return the pairs of all background rows from the two sides, and how they are bisected."""
        if labels is not None:
            return self._streams(tolerance, labels, resolution)
        # Sampling often goes on where it was: what was worked out about the pairs is worth keeping.
        kept, key = self._last_streams, (tolerance, resolution)
        if key not in kept:
            kept.clear()
            kept[key] = self._streams(tolerance, None, resolution)
        return kept[key]

    def _streams(self, tolerance: float, labels: Any, resolution: int) -> list[Stream]:
        sampling = self.sampling(tolerance, resolution)
        return [Stream(sides, sampling) for sides in self.sides(labels)]

    @cached_property
    def _last_streams(self) -> dict[tuple[float, int], list[Stream]]:
        return {}

    @cached_property
    def beside(self) -> dict[tuple[str, ...], Stream]:
        """The last streams that were brought to the model's device."""
        return {}

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

    def own_boundary(self, goal: Goal, is_over: IsOver = lambda: False) -> Matrix:
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

    def _find_boundary(self, is_over: IsOver) -> Matrix | None:
        """Bisect pairs of background rows; None where time is up before all are done."""
        try:
            sampling = self.sampling(tolerance=1e-3)
            streams = [Stream(sides, sampling) for sides in self._known_sides()]
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

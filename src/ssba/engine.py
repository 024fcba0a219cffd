"""What an explainer knows and no query changes: space, model, metric, target, background rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssba.arguments import listed, number
from ssba.arrays import Array
from ssba.boundary.bisection import Path
from ssba.boundary.pairs import shuffle
from ssba.boundary.points import Sampling, Sides, Stream, shares
from ssba.columns.distance import Metric, Norm, ScaleName, metric
from ssba.columns.features import Declaration
from ssba.columns.space import Matrix, Space, build_space
from ssba.errors import ArgumentError, ModelError
from ssba.models.answers import plain
from ssba.models.model import Model, Output, adapt
from ssba.models.oracle import Oracle
from ssba.models.row_check import Door
from ssba.models.targets import (
    Goal,
    Leave,
    Probability,
    Reply,
    ValueBetween,
    check_target,
    describe,
    judge,
    resolve,
)
from ssba.search.plausible import Neighbourhood
from ssba.search.robust import Surface
from ssba.search.starts import Pool
from ssba.whitebox.additive import Additive
from ssba.whitebox.read_model import Opened, open_linear_model, open_model

# A model shows its classes and whether its scores can be trusted on this many background rows.
_SAMPLE_ROWS = 1024
# Target-side rows that a query starts from; more cost time and find nothing nearer once refined.
_POOL_ROWS = 2000
# Target-side rows among which the nearest to an answer is looked for.
_NEIGHBOURS = 5000
# Boundary points that bounded moves begin with, sampled once per explainer.
_OWN_BOUNDARY = 500
# A batch of segments large enough to outweigh the fixed cost of a model call, small enough for the cache.
_BATCH_CELLS = 131_072


class OneSided(ModelError):
    """All background rows lie on one side of the boundary, so that there are no pairs."""


class _TimeIsUp(Exception):
    """A call's time ended before its boundary points were found."""


@dataclass(frozen=True)
class Wishes:
    """The explainer's settings, as the user gave them."""

    target: Any = None
    features: Mapping[str, Declaration] | None = None
    distance: Norm = "l2"
    scale: ScaleName | Mapping[str, float] = "std"
    weights: Mapping[str, float] | None = None
    seed: int = 0


@dataclass(frozen=True)
class Engine:
    """Space, model, metric, target and background rows of one explainer.

    `background` holds the rows without missing cells; `incomplete` the others, which serve a query as
    starts once their missing cells have taken its values. `complete` tells which rows of the data are which.
    `source` is the user's model as it was given, for those who can look inside.
    """

    space: Space
    model: Model
    metric: Metric
    target: Any
    background: Matrix
    incomplete: Matrix
    complete: NDArray[np.bool_]
    seed: int
    source: Any = None

    def oracle(self, batch_rows: int = 65_536) -> Oracle:
        """Return a fresh counter of model rows in front of the model."""
        return Oracle(self.model, self.space.decode, self.door, batch_rows)

    @cached_property
    def door(self) -> Door:
        """The check that every row passes on its way to the model."""
        return Door(self.space.features)

    @cached_property
    def may_miss(self) -> NDArray[np.bool_]:
        """The columns in which the background rows that the model is asked about have missing cells."""
        return np.asarray(np.isnan(self.background).any(axis=0))

    @cached_property
    def opened_linear(self) -> Additive | None:
        """The model's weights, where it is a linear model that we can read."""
        return open_linear_model(self.source, self.model, self.space, self.background)

    @cached_property
    def opened(self) -> Opened | None:
        """The model's inside, where we can read it; reading large forests takes seconds."""
        return self.opened_linear or open_model(self.source, self.model, self.space, self.background)

    @cached_property
    def predicted(self) -> Output:
        """What the model says about the background rows."""
        return self.oracle().output(self.background, self.may_miss)

    def judge(self, goal: Goal, output: Output) -> Reply:
        """Tell which rows reach the goal."""
        return judge(goal, output, self.model.classes)

    def pool(self, goal: Goal) -> Pool:
        """Return background rows on the target's side, and as guesses those with missing cells.

        A fixed choice of each if there are many.
        """
        reaching = self.background[self.reaching(goal)]
        if not len(reaching) and self.model.classes is not None and not isinstance(goal, Probability):
            self.refuse_one_side(goal)
        return Pool(reaching, self.incomplete[self._some(len(self.incomplete))])

    def reaching(self, goal: Goal) -> NDArray[np.int64]:
        """Return the numbers of background rows that reach a goal, as the model said when it was asked.

        A fixed choice if there are many.
        """
        if goal not in self._reaching:
            numbers = np.flatnonzero(self.judge(goal, self.predicted).reached)
            self._reaching[goal] = numbers[self._some(len(numbers))]
        return self._reaching[goal]

    @cached_property
    def _reaching(self) -> dict[Goal, NDArray[np.int64]]:
        return {}

    def _some(self, count: int) -> NDArray[np.int64]:
        return np.asarray(shuffle(count, self.seed, salt=7)[:_POOL_ROWS])

    def neighbourhood(self, goal: Goal) -> Neighbourhood:
        """Return the complete background rows on the target's side, as neighbours; a fixed choice if many."""
        if goal not in self._neighbourhoods:
            rows = self.background[self.judge(goal, self.predicted).reached]
            chosen = rows[shuffle(len(rows), self.seed, salt=11)[:_NEIGHBOURS]]
            self._neighbourhoods[goal] = Neighbourhood(chosen, self.metric)
        return self._neighbourhoods[goal]

    @cached_property
    def _neighbourhoods(self) -> dict[Goal, Neighbourhood]:
        return {}

    @cached_property
    def surface(self) -> Surface:
        """The surface of balls around rows, inside what the columns can hold."""
        features, grid = self.space.features, self.space.grid
        low = np.array([0.0 if one.levels else max(one.low, one.storable[0]) for one in features])
        high = np.array(
            [len(one.levels) - 1.0 if one.levels else min(one.high, one.storable[1]) for one in features]
        )
        return Surface(
            metric=self.metric,
            grid=grid,
            movable=np.array([not one.is_discrete and not one.is_constant for one in features], dtype=bool),
            low=grid.ceil(low),
            high=grid.floor(high),
            levels=tuple(len(one.levels) if one.is_discrete else 0 for one in features),
        )

    def refuse_one_side(self, goal: Goal) -> None:
        """Raise because all background rows lie on one side of the boundary."""
        seen = (
            "reaches" if len(self.background) and self.judge(goal, self.predicted).reached.all() else "misses"
        )
        raise OneSided(
            f"{self.model.name} {seen} {describe(goal)} on all {len(self.background)} background rows: "
            "there is no boundary between them; give background data on both sides, or check target and model"
        )

    def sides(self, labels: Any = None) -> list[Sides]:
        """Split the background rows at the boundary: in two, or class by class where any other class will do.

        `labels` keeps only rows that the model predicts correctly (paper, algorithm 1, step 3).
        """
        keep = self._correct(labels)
        split = []
        for goal, among in self.goals:
            reached = self.judge(goal, self.predicted).reached
            leaving, reaching = (
                self.background[~reached & keep & among],
                self.background[reached & keep & among],
            )
            if len(leaving) and len(reaching):
                split.append(Sides(leaving, reaching, goal))
        if not split:
            self.refuse_one_side(self.goals[0][0])
        return split

    @cached_property
    def goals(self) -> list[tuple[Goal, NDArray[np.bool_]]]:
        """Return the goals whose boundaries make up the target's, each with the rows it concerns."""
        everyone = np.ones(len(self.background), dtype=bool)
        if self.target is not None:
            return [(resolve(self.target, None), everyone)]
        predicted = self.predicted.labels
        assert predicted is not None
        seen = [label for label in self.model.classes or () if (predicted == label).any()]
        goals: list[tuple[Goal, NDArray[np.bool_]]] = []
        for i, label in enumerate(seen[: max(1, len(seen) - 1)]):
            earlier = np.isin(predicted, np.array(seen[:i], dtype=predicted.dtype)) if i else ~everyone
            goals.append((Leave(label), ~earlier))
        return goals

    def _correct(self, labels: Any) -> NDArray[np.bool_]:
        if labels is None:
            return np.ones(len(self.background), dtype=bool)
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
            wished = Output(values=numbers)
            return np.asarray(
                self.judge(self.target, wished).reached == self.judge(self.target, self.predicted).reached
            )
        classes = self.model.classes or ()
        if len(given) and not any(plain(one) in classes for one in given):
            raise ArgumentError(
                f"labels holds {plain(given[0])!r} and the like, but {self.model.name} predicts only "
                f"{', '.join(map(repr, classes))}; give labels of the same type and spelling"
            )
        return np.asarray(given == self.oracle().labels(self.background.copy(), self.may_miss).labels)

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
            batch_rows=max(1024, _BATCH_CELLS // len(self.space.features)),
            resolution=resolution,
        )

    @cached_property
    def path(self) -> Path:
        """How segments between rows are walked."""
        return Path(self.metric.discrete, self.space.grid.snap, self.is_plain)

    def asker(
        self, goal: Goal, oracle: Oracle, missing: NDArray[np.bool_] | None = None
    ) -> Callable[[Array], Reply]:
        """Return the function from encoded rows to whether they reach the goal; the oracle counts them.

        The rows lie between background rows, so that a cell is missing only where theirs are, or where
        `missing` says so: rows around a query have its missing cells.
        """
        ask = oracle.output if isinstance(goal, Probability) else oracle.labels
        classes = self.model.classes
        may_miss = self.may_miss if missing is None else self.may_miss | missing
        return lambda Z: judge(goal, ask(Z, may_miss), classes)

    def own_boundary(self, is_over: Callable[[], bool] = lambda: False) -> Matrix:
        """Return some boundary points for bounded moves; none where one side is empty, or time is up.

        They are found when they are first needed, and kept.
        """
        if not self._boundary_points:
            found = self._find_boundary(is_over)
            if found is None:
                return self.background[:0]
            self._boundary_points.append(found)
        return self._boundary_points[0]

    @cached_property
    def _boundary_points(self) -> list[Matrix]:
        return []

    def _find_boundary(self, is_over: Callable[[], bool]) -> Matrix | None:
        """Bisect pairs of background rows; None where time is up before all are done."""
        try:
            streams = self.streams(tolerance=1e-3)
        except OneSided:
            return self.background[:0]
        oracle, found = self.oracle(), []
        for one, count in zip(streams, shares([one.sides for one in streams], _OWN_BOUNDARY), strict=True):
            ask = self.asker(one.sides.goal, oracle)

            def ask_in_time(rows: Array, ask: Callable[[Array], Reply] = ask) -> Reply:
                if is_over():
                    raise _TimeIsUp
                return ask(rows)

            try:
                found += [batch.points for batch in one.batches(range(count), ask_in_time)]
            except _TimeIsUp:
                return None
        return np.concatenate(found)

    @cached_property
    def margin_step(self) -> float:
        """The step that margins are rounded to before the search follows them.

        A row's score differs in its last bits with the batch it is asked in. Rounded, it does not, and a
        query takes the same way alone and among others.
        """
        return self.score_size * 2.0**-30

    @cached_property
    def batch_matters(self) -> bool:
        """Whether a row's score shifts with its batch by more than rounding absorbs (32-bit networks do)."""
        among_all = self._scores(self.predicted)
        if among_all is None:
            return False
        for count in (1, 2, 3, 8):
            few = self._scores(self.oracle().output(self.background[:count], self.may_miss))
            if few is None or np.abs(few - among_all[: len(few)]).max() > 2.0**-40 * self.score_size:
                return True
        return False

    @staticmethod
    def _scores(output: Output) -> NDArray[Any] | None:
        return output.scores if output.values is None else output.values

    @cached_property
    def score_size(self) -> float:
        """A power of two at or above the largest score or number on the background rows."""
        scores = self._scores(self.predicted)
        largest = 1.0 if scores is None or not scores.size else float(np.abs(scores).max())
        return float(2.0 ** np.ceil(np.log2(largest or 1.0)))

    @property
    def is_plain(self) -> bool:
        """Whether every point between background rows is a legal row."""
        return (
            self.space.grid.trivial and not self.metric.discrete.any() and not np.isnan(self.background).any()
        )

    @property
    def target_text(self) -> str:
        """The target in words."""
        return "another class" if self.target is None else describe(resolve(self.target, None))


def build_engine(model: Any, data: Any, wishes: Wishes) -> Engine:
    """Check model, data and settings once, and put them together."""
    space, Z = build_space(data, wishes.features)
    complete = np.asarray(~np.isnan(Z).any(axis=1))
    if complete.mean() < 0.5:
        # Where most rows have a missing cell the model must be able to take them as they are.
        complete = np.ones(len(Z), dtype=bool)
    background, incomplete = _on_grid(space, Z[complete]), _on_grid(space, Z[~complete])
    adapted = adapt(
        model,
        space.decode(_sample_of(background)),
        wants_numbers=isinstance(wishes.target, ValueBetween),
        wants_probabilities=isinstance(wishes.target, Probability),
    )
    check_target(wishes.target, adapted)
    measured = metric(space.features, Z, wishes.distance, wishes.scale, wishes.weights)
    return Engine(
        space, adapted, measured, wishes.target, background, incomplete, complete, wishes.seed, model
    )


def _sample_of(background: Matrix) -> Matrix:
    """Return the background rows that a model is tried out on; the same for every seed."""
    return background[shuffle(len(background), seed=0, salt=5)[:_SAMPLE_ROWS]]


def _on_grid(space: Space, Z: Matrix) -> Matrix:
    """Round background rows to legal values inside the data's range; they are only ever asked about so."""
    low = np.array([0.0 if one.levels else one.data_low for one in space.features])
    high = np.array([len(one.levels) - 1.0 if one.levels else one.data_high for one in space.features])
    low_legal, high_legal = space.grid.ceil(low), space.grid.floor(high)
    fits = low_legal <= high_legal
    low, high = np.where(fits, low_legal, low), np.where(fits, high_legal, high)
    return np.asarray(np.clip(space.grid.snap(Z), low, high))

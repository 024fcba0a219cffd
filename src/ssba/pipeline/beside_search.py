"""Searches beside a model on its own device: rows are made, asked about and measured there.

What is known of a row (whether it reaches, its margin, its distance) comes to the host, where it is decided
what to ask next. This is for numbers within bounds, more than a few of them, and scores to follow; whatever
else there is, is searched on the host.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from ssba.arrays import Array, choose, like, namespace
from ssba.columns.distance import Metric
from ssba.columns.space import Matrix
from ssba.models.answers import Output
from ssba.models.on_device import OnDevice, is_out_of_memory
from ssba.models.targets import Goal, Leave, Probability, Reach, Reply, height, judge
from ssba.options import ScoreMargin
from ssba.pipeline.state import QueryState, States
from ssba.search.ledger import Door, Ledger
from ssba.search.regions import Mask, Numbers, Regions

Slopes = tuple[Array, Array]
"""How far rows are beyond a goal, and how that rises with each of their cells."""


def device_of(states: States) -> OnDevice | None:
    """Return how the model is asked about rows where it lies, if it can be, and gives what slopes need."""
    engine = states[0].engine
    device = engine.judging.model.on_device
    if device is None or not engine.judging.gives_margins or not engine.background.are_numbers:
        return None
    return device


def fit_beside(states: States, regions: Regions) -> Mask:
    """Tell which regions can be searched beside the model: whole queries, each by itself."""
    return ~np.isin(regions.query, regions.query[~can_be_led(states, regions)])


def can_be_led(states: States, regions: Regions) -> Mask:
    """Tell in which regions slopes may lead."""
    # Most queries share their options.
    kinds = {id(state.options): state for state in states}
    simple = {name: _asks_simply(state) for name, state in kinds.items()}
    is_led = np.array([simple[id(state.options)] and state.stored is None for state in states])
    return np.asarray(is_led[regions.query] & regions.are_smooth & states[0].engine.metric.adds_squares)


def _asks_simply(state: QueryState) -> bool:
    """Whether nothing but the goal decides what reaches, and calls need not be few."""
    options = state.options
    return (
        options.max_changes is None
        and not options.plausible
        and not isinstance(options.margin, ScoreMargin)
        and not state.has_few_calls
    )


def ledger_beside(regions: Regions, metric: Metric, door: Door, device: OnDevice) -> Ledger:
    """Return a ledger with its rows on the device."""
    rows = device.bring(regions.x, True)
    return Ledger(regions.beside(lambda cells: like(cells, rows)), metric.beside(rows), door)


class _Goals:
    """The goals of several queries, each told once."""

    def __init__(self, states: States) -> None:
        goals: dict[Goal, int] = {}
        self._kind = np.array(
            [goals.setdefault(state.query.goal, len(goals)) for state in states], dtype=np.int64
        )
        self.each = list(goals)

    def are_of(self, number: int, query: Numbers) -> Mask:
        """Tell which rows, given their queries, are asked about for one of the goals."""
        return np.asarray(self._kind[query] == number)

    def slopes(self, Z: Array, query: Numbers, tell: Callable[[Goal, Array], Slopes | None]) -> Slopes | None:
        """Return what is told of rows, each for its own goal; None where nothing is told for one of them."""
        parts = [np.flatnonzero(self.are_of(number, query)) for number in range(len(self.each))]
        told = [
            tell(goal, Z if len(mine) == len(Z) else choose(Z, mine))
            for goal, mine in zip(self.each, parts, strict=True)
            if len(mine)
        ]
        known = [one for one in told if one is not None]
        if len(known) < len(told):
            return None
        if len(known) == 1:
            return known[0]
        xp, order = namespace(Z), np.argsort(np.concatenate(parts))
        heights, slopes = (choose(xp.concat(of_goals), order) for of_goals in zip(*known, strict=True))
        return heights, slopes


def opened_slopes(states: States) -> Callable[[Matrix, Numbers], Slopes | None] | None:
    """Return what a model that can be opened tells of its slopes."""
    judging = states[0].engine.judging
    if not judging.gives_margins or any(state.options.prove is False for state in states):
        return None
    opened = judging.opened_slopes
    if opened is None:
        return None
    goals = _Goals(states)
    return lambda Z, query: goals.slopes(Z, query, lambda goal, rows: opened.slopes(rows, goal))


class ReaderBeside:
    """Reads what a model says about rows on its device, for the goals of several queries."""

    def __init__(self, states: States, device: OnDevice) -> None:
        judging = states[0].engine.judging
        classes = judging.model.classes
        self._goals = _Goals(states)
        self._numbered = {goal: _numbered(goal, classes) for goal in self._goals.each}
        self._classes = None if classes is None else tuple(range(len(classes)))
        self._probabilities = judging.model.gives_probabilities
        self._step = judging.margin_step
        self._device = device

    def replies(self, Z: Array, query: Numbers) -> Reply:
        """Return the replies to rows, given whose they are; they lie on the device."""
        xp, output = namespace(Z), _output(self._device, self._device.steady(Z))
        reached, margin = list[Array](), list[Array]()
        for number, goal in enumerate(self._goals.each):
            reply = judge(self._numbered[goal], output, self._classes)
            mine = like(self._goals.are_of(number, query), Z)
            reached = [xp.where(mine, reply.reached, one) for one in reached] or [reply.reached]
            margin = [xp.where(mine, reply.margin, one) for one in margin] or [reply.margin]
        return Reply(reached[0], xp.round(margin[0] / self._step) * self._step)

    def slopes(self, Z: Array, query: Numbers) -> Slopes | None:
        """Return heights, and how they rise with each cell, by the model's gradient; None if it has none."""
        try:
            return self._goals.slopes(
                Z, query, lambda goal, rows: self._device.slopes(rows, partial(self._height, goal))
            )
        except Exception as error:
            if is_out_of_memory(error):
                raise
            return None

    def _height(self, goal: Goal, raw: Array) -> Array:
        output, numbered = _output(self._device, raw), self._numbered[goal]
        if output.scores is None:
            return judge(numbered, output, self._classes).margin
        return height(numbered, output.scores, probabilities=self._probabilities)


def _numbered(goal: Goal, classes: tuple[object, ...] | None) -> Goal:
    """Return a goal by the number of its class."""
    match goal:
        case Reach(label) if classes is not None:
            return Reach(classes.index(label))
        case Leave(label) if classes is not None:
            return Leave(classes.index(label))
        case Probability(label, at_least, at_most) if classes is not None:
            return Probability(classes.index(label), at_least, at_most)
    return goal


def _output(device: OnDevice, raw: Array) -> Output:
    if device.label is None or device.score is None:
        xp = namespace(raw)
        return Output(values=xp.astype(raw[:, 0] if raw.ndim == 2 else raw, xp.float64))
    return Output(labels=device.label(raw), scores=device.score(raw))

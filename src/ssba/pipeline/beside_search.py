"""Searches beside a model on its own device: rows are made, asked about and measured there.

What is known of a row (whether it reaches, its margin, its distance) comes to the host, where it is decided
what to ask next. This is for numbers within bounds, more than a few of them, and scores to follow; whatever
else there is, is searched on the host.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ssba.arrays import Array, like, namespace
from ssba.columns.space import Matrix
from ssba.constraints.regions.region import Region
from ssba.models.answers import Output
from ssba.models.on_device import OnDevice
from ssba.models.targets import Goal, Leave, Probability, Reach, Reply, judge
from ssba.options import ScoreMargin
from ssba.pipeline.state import QueryState, States
from ssba.search.ledger import Door, Ledger
from ssba.search.regions import Mask, Numbers, Regions
from ssba.search.settings import SETTINGS

Read = Callable[[Matrix, Numbers], Reply]


def device_of(states: States) -> OnDevice | None:
    """Return how the model is asked about rows on its device, where that is not the host's own memory."""
    engine = states[0].engine
    device = engine.judging.model.on_device
    if device is None or not engine.judging.gives_margins or not engine.background.are_numbers:
        return None
    return device if device.is_apart else None


def fit_beside(states: States, lanes: Sequence[tuple[int, Region]]) -> Mask:
    """Tell which regions of queries can be searched beside the model: whole queries, each by itself."""
    regions = Regions(tuple(region for _, region in lanes), np.array([number for number, _ in lanes]))
    if regions.has_levels:
        return np.zeros(regions.count, dtype=bool)
    fine = (np.isfinite(regions.low) & np.isfinite(regions.high) & np.isfinite(regions.x)).all(axis=1)
    fine &= ~regions.kept_outside.any(axis=1) & ~regions.linear & ~regions.on_grid
    fine &= regions.columns_moving > SETTINGS.race.few_columns
    fine &= np.array([_is_plain(states[number]) for number, _ in lanes])
    return ~np.isin(regions.query, regions.query[~fine])


def _is_plain(state: QueryState) -> bool:
    """Whether nothing but the goal decides what reaches, and no stored point where the search begins."""
    options = state.options
    return (
        state.stored is None
        and options.max_changes is None
        and not options.plausible
        and not isinstance(options.margin, ScoreMargin)
    )


def ledger_beside(ledger: Ledger, door: Door, device: OnDevice) -> Ledger:
    """Return a ledger like one of the host, with its rows on the device."""
    rows = device.bring(ledger.regions.x, True)
    return Ledger(ledger.regions.beside(lambda cells: like(cells, rows)), ledger.metric.beside(rows), door)


def reader_beside(states: States, device: OnDevice) -> Read:
    """Return the function from rows on the device, and whose they are, to replies there."""
    judging = states[0].engine.judging
    classes = judging.model.classes
    goals: dict[Goal, int] = {}
    kind = np.array([goals.setdefault(_numbered(state.query.goal, classes), len(goals)) for state in states])
    numbers = None if classes is None else tuple(range(len(classes)))
    step = judging.margin_step

    def read(Z: Array, query: Numbers) -> Reply:
        xp, output = namespace(Z), _output(device, device.steady(Z))
        reached, margin = list[Array](), list[Array]()
        for goal, number in goals.items():
            reply = judge(goal, output, numbers)
            mine = like(kind[query] == number, Z)
            reached = [xp.where(mine, reply.reached, one) for one in reached] or [reply.reached]
            margin = [xp.where(mine, reply.margin, one) for one in margin] or [reply.margin]
        return Reply(reached[0], xp.round(margin[0] / step) * step)

    return read


def _numbered(goal: Goal | None, classes: tuple[object, ...] | None) -> Goal:
    """Return a goal by the number of its class."""
    match goal:
        case Reach(label) if classes is not None:
            return Reach(classes.index(label))
        case Leave(label) if classes is not None:
            return Leave(classes.index(label))
        case Probability(label, at_least, at_most) if classes is not None:
            return Probability(classes.index(label), at_least, at_most)
    assert goal is not None
    return goal


def _output(device: OnDevice, raw: Array) -> Output:
    if device.label is None or device.score is None:
        xp = namespace(raw)
        return Output(values=xp.astype(raw[:, 0] if raw.ndim == 2 else raw, xp.float64))
    return Output(labels=device.label(raw), scores=device.score(raw))

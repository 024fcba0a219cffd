"""The search for the nearest rows of many queries at once, and what it found, query by query."""

import time
from collections.abc import Callable, Hashable, Sequence

import numpy as np

from ssba.columns.distance import changed_cells
from ssba.columns.space import Matrix
from ssba.constraints.regions.region import Region
from ssba.models.targets import Reply
from ssba.pipeline.asking import goal_reply, just_missed, plausible_reply
from ssba.pipeline.state import QueryState, States
from ssba.search.archive import Archive
from ssba.search.lanes.ledger import Door, Ledger
from ssba.search.lanes.nearest import search_all
from ssba.search.lanes.pools import Pools
from ssba.search.lanes.regions import Numbers, Regions
from ssba.search.starts import Pool

# Of the regions of a query so many are searched side by side, the nearest first; the next where one of them
# begins nearer than what was found.
_WAVES = (4, 16, 64)


def search_nearest(states: States) -> None:
    """Search all regions of all queries; one that begins beyond the best answer of its query is left out."""
    for state in states:
        if not state.may_go_on:
            _note_end(state)
    searched = [0] * len(states)
    for width in _WAVES:
        chosen = [
            (number, place)
            for number, state in enumerate(states)
            for place in _next_regions(state, searched[number], width)
        ]
        if not chosen:
            break
        for number in {number for number, _ in chosen}:
            searched[number] = width
        _search(states, chosen)


def _next_regions(state: QueryState, begin: int, end: int) -> list[int]:
    if not state.may_go_on:
        return []
    order = np.argsort([region.begins for region in state.query.regions], kind="stable")[begin:end]
    return [int(i) for i in order if state.found.begins_nearer(state.query.regions[i])]


def _search(states: States, chosen: Sequence[tuple[int, int]]) -> None:
    ledger = ledger_of(states, [(number, states[number].query.regions[i]) for number, i in chosen])
    pools = [state.pool for state in states]
    stored = (
        [states[number].stored for number, _ in chosen] if any(state.stored for state in states) else None
    )
    search_all(ledger, _pools(ledger, pools), states[0].engine.seed, stored)
    hand_over(states, [states[number].found.archives[i] for number, i in chosen], ledger)


def search_from(lanes: Sequence[tuple[QueryState, Region, Matrix]], most: float) -> list[Archive]:
    """Search a region of each query on from rows that reach the target, for at most so many rows each."""
    states = [state for state, _, _ in lanes]
    ledger = ledger_of(states, [(number, region) for number, (_, region, _) in enumerate(lanes)], most)
    pools = [Pool(rows) for _, _, rows in lanes]
    search_all(ledger, _pools(ledger, pools), states[0].engine.seed)
    archives = [state.new_archive(region) for state, region, _ in lanes]
    hand_over(states, archives, ledger)
    return archives


def ledger_of(states: States, lanes: Sequence[tuple[int, Region]], most: float = np.inf) -> Ledger:
    """Return a ledger for some regions of some queries, each within what is left of its budget, and `most`."""
    regions = Regions(tuple(region for _, region in lanes), np.array([number for number, _ in lanes]))
    return Ledger(regions, states[0].engine.metric, door_of(states, most))


def _pools(ledger: Ledger, pools: Sequence[Pool]) -> Pools:
    """Return the rows to begin with, by query; queries with the same rows share them."""
    numbers: dict[int, int] = {}
    kept: list[Pool] = []
    for pool in pools:
        if id(pool) not in numbers:
            numbers[id(pool)] = len(kept)
            kept.append(pool)
    return Pools(ledger, kept, np.array([numbers[id(pool)] for pool in pools])[ledger.regions.query])


def door_of(states: States, most_rows: float = np.inf) -> Door:
    """Return the way to ask the model about rows of several queries at once, and to read its answers."""
    engine, clock = states[0].engine, states[0].limits.clock
    judging, oracle = engine.judging, engine.judging.oracle()
    x = np.stack([state.x for state in states])
    missing = np.isnan(x)
    kinds: dict[Hashable, int] = {}
    kind = np.array([kinds.setdefault(_kind(state), len(kinds)) for state in states])
    speakers = {
        number: next(s for s, k in zip(states, kind, strict=True) if k == number)
        for number in range(len(kinds))
    }
    most = np.array([np.inf if (m := state.options.max_changes) is None else m for state in states])
    has_limit = bool(np.isfinite(most).any())

    def ask(Z: Matrix, query: Numbers) -> Reply:
        begun = time.monotonic()
        if judging.batch_matters and (query != query[0]).any():
            reply = _one_by_one(ask, Z, query)
        else:
            reply = read(Z, query)
        clock.last_call = time.monotonic() - begun
        return reply

    def read(Z: Matrix, query: Numbers) -> Reply:
        output = oracle.output(Z, missing[query])
        reached, margin = np.zeros(len(Z), dtype=bool), np.empty(len(Z))
        has_margin = False
        for number, speaker in speakers.items():
            rows = np.flatnonzero(kind[query] == number) if len(speakers) > 1 else np.arange(len(Z))
            if not len(rows):
                continue
            reply = goal_reply(speaker, output if len(rows) == len(Z) else output.take(rows))
            if speaker.options.plausible:
                reply = plausible_reply(speaker, Z[rows], reply)
            reached[rows] = reply.reached
            if reply.margin is not None:
                margin[rows], has_margin = reply.margin, True
        reply = Reply(reached, margin if has_margin else None)
        if has_limit:
            reply = just_missed(reply, changed_cells(Z, x[query]).sum(axis=1) > most[query])
        if reply.margin is None:
            return reply
        step = judging.margin_step
        return Reply(reply.reached, np.round(reply.margin / step) * step)

    left = np.array([min(most_rows, state.limits.rows - state.rows_asked) for state in states], dtype=float)
    return Door(ask, judging.gives_margins(states[0].query.goal), left, states[0].limits.is_over)


def _kind(state: QueryState) -> Hashable:
    """Return what decides how answers are read, beside the number of changes: one reading for all that share it."""
    return state.query.goal, state.options.margin, state.options.plausible


def _one_by_one(ask: Callable[[Matrix, Numbers], Reply], Z: Matrix, query: Numbers) -> Reply:
    """Ask about the rows of each query in a batch of their own, as it has when it comes alone."""
    reached, margin = np.zeros(len(Z), dtype=bool), np.empty(len(Z))
    has_margin = False
    for number in np.unique(query):
        rows = np.flatnonzero(query == number)
        reply = ask(Z[rows], query[rows])
        reached[rows] = reply.reached
        if reply.margin is not None:
            margin[rows], has_margin = reply.margin, True
    return Reply(reached, margin if has_margin else None)


def hand_over(states: States, archives: Sequence[Archive], ledger: Ledger) -> None:
    """Give each query what was found and missed in its regions; there is an archive for each of these."""
    regions = ledger.regions
    none = np.empty(0, dtype=np.int64)
    rows = np.concatenate([one for one, _, _ in ledger.hits] or [regions.start[:0]])
    at = np.concatenate([one for _, one, _ in ledger.hits] or [none])
    order = np.argsort(at, kind="stable")
    rows, ends = rows[order], np.searchsorted(at[order], np.arange(regions.count + 1))
    missed = np.concatenate([one for _, one in ledger.misses] or [np.empty(0)])
    query = np.concatenate([regions.query[one] for one, _ in ledger.misses] or [none])
    order = np.argsort(query, kind="stable")
    missed, missed_ends = missed[order], np.searchsorted(query[order], np.arange(len(states) + 1))
    counted: set[int] = set()
    for number, archive in enumerate(archives):
        owner = int(regions.query[number])
        state = states[owner]
        own = rows[ends[number] : ends[number + 1]]
        archive.record(own, Reply(np.ones(len(own), dtype=bool), None))
        if ledger.miss_margin[number] > archive.miss_margin:
            archive.miss, archive.miss_margin = ledger.miss[number], float(ledger.miss_margin[number])
        if owner not in counted:
            counted.add(owner)
            archive.rows_asked += int(ledger.asked[owner])
            state.found.missed.append(missed[missed_ends[owner] : missed_ends[owner + 1]])
        if not ledger.is_open[owner] and not state.may_go_on:
            _note_end(state)


def _note_end(state: QueryState) -> None:
    """Note that the budget ended a search, and which part of it did."""
    for archive in state.region_archives:
        archive.stopped = True
    state.spent.stopped_by = "seconds" if state.limits.is_over() else "rows"

"""The search for the nearest rows of many queries at once, and their further stages side by side.

A stage of a query is a generator: it asks about rows, or for a search, and waits for what came of it. It
sees only the replies to its own questions, so it takes the same way alone or among others. All that is asked
at a time is asked in one model call, or searched in one search.
"""

import itertools
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from ssba.arrays import to_numpy
from ssba.columns.space import Matrix
from ssba.constraints.regions.region import Region
from ssba.models.answers import Output, joined
from ssba.models.on_device import OnDevice, is_out_of_memory
from ssba.models.targets import Reply
from ssba.pipeline.asking import Freely, reader_of
from ssba.pipeline.beside_search import (
    ReaderBeside,
    can_be_led,
    device_of,
    fit_beside,
    ledger_beside,
    opened_slopes,
)
from ssba.pipeline.course import Stage
from ssba.pipeline.state import QueryState, Searching, States, Vector
from ssba.search.archive import Archive, share_out
from ssba.search.ledger import Door, Ledger
from ssba.search.nearest import Moved, search_all
from ssba.search.regions import Numbers, Regions
from ssba.search.starts import Pool, Pools

# Of the regions of a query so many are searched side by side, the nearest first; the next where one of them
# begins nearer than what was found.
_WAVES = (4, 16, 64)

Chosen = Sequence[tuple[int, int]]
"""Regions to search: the numbers of queries, and of regions of theirs."""
Question = TypeVar("Question")
Answered = TypeVar("Answered")


def search_nearest(states: States) -> None:
    """Search all regions of all queries; one that begins beyond the best answer of its query is left out."""
    waiting = [number for number, state in enumerate(states) if not state.has_enough]
    for begin, end in itertools.pairwise((0, *_WAVES)):
        waiting = [number for number in waiting if len(states[number].query.regions) > begin]
        going = [number for number in waiting if states[number].may_go_on]
        if begin == 0:
            for number in set(waiting).difference(going):
                _note_end(states[number])
        chosen = [(number, place) for number in going for place in _next_regions(states[number], begin, end)]
        if not chosen:
            break
        _search(states, chosen)


def _next_regions(state: QueryState, begin: int, end: int) -> list[int]:
    regions = state.query.regions
    order = sorted(range(len(regions)), key=lambda i: regions[i].begins)[begin:end]
    return [] if state.has_enough else [i for i in order if state.found.begins_nearer(regions[i])]


def _search(states: States, chosen: Chosen) -> None:
    """Search some regions, and give their queries what was found."""
    pools = {number: states[number].pool for number in {number for number, _ in chosen}}

    def search(ledger: Ledger, places: Sequence[int]) -> Numbers:
        mine = [chosen[place] for place in places]
        stored = [states[number].stored for number, _ in mine]
        left = search_all(
            ledger,
            _pools(ledger, [pools[number] for number, _ in mine]),
            states[0].engine.seed,
            stored if any(one is not None for one in stored) else None,
            _watcher(states, mine),
        )
        hand_over(states, [states[number].found.archives[i] for number, i in mine], ledger)
        return left

    run_where_rows_lie(
        states, [(number, states[number].query.regions[i]) for number, i in chosen], search, led=True
    )


def run_where_rows_lie(
    states: States,
    lanes: Sequence[tuple[int, Region]],
    work: Callable[[Ledger, Sequence[int]], Numbers],
    *,
    led: bool = False,
) -> None:
    """Do some work on regions of queries beside the model where that is possible, else on the host.

    `work` gets a ledger and the places of its regions among all of them; beside a model it returns the
    queries that need the host. Where the model's memory ends, there are fewer regions at a time. With `led`
    the slopes of a model that was opened may lead on the host.
    """
    every, device, left = _stacked(lanes), device_of(states), list(range(len(lanes)))

    def stacked(some: Sequence[int]) -> Regions:
        return every if len(some) == len(lanes) else _stacked([lanes[place] for place in some])

    if device is not None:
        fits = fit_beside(states, every)
        fitting, left = np.flatnonzero(fits).tolist(), np.flatnonzero(~fits).tolist()
        left = sorted([*left, *_run_beside(states, fitting, device, (every.query, stacked), work)])
    if left:
        door, regions = door_of(states), stacked(left)
        if led:
            door = replace(door, ends_early=np.array([state.options.wants_nearest_only for state in states]))
            # Opening a model takes some rows of it, which only pays where its slopes can lead.
            can_lead = can_be_led(states, regions)
            if can_lead.any() and (slopes := opened_slopes(states)) is not None:
                door = replace(door, slopes=slopes, led=can_lead)
        work(Ledger(regions, states[0].engine.metric, door), left)


def _stacked(lanes: Sequence[tuple[int, Region]]) -> Regions:
    return Regions(tuple(region for _, region in lanes), np.array([number for number, _ in lanes]))


def _run_beside(
    states: States,
    places: list[int],
    device: OnDevice,
    lanes: tuple[Numbers, Callable[[Sequence[int]], Regions]],
    work: Callable[[Ledger, Sequence[int]], Numbers],
) -> list[int]:
    """Work beside the model, on fewer regions where its memory ends; return the places left for the host.

    `lanes` are the queries of all regions, and what stacks some of these.
    """
    (query, stacked), waiting, left = lanes, [places] if places else [], list[int]()
    while waiting:
        some = waiting.pop()
        try:
            regions, door = stacked(some), door_of(states, device=device)
            door = replace(door, led=can_be_led(states, regions))
            gone = work(ledger_beside(regions, states[0].engine.metric, door, device), some)
            left += np.array(some)[np.isin(query[some], gone)].tolist()
        except Exception as error:
            queries = sorted(set(query[some].tolist()))
            if not is_out_of_memory(error) or len(queries) == 1:
                # The host has room for one query, or tells what is wrong with the model.
                left += some
                continue
            middle = queries[len(queries) // 2]
            waiting += [
                [place for place in some if (query[place] < middle) == half] for half in (False, True)
            ]
    return left


def _watcher(states: States, chosen: Chosen) -> Moved:
    """Return what notes how far the queries of a search have come; those that left it are through."""
    course, mine = states[0].limits.course, sorted({number for number, _ in chosen})
    course.reach([states[number] for number in mine], Stage.NEAREST, part=0, ahead=0)

    def moved(searched: Numbers, behind: float, ahead: float) -> None:
        still = set(searched.tolist())
        course.reach([states[number] for number in mine if number not in still], Stage.NEAREST)
        course.reach([states[number] for number in still], Stage.NEAREST, behind, ahead)

    return moved


@dataclass(frozen=True)
class Hunt:
    """A wish for a search: in some regions of a query, each from rows to begin with, for so many rows in all.

    `freely` searches without the limits that options set. What is found are answers of the query, unless the
    hunt is `apart`: then it only counts what it cost. Where calls are dear, it may take as many as the first
    search, unless it is that search that `goes_on`.
    """

    parts: tuple[tuple[Region, Pool], ...]
    most: float = np.inf
    freely: bool = False
    apart: bool = False
    goes_on: bool = False


def hunt(hunts: Sequence[tuple[QueryState, Hunt]]) -> list[list[Archive]]:
    """Search for all that is wished for, in one search; return an archive for each part of each hunt."""
    if not hunts:
        return []
    states, wishes = [state for state, _ in hunts], [one for _, one in hunts]
    for state, one in hunts:
        if not one.goes_on:
            state.spent.calls_before = state.spent.calls
    parts = [(number, *part) for number, one in enumerate(wishes) for part in one.parts]
    most, freely = np.array([one.most for one in wishes]), [one.freely for one in wishes]
    ledger = ledger_of(states, [(number, region) for number, region, _ in parts], most, freely)
    search_all(ledger, _pools(ledger, [pool for _, _, pool in parts]), states[0].engine.seed)
    found: list[list[Archive]] = [[] for _ in hunts]
    for number, region, _ in parts:
        found[number].append(_archive_of(*hunts[number], region))
    hand_over(states, [archive for own in found for archive in own], ledger)
    return found


def _archive_of(state: QueryState, one: Hunt, region: Region) -> Archive:
    found = state.found
    return state.new_archive(region, found.apart if one.apart else found.scouts if one.freely else None)


def ledger_of(
    states: States,
    lanes: Sequence[tuple[int, Region]],
    most: float | Vector = np.inf,
    freely: Sequence[bool] = (),
) -> Ledger:
    """Return a ledger for regions of some queries, within what is left of their budgets and `most`."""
    return Ledger(_stacked(lanes), states[0].engine.metric, door_of(states, most, freely))


def _pools(ledger: Ledger, pools: Sequence[Pool]) -> Pools:
    """Return the rows to begin with, by region; regions with the same rows share them."""
    numbers: dict[int, int] = {}
    kept: list[Pool] = []
    for pool in pools:
        if id(pool) not in numbers:
            numbers[id(pool)] = len(kept)
            kept.append(pool)
    return Pools(ledger, kept, np.array([numbers[id(pool)] for pool in pools]))


def door_of(
    states: States,
    most_rows: float | Vector = np.inf,
    freely: Sequence[bool] = (),
    device: OnDevice | None = None,
) -> Door:
    """Return the way to ask the model about rows of several queries at once, and to read its answers.

    Rows come from the host, or lie on the model's `device`.
    """
    judging, limits = states[0].engine.judging, states[0].limits
    places = limits.course.places(states)
    beside = None if device is None else ReaderBeside(states, device)
    replies = _replies_here(states, freely) if beside is None else beside.replies

    def ask(Z: Matrix, query: Numbers) -> Reply:
        begun = time.monotonic()
        reply = replies(Z, query)
        limits.course.last_call = time.monotonic() - begun
        limits.course.called(places)
        return reply

    left = np.array([state.limits.rows - state.rows_asked for state in states], dtype=float)
    return Door(
        ask,
        judging.gives_margins,
        np.minimum(left, most_rows),
        limits.is_over,
        _calls_left(states),
        limits.until_found,
        widely=device is not None,
        slopes=None if beside is None else beside.slopes,
        has_faces=_has_faces(states),
    )


def _has_faces(states: States) -> bool:
    """Tell whether rows may leave the target to one of several others: then its boundary has edges."""
    classes = states[0].engine.judging.model.classes
    return classes is not None and len(classes) > 2


def _calls_left(states: States) -> Numbers | None:
    """Return in how many more calls each query may be searched where calls are dear."""
    if not states[0].has_few_calls:
        return None
    return np.array([state.calls_left for state in states])


def _replies_here(states: States, freely: Sequence[bool]) -> Callable[[Matrix, Numbers], Reply]:
    """Return what asks the model about rows on the host, given whose they are.

    Where the batch matters, the rows of each query come in one of their own, as they do when it is alone.
    """
    judging, read = states[0].engine.judging, reader_of(states, freely)
    oracle, missing = judging.oracle(), np.isnan(np.array([state.x for state in states]))
    some_miss = bool(missing.any())

    def output(Z: Matrix, query: Numbers) -> Output:
        return oracle.output(Z, missing[query] if some_miss else None)

    def replies(Z: Matrix, query: Numbers) -> Reply:
        if judging.batch_matters:
            parts = [np.flatnonzero(query == number) for number in np.unique(query)]
            order = np.argsort(np.concatenate(parts))
            told = joined([output(Z[part], query[part]) for part in parts]).take(order)
        else:
            told = output(Z, query)
        reply = read(Z, query, told)
        if reply.margin is None:
            return reply
        return Reply(reply.reached, np.round(reply.margin / judging.margin_step) * judging.margin_step)

    return replies


def hand_over(states: States, archives: Sequence[Archive], ledger: Ledger) -> None:
    """Give each query what was found and missed in its regions; there is an archive for each of these."""
    regions = ledger.regions
    if ledger.hits:
        share_out(archives, [(to_numpy(rows), at, far) for rows, at, far in ledger.hits])
    exhausted = ledger.exhausted.tolist()
    misses, margins, owners = to_numpy(ledger.miss), ledger.miss_margin.tolist(), regions.query.tolist()
    for number, archive in enumerate(archives):
        archive.exhausted = max(archive.exhausted, exhausted[number])
        if margins[number] > archive.miss_margin:
            archive.miss, archive.miss_margin = misses[number], margins[number]
    missed = _missed_by_query(ledger)
    # Of a query with several regions, the first one's archive counts the rows.
    counting = dict(zip(reversed(owners), reversed(archives), strict=True))
    asked, is_open, calls = ledger.asked.tolist(), ledger.is_open.tolist(), ledger.calls.tolist()
    for owner, archive in counting.items():
        state = states[owner]
        archive.rows_asked += asked[owner]
        archive.missed.append(missed[owner])
        state.spent.calls += calls[owner]
        if not is_open[owner] and (ledger.few_calls or not state.may_go_on):
            _note_end(state)


def _missed_by_query(ledger: Ledger) -> list[Vector]:
    """Return for each query how far the feasible rows are that did not reach."""
    count = len(ledger.asked)
    if not ledger.misses:
        return [np.empty(0)] * count
    far = np.concatenate([one for _, one in ledger.misses])
    query = ledger.regions.query[np.concatenate([one for one, _ in ledger.misses])]
    order = np.argsort(query, kind="stable")
    ends = np.searchsorted(query[order], np.arange(count + 1)).tolist()
    far = far[order]
    return [far[begin:end] for begin, end in itertools.pairwise(ends)]


def _note_end(state: QueryState) -> None:
    """Note that the budget ended a search, or that the few calls allowed did, and which part of it."""
    by_budget = state.limits.time_ended_by or ("rows" if state.rows_asked >= state.limits.rows else None)
    if by_budget is None:
        # There is still a budget, for evidence and the last check.
        state.spent.stopped_by = "calls" if state.calls_left <= 0 else state.spent.stopped_by
        return
    for archive in state.region_archives:
        archive.stopped = True
    state.spent.stopped_by = by_budget


def run_stages(states: States, stages: Sequence[Searching[None]]) -> None:
    """Drive a stage of each query to its end; queries share model calls and searches.

    Hunts wait until all queries wait for theirs, so that they are one search.
    """

    def answer(asked: Sequence[tuple[int, Any]]) -> list[Any]:
        rows = {number: one for number, one in asked if not isinstance(one, Hunt)}
        if not rows:
            return hunt([(states[number], one) for number, one in asked])
        replies = _replies([(states[number], one) for number, one in rows.items()])
        answers = dict(zip(rows, replies, strict=True))
        return [answers.get(number) for number, _ in asked]

    drive(stages, answer)


def _replies(asked: Sequence[tuple[QueryState, Matrix | Freely]]) -> list[Reply]:
    """Ask about the rows of several queries in one call."""
    if not asked:
        return []
    states, freely = [state for state, _ in asked], [isinstance(one, Freely) for _, one in asked]
    rows = [one.rows if isinstance(one, Freely) else one for _, one in asked]
    ends = np.cumsum([0, *map(len, rows)])
    reply = door_of(states, freely=freely).ask(
        np.concatenate(rows), np.repeat(np.arange(len(asked)), np.diff(ends))
    )
    for state in states:
        state.spent.calls += 1
    return [
        Reply(reply.reached[begin:end], None if reply.margin is None else reply.margin[begin:end])
        for begin, end in itertools.pairwise(ends.tolist())
    ]


def drive(
    searches: Sequence[Generator[Question, Answered, None]],
    ask: Callable[[Sequence[tuple[int, Question]]], Sequence[Answered | None]],
    side_by_side: int = 256,
) -> None:
    """Run all searches to their end; `ask` gets the open questions of many at once, with their numbers.

    Its answer to a question may be None for now: then it is asked again with the next ones. A search sees
    only the replies to its own questions, so it takes the same way alone or among others. At most
    `side_by_side` run at a time; as one ends the next begins.
    """
    waiting = iter(range(len(searches)))
    open_questions: dict[int, Question] = {}

    def advance(number: int, reply: Answered | None = None) -> None:
        search = searches[number]
        with suppress(StopIteration):
            open_questions[number] = next(search) if reply is None else search.send(reply)

    while True:
        while len(open_questions) < side_by_side and (number := next(waiting, None)) is not None:
            advance(number)
        if not open_questions:
            return
        asked = list(open_questions.items())
        open_questions.clear()
        for (number, question), reply in zip(asked, ask(asked), strict=True):
            if reply is None:
                open_questions[number] = question
            else:
                advance(number, reply)

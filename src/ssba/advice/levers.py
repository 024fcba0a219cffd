"""The table of levers: which single columns, pairs and triples can flip a decision, and which cannot.

A set of columns is searched with all others fixed, so that a lever's answer is like any other: nearest,
checked, and with its evidence. Single columns come first. They tell which pairs are promising, pairs which
triples, and what the budget does not reach is counted.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ssba.advice.context import Context
from ssba.advice.probing import Find, Prober, find_of
from ssba.arguments import whole
from ssba.constraints.constraint import fixed
from ssba.progress import unwatched
from ssba.results.explanation import Status
from ssba.results.levers import Lever, LeverStatus, LeverTable
from ssba.search.pick import worth_telling

# Sets of one size that are searched at most, and that are thought of: of the most promising columns.
_MOST_SETS, _MOST_THOUGHT_OF = 300, 5000
# Levers that are looked for in one go, by holding columns of those known, before sets are tried in turn.
_SEEDS = 12
# What the search of one set may spend: so much for each column, and so much beside.
_ROWS_A_COLUMN = _ROWS_A_SET = 500

Columns = tuple[str, ...]


def lever_table(
    context: Context,
    max_columns: int = 3,
    most_rows: int = 60_000,
    done: Callable[[], object] = unwatched,
) -> LeverTable:
    """Find out which columns, alone or together, can flip the decision.

    Parameters
    ----------
    context : Context
        The query, with its constraints and limits.
    max_columns : int
        How many columns may change together at most.
    most_rows : int
        How many model rows to spend at most.
    done : function
        Called as each set of columns was searched.
    """
    most_rows = whole("most_rows", most_rows, at_least=1)
    most = whole("max_columns", max_columns, at_least=1, at_most=3)
    options = context.options
    if options.max_changes is not None:
        most = min(most, options.max_changes)
    movable = _movable(context)
    # Where not all sets can be tried, those come first that searches with all columns free end at.
    seeds = _SEEDS if math.comb(len(movable), most) > _MOST_SETS else 1
    wide = replace(options, k=seeds, diversity="levers", sparsity="none", max_changes=None)
    context = replace(context, options=wide)
    outcome = replace(context, rows=min(context.rows, most_rows)).explain()
    prober = Prober(context.goal, most_rows, outcome.rows_used, done=done)
    table = LeverTable(outcome.status.value, outcome.target, max_columns=most, rows_used=outcome.rows_used)
    if outcome.status in (Status.ALREADY_THERE, Status.INFEASIBLE) or not movable:
        return table
    if outcome.evidence.proof in ("unreachable", "exhausted") and outcome.best is None:
        return replace(table, unable=(_lever(movable, find_of(outcome)),), sets_tried=1)
    context = replace(context, options=replace(wide, k=1))
    known = [tuple(one.changes) for one in outcome.counterfactuals]
    found = _search_sets(context, movable, min(most, len(movable)), prober, known)
    every = sum(math.comb(len(movable), size) for size in range(1, most + 1))
    levers = [_lever(columns, one) for columns, one in found.items()]
    return replace(
        table,
        levers=_worth_telling([one for one in levers if one.status == "found"]),
        unable=_unable(levers),
        sets_tried=len(found),
        sets_untried=every - len(found),
        rows_used=prober.rows_used,
    )


def _movable(context: Context) -> Columns:
    """Return the columns that the constraints let change."""
    if not context.regions:
        return ()
    free = np.any([region.free for region in context.regions], axis=0)
    return tuple(name for name, moves in zip(context.engine.space.names, free, strict=True) if moves)


def _search_sets(
    context: Context, movable: Columns, most: int, prober: Prober, seeds: Sequence[Columns]
) -> dict[Columns, Find]:
    """Search sets of columns, smaller ones first, each size with an equal part of what is left to spend.

    Of each size the `seeds`, which are known to reach the target, come first.
    """
    found: dict[Columns, Find] = {}
    for size in range(1, most + 1):
        first = [one for one in seeds if len(one) == size]
        chosen = list(dict.fromkeys([*first, *_in_order_of_promise(movable, size, found)]))[:_MOST_SETS]
        reserve = prober.rows_left * (most - size) // (most - size + 1)
        rows = _ROWS_A_SET + _ROWS_A_COLUMN * size
        # How far single columns get tells which of them to put together.
        search = prober.search_or_move if size == 1 else prober.search
        outcome = search([_only(context, movable, one) for one in chosen], rows, reserve)
        found |= {columns: one for columns, one in zip(chosen, outcome, strict=True) if one is not None}
    return found


def _only(context: Context, movable: Columns, columns: Columns) -> Context:
    """Return the context in which only some of the movable columns may change."""
    others = [fixed(name) for name in movable if name not in columns]
    return context.with_constraints([*context.constraints, *others])


def _in_order_of_promise(movable: Columns, size: int, found: Mapping[Columns, Find]) -> list[Columns]:
    """Return sets of a size: those first of which no part flips, by how near their parts come.

    Those of which a part flips can only be nearer, which is worth less. Where there are too many sets, they
    are made of the columns that come nearest alone.
    """
    alone = {name: found[name,].to_go if (name,) in found else math.inf for name in movable}
    useful = sorted(movable, key=lambda name: alone[name])
    count = len(movable)
    while count > size and math.comb(count, size) > _MOST_THOUGHT_OF:
        count -= 1
    kept = [name for name in movable if name in useful[:count]]

    def promise(columns: Columns) -> tuple[bool, float]:
        parts = [found[one] for one in _parts(columns) if one in found]
        distances = [one.best.distance for one in parts if one.best is not None]
        return bool(distances), min(distances) if distances else sum(alone[name] for name in columns)

    return sorted(itertools.combinations(kept, size), key=promise)


def _parts(columns: Columns) -> list[Columns]:
    """Return the smaller sets inside a set."""
    return [part for size in range(1, len(columns)) for part in itertools.combinations(columns, size)]


def _lever(columns: Columns, outcome: Find) -> Lever:
    best = outcome.best
    proof = outcome.proof if outcome.is_feasible else "infeasible"
    if best is not None:
        # What the nearest answer leaves as it is does not belong to the lever.
        return Lever(
            columns=tuple(best.changes),
            status="found",
            distance=best.distance,
            changes=best.changes,
            values=best.values,
            prediction=best.prediction,
            score=best.score,
            rows_asked=outcome.rows_used,
            proof=proof,
        )
    status: LeverStatus = "not_found" if proof is None else "unreachable"
    return Lever(columns, status, rows_asked=outcome.rows_used, proof=proof)


def _worth_telling(levers: Sequence[Lever]) -> tuple[Lever, ...]:
    """Keep, nearest first, levers that contain no smaller one, or that are at least 10% nearer than those."""
    nearest: dict[frozenset[str], Lever] = {}
    for one in sorted(levers, key=_distance):
        nearest.setdefault(frozenset(one.columns), one)
    worth = worth_telling(list(nearest), [_distance(one) for one in nearest.values()])
    kept = [one for one, is_worth in zip(nearest.values(), worth, strict=True) if is_worth]
    return tuple(sorted(kept, key=lambda one: (_distance(one), len(one.columns))))


def _unable(levers: Sequence[Lever]) -> tuple[Lever, ...]:
    """Return the sets that were tried in vain; not those that contain a lever which a larger set showed."""
    working = [set(one.columns) for one in levers if one.status == "found"]
    return tuple(
        one
        for one in levers
        if one.status != "found" and not any(columns <= set(one.columns) for columns in working)
    )


def _distance(lever: Lever) -> float:
    return math.inf if lever.distance is None else lever.distance

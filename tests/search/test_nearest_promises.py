"""What holds for every search: queries never disturb each other, budgets only cut off, every row counts."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.lanes import REPLIES, Judge, Lanes, judge_of, lanes, weighted
from tests.support import Setting, setting

from ssba.columns.distance import Norm
from ssba.columns.features import numeric
from ssba.search.lanes import row_keys

NORMS: list[Norm] = ["l2", "l1"]
WIDTH = 5
_rng = np.random.default_rng(11)
NUMBERS = np.concatenate([_rng.normal(size=(120, WIDTH)), [[-4.0] * WIDTH, [4.0] * WIDTH]])
MIXED = pd.DataFrame(
    {
        "r": np.append(_rng.normal(size=119), np.nan),
        "n": _rng.integers(-4, 5, 120),
        "s": _rng.integers(0, 21, 120) / 10,
        "c": _rng.choice(list("uvwx"), 120),
        "b": _rng.random(120) < 0.5,
    }
)

WHOLE = _rng.integers(-6, 7, size=(120, 4))


def plane(Z: Any) -> Any:
    return weighted(Z, [1.0, -0.7, 0.4, 0.2, 0.1]) - 1.4


def wavy(Z: Any) -> Any:
    """A bent boundary that rays cross more than once."""
    return np.sin(weighted(Z, [1.3, 0.4, -0.8, 0.3, 0.1])) + 0.08 * weighted(Z**2, np.ones(WIDTH)) - 0.9


def stairs(Z: Any) -> Any:
    """Steps, as trees make them: scores are flat between them."""
    return (np.floor(2 * Z) / 2 * [1.0, 0.8, -0.6, 0.5, 0.0]).sum(axis=1) - 1.2


def levels(Z: Any) -> Any:
    """Numbers, whole numbers and levels add up; a missing number counts as 0."""
    gain = np.array([0.0, 0.6, -0.4, 0.9])[Z[:, 3].astype(int)] + np.array([0.0, 0.5])[Z[:, 4].astype(int)]
    return weighted(np.nan_to_num(Z[:, :3]), [0.8, 0.3, -0.5]) + gain - 1.7


def grid(Z: Any) -> Any:
    return weighted(Z, [1.0, 0.6, -0.8, 0.3]) - 4.5


@dataclass(frozen=True)
class Case:
    """Some queries to one model under some constraints."""

    data: Any
    margin: Any
    texts: tuple[str, ...] = ()
    missing: bool = False

    def where(self, norm: Norm = "l2") -> Setting:
        features = {"s": numeric(step=0.1)} if isinstance(self.data, pd.DataFrame) else None
        return setting(self.data, features, norm)

    def judge(self, reply: str) -> Judge:
        return judge_of(self.margin, reply)

    def queries(self, count: int = 4) -> list[Any]:
        """Return queries on the other side, rather different ones."""
        where = self.where()
        below = np.flatnonzero(self.margin(where.Z) < 0)
        rows = where.Z[below][:: max(1, len(below) // count)][:count]
        if self.missing:
            rows[::2, 0] = np.nan
        frame = where.space.decode(rows)
        return frame.to_dict("records") if isinstance(frame, pd.DataFrame) else list(frame)


CASES = {
    "a plane": Case(NUMBERS, plane),
    "a wavy boundary": Case(NUMBERS, wavy),
    "stairs": Case(NUMBERS, stairs),
    "bounds": Case(NUMBERS, wavy, ("x0 <= x.x0 + 0.4", "x1 == x.x1")),
    "relations": Case(NUMBERS, plane, ("x0 + x1 <= 1.5", "x2 >= x3 - 1")),
    "several regions": Case(NUMBERS, wavy, ("if x0 > x.x0: x1 >= x.x1", "x2 != x3")),
    "levels and whole numbers": Case(MIXED, levels),
    "missing cells": Case(MIXED, levels, missing=True),
    "levels in several regions": Case(MIXED, levels, ("if c changes: n >= x.n", "if b changes: r >= 0")),
    "whole numbers": Case(WHOLE, grid),
    "whole numbers beside a relation": Case(WHOLE, grid, ("x0 + x2 <= 3",)),
}


IN_L1 = ["a wavy boundary", "relations", "levels in several regions"]


def same(one: Any, other: Any) -> bool:
    """Tell whether arrays hold the same bits, but for the sign of zero."""
    return np.array_equal(one, other, equal_nan=True)


def assert_same(among: Lanes, numbers: Sequence[int], alone: Lanes) -> None:
    """Check that queries of a batch asked and found what they did in another batch, bit by bit."""
    for place, number in enumerate(numbers):
        assert same(among.asked_of(number), alone.asked_of(place))
        mine, own = among.regions.query == number, alone.regions.query == place
        assert same(among.ledger.best[mine], alone.ledger.best[own])
        assert same(among.ledger.best_row[mine], alone.ledger.best_row[own])
        assert among.ledger.asked[number] == alone.ledger.asked[place]
        assert among.ledger.is_open[number] == alone.ledger.is_open[place]
        for hits in zip(hits_of(among, number), hits_of(alone, place), strict=True):
            assert same(*hits)


def hits_of(one: Lanes, query: int) -> list[Any]:
    """Return the hits of each region of a query, in order."""
    regions = np.flatnonzero(one.regions.query == query)
    return [
        np.concatenate([one.regions.start[:0], *(rows[at == region] for rows, at, _ in one.ledger.hits)])
        for region in regions
    ]


@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize(
    ("name", "norm"), [*((name, "l2") for name in CASES), *((name, "l1") for name in IN_L1)]
)
def test_a_query_asks_and_finds_the_same_alone_and_among_others(name: str, norm: Norm, reply: str) -> None:
    case = CASES[name]
    where, queries, judge = case.where(norm), case.queries(), case.judge(reply)
    together = lanes(where, queries, judge, *case.texts).search()
    assert np.isfinite(together.ledger.best_of_query()).any()
    assert_same(together, [0], lanes(where, queries[:1], judge, *case.texts).search())
    turned = lanes(where, queries[::-1], judge, *case.texts).search()
    assert_same(together, range(len(queries))[::-1], turned)


@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize("name", ["a wavy boundary", "levels in several regions"])
def test_budgets_that_end_in_the_middle_of_a_batch_end_nothing_else(name: str, reply: str) -> None:
    case = CASES[name]
    where, queries, judge = case.where(), case.queries(), case.judge(reply)
    most = [40.0, np.inf, 7.0, 333.0]
    together = lanes(where, queries, judge, *case.texts, most=most).search()
    for number, query in enumerate(queries):
        alone = lanes(where, [query], judge, *case.texts, most=most[number]).search()
        assert_same(together, [number], alone)


@settings(max_examples=6)
@given(data=st.data())
def test_whatever_the_order_and_the_company_answers_stay_the_same(data: st.DataObject) -> None:
    case = CASES[data.draw(st.sampled_from(sorted(CASES)))]
    where, judge = (
        case.where(data.draw(st.sampled_from(NORMS))),
        case.judge(data.draw(st.sampled_from(REPLIES))),
    )
    queries = case.queries(8)
    chosen = data.draw(st.lists(st.integers(0, len(queries) - 1), unique=True, min_size=1, max_size=3))
    most = data.draw(st.sampled_from([50.0, 400.0]))
    together = lanes(where, queries, judge, *case.texts, most=most).search()
    assert_same(
        together, chosen, lanes(where, [queries[i] for i in chosen], judge, *case.texts, most=most).search()
    )


BUDGETS = [1, 10, 50, 200, 1000]


@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize("name", CASES)
def test_a_smaller_budget_asks_the_first_rows_of_a_larger_one(name: str, reply: str) -> None:
    case = CASES[name]
    where, queries, judge = case.where(), case.queries(2), case.judge(reply)
    runs = [lanes(where, queries, judge, *case.texts, most=budget).search() for budget in BUDGETS]
    for few, many in itertools.pairwise(runs):
        for number in range(len(queries)):
            first = few.asked_of(number)
            assert same(many.asked_of(number)[: len(first)], first)
        assert (many.ledger.best_of_query() <= few.ledger.best_of_query()).all()
    for budget, run in zip(BUDGETS, runs, strict=True):
        counts = np.array([len(run.asked_of(number)) for number in range(len(queries))])
        assert (counts == run.ledger.asked).all()
        assert (counts <= budget).all()
        # A budget that was not enough was used up.
        assert (counts[~run.ledger.is_open] == budget).all()


@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize("name", CASES)
def test_every_row_asked_about_is_legal_and_no_cell_of_it_undefined(name: str, reply: str) -> None:
    case = CASES[name]
    where, queries = case.where(), case.queries(2)
    run = lanes(where, queries, case.judge(reply), *case.texts).search()
    for number in range(len(queries)):
        asked = run.asked_of(number)
        mine = np.flatnonzero(run.regions.query == number)
        assert (np.isnan(asked) <= np.isnan(run.regions.x[mine[0]])).all()
        assert not np.isinf(asked).any()
        assert same(where.space.encode(where.space.decode(asked)), asked)
        # Only relations may be left a little, to look at a slope; what lies beyond them never counts.
        boxes = [replace(run.regions.parts[region], linear=None) for region in mine]
        assert np.any([box.contains(asked) for box in boxes], axis=0).all()


@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize("name", CASES)
def test_all_feasible_rows_are_hits_or_misses(name: str, reply: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[name]
    judge = case.judge(reply)
    run = lanes(case.where(), case.queries(2), judge, *case.texts)
    asks: list[tuple[Any, Any]] = []
    ask = run.ledger.ask

    def remembered(Z: Any, at: Any) -> Any:
        asks.append((np.array(Z), np.array(at)))
        return ask(Z, at)

    monkeypatch.setattr(run.ledger, "ask", remembered)
    run.search()
    rows, at = (np.concatenate(parts) for parts in zip(*asks, strict=True))
    feasible, reached = run.regions.contains(rows, at), np.asarray(judge(rows).reached)
    # On a grid, where rows come again, the model is asked once, and the row counts once.
    missed = feasible & ~reached
    if not run.regions.grid.trivial:
        keys = row_keys(np.column_stack([run.regions.query[at], rows]))
        missed &= [key not in keys[:i] for i, key in enumerate(keys)]
    assert same(at[missed], np.concatenate([of for of, _ in run.ledger.misses]))
    assert same(run.ledger.distance(rows, at)[missed], np.concatenate([far for _, far in run.ledger.misses]))
    hits, of, far = (np.concatenate(parts) for parts in zip(*run.ledger.hits, strict=True))
    assert run.regions.contains(hits, of).all()
    assert np.asarray(judge(hits).reached).all()
    assert same(run.ledger.distance(hits, of), far)
    asked_hits = np.column_stack([at, rows])[feasible & reached]
    assert set(row_keys(asked_hits)) <= set(row_keys(np.column_stack([of, hits])))


@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize("name", ["levels and whole numbers", "whole numbers", "levels in several regions"])
def test_on_a_grid_no_row_is_asked_about_twice(name: str, reply: str) -> None:
    case = CASES[name]
    run = lanes(case.where(), case.queries(2), case.judge(reply), *case.texts).search()
    for number in range(2):
        keys = row_keys(run.asked_of(number))
        assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("reply", REPLIES)
def test_the_same_seed_asks_the_same_rows_and_another_one_others(reply: str) -> None:
    case = CASES["stairs"]
    where, queries, judge = case.where(), case.queries(2), case.judge(reply)
    one, other, third = (lanes(where, queries, judge).search(seed).asked for seed in (0, 0, 1))
    assert same(one, other)
    assert not same(one, third)


@pytest.mark.parametrize("reply", REPLIES)
def test_queries_share_model_calls(reply: str) -> None:
    """Four queries take hardly more calls than the one of them that takes most."""
    case = CASES["a wavy boundary"]
    where, queries, judge = case.where(), case.queries(), case.judge(reply)
    together = lanes(where, queries, judge).search()
    alone = [len(lanes(where, [query], judge).search().calls) for query in queries]
    assert together.ledger.calls.tolist() == alone
    assert len(together.calls) < 0.6 * sum(alone)

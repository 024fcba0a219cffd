"""The kernels of the search give the same on NumPy arrays and on torch tensors."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tests.search.lanes import Lanes, judge_of, lanes
from tests.support import setting

from ssba.arrays import like, to_numpy
from ssba.columns.distance import Norm
from ssba.search.descend import descend, ways_from
from ssba.search.ledger import Door, Ledger
from ssba.search.nearest import search_all
from ssba.search.planes import edges, feet, label_normals, score_slopes, unit
from ssba.search.rays import race, rays_to
from ssba.search.starts import Pools

COLUMNS, QUERIES = 10, 6
_rng = np.random.default_rng(8)
DATA = _rng.normal(size=(80, COLUMNS))
FIRST, SECOND = _rng.normal(size=(2, COLUMNS))
ROWS = -0.4 * np.sign(FIRST) + 0.1 * _rng.normal(size=(QUERIES, COLUMNS))
ENDS = 0.9 * np.sign(FIRST) + 0.3 * _rng.normal(size=(2 * QUERIES, COLUMNS))
AT = np.repeat(np.arange(QUERIES), 2)
NORMALS = FIRST + 0.3 * _rng.normal(size=(2 * QUERIES, COLUMNS))
BOUNDS = ["x0 >= -0.6", "x1 <= 0.5", "x2 == x2"]


def margin(Z: Any) -> Any:
    """Two planes and a bend, added up row by row in NumPy, wherever the rows lie."""
    rows = to_numpy(Z)
    first, second = (rows * FIRST).sum(axis=1), (rows * SECOND).sum(axis=1)
    return like(np.maximum(first, first - 0.2 * second) - 0.05 * rows[:, 0] ** 2, Z)


def both(norm: Norm = "l2", start: bool = True) -> tuple[Lanes, Ledger]:
    """Return a ledger on the host, and one with the same regions on torch."""
    where = setting(DATA, norm=norm)
    rules = BOUNDS[:2] if start else [*BOUNDS[:2], "x3 >= 1"]
    host = lanes(where, list(ROWS), judge := judge_of(margin, "scores"), *rules)
    reference = torch.zeros((0, COLUMNS), dtype=torch.float64)
    door = Door(lambda Z, query: judge(Z), True, np.full(QUERIES, np.inf))
    regions = host.regions.beside(lambda cells: like(cells, reference))
    return host, Ledger(regions, where.metric.beside(reference), door)


def assert_same(one: Any, other: Any) -> None:
    assert type(one) is np.ndarray
    np.testing.assert_allclose(to_numpy(other), one, rtol=1e-12, atol=1e-12)


def on_torch(rows: Any) -> Any:
    return torch.as_tensor(rows)


@pytest.mark.parametrize("start", [True, False], ids=["from the query", "from a bound"])
@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_rays_and_races(norm: Norm, start: bool) -> None:
    host, beside = both(norm, start)
    pulled, _ = host.regions.pull_in(ENDS, AT)
    rays, there = rays_to(host.ledger, pulled, AT), rays_to(beside, on_torch(pulled), AT)
    assert (rays.a > 0).all()
    for name in ("a", "b", "c", "way"):
        assert_same(getattr(rays, name), getattr(there, name))
    reach = host.judge(pulled)
    assert np.asarray(reach.reached).sum() > QUERIES
    hits = np.flatnonzero(reach.reached)
    names, group = np.unique(AT[hits], return_inverse=True)
    margins = np.asarray(margin(host.regions.start))[AT[hits]], np.asarray(reach.margin)[hits]
    found = race(rays.take(hits), group, 1, 1e-4, margins=margins)
    other = race(there.take(hits), group, 1, 1e-4, margins=margins)
    assert len(found.rows) == len(names)
    # Beside a model races are asked about less often: as near, but for the tolerance.
    np.testing.assert_allclose(other.far, found.far, rtol=1e-2)


def test_a_ledger_keeps_the_same() -> None:
    host, beside = both()
    pulled, _ = host.regions.pull_in(ENDS, AT)
    one, other = host.ledger.ask(pulled, AT), beside.ask(on_torch(pulled), AT)
    assert_same(one.reached, other.reached)
    assert_same(np.asarray(one.margin), other.margin)
    assert np.isfinite(host.ledger.best).any()
    assert_same(host.ledger.best, beside.best)
    assert_same(host.ledger.best_row, beside.best_row)
    assert_same(host.ledger.miss, beside.miss)
    assert host.ledger.asked.tolist() == beside.asked.tolist()


def test_slopes_and_normals() -> None:
    host, beside = both()
    z, _ = host.regions.pull_in(ENDS, AT)
    told = np.asarray(margin(z))
    for width in (1e-3, 0.3):
        wide = np.full(len(z), width)
        slopes = score_slopes(host.ledger, z, AT, wide, told)
        assert (slopes != 0).any(axis=1).all()
        assert_same(slopes, score_slopes(beside, on_torch(z), AT, wide, told))
        assert_same(score_slopes(host.ledger, z, AT, wide), score_slopes(beside, on_torch(z), AT, wide))
    look = np.full(len(z), 0.05), np.full(len(z), 2.0), np.full(len(z), 5)
    normals = label_normals(host.ledger, z, AT, look, NORMALS)
    assert_same(normals, label_normals(beside, on_torch(z), AT, look, on_torch(NORMALS)))
    one, length = unit(slopes)
    other, other_length = unit(on_torch(slopes))
    assert_same(one, other)
    assert_same(length, other_length)


@pytest.mark.parametrize("start", [True, False], ids=["from the query", "from a bound"])
@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_feet(norm: Norm, start: bool) -> None:
    host, beside = both(norm, start)
    z, _ = host.regions.pull_in(ENDS, AT)
    found = feet(host.ledger, z, NORMALS, AT)
    assert (host.ledger.distance(found, AT) <= host.ledger.distance(z, AT) + 1e-9).all()
    assert_same(found, feet(beside, on_torch(z), on_torch(NORMALS), AT))


def test_edges() -> None:
    host, beside = both()
    z, _ = host.regions.pull_in(ENDS, AT)
    points = np.stack([z, z[::-1], z + 0.1], axis=1)
    normals = np.stack([NORMALS, NORMALS[::-1], NORMALS * FIRST], axis=1)
    known = np.tile([2, 3], QUERIES)
    found, there = edges(host.ledger, AT, points, normals, known)
    assert there.any()
    other, other_there = edges(beside, AT, on_torch(points), on_torch(normals), known)
    assert there.tolist() == other_there.tolist()
    assert_same(found[there], other[on_torch(there)])


def test_ways_down_end_as_near() -> None:
    host, beside = both()
    pulled, _ = host.regions.pull_in(ENDS, AT)
    reply = host.judge(pulled)
    some = np.flatnonzero(reply.reached)
    assert len(some) > QUERIES
    told, start = np.asarray(reply.margin)[some], np.asarray(margin(host.regions.start))
    ways = ways_from(host.ledger, pulled[some], AT[some], told)
    others = ways_from(beside, on_torch(pulled[some]), AT[some], told)
    descend(host.ledger, ways, start, 6)
    descend(beside, others, start, 6)
    assert (ways.distance < host.ledger.distance(pulled[some], AT[some])).all()
    np.testing.assert_allclose(others.distance, ways.distance, rtol=0.02)


def slopes(Z: Any, query: Any) -> Any:
    """The same two planes and bend, and how they rise, on torch."""
    with torch.enable_grad():
        rows = Z.detach().requires_grad_()
        first, second = (rows * like(FIRST, Z)).sum(dim=1), (rows * like(SECOND, Z)).sum(dim=1)
        heights = torch.maximum(first, first - 0.2 * second) - 0.05 * rows[:, 0] ** 2
        return heights.detach(), torch.autograd.grad(heights.sum(), rows)[0]


def test_whole_searches_end_as_near() -> None:
    host, beside = both()
    beside.door = replace(beside.door, slopes=slopes, led=np.ones(QUERIES, dtype=bool))
    pools = host.pools()
    left = search_all(beside, Pools(beside, pools.pools, pools.number), 0)
    assert not len(left)
    search_all(host.ledger, pools, 0)
    assert np.isfinite(host.ledger.best).all()
    np.testing.assert_allclose(beside.best, host.ledger.best, rtol=0.01)


def test_where_all_starts_reach_nothing_else_is_asked() -> None:
    host, beside = both()
    judge = judge_of(lambda Z: like(np.ones(len(Z)), Z), "scores")
    led = np.ones(QUERIES, dtype=bool)
    beside.door = replace(beside.door, ask=lambda Z, query: judge(Z), slopes=slopes, led=led)
    pools = host.pools()
    assert not len(search_all(beside, Pools(beside, pools.pools, pools.number), 0))
    assert beside.asked.tolist() == [1] * QUERIES

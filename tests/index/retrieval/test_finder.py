"""The nearest stored rows are exactly those that a plain look at every row finds, whichever way is taken."""

import tracemalloc
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import Matrix, Setting, every, setting

from ssba.columns.distance import Metric
from ssba.columns.features import numeric, ordinal
from ssba.constraints.constraint import constraint
from ssba.index.retrieval import chunks as retrieval_portions
from ssba.index.retrieval import finder as retrieval
from ssba.index.retrieval import masks as retrieval_masks
from ssba.index.retrieval import scan as retrieval_search
from ssba.index.retrieval import tree as retrieval_tree
from ssba.index.retrieval.finder import Finder, Hits, Query

MIXED = pd.DataFrame(
    {
        "r": [-4.0, 4.0, 0.25, None, 1.0, -2.5],
        "q": [0.0, 10.0, 5.5, 2.0, 7.25, 3.0],
        "s": [0.0, 2.0, 0.5, 1.5, None, 1.0],
        "n": [0, 8, 3, 2, 5, 1],
        "c": ["u", "v", "w", "u", None, "v"],
        "o": ["low", "mid", "high", "low", "mid", None],
        "b": [True, False, True, True, False, False],
    }
)
GRADES = ordinal(["low", "mid", "high"])
NAMES = ["r", "q", "s"]
LEVELS = {"r": 0, "q": 0, "s": 0, "n": 0, "c": 3, "o": 3, "b": 2}
NUMBERS = pd.DataFrame({"r": [-6.0, 12.0, 0.0], "q": [-6.0, 12.0, 5.0], "s": [-6.0, 12.0, 1.0]})
"""Wider than all rows that are stored in tests, so that without a constraint nothing restricts."""

ON_NUMBERS = [
    "q >= x.q",
    "q <= 5",
    "r within 50%",
    "1 <= q <= 3",
    "q != 2",
    "r + q <= 4",
    "r - q - s >= -6",
    "s + r == 1",
    "s == x.s",
    "if q changes: r >= x.r",
]
ON_LEVELS = [
    "c in {'u', 'w'}",
    "c not in {'u'}",
    "o >= 'mid'",
    "b == x.b",
    "s may be filled",
    "n <= x.n",
    "if c changes: q >= 5",
]


@dataclass(frozen=True)
class Kept:
    """A block that lies in memory, and counts how often it is read."""

    values: Matrix
    reads: list[int]

    @property
    def rows(self) -> int:
        return len(self.values)

    def load(self) -> Matrix:
        self.reads.append(1)
        return self.values


@dataclass(frozen=True)
class Mapped:
    """A block in a file."""

    path: Path
    rows: int = 65_536

    def load(self) -> Matrix:
        values: Matrix = np.load(self.path, mmap_mode="r")
        return values


def blocks_of(*parts: Matrix) -> list[Kept]:
    return [Kept(np.asfortranarray(part), []) for part in parts]


def by_looking_at_every_row(parts: Sequence[Matrix], metric: Metric, query: Query, k: int) -> Hits:
    rows = np.ascontiguousarray(np.concatenate(parts))
    fine = np.zeros(len(rows), dtype=bool)
    for region in query.regions:
        fine |= region.contains(rows)
    position = np.flatnonzero(fine)
    distance = metric.distance(rows[position], query.x)
    best = np.lexsort((position, distance))[:k]
    return Hits(rows[position[best]], distance[best], position[best])


def assert_same(found: Hits, expected: Hits) -> None:
    np.testing.assert_array_equal(found.position, expected.position)
    np.testing.assert_array_equal(found.distance, expected.distance)
    np.testing.assert_array_equal(found.rows, expected.rows)


@contextmanager
def forced(way: str, chunk: int = 7) -> Iterator[None]:
    """Take one way wherever it is possible at all, in chunks of few rows."""
    few = {"masks": 0, "products": 10**9}.get(way, retrieval_masks.FEW)
    with ExitStack() as stack:
        for module, name, value in [
            (retrieval_portions, "MOST_ROWS", chunk),
            (retrieval_masks, "FEW", few),
            (retrieval, "FEW", few),
            (retrieval, "_WORTH_PRODUCTS", 1),
            (retrieval, "_MOST", few),
            (retrieval, "AT_ONCE", 0),
            (retrieval_masks, "AT_ONCE", 0),
            (retrieval_search, "_MEASURED_FIRST", 1),
            (retrieval_tree, "LEAST_ROWS", 1),
            (retrieval_tree, "MOST_COLUMNS", 8 if way == "tree" else 0),
            (retrieval_tree, "_LEVEL", 0.0),
        ]:
            stack.enter_context(patch.object(module, name, value))
        yield


WAYS = ["as sizes have it", "masks", "products", "tree"]


@contextmanager
def taken(way: str, chunk: int) -> Iterator[None]:
    if way == "as sizes have it":
        yield
    else:
        with forced(way, chunk):
            yield


def numbers(**wishes: Any) -> Setting:
    return setting(NUMBERS, **wishes)


def some_rows(count: int, seed: int = 0) -> Matrix:
    rows: Matrix = np.random.default_rng(seed).uniform(-4, 10, size=(count, 3))
    return rows


def stored_rows(rng: np.random.Generator, names: Sequence[str], count: int, missing: float) -> Matrix:
    """Return rows with few different values, so that many of them are equally far from a query."""
    columns = [
        rng.integers(0, LEVELS[name], count).astype(float)
        if LEVELS[name]
        else np.round(rng.uniform(-4, 10, count) * 2) / 2
        for name in names
    ]
    rows = np.stack(columns, axis=1) if count else np.empty((0, len(names)))
    gaps = rng.random(rows.shape) < missing
    gaps[:, [name in ("q", "n", "b") for name in names]] = False
    return np.where(gaps, np.nan, rows)


def cut(rng: np.random.Generator, rows: Matrix, pieces: int) -> list[Matrix]:
    return np.split(rows, np.sort(rng.integers(0, len(rows) + 1, pieces - 1)))


@st.composite
def wishes(draw: st.DrawFn, texts: list[str]) -> list[str]:
    return draw(st.lists(st.sampled_from(texts), max_size=3, unique=True))


def query_of(where: Setting, x: Matrix, texts: Sequence[str]) -> Query:
    return Query(x, where.regions(x, [constraint(text) for text in texts]))


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from(["l2", "l1", "gower"]),
    st.lists(wishes(ON_NUMBERS + ON_LEVELS), min_size=1, max_size=3),
    st.sampled_from([1, 3, 10, 200]),
)
def test_mixed_columns_with_missing_cells_give_what_every_row_gives(
    way: str, seed: int, norm: Any, texts: list[list[str]], k: int
) -> None:
    where = setting(MIXED, {"s": numeric(step=0.5), "o": GRADES}, norm=norm, weights={"q": 1.7, "c": 0.6})
    rng = np.random.default_rng(seed)
    rows = stored_rows(rng, list(LEVELS), int(rng.integers(0, 90)), missing=0.15)
    parts = cut(rng, rows, 4)
    queries = stored_rows(rng, list(LEVELS), len(texts), missing=0.15)
    asked = [query_of(where, x, wish) for x, wish in zip(queries, texts, strict=True)]
    with taken(way, chunk=int(rng.integers(1, 40))):
        finder = Finder(blocks_of(*parts), where.metric)
        found = finder.nearest(asked, k)
        again = [finder.nearest([query], k)[0] for query in asked]
    for one, alone, query in zip(found, again, asked, strict=True):
        expected = by_looking_at_every_row(parts, where.metric, query, k)
        assert_same(one, expected)
        assert_same(alone, expected)


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from(["l2", "l1"]),
    st.lists(wishes(ON_NUMBERS), min_size=1, max_size=5),
    st.sampled_from([1, 4, 200]),
)
def test_numbers_give_what_every_row_gives(
    way: str, seed: int, norm: Any, texts: list[list[str]], k: int
) -> None:
    where = numbers(norm=norm, weights={"q": 0.3, "s": 2.0})
    rng = np.random.default_rng(seed)
    rows = stored_rows(rng, NAMES, int(rng.integers(0, 200)), missing=0.0)
    parts = cut(rng, rows + rng.choice([0.0, 0.1]) * rng.normal(size=rows.shape), 3)
    queries = stored_rows(rng, NAMES, len(texts), missing=0.0)
    asked = [query_of(where, x, wish) for x, wish in zip(queries, texts, strict=True)]
    with taken(way, chunk=int(rng.integers(1, 80))):
        found = Finder(blocks_of(*parts), where.metric).nearest(asked, k)
    for one, query in zip(found, asked, strict=True):
        assert_same(one, by_looking_at_every_row(parts, where.metric, query, k))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("offset", [1e7, 1e12])
def test_rows_far_from_zero_are_told_apart_though_products_lose_all_digits(
    way: str, norm: Any, offset: float
) -> None:
    # At 1e12 the squares of scaled rows are 1e22 and have no digit left for differences of less than 1e6.
    where = setting(NUMBERS + offset, norm=norm)
    rows = np.round(some_rows(300), 1) + offset
    asked = [query_of(where, x, []) for x in some_rows(10, seed=1) + offset]
    with taken(way, chunk=120):
        found = Finder(blocks_of(rows), where.metric).nearest(asked, 4)
    for one, query in zip(found, asked, strict=True):
        assert_same(one, by_looking_at_every_row([rows], where.metric, query, 4))


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 30))
def test_of_equally_near_rows_the_first_are_found(way: str, seed: int, k: int) -> None:
    where = numbers()
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2, size=(400, 3)) * np.array([1.0, 2.0, 4.0])
    query = query_of(where, np.array([0.5, 1.0, 2.0]), [])
    with taken(way, chunk=150):
        (found,) = Finder(blocks_of(rows[:220], rows[220:]), where.metric).nearest([query], k)
    assert_same(found, by_looking_at_every_row([rows], where.metric, query, k))
    assert found.position.tolist() == list(range(k))


@pytest.mark.parametrize("way", WAYS)
def test_a_linear_row_that_is_broken_by_a_rounding_error_only_is_broken(way: str) -> None:
    # 0.1 + 0.2 is 0.30000000000000004, and the region takes the user's 0.3 at its word.
    where = numbers()
    rows = np.array([[0.1, 0.2, 0.0], [0.1, 0.15, 0.0], [0.2, 0.1, 0.0]] * 20)
    query = query_of(where, np.array([0.1, 0.2, 0.0]) - 0.001, ["r + q <= 0.3"])
    assert query.regions[0].contains(rows[:3]).tolist() == [False, True, False]
    with taken(way, chunk=25):
        (found,) = Finder(blocks_of(rows), where.metric).nearest([query], 3)
    assert found.position.tolist() == [1, 4, 7]


@pytest.mark.parametrize("way", WAYS)
def test_a_cell_off_the_grid_and_beyond_the_bounds_counts_where_it_is_the_querys_own(way: str) -> None:
    # Bounds are legal values: with steps of 0.5 the bound 1.3 becomes 1.0, but staying at 1.2 is fine.
    where = setting(NUMBERS, {"s": numeric(step=0.5)})
    x = np.array([0.0, 0.0, 1.2])
    query = query_of(where, x, ["s <= 1.3"])
    assert query.regions[0].upper[2] == 1.0
    rows = np.array([[1.0, 0.0, 1.2]] * 30 + [[0.5, 0.0, 1.25]] * 30)
    with taken(way, chunk=10):
        (found,) = Finder(blocks_of(rows), where.metric).nearest([query], 2)
    assert found.position.tolist() == [0, 1]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("texts", [[], ["r may be filled"], ["r may be filled", "r >= 5"]])
def test_a_missing_cell_counts_where_the_querys_own_is_missing(way: str, texts: list[str]) -> None:
    where = setting(pd.concat([NUMBERS, pd.DataFrame({"r": [np.nan], "q": [0.0], "s": [0.0]})]))
    x = np.array([np.nan, 0.0, 0.0])
    query = query_of(where, x, texts)
    rows = np.concatenate([np.where([True, False, False], np.nan, some_rows(30)), some_rows(30, 1)])
    with taken(way, chunk=15):
        (found,) = Finder(blocks_of(rows), where.metric).nearest([query], 60)
    assert_same(found, by_looking_at_every_row([rows], where.metric, query, 60))
    assert np.isnan(found.rows[:, 0]).sum() == 30
    assert (len(found.rows) > 30) == bool(texts)


def test_an_index_without_rows_and_a_query_without_regions_find_nothing() -> None:
    where = numbers()
    x = np.zeros(3)
    for blocks in ([], blocks_of(np.empty((0, 3)))):
        (found,) = Finder(blocks, where.metric).nearest([query_of(where, x, [])], 3)
        assert found.rows.shape == (0, 3)
        assert found.distance.shape == found.position.shape == (0,)
    (found,) = Finder(blocks_of(some_rows(5)), where.metric).nearest([Query(x, ())], 3)
    assert len(found.rows) == 0


def test_a_batch_reads_every_block_once_and_blocks_beyond_the_bounds_are_not_read_again() -> None:
    where = numbers()
    low, high = some_rows(40), some_rows(40) + np.array([0.0, 20.0, 0.0])
    blocks = blocks_of(low, high)
    with patch.object(retrieval_portions, "MOST_OPEN", 0):
        finder = Finder(blocks, where.metric)
    x = np.zeros(3)
    finder.nearest([query_of(where, x, ["q <= 5"])], 3)
    for block in blocks:
        block.reads.clear()
    finder.nearest([query_of(where, x, ["q <= 5"])] * 50, 3)
    assert [len(block.reads) for block in blocks] == [1, 0]
    finder.nearest([query_of(where, x, ["0 <= q <= 50"])] * 50, 3)
    assert [len(block.reads) for block in blocks] == [2, 1]


def test_the_first_blocks_are_opened_once_and_all_others_whenever_they_are_read() -> None:
    where = numbers()
    blocks = blocks_of(*np.split(some_rows(30), 3))
    with patch.object(retrieval_portions, "MOST_OPEN", 2):
        finder = Finder(blocks, where.metric)
    for _ in range(4):
        finder.nearest([query_of(where, np.zeros(3), [])], 3)
    assert [len(block.reads) for block in blocks] == [1, 1, 4]


def test_a_tree_is_built_once_scans_would_have_paid_for_it_and_answers_alike() -> None:
    where = numbers()
    rows = some_rows(5_000)
    (block,) = blocks = blocks_of(rows)
    with patch.object(retrieval_portions, "MOST_OPEN", 0):
        finder = Finder(blocks, where.metric)
    asked = [query_of(where, x, []) for x in some_rows(200, seed=1)]
    read = []
    for query in asked:
        before = len(block.reads)
        assert_same(finder.nearest([query], 3)[0], by_looking_at_every_row([rows], where.metric, query, 3))
        read.append(len(block.reads) > before)
    planted = read.index(False)
    assert 10 < planted < 150
    assert every(read[:planted])
    assert not any(read[planted:])
    bound = query_of(where, asked[0].x, ["q >= 5"])
    assert_same(finder.nearest([bound], 3)[0], by_looking_at_every_row([rows], where.metric, bound, 3))


def test_memory_mapped_files_are_searched_without_holding_them(tmp_path: Path) -> None:
    where = numbers()
    parts = [some_rows(65_536, seed) for seed in range(8)]
    blocks = []
    for number, part in enumerate(parts):
        path = tmp_path / f"{number}.npy"
        np.save(path, np.asfortranarray(part))
        blocks.append(Mapped(path))
    asked = [
        query_of(where, x, wish) for x in some_rows(20, 9) for wish in ([], ["q <= 9"], ["1 <= q <= 1.1"])
    ]
    finder = Finder(blocks, where.metric)
    tracemalloc.start()
    found = finder.nearest(asked, 10)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # Products of 32 queries with a chunk are 16 MiB, the positions of as many masks another 16 MiB.
    assert most < 48 * 2**20
    for one, query in zip(found[:6], asked[:6], strict=True):
        assert_same(one, by_looking_at_every_row(parts, where.metric, query, 10))

"""Constraints and a query become regions whose rows meet every constraint, or a smallest clash."""

import dataclasses
import itertools
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.support import Matrix, Setting, every, setting

from ssba.columns.features import numeric, ordinal
from ssba.constraints.constraint import (
    Constraint,
    Linear,
    alternatives,
    between,
    check,
    constraint,
    decrease,
    fixed,
    holds,
    increase,
    may_fill,
    one_of,
    relation,
    transition,
    within,
)
from ssba.constraints.regions.boxes import Ranges, boxed, collected
from ssba.constraints.regions.compile import (
    MAX_REGIONS,
    Compiled,
    clashing,
    compile_queries,
    compile_query,
    compile_regions,
)
from ssba.constraints.regions.region import Region
from ssba.errors import StoppedError
from ssba.models.oracle import watched

GRADES = ["low", "mid", "high"]
FRAME = pd.DataFrame(
    {
        "r": [-4.0, 4.0, 0.25, None, 1.0, -2.5],
        "q": [0.0, 10.0, 5.5, 2.0, 7.25, 3.0],
        "n": [0, 8, 3, 2, 5, 1],
        "m": pd.array([-3, 3, None, 0, 1, 2], dtype="Int64"),
        "s": [0.0, 2.0, 0.3, 0.7, None, 1.1],
        "f": np.array([0, 1, 0.5, 0.25, 0.75, 0.1], dtype=np.float32),
        "c": ["u", "v", "w", "u", None, "v"],
        "o": ["low", "mid", "high", "low", "mid", None],
        "b": [True, False, True, True, False, False],
    }
)
MIXED = setting(FRAME, {"s": numeric(step=0.1), "o": ordinal(GRADES)})
NUMBERS = ["r", "q", "n", "m", "s", "f"]
ORDERED = [*NUMBERS, "o"]
COLUMNS = [*ORDERED, "c", "b"]

NUMBER = st.sampled_from([-4, -2.5, -1, 0, 0.1, 0.25, 0.3, 0.5, 0.7, 1, 2, 3, 5, 7.25])


def level(column: str) -> st.SearchStrategy[Any]:
    return {
        "c": st.sampled_from(["u", "v", "w"]),
        "o": st.sampled_from(GRADES),
        "b": st.booleans(),
    }.get(column, NUMBER)


@st.composite
def linear_texts(draw: st.DrawFn) -> str:
    names = draw(st.lists(st.sampled_from(NUMBERS), min_size=2, max_size=3, unique=True))
    factors = draw(st.lists(st.sampled_from([-2, -1, 1, 1, 0.5, 3, 0.1]), min_size=3, max_size=3))
    operator = draw(st.sampled_from(["<=", ">=", "<=", ">=", "<", ">", "==", "!="]))
    terms = " + ".join(f"{factor} * {name}" for factor, name in zip(factors, names, strict=False))
    return f"{terms} {operator} {draw(NUMBER)}"


@st.composite
def simple_texts(draw: st.DrawFn) -> str:
    column = draw(st.sampled_from(NUMBERS))
    operator = draw(st.sampled_from(["<=", ">=", "<", ">", "==", "!="]))
    right = draw(st.sampled_from(["0.3", "0.9 * x.{}", "x.{} + 1", "x.{}", "2", "-1.5"]))
    return f"{column} {operator} {right.format(column)}"


@st.composite
def constraints(draw: st.DrawFn) -> Constraint:
    kind = draw(st.sampled_from(["line", "text", "rule", "simple", "levels"]))
    if kind == "line":
        return relation(draw(linear_texts()))
    if kind == "text":
        return constraint(draw(simple_texts()))
    if kind == "rule":
        column = draw(st.sampled_from(COLUMNS))
        return constraint(f"if {column} changes: {draw(simple_texts() | linear_texts())}")
    if kind == "levels":
        column = draw(st.sampled_from(["c", "o", "b", "n"]))
        moves = draw(st.dictionaries(level(column), st.lists(level(column), min_size=1), min_size=1))
        listed = one_of(column, draw(st.lists(level(column), min_size=1)))
        return draw(st.sampled_from([transition(column, moves), listed]))
    column = draw(st.sampled_from(ORDERED))
    made = [fixed(column), increase(column), decrease(column), may_fill(column)]
    if column != "o":
        low, high = sorted((draw(NUMBER), draw(NUMBER)))
        made += [between(column, low, high), within(column, percent=20), within(column, amount=1.5)]
    return draw(st.sampled_from(made))


@st.composite
def queries(draw: st.DrawFn) -> dict[str, Any]:
    query: dict[str, Any] = {}
    for column in COLUMNS:
        whole = st.integers(-3, 8) if column == "m" else st.integers(0, 9)
        cells = whole if column in ("n", "m") else level(column)
        query[column] = draw(cells | st.none() if column not in ("n", "b") else cells)
    return query


PROBES = np.random.default_rng(5).uniform(-6, 12, size=(12, len(COLUMNS)))
PROBES[:, 6:] = np.random.default_rng(6).integers(0, 3, size=(12, 3))
PROBES[:, 8] %= 2


def every_holds(where: Setting, x: Matrix, row: Matrix, given_: list[Constraint]) -> bool:
    query, cells = where.space.row_values(x), where.space.row_values(row)
    return all(holds(one, query, cells, where.space.by_name) for one in given_)


@settings(max_examples=100)
@given(queries(), st.lists(constraints(), max_size=4))
def test_rows_of_a_region_meet_every_constraint_and_can_be_written(
    query: dict[str, Any], listed: list[Constraint]
) -> None:
    x = MIXED.space.encode_row(query)
    regions = MIXED.regions(x, listed)
    for region in regions[:4]:
        rows, fine = region.pull_in(PROBES)
        rows = np.concatenate([region.start[None, :], rows[fine]])
        assert region.contains(rows).all()
        assert every(every_holds(MIXED, x, row, listed) for row in rows)
        np.testing.assert_array_equal(MIXED.space.encode(MIXED.space.decode(rows)), rows)
        held = region.held & ~np.isnan(x)
        assert (rows[:, held].copy().view(np.int64) == x[held].view(np.int64)).all()
        assert np.isnan(rows[:, region.held & np.isnan(x)]).all()


@settings(max_examples=100)
@given(queries(), st.lists(constraints(), max_size=4))
def test_the_start_is_feasible_and_is_the_query_where_the_query_is(
    query: dict[str, Any], listed: list[Constraint]
) -> None:
    x = MIXED.space.encode_row(query)
    regions = MIXED.regions(x, listed)
    for region in regions:
        assert region.contains(region.start[None, :])[0]
    if every_holds(MIXED, x, x, listed) and len(regions) < MAX_REGIONS:
        assert any(np.array_equal(region.start, x, equal_nan=True) for region in regions)


CLASHES = [
    ["q <= 2", "q >= 5"],
    ["n + q <= 1", "n >= 2"],
    ["n + f >= 4", "n <= 2", "f <= 1"],
    ["s == 0.15", "s may be filled"],
    ["b == True", "b == False"],
    ["2 * n + 4 * m == 7"],
]


@settings(max_examples=60)
@given(queries(), st.lists(constraints(), max_size=3), st.sampled_from(CLASHES), st.randoms())
def test_a_clash_is_real_and_smallest(
    query: dict[str, Any], others: list[Constraint], texts: list[str], random: Any
) -> None:
    x = MIXED.space.encode_row(query)
    listed = [*others, *(constraint(text) for text in texts)]
    random.shuffle(listed)
    assume(not MIXED.regions(x, listed))
    named = clashing(MIXED.space, MIXED.metric, x, listed)
    assert named
    assert set(named) <= set(listed)
    assert not compile_regions(MIXED.space, MIXED.metric, x, named)
    for i in range(len(named)):
        assert compile_regions(MIXED.space, MIXED.metric, x, [*named[:i], *named[i + 1 :]])


@settings(max_examples=60)
@given(queries(), st.lists(constraints(), min_size=1, max_size=4), st.integers(0, 5))
def test_constraints_that_some_known_row_meets_are_never_called_a_contradiction(
    query: dict[str, Any], listed: list[Constraint], witness: int
) -> None:
    x = MIXED.space.encode_row(query)
    row = np.where(np.isnan(x) | np.isnan(MIXED.Z[witness]), x, MIXED.Z[witness])
    assume(every_holds(MIXED, x, row, listed))
    assert MIXED.regions(x, listed)


FLAT = setting(pd.DataFrame({f"c{i}": [0.0, 20.0] for i in range(8)}))
ORIGIN = {f"c{i}": 0.0 for i in range(8)}


def bits(thing: Any) -> Any:
    """Return all that a region or its parts hold, so that zeros of different sign are different."""
    if dataclasses.is_dataclass(thing):
        return [bits(getattr(thing, one.name)) for one in dataclasses.fields(thing)]
    if isinstance(thing, np.ndarray):
        return thing.dtype.str, thing.shape, thing.tobytes()
    return repr(thing)


def same_regions(one: Compiled, other: Compiled) -> bool:
    return one.complete == other.complete and list(map(bits, one.regions)) == list(map(bits, other.regions))


def encoded(several: list[dict[str, Any]]) -> Matrix:
    return np.stack([MIXED.space.encode_row(query) for query in several])


@settings(max_examples=100)
@given(st.lists(queries(), min_size=1, max_size=6), st.lists(constraints(), max_size=3))
def test_queries_compiled_together_have_the_regions_that_each_has_alone(
    several: list[dict[str, Any]], listed: list[Constraint]
) -> None:
    X = encoded(several)
    together = compile_queries(MIXED.space, MIXED.metric, X, listed)
    alone = [compile_query(MIXED.space, MIXED.metric, x, listed) for x in X]
    assert len(together) == len(X)
    assert every(same_regions(one, other) for one, other in zip(together, alone, strict=True))


def only_box(x: Matrix, listed: list[Constraint]) -> Region | None:
    """Return the region of constraints on single columns, from what each says about the query."""
    ranges, values = Ranges(MIXED.space, MIXED.metric, x), MIXED.space.row_values(x)
    ways = [alternatives(one, values, MIXED.space.by_name) for one in listed]
    assume(every(len(one) == 1 for one in [((),), *ways]))
    atoms = list(itertools.chain.from_iterable(one[0] for one in ways))
    assume(not any(isinstance(atom, Linear) for atom in atoms))
    return boxed(ranges, collected(ranges, atoms))


@settings(max_examples=100)
@given(st.lists(queries(), min_size=1, max_size=3), st.lists(constraints(), max_size=3))
def test_constraints_on_single_columns_leave_one_box_each(
    several: list[dict[str, Any]], listed: list[Constraint]
) -> None:
    X = encoded(several)
    boxes = [only_box(x, listed) for x in X]
    for compiled, box in zip(compile_queries(MIXED.space, MIXED.metric, X, listed), boxes, strict=True):
        assert same_regions(compiled, Compiled(() if box is None else (box,), complete=True))


def test_a_zero_of_a_query_keeps_its_sign_whatever_other_queries_hold() -> None:
    where = setting(pd.DataFrame({"a": [0.0, 1.0], "s": [0.0, 1.0]}), {"s": numeric(step=0.25)})
    X = np.array([[-0.0, 0.1], [0.5, 0.5]])
    together = compile_queries(where.space, where.metric, X, [])
    alone = [compile_query(where.space, where.metric, x, []) for x in X]
    assert every(same_regions(one, other) for one, other in zip(together, alone, strict=True))


def test_time_that_is_up_leaves_open_what_meets_the_constraints_but_not_that_nothing_does() -> None:
    X = np.stack([FLAT.space.encode_row(ORIGIN)] * 2)
    free = compile_queries(FLAT.space, FLAT.metric, X, [], deadline=-math.inf)
    assert free == [Compiled((), complete=False)] * 2
    clash = [constraint("c0 <= 10"), constraint("c0 >= 20")]
    none = compile_queries(FLAT.space, FLAT.metric, X, clash, deadline=-math.inf)
    assert none == [Compiled((), complete=True)] * 2


def test_no_queries_have_no_regions() -> None:
    assert compile_queries(FLAT.space, FLAT.metric, np.empty((0, 8)), [constraint("c0 <= 10")]) == []


def test_blocks_of_queries_are_compiled_as_if_they_were_one(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).uniform(0, 20, size=(7, 8))
    listed = [constraint("c0 <= x.c0"), constraint("c1 == x.c1"), constraint("c2 + c3 <= 30")]
    whole = compile_queries(FLAT.space, FLAT.metric, X, listed)
    monkeypatch.setattr("ssba.arrays._CELLS_AT_ONCE", 16)
    parts = compile_queries(FLAT.space, FLAT.metric, X, listed)
    assert every(same_regions(one, other) for one, other in zip(whole, parts, strict=True))


def regions_of(where: Setting, query: Any, *texts: str) -> tuple[Any, ...]:
    return where.regions(where.space.encode_row(query), [constraint(text) for text in texts])


def test_without_constraints_the_region_is_the_range_of_the_data_and_the_query() -> None:
    (region,) = regions_of(FLAT, {**ORIGIN, "c0": -5.0, "c1": 30.0})
    assert region.lower[:3].tolist() == [-5.0, 0.0, 0.0]
    assert region.upper[:3].tolist() == [20.0, 30.0, 20.0]


def test_a_constraint_replaces_the_datas_range_on_its_side_only() -> None:
    (region,) = regions_of(FLAT, ORIGIN, "c0 <= 50", "c1 >= -7", "c2 >= 25")
    assert (region.lower[0], region.upper[0]) == (0.0, 50.0)
    assert (region.lower[1], region.upper[1]) == (-7.0, 20.0)
    assert (region.lower[2], region.upper[2]) == (25.0, math.inf)


def test_declared_bounds_are_hard_whatever_a_constraint_says() -> None:
    where = setting(pd.DataFrame({"a": [0.0, 20.0]}), {"a": numeric(low=-1, high=30)})
    (region,) = regions_of(where, {"a": 3.0}, "a <= 50", "a >= -50")
    assert (region.lower[0], region.upper[0]) == (-1.0, 30.0)
    assert regions_of(where, {"a": 3.0}, "a >= 31") == ()


@pytest.mark.parametrize("value", [300, 1000])
def test_no_bound_goes_beyond_what_the_dtype_can_hold(value: int) -> None:
    where = setting(pd.DataFrame({"a": np.array([0, 200], dtype=np.uint8)}))
    (region,) = regions_of(where, {"a": 7}, f"a <= {value}", "a >= -5")
    assert (region.lower[0], region.upper[0]) == (0.0, 255.0)


def test_strict_bounds_exclude_their_value_on_every_grid() -> None:
    frame = pd.DataFrame({"r": [0.0, 9.0], "n": [0, 9], "s": [0.0, 9.0], "f": np.array([0, 9], np.float32)})
    where = setting(frame, {"s": numeric(step=0.1)})
    query = {"r": 0.0, "n": 0, "s": 0.0, "f": 0.0}
    (region,) = regions_of(where, query, "r < 3.7", "n < 4", "s < 3.7", "f < 3.7")
    # A 32-bit number means the digits it is shown with: the one shown as 3.7 is 3.7, though it lies above it.
    below, above = (float(np.nextafter(np.float32(3.7), np.float32(end))) for end in (0, 9))
    assert region.upper.tolist() == [math.nextafter(3.7, 0), 3.0, 3.6, below]
    (region,) = regions_of(where, query, "r > 3.7", "n > 3.5", "s > 3.7", "f > 3.7")
    assert region.lower.tolist() == [math.nextafter(3.7, 9), 4.0, 3.8, above]


@pytest.mark.parametrize("query", [0.0, -130.0, 130.0])
def test_percentages_are_of_the_size_of_the_value_whatever_its_sign(query: float) -> None:
    where = setting(pd.DataFrame({"a": [-500.0, 500.0], "b": [0.0, 1.0]}))
    (region,) = regions_of(where, {"a": query, "b": 0.0}, "a within 20%")
    assert region.lower[0] == query - 0.2 * abs(query)
    assert region.upper[0] == query + 0.2 * abs(query)
    assert bool(region.held[0]) is (query == 0)


def test_a_rule_gives_one_region_for_each_way_to_obey_it() -> None:
    where = setting(pd.DataFrame({"smoker": ["yes", "no"], "age": [20, 80], "bmi": [20.0, 40.0]}))
    regions = regions_of(
        where, {"smoker": "yes", "age": 40, "bmi": 30.0}, "if smoker changes: age >= x.age + 1"
    )
    assert len(regions) == 2
    assert sorted(bool(region.held[0]) for region in regions) == [False, True]
    assert sorted(float(region.lower[1]) for region in regions) == [20.0, 41.0]


def test_many_rules_never_hide_the_one_way_that_obeys_all() -> None:
    texts = [f"c{i} != 5" for i in range(7)] + [f"c{i} >= 6" for i in range(7)]
    (region,) = regions_of(FLAT, ORIGIN, *texts)
    assert region.start[:7].tolist() == [6.0] * 7


def test_one_of_many_numbers_is_not_cut_off() -> None:
    where = setting(pd.DataFrame({"a": [0.0, 200.0]}))
    listed = [one_of("a", [i + 0.5 for i in range(100)]), constraint("a >= 80")]
    regions = where.regions(where.space.encode_row({"a": 150.0}), listed)
    assert {float(region.start[0]) for region in regions} == {i + 0.5 for i in range(80, 100)}


def test_ways_that_a_line_rules_out_do_not_hide_those_that_it_allows() -> None:
    where = setting(pd.DataFrame({"a": [0.0, 200.0], "b": [0.0, 200.0]}), {"b": numeric(low=0)})
    listed = [one_of("a", [i + 0.5 for i in range(180)]), relation("a - b >= 170")]
    regions = where.regions(where.space.encode_row({"a": 0.0, "b": 0.0}), listed)
    assert {float(region.start[0]) for region in regions} == {i + 0.5 for i in range(170, 180)}


def test_the_nearest_ways_are_kept_when_there_are_too_many() -> None:
    where = setting(pd.DataFrame({"a": [0.0, 2000.0]}))
    listed = [one_of("a", [float(10 * i) for i in range(200)])]
    regions = where.regions(where.space.encode_row({"a": 1701.0}), listed)
    assert len(regions) <= MAX_REGIONS
    assert any(region.start[0] == 1700.0 for region in regions)


def test_a_clash_names_only_those_that_clash_even_if_one_is_given_twice() -> None:
    x = FLAT.space.encode_row(ORIGIN)
    low, high, other = constraint("c0 <= 10"), constraint("c0 >= 20"), constraint("c1 <= 3")
    assert set(clashing(FLAT.space, FLAT.metric, x, [other, low, high])) == {low, high}
    # The time of the query may be over by then.
    over = time.monotonic() - 0.01
    assert set(clashing(FLAT.space, FLAT.metric, x, [other, low, high], over)) == {low, high}
    assert len(clashing(FLAT.space, FLAT.metric, x, [high, other, low, high])) == 2
    assert len(clashing(FLAT.space, FLAT.metric, x, [high, low, constraint("c0 >= 20")])) == 2


def stopping_after(times: int) -> Callable[[int], None]:
    """Return a watcher that is told of no rows, and ends the work after some times."""
    told: list[int] = []

    def watch(rows: int) -> None:
        assert rows == 0
        told.append(rows)
        if len(told) > times:
            raise StoppedError("enough")

    return watch


def test_a_watcher_can_stop_what_asks_no_model() -> None:
    x = FLAT.space.encode_row(ORIGIN)
    rules = [constraint(f"if c0 >= {i}: c1 <= {i}") for i in range(10)]
    clash = [constraint("c0 <= 10"), constraint("c0 >= 20"), *rules]
    for times in (0, 5, 15):
        with watched(stopping_after(times)), pytest.raises(StoppedError):
            compile_query(FLAT.space, FLAT.metric, x, rules)
    with watched(stopping_after(20)), pytest.raises(StoppedError):
        clashing(FLAT.space, FLAT.metric, x, clash)


def test_a_clash_among_many_is_found_without_trying_each(monkeypatch: pytest.MonkeyPatch) -> None:
    x = FLAT.space.encode_row(ORIGIN)
    low, high = constraint("c0 <= 10"), constraint("c0 >= 20")
    others = [constraint(f"c1 <= {i}") for i in range(500)]
    tried: list[int] = []

    def counting(*asked: Any) -> Compiled:
        tried.append(len(asked[3]))
        return compile_query(*asked)

    monkeypatch.setattr("ssba.constraints.regions.compile.compile_query", counting)
    assert clashing(FLAT.space, FLAT.metric, x, [*others, low, *others, high]) == (low, high)
    assert len(tried) < 100


def test_lines_can_clash_with_each_other() -> None:
    listed = [constraint(text) for text in ("c0 + c1 >= 30", "c2 <= 5", "c0 <= 12", "c1 <= 17")]
    for one in listed:
        check(one, FLAT.space.by_name)
    named = clashing(FLAT.space, FLAT.metric, FLAT.space.encode_row(ORIGIN), listed)
    assert [one.text for one in named] == ["c0 + c1 >= 30", "c0 <= 12", "c1 <= 17"]


def test_a_constant_column_is_held() -> None:
    where = setting(pd.DataFrame({"a": [1.0, 2.0], "k": [7.0, 7.0]}))
    (region,) = regions_of(where, {"a": 1.0, "k": 7.0})
    assert region.held.tolist() == [False, True]

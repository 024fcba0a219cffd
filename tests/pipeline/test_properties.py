"""Laws over generated queries and constraints: what is returned reaches the target and obeys everything.

Every generated constraint comes with its meaning in plain Python, so that the check is not the
library's own.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ssba

Row = dict[str, Any]
STAGES = ("I", "II", "III")
PAINS = ("none", "mild", "strong")
# 48 examples of 50 queries each: 2,400 generated cases.
MIXED_EXAMPLES, REAL_EXAMPLES, QUERIES = 24, 24, 50
TINY = ssba.Budget(rows=90)

_rng = np.random.default_rng(13)
FRAME = pd.DataFrame(
    {
        "age": _rng.integers(20, 80, size=300),
        "dose": _rng.integers(-20, 21, size=300) / 10,
        "chol": _rng.normal(0, 40, size=300),
        "pain": _rng.choice(PAINS, size=300),
        "stage": _rng.choice(STAGES, size=300),
        "smoker": _rng.random(300) < 0.4,
        "gap": np.where(_rng.random(300) < 0.2, np.nan, _rng.normal(size=300)),
    }
)
NUMBERS = ("age", "dose", "chol")
ORDERED = (*NUMBERS, "stage")


def risky(rows: pd.DataFrame) -> Any:
    """A cheap model with a curved boundary, corners and interactions."""
    age, dose, chol = ((rows[name].to_numpy(dtype=float)) for name in NUMBERS)
    rank = np.searchsorted(STAGES, rows["stage"].to_numpy(dtype=str))
    smoker, strong = rows["smoker"].to_numpy(dtype=bool), (rows["pain"] == "strong").to_numpy()
    bend = np.sin(chol / 30) + dose**2 / 2 - 0.3 * dose
    total = (age - 50) / 25 + bend + 0.4 * rank + np.where(smoker, 0.8, 0.0) * (1 + strong)
    return np.where(total > 1.0, "risk", "fine")


def explainer(seed: int = 0) -> ssba.Explainer:
    kinds = {"dose": ssba.numeric(step=0.1), "stage": ssba.ordinal(STAGES)}
    return ssba.Explainer(risky, FRAME, features=kinds, seed=seed)


MIXED = explainer()


@dataclass(frozen=True)
class Rule:
    """A constraint, and what it means for a query and an answer."""

    given: ssba.Constraint | str
    holds: Callable[[Row, Row], bool]


def rank(name: str, value: Any) -> float:
    return float(STAGES.index(value) if name == "stage" else value)


def fixed(name: str) -> Rule:
    return Rule(ssba.fixed(name), lambda x, row: bool(row[name] == x[name]))


def monotone(name: str, up: bool) -> Rule:
    sign = 1 if up else -1
    made = ssba.increase(name) if up else ssba.decrease(name)
    return Rule(made, lambda x, row: sign * rank(name, row[name]) >= sign * rank(name, x[name]))


def between(name: str, low: float, width: float) -> Rule:
    return Rule(ssba.between(name, low, low + width), lambda _, row: bool(low <= row[name] <= low + width))


def digits(number: float) -> Fraction:
    """Return what a number's digits show, which is what constraints are about."""
    return Fraction(repr(number))


def percent(name: str, share: int) -> Rule:
    def holds(x: Row, row: Row) -> bool:
        return abs(digits(row[name]) - digits(x[name])) <= abs(digits(x[name])) * share / 100

    return Rule(ssba.within(name, percent=share), holds)


def amount(name: str, reach: int) -> Rule:
    return Rule(f"{name} within {reach}", lambda x, row: abs(digits(row[name]) - digits(x[name])) <= reach)


def one_of(levels: list[str]) -> Rule:
    return Rule(ssba.one_of("pain", levels), lambda _, row: row["pain"] in levels)


def transition(moves: dict[str, list[str]]) -> Rule:
    return Rule(
        ssba.transition("pain", moves),
        lambda x, row: row["pain"] == x["pain"] or row["pain"] in moves.get(x["pain"], []),
    )


def related(step: int) -> Rule:
    return Rule(ssba.relation(f"chol - age >= {step}"), lambda _, row: row["chol"] - row["age"] >= step)


def linear(share: int) -> Rule:
    text = f"2 * age + 10 * dose <= 2 * x.age + {share}"
    return Rule(text, lambda x, row: 2 * row["age"] + 10 * row["dose"] <= 2 * x["age"] + share + 1e-9)


def different(name: str) -> Rule:
    return Rule(f"{name} != x.{name}", lambda x, row: bool(row[name] != x[name]))


def only_with_age(name: str, years: int) -> Rule:
    return Rule(
        f"if {name} changes: age >= x.age + {years}",
        lambda x, row: row[name] == x[name] or row["age"] >= x["age"] + years,
    )


def guarded(dose: float) -> Rule:
    return Rule(
        f"if dose > {dose} and smoker == True: pain in {{'none', 'mild'}}",
        lambda _, row: not (row["dose"] > dose and row["smoker"]) or row["pain"] in ("none", "mild"),
    )


RULES = st.one_of(
    st.builds(fixed, st.sampled_from([*ORDERED, "pain", "smoker"])),
    st.builds(monotone, st.sampled_from(ORDERED), st.booleans()),
    st.builds(between, st.sampled_from(NUMBERS), st.integers(-40, 70), st.integers(0, 60)),
    st.builds(percent, st.sampled_from(NUMBERS), st.integers(0, 150)),
    st.builds(amount, st.sampled_from(NUMBERS), st.integers(0, 40)),
    st.builds(one_of, st.lists(st.sampled_from(PAINS), min_size=1, unique=True)),
    st.builds(
        transition,
        st.dictionaries(
            st.sampled_from(PAINS), st.lists(st.sampled_from(PAINS), max_size=2, unique=True), min_size=1
        ),
    ),
    st.builds(related, st.integers(-120, 20)),
    st.builds(linear, st.integers(-20, 20)),
    st.builds(different, st.sampled_from([*ORDERED, "pain", "smoker"])),
    st.builds(only_with_age, st.sampled_from(["pain", "smoker", "stage", "chol"]), st.integers(0, 3)),
    st.builds(guarded, st.integers(-15, 15).map(lambda tenths: tenths / 10)),
)
RULE_LISTS = st.lists(st.lists(RULES, max_size=4), min_size=QUERIES, max_size=QUERIES)
STARTS = st.integers(0, len(FRAME) - QUERIES)


def same_bits(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return struct.pack("<d", one) == struct.pack("<d", other)
    return type(one) is type(other) and bool(one == other)


def assert_legal(row: Row, x: Row) -> None:
    assert type(row["age"]) is int
    assert row["dose"] in (x["dose"], round(row["dose"] * 10) / 10)
    assert row["pain"] in PAINS
    assert row["stage"] in STAGES
    assert type(row["smoker"]) is bool
    assert same_bits(row["gap"], x["gap"]) or x["gap"] is not None


def assert_lawful(explanation: ssba.results.Explanation, rules: list[Rule]) -> None:
    x = explanation.query
    moves = [*explanation.counterfactuals, *([explanation.bounded] if explanation.bounded else [])]
    for move in moves:
        assert_legal(move.values, x)
        for rule in rules:
            assert rule.holds(x, move.values), (rule.given, x, move.values)
        for name, value in move.values.items():
            assert name in move.changes or same_bits(value, x[name])
    if all(rule.holds(x, x) for rule in rules):
        assert explanation.status != "infeasible"


def answers_of(explanations: ssba.results.Explanations) -> list[tuple[Row, Row]]:
    return [(one.query, answer.values) for one in explanations for answer in one.counterfactuals]


def as_frame(rows: list[Row]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(FRAME.columns)).astype(FRAME.dtypes.to_dict())


@settings(max_examples=MIXED_EXAMPLES)
@given(start=STARTS, rules=RULE_LISTS, pick=st.integers(0, QUERIES - 1))
def test_whatever_is_returned_reaches_the_target_and_meets_every_constraint(
    start: int, rules: list[list[Rule]], pick: int
) -> None:
    rows = FRAME[start : start + QUERIES]
    given_rules = [[rule.given for rule in own] for own in rules]
    explanations = MIXED.explain_many(rows, given_rules, k=2, budget=TINY)
    for explanation, own in zip(explanations, rules, strict=True):
        assert_lawful(explanation, own)
    pairs = answers_of(explanations)
    if pairs:
        before, after = (risky(as_frame(list(side))) for side in zip(*pairs, strict=True))
        assert (before != after).all()
    alone = MIXED.explain(rows.iloc[pick], given_rules[pick], k=2, budget=TINY)
    assert alone.counterfactuals == explanations[pick].counterfactuals
    assert alone.status == explanations[pick].status


_X = _rng.normal(size=(300, 4))
_TRUTH = _X[:, 0] + _X[:, 1] ** 2 - _X[:, 2] > 0.5
REAL = {
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()).fit(_X, _TRUTH),
    "forest": RandomForestClassifier(5, max_depth=6, random_state=0, n_jobs=1).fit(_X, _TRUTH),
}
ON_ARRAYS = {name: ssba.Explainer(model, _X) for name, model in REAL.items()}
COLUMNS = st.sampled_from(["x0", "x1", "x2", "x3"])
TENTHS = st.integers(-20, 20).map(lambda tenths: tenths / 10)


def sum_below(names: tuple[str, str], high: float) -> Rule:
    one, other = names
    return Rule(f"{one} + {other} <= {high}", lambda _, row: row[one] + row[other] <= high + 1e-12)


def shrinking(name: str, other: str) -> Rule:
    return Rule(
        f"if {name} changes: {other} <= x.{other}",
        lambda x, row: row[name] == x[name] or row[other] <= x[other],
    )


ARRAY_RULES = st.one_of(
    st.builds(fixed, COLUMNS),
    st.builds(monotone, COLUMNS, st.booleans()),
    st.builds(between, COLUMNS, TENTHS, st.integers(0, 3)),
    st.builds(percent, COLUMNS, st.integers(0, 200)),
    st.builds(sum_below, st.tuples(COLUMNS, COLUMNS), TENTHS),
    st.builds(different, COLUMNS),
    st.builds(shrinking, COLUMNS, COLUMNS),
)


@pytest.mark.parametrize("name", REAL)
@settings(max_examples=REAL_EXAMPLES // len(REAL))
@given(
    start=st.integers(0, 300 - QUERIES),
    rules=st.lists(st.lists(ARRAY_RULES, max_size=4), min_size=QUERIES, max_size=QUERIES),
)
def test_answers_of_trained_models_do_too(name: str, start: int, rules: list[list[Rule]]) -> None:
    given_rules = [[rule.given for rule in own] for own in rules]
    explanations = ON_ARRAYS[name].explain_many(_X[start : start + QUERIES], given_rules, budget=TINY)
    for explanation, own in zip(explanations, rules, strict=True):
        for answer in explanation.counterfactuals:
            assert all(rule.holds(explanation.query, answer.values) for rule in own), own
    pairs = answers_of(explanations)
    if pairs:
        sides = [np.array([list(row.values()) for row in side]) for side in zip(*pairs, strict=True)]
        before, after = (REAL[name].predict(side) for side in sides)
        assert (before != after).all()


@settings(max_examples=15)
@given(seed=st.integers(0, 2**31), start=STARTS, rules=st.lists(RULES, max_size=4))
def test_the_same_seed_gives_the_same_answer_alone_or_in_a_batch(
    seed: int, start: int, rules: list[Rule]
) -> None:
    rows, given_rules = FRAME[start : start + 6], [rule.given for rule in rules]
    first = explainer(seed).explain_many(rows, given_rules, k=2, budget=TINY)
    again = explainer(seed)
    for i in range(len(rows)):
        alone = again.explain(rows.iloc[i], given_rules, k=2, budget=TINY)
        assert alone.counterfactuals == first[i].counterfactuals
        assert alone.rows_used == first[i].rows_used


@settings(max_examples=40)
@given(
    cells=st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3),
    held=st.sets(st.sampled_from(["x0", "x1"]), min_size=1),
)
def test_fixed_cells_are_bit_identical_wherever_they_lie(cells: list[float], held: set[str]) -> None:
    data = _rng.normal(size=(50, 3))
    model = ssba.Explainer(lambda rows: rows[:, 2] > 0.3, data)
    explanation = model.explain(cells, [ssba.fixed(name) for name in held], budget=TINY)
    for answer in explanation.counterfactuals:
        for name in held:
            assert same_bits(answer.values[name], explanation.query[name])
            assert struct.pack("<d", answer.values[name]) == struct.pack("<d", cells[int(name[1])])

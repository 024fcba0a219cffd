"""The checker itself: it is right about rows whose truth is known by hand, and false results do not pass."""

import json
import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.generated.candidates import Candidates
from tests.generated.checks import Case, check_result
from tests.generated.claims import check_evidence
from tests.generated.clauses import Between, Changes, Linear, Member, Term, Within
from tests.generated.columns import Column, Matrix
from tests.generated.drawing import world
from tests.generated.findings import Findings
from tests.generated.functions import Function, HalfSpaces
from tests.generated.models import Target, Watch, watched
from tests.generated.reference import optimum
from tests.generated.repeats import same
from tests.generated.report import markdown, run_many, tallied
from tests.generated.rules import Rule
from tests.generated.running import run
from tests.generated.script import script
from tests.generated.shrink import shrink
from tests.generated.truth import Truth
from tests.generated.verdicts import EITHER, NO, YES, Clause
from tests.generated.worlds import Measure, Options, World

import ssba

A, B, C = (
    Column("a", "integer", "int64", step=1.0),
    Column("b", "integer", "int64", step=1.0),
    Column("c", "categorical", "str", ("blue", "red")),
)


def whole_numbers(*rules: Rule, **changed: Any) -> World:
    """A world that can be worked out by hand: a and b from 0 to 8, c of two colours, target a + b > 10."""
    cells = np.arange(81)
    data = np.column_stack([cells // 9, cells % 9, cells % 2]).astype(float)
    model = Function((A, B, C), HalfSpaces(((1.0, 1.0, 0.0),), (10.0,)), "labels")
    plain = World(
        seed=0,
        family="table",
        columns=(A, B, C),
        data=data,
        as_array=False,
        measure=Measure("l2", "none"),
        model=model,
        target=Target("class", True),
        query=np.array([4.0, 4.0, 0.0]),
        rules=rules,
    )
    return replace(plain, **changed)


def smooth(*rules: Rule, norm: Any = "l2") -> World:
    """Two real columns from -4 to 4, target 3a + 4b > 5, the query at the origin."""
    columns = tuple(Column(name, "numeric", "float64") for name in ("a", "b"))
    data = np.random.default_rng(0).uniform(-4, 4, (60, 2))
    data[0], data[1] = -4, 4
    model = Function(columns, HalfSpaces(((3.0, 4.0),), (5.0,)), "labels")
    return World(
        0,
        "function",
        columns,
        data,
        False,
        Measure(norm, "none"),
        model,
        Target("class", True),
        np.zeros(2),
        rules,
    )


def at_least(name: str, number: str) -> Rule:
    return Rule((Linear((Term("1", name),), ">=", number=number),))


def case_of(
    asked: World, forge: Callable[[ssba.results.Explanation], ssba.results.Explanation] = lambda one: one
) -> Case:
    """Return the case of a world's own result, changed by a forger."""
    explainer, truth = asked.explainer(), Truth(asked)
    result = explainer.explain(asked.values, asked.given_rules(), **asked.options.given())
    return Case(asked, truth, Candidates(truth), forge(result), explainer, Findings(0, asked.family))


def failed(case: Case) -> set[str]:
    check_result(case)
    check_evidence(case, 20_000)
    return case.findings.failed


def test_an_honest_result_passes_every_check() -> None:
    case = case_of(whole_numbers(at_least("a", "5")))
    assert failed(case) == set()
    assert case.findings.checks.total() > 20


def forged_best(**changed: Any) -> Callable[[ssba.results.Explanation], ssba.results.Explanation]:
    def forge(result: ssba.results.Explanation) -> ssba.results.Explanation:
        assert result.best is not None
        return replace(result, counterfactuals=(replace(result.best, **changed),))

    return forge


def forged_evidence(**changed: Any) -> Callable[[ssba.results.Explanation], ssba.results.Explanation]:
    return lambda result: replace(result, evidence=replace(result.evidence, **changed))


FAR = {"a": 8, "b": 8, "c": "blue"}


@pytest.mark.parametrize(
    ("forge", "statement"),
    [
        (forged_best(distance=0.5), "distance"),
        (forged_best(prediction=False), "prediction"),
        (forged_best(changes={}), "changes"),
        (forged_best(values={"a": 5, "b": 5, "c": "blue"}), "reaches"),
        (forged_best(values={"a": 4, "b": 8, "c": "blue"}), "rules"),
        (forged_best(values={"a": 9, "b": 4, "c": "blue"}), "legal"),
        (forged_best(distance_to_data=3.0), "distance to data"),
        (forged_best(values=FAR, changes={"a": (4, 8), "b": (4, 8)}, distance=math.sqrt(32)), "exhausted"),
        (forged_evidence(share=0.3, drawn=59), "share"),
        (forged_evidence(nearer_than=1.0), "nearer_than"),
        (forged_evidence(nearer_than=None), "nearer_than with an answer"),
        (forged_evidence(lower_bound=4.0), "lower_bound"),
        (forged_evidence(proof="unreachable", lower_bound=None), "unreachable"),
        (forged_evidence(proof="optimal", lower_bound=None), "optimal has a bound"),
        (forged_evidence(nearer_than=math.inf), "evidence is finite"),
        (lambda one: replace(one, counterfactuals=one.counterfactuals * 2), "status: at most k answers"),
        (lambda one: replace(one, status=ssba.results.Status.BOUNDED), "status: found has answers"),
        (lambda one: replace(one, status=ssba.results.Status.ALREADY_THERE), "status: already_there reaches"),
        (lambda one: replace(one, status=ssba.results.Status.INFEASIBLE, clash=("a >= 5",)), "infeasible"),
        (lambda one: replace(one, query={**one.query, "a": 3}), "query as given"),
        (lambda one: replace(one, bounded=one.best), "a bounded move does not reach"),
    ],
)
def test_a_false_result_is_reported(
    forge: Callable[[ssba.results.Explanation], ssba.results.Explanation], statement: str
) -> None:
    assert statement in failed(case_of(whole_numbers(at_least("a", "5")), forge))


def test_an_answer_that_changes_too_many_columns_is_reported() -> None:
    forge = forged_best(values={"a": 6, "b": 5, "c": "blue"}, changes={"a": (4, 6), "b": (4, 5)})
    assert "max_changes" in failed(case_of(whole_numbers(options=Options(max_changes=1)), forge))


def test_a_sparse_answer_over_its_price_is_reported() -> None:
    forge = forged_best(values=FAR, changes={"a": (4, 8), "b": (4, 8)}, distance=math.sqrt(32))
    assert "price" in failed(case_of(whole_numbers(options=Options(sparsity="balanced")), forge))


def test_answers_out_of_order_are_reported() -> None:
    def forge(result: ssba.results.Explanation) -> ssba.results.Explanation:
        far = forged_best(values=FAR, distance=math.sqrt(32))(result)
        return replace(result, counterfactuals=far.counterfactuals + result.counterfactuals[:1])

    assert "best first" in failed(case_of(whole_numbers(options=Options(k=2)), forge))
    by_distance = Options(k=2, diversity="distance")
    assert "nearest first" in failed(case_of(whole_numbers(options=by_distance), forge))


def test_a_ball_that_is_left_is_reported() -> None:
    # One step toward the query, which lies within the radius of 1, does not reach.
    asked = whole_numbers(options=Options(ball=1.0))
    forge = forged_best(values={"a": 6, "b": 5, "c": "blue"}, changes={"a": (4, 6), "b": (4, 5)})
    assert "ball" in failed(case_of(asked, forge))


def test_a_false_bound_of_a_real_model_is_found_by_attack_and_by_the_optimum() -> None:
    seen = failed(case_of(smooth(), forged_evidence(lower_bound=1.01)))
    assert {"lower_bound", "lower_bound and optimum"} <= seen


def test_results_that_differ_are_told_apart() -> None:
    one = case_of(whole_numbers()).result
    assert same(one, one) is None
    assert same(one, forged_best(distance=9.0)(one)) is not None


@pytest.mark.parametrize(
    ("clause", "row", "verdict"),
    [
        (Linear((Term("0.1", "a"), Term("0.2", "b")), "<=", number="0.3"), (1, 1), YES),
        (Linear((Term("0.1", "a"), Term("0.2", "b")), "<", number="0.3"), (1, 1), NO),
        (Linear((Term("1", "a"), Term("-0.5", "b")), "==", number="0.5"), (1, 1), YES),
        (Linear((Term("1", "a"), Term("-0.5", "b")), "!=", number="0.5"), (1, 1), NO),
        (Linear((Term("1", "a"),), ">=", (Term("1", "a", old=True),)), (3, 0), NO),
        (Within("a", "50", percent=True), (6, 0), YES),
        (Within("a", "50", percent=True), (7, 0), NO),
        (Between("a", 2, 3), (3, 0), YES),
        (Member("a", (1, 2), inside=False), (2, 0), NO),
        (Changes("a"), (4, 0), NO),
    ],
)
def test_rules_mean_what_their_digits_say(clause: Clause, row: tuple[int, int], verdict: np.int8) -> None:
    Z = np.array([[*row, 0.0]])
    assert Rule((clause,)).truth(whole_numbers().ground, Z)[0] == verdict


def test_an_if_rule_asks_only_where_its_guard_holds() -> None:
    rule = Rule((Between("b", 5, 6),), guard=(Changes("a"),))
    rows = np.array([[4.0, 0.0, 0.0], [5.0, 0.0, 0.0], [5.0, 5.0, 0.0]])
    assert rule.truth(whole_numbers().ground, rows).tolist() == [YES, NO, YES]


def test_nothing_is_asked_of_a_cell_that_stays_missing() -> None:
    column = Column("a", "numeric", "float64")
    asked = replace(smooth(), columns=(column, smooth().columns[1]), query=np.array([np.nan, 0.0]))
    rows = np.array([[np.nan, 0.0], [1.0, 0.0]])
    assert Rule((Changes("a", stays=True),)).truth(asked.ground, rows).tolist() == [YES, NO]


def test_a_real_row_a_hair_beside_a_relation_may_go_either_way() -> None:
    relation = Linear((Term("1", "a"), Term("1", "b")), "<=", number="1")
    rows = np.array([[0.5, 0.5], [0.5, 0.5 + 1e-13], [0.5, 0.6]])
    assert relation.truth(smooth().ground, rows).tolist() == [YES, EITHER, NO]


def legal(asked: World, *rows: tuple[float, ...]) -> list[Any]:
    return list(Truth(asked).legal(np.array(rows)))


def test_a_rule_that_asks_for_a_side_replaces_the_default_there() -> None:
    assert legal(whole_numbers(), (9, 4, 0), (8, 4, 0), (4.5, 4, 0)) == [NO, YES, NO]
    # From 10 on, the largest value of the data is no end any more.
    assert legal(whole_numbers(at_least("a", "10")), (10, 4, 0), (99, 4, 0)) == [YES, YES]
    forbids = Rule((Linear((Term("1", "a"),), "!=", number="8"),))
    assert legal(whole_numbers(forbids), (9, 4, 0)) == [NO]


def test_a_relation_beyond_the_ranges_lets_its_columns_go_as_far_as_it_needs() -> None:
    relation = Rule((Linear((Term("1", "a"), Term("1", "b")), ">=", number="20"),))
    # With b at its lowest, a must come to 20.
    assert legal(whole_numbers(relation), (12, 8, 0), (20, 0, 0), (21, 0, 0)) == [YES, YES, EITHER]


def test_small_worlds_are_listed_in_full() -> None:
    listed = Candidates(Truth(whole_numbers(at_least("a", "5")))).listed
    assert listed is not None
    assert listed.is_complete
    assert len(listed.rows) == 4 * 9 * 2


@pytest.mark.parametrize(("norm", "expected"), [("l2", 1.0), ("l1", 1.25)])
def test_the_nearest_row_of_a_plane_is_known(norm: str, expected: float) -> None:
    # To 3a + 4b = 5 it is 5 / 5 in L2, and 5 / 4 along b in L1.
    between = optimum(Truth(smooth(norm=norm)))
    assert between == pytest.approx((expected, expected), abs=1e-7)


def test_the_nearest_row_under_a_rule_is_known() -> None:
    # With a held at 0, b must come to 1.25.
    held = Rule((Changes("a", stays=True),))
    assert optimum(Truth(smooth(held))) == pytest.approx((1.25, 1.25), abs=1e-7)


def test_the_watch_counts_what_no_row_should_hold() -> None:
    asked = smooth()
    watch = Watch(asked.columns, np.zeros(2, dtype=bool))
    watched(asked.built, watch)(asked.judge.rows(np.zeros((1, 2))))
    assert not watch.odd
    watch.look(asked.judge.rows(np.array([[np.nan, 1.0], [np.inf, 1.0]])))
    assert set(watch.odd) == {"a missing cell", "an infinite or unknown cell"}


def test_a_seed_always_gives_the_same_world() -> None:
    one, other = world(17), world(17)
    assert script(one) == script(other)
    assert one.extras == other.extras


def test_the_script_of_a_world_gives_the_result_of_the_world() -> None:
    asked = whole_numbers(at_least("a", "5"))
    told = script(asked) + "print(result.to_json())\n"
    ran = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    read = ssba.results.Explanation.from_json(ran.stdout.splitlines()[-1])
    assert read.counterfactuals == case_of(asked).result.counterfactuals


def test_a_failing_world_shrinks_to_what_makes_it_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = Rule((Member("c", ("blue", "red")),))
    asked = whole_numbers(noise, at_least("a", "5"), options=Options(k=2, evidence=10))

    def fails_by_the_other_rule(tried: World, *_: object) -> Findings:
        findings = Findings(0, tried.family)
        findings.check("wrong", not any(rule.text == "a >= 5" for rule in tried.rules))
        return findings

    monkeypatch.setattr("tests.generated.shrink.run", fails_by_the_other_rule)
    smaller = shrink(asked, "wrong")
    assert [rule.text for rule in smaller.rules] == ["a >= 5"]
    assert smaller.options == Options()
    assert smaller.names == ["a"]


def test_what_a_world_raises_is_a_failure_and_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("no")

    monkeypatch.setattr(ssba.Explainer, "explain", broken)
    findings = run(whole_numbers())
    assert findings.failed == {"exception"}
    assert "ZeroDivisionError" in findings.failures[0].shown


def test_tables_count_worlds_and_name_seeds() -> None:
    one = Findings(3, "table", over_optimum=1.5, by="labels")
    one.check("distance", False, "far")
    told = markdown(tallied([one, Findings(4, "table")]))
    assert "| table | 2 | 1 | 1 |" in told
    assert "| table | distance | 1 | 3 |" in told
    assert "| table | labels | 1 | 1.5000 | 1.5000 |" in told


def test_many_worlds_run_in_the_order_of_their_seeds() -> None:
    assert [one.seed for one in run_many(range(2), ("table",), 100)] == [0, 1]


def test_codes_are_read_from_rows_as_they_were_written() -> None:
    asked = whole_numbers()
    Z: Matrix = asked.judge.query[None, :]
    assert json.loads(asked.judge.rows(Z).to_json(orient="records")) == [{"a": 4, "b": 4, "c": "blue"}]

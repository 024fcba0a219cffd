"""Every problem with a known optimum, by labels and by scores, in every norm that it is known in."""

import numpy as np
import pytest
from tests.problems import PROBLEMS

import ssba

CASES = [
    (name, norm, by)
    for name, one in PROBLEMS.items()
    for norm in one.distances
    for by in ("labels", "scores")
]
# What the search, which proves nothing here, may add to the nearest distance.
NEAR = 1.02


@pytest.mark.parametrize(("name", "norm", "by"), CASES)
def test_the_answer_is_as_near_as_it_can_be(name: str, norm: str, by: str) -> None:
    problem = PROBLEMS[name]
    best = problem.explainer(by, norm).explain(problem.query).best
    assert best is not None
    row = np.array([list(best.values.values())], dtype=float)
    assert problem.labels(row)[0]
    known = problem.distances[norm]
    assert known * (1 - 1e-9) <= best.distance <= known * NEAR


@pytest.mark.parametrize(("name", "norm", "by"), CASES)
def test_nothing_is_claimed_beyond_what_is_so(name: str, norm: str, by: str) -> None:
    problem = PROBLEMS[name]
    evidence = problem.explainer(by, norm).explain(problem.query).evidence
    assert evidence.nearer_than is not None
    assert evidence.nearer_than >= problem.distances[norm] * (1 - 1e-9)
    assert evidence.lower_bound is None or evidence.lower_bound <= problem.distances[norm] * (1 + 1e-9)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_batch_gives_what_single_queries_give(name: str) -> None:
    problem = PROBLEMS[name]
    explainer, queries = problem.explainer("labels"), problem.data[~problem.labels(problem.data)][:5]
    together = explainer.explain_many(queries, progress=False)
    alone = [explainer.explain(query) for query in queries]
    assert len(together) == 5
    assert [one.counterfactuals for one in together] == [one.counterfactuals for one in alone]
    assert {one.status for one in alone} == {ssba.results.Status.FOUND}

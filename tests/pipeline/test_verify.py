"""Answers are checked as they are written: in one model call for all queries, and against each constraint."""

from typing import Any

import numpy as np
import pytest
from tests.support import Matrix, every

from ssba.columns.distance import Distance
from ssba.constraints.constraint import constraint
from ssba.engine import Engine, Settings, build_engine
from ssba.models.targets import Reach
from ssba.pipeline.answer import Request, compiled_states
from ssba.pipeline.state import Limits, QueryState
from ssba.pipeline.verify import counterfactual, counterfactuals, verify
from ssba.search.archive import Archive
from ssba.search.regions import Regions

DATA = np.random.default_rng(5).normal(size=(300, 3))


def plane(rows: Any) -> Any:
    return np.asarray(rows)[:, 0] + np.asarray(rows)[:, 1] > 1


def engine(model: Any = plane) -> Engine:
    return build_engine(model, DATA, Settings(target=True, distance=Distance(scale="none")))


def state(made: Engine, hits: Matrix, *texts: str) -> QueryState:
    """Return a query at zero for which some rows were found to reach."""
    rules = tuple(constraint(text) for text in texts)
    request = Request(np.zeros(3), rules, goal=Reach(made.target))
    (found,) = compiled_states(made, [request], Limits())
    archive = Archive(found.query.regions[0], made.metric)
    distances = found.distance(hits)
    order = np.argsort(distances, kind="stable")
    archive.add(hits[order], distances[order])
    found.found.archives.append(archive)
    return found


def best(found: QueryState) -> list[list[float]]:
    return [list(one.values.values()) for one in found.found.answers]


class TestConstraints:
    @pytest.mark.parametrize(
        "text", ["x0 <= 1", "x0 within 1", "x0 in {0, 1}", "x0 + x2 <= 1", "if x0 changes: x0 <= 1"]
    )
    def test_they_are_checked_in_user_units_whatever_the_regions_say(
        self, text: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        waiting = state(engine(), np.array([[1.25, 0.0, 0.0], [1.0, 1.0, 0.0]]), text)
        monkeypatch.setattr(Regions, "contains", lambda self, Z, at: np.ones(len(Z), dtype=bool))
        verify([waiting])
        assert best(waiting) == [[1.0, 1.0, 0.0]]

    def test_rows_outside_the_regions_are_refused_whatever_the_constraints_say(self) -> None:
        far = 2 * DATA[:, 0].max()
        waiting = state(engine(), np.array([[far, 0.0, 0.0], [far, 1.5, 0.0]]))
        verify([waiting])
        assert best(waiting) == []


class TestQueries:
    def test_the_next_row_stands_in_for_one_that_the_model_refuses(self) -> None:
        rows = np.array([[0.25, 0.25, 0.0], [0.5, 0.25, 0.0], [0.75, 0.25, 0.0], [1.0, 0.5, 0.0]])
        waiting = state(engine(), rows)
        verify([waiting])
        assert best(waiting) == [[1.0, 0.5, 0.0]]

    def test_all_are_asked_about_in_one_call_and_get_what_each_gets_alone(self) -> None:
        calls: list[int] = []

        def scored(rows: Any) -> Any:
            calls.append(len(rows))
            chance = 1 / (1 + np.exp(1 - np.asarray(rows)[:, 0] - np.asarray(rows)[:, 1]))
            return np.column_stack([1 - chance, chance])

        made = build_engine(scored, DATA, Settings(target=1, distance=Distance(scale="none")))
        hits = np.random.default_rng(6).uniform(1, 1.5, size=(20, 1, 3))
        together = [state(made, own) for own in hits]
        alone = [state(made, own) for own in hits]
        # A model is tried out once, whether its answers depend on the batch.
        assert not made.judging.batch_matters
        calls.clear()
        verify(together)
        assert len(calls) == 1
        for one in alone:
            verify([one])
        assert every(
            one.found.answers == other.found.answers and one.spent == other.spent
            for one, other in zip(together, alone, strict=True)
        )

    def test_without_queries_nothing_is_asked(self) -> None:
        verify([])
        assert counterfactuals([], DATA[:0], engine().judging.model.on_sample) == []


def test_answers_know_what_changed_and_how_far_the_data_are() -> None:
    made = engine()
    z = np.array([1.0, 0.5, 0.0])
    output = made.judging.oracle().verdict(z[None, :])
    answer = counterfactual(state(made, z[None, :]), z, output)
    assert answer.changes == {"x0": (0.0, 1.0), "x1": (0.0, 0.5)}
    assert answer.prediction is True
    reaching = DATA[plane(DATA)]
    assert answer.distance_to_data == pytest.approx(np.linalg.norm(reaching - z, axis=1).min(), rel=1e-12)

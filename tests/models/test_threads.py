"""Small batches are asked about with one thread, and nothing stays changed."""

import threading
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from threadpoolctl import threadpool_info, threadpool_limits

from ssba.models import threads
from ssba.models.model import adapt
from ssba.models.threads import with_few_threads

X = np.random.default_rng(0).normal(size=(60, 2))


def pool_sizes() -> list[int]:
    sizes = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp"]
    assert sizes
    return sizes


class Noting:
    """A model that notes how many threads it may use."""

    def __init__(self) -> None:
        self.pools: list[list[int]] = []
        self.jobs: list[int] = []

    def __call__(self, rows: Any) -> Any:
        self.pools.append(pool_sizes())
        self.jobs.append(joblib.effective_n_jobs(-1))
        return rows[:, 0] > 0


@pytest.fixture
def several_threads() -> Any:
    with threadpool_limits(3):
        yield


@pytest.mark.usefixtures("several_threads")
class TestThreads:
    def test_few_rows_get_one_thread_and_the_limit_is_lifted_afterwards(self) -> None:
        noting = Noting()
        model = with_few_threads(adapt(noting, X))
        noting.pools.clear()
        for ask in (model.labels, model.output, model.verdict):
            ask(X)
        assert {size for sizes in noting.pools for size in sizes} == {1}
        assert set(noting.jobs[1:]) == {1}
        assert set(pool_sizes()) == {3}

    def test_many_rows_get_all_threads(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(threads, "_MANY_ROWS", 60)
        noting = Noting()
        model = with_few_threads(adapt(noting, X))
        model.labels(X)
        assert set(noting.pools[-1]) == {3}

    def test_a_model_that_fails_leaves_no_limit_behind(self) -> None:
        def failing(rows: Any) -> Any:
            if len(rows) == 7:
                raise RuntimeError("no")
            return rows[:, 0] > 0

        model = with_few_threads(adapt(failing, X))
        with pytest.raises(Exception, match="no"):
            model.labels(X[:7])
        assert set(pool_sizes()) == {3}

    def test_a_call_in_another_thread_changes_nothing_here(self) -> None:
        is_in, may_end = threading.Event(), threading.Event()
        seen: list[list[int]] = []

        def waiting(rows: Any) -> Any:
            if len(rows) == 7:
                is_in.set()
                assert may_end.wait(20)
                seen.append(pool_sizes())
            return rows[:, 0] > 0

        model = with_few_threads(adapt(waiting, X))
        other = threading.Thread(target=model.labels, args=(X[:7],))
        other.start()
        assert is_in.wait(20)
        model.labels(X[:5])
        assert set(pool_sizes()) == {3}
        may_end.set()
        other.join()
        assert set(seen[0]) == {1}

    def test_a_forest_with_many_jobs_keeps_its_settings_and_answers(self) -> None:
        forest = RandomForestClassifier(10, n_jobs=-1, random_state=0).fit(X, X[:, 0] > 0)
        model = with_few_threads(adapt(forest, X))
        scores = model.output(X).scores
        np.testing.assert_array_equal(scores, forest.predict_proba(X))
        assert forest.n_jobs == -1

"""Rows are decoded, checked, counted, and asked about in batches and with few threads; chance is refused."""

import math
import threading
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits

import ssba
from ssba.columns.features import Feature
from ssba.errors import ArgumentError, InternalError, ModelError, StoppedError
from ssba.models import oracle
from ssba.models.model import adapt
from ssba.models.oracle import Oracle, RowCheck, Tally, counted, watched, with_few_threads
from ssba.models.prepared import Prepared

CHECK = RowCheck(
    (
        Feature("rate", "numeric", storable=(-1e6, 1e6)),
        Feature("age", "integer"),
        Feature("pain", "ordinal", ("none", "some", "much")),
    )
)
FINE = np.array([[0.5, 40.0, 2.0], [-1e6, -3.0, 0.0]])

X = np.random.default_rng(0).normal(size=(300, 3))
TARGETS = {"labels": True, "probabilities": 1, "numbers": ssba.value_between(0, 0.5)}

MANY = np.random.default_rng(0).normal(size=(60, 2))

Z = np.random.default_rng(1).normal(size=(50, 2))
SIDES = np.array(["left", "middle", "right"])
SIDE = SIDES[np.digitize(Z[:, 0], [-0.5, 0.5])]
DOOR = RowCheck((Feature("a", "numeric"), Feature("b", "numeric")))


def test_cells_that_columns_can_hold_pass() -> None:
    CHECK.check(FINE)
    CHECK.check(FINE[:0])


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        (0, math.nan, "nan in column 'rate', which holds finite numbers from -1e+06 to 1e+06"),
        (0, 1.1e6, "1100000.0 in column 'rate'"),
        (1, math.inf, "inf in column 'age', which holds whole numbers"),
        (1, -math.inf, "-inf in column 'age'"),
        (1, 40.5, "40.5 in column 'age'"),
        (2, 3.0, "3.0 in column 'pain', which has the codes 0 to 2"),
        (2, -1.0, "-1.0 in column 'pain'"),
        (2, 0.5, "0.5 in column 'pain'"),
        (2, math.nan, "nan in column 'pain'"),
    ],
)
def test_others_are_told_with_their_column_and_a_wish_to_report_it(
    column: int, value: float, told: str
) -> None:
    rows = FINE.copy()
    rows[1, column] = value
    with pytest.raises(InternalError) as raised:
        CHECK.check(rows)
    assert told in str(raised.value)
    assert "please report" in str(raised.value)


def test_a_cell_may_be_missing_only_where_the_question_says_so() -> None:
    rows = FINE.copy()
    rows[1, 0] = math.nan
    CHECK.check(rows, np.array([True, False, False]))
    CHECK.check(rows, np.isnan(rows))
    for missing in (np.array([False, True, True]), np.isnan(rows[::-1])):
        with pytest.raises(InternalError, match="nan in column 'rate'"):
            CHECK.check(rows, missing)


def test_missing_is_all_that_is_allowed_there() -> None:
    rows = FINE.copy()
    rows[0, 0] = math.inf
    with pytest.raises(InternalError):
        CHECK.check(rows, np.ones(3, dtype=bool))


def test_all_three_questions_are_counted() -> None:
    tally = Tally()
    model = counted(adapt(lambda rows: rows[:, 0] > 0, X), tally)
    model.labels(X[:3])
    model.output(X[:4])
    model.verdict(X[:5])
    assert tally.rows == 12


class TestWatched:
    def test_the_watcher_learns_of_all_rows_before_they_are_asked(self) -> None:
        explainer = ssba.Explainer(lambda rows: rows[:, 0] > 0.5, X, target=True)
        before, seen = explainer.rows_used, list[int]()
        with watched(seen.append):
            explainer.explain(X[0])
        assert sum(seen) == explainer.rows_used - before > 0

    def test_a_watcher_that_raises_ends_the_work_with_its_own_error(self) -> None:
        asked = 0

        def model(rows: Any) -> Any:
            nonlocal asked
            asked += len(rows)
            return rows[:, 0] > 0.5

        def stop(rows: int) -> None:
            raise StoppedError("enough")

        explainer = ssba.Explainer(model, X, target=True)
        before = asked
        with watched(stop), pytest.raises(StoppedError, match="enough"):
            explainer.explain(X[0])
        assert asked == before
        assert explainer.explain(X[0]).best is not None, "it can be asked again"

    def test_nobody_watches_afterwards(self) -> None:
        explainer = ssba.Explainer(lambda rows: rows[:, 0] > 0.5, X, target=True)
        seen: list[int] = []
        with watched(seen.append):
            pass
        explainer.explain(X[0])
        assert seen == []

    def test_another_thread_is_not_watched(self) -> None:
        explainer = ssba.Explainer(lambda rows: rows[:, 0] > 0.5, X, target=True)
        seen: list[int] = []
        with watched(seen.append):
            other = threading.Thread(target=explainer.explain, args=(X[0],))
            other.start()
            other.join()
        assert seen == []


class TestChance:
    @pytest.mark.parametrize("kind", TARGETS)
    def test_a_model_that_answers_at_random_is_refused(self, kind: str) -> None:
        rng = np.random.default_rng(0)

        def model(rows: Any) -> Any:
            noise = rng.random(len(rows))
            return noise > 0.5 if kind == "labels" else noise

        with pytest.raises(ModelError, match=r"different answers to the same row: .*Row: .*'x0'"):
            ssba.Explainer(model, X, target=TARGETS[kind])

    def test_noise_upon_a_real_answer_is_noticed(self) -> None:
        rng = np.random.default_rng(0)

        def model(rows: Any) -> Any:
            return 1 / (1 + np.exp(-rows["a"] + 0.01 * rng.normal(size=len(rows))))

        with pytest.raises(ModelError, match="depends on the row alone"):
            ssba.Explainer(model, pd.DataFrame(X, columns=list("abc")), target=1)

    def test_last_bits_that_depend_on_the_batch_are_not(self) -> None:
        def model(rows: Any) -> Any:
            return 1 / (1 + np.exp(-rows[:, 0])) * (1 - 1e-7 * len(rows))

        assert ssba.Explainer(model, X, target=1).explain(X[X[:, 0] < 0][0]).status == "found"


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
        model = with_few_threads(adapt(noting, MANY))
        noting.pools.clear()
        for ask in (model.labels, model.output, model.verdict):
            ask(MANY)
        assert {size for sizes in noting.pools for size in sizes} == {1}
        assert set(noting.jobs[1:]) == {1}
        assert set(pool_sizes()) == {3}

    def test_many_rows_get_all_threads(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(oracle, "_MANY_ROWS", 60)
        noting = Noting()
        model = with_few_threads(adapt(noting, MANY))
        model.labels(MANY)
        assert set(noting.pools[-1]) == {3}

    def test_a_model_that_fails_leaves_no_limit_behind(self) -> None:
        def failing(rows: Any) -> Any:
            if len(rows) == 7:
                raise RuntimeError("no")
            return rows[:, 0] > 0

        model = with_few_threads(adapt(failing, MANY))
        with pytest.raises(Exception, match="no"):
            model.labels(MANY[:7])
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

        model = with_few_threads(adapt(waiting, MANY))
        other = threading.Thread(target=model.labels, args=(MANY[:7],))
        other.start()
        assert is_in.wait(20)
        model.labels(MANY[:5])
        assert set(pool_sizes()) == {3}
        may_end.set()
        other.join()
        assert set(seen[0]) == {1}

    def test_a_forest_with_many_jobs_keeps_its_settings_and_answers(self) -> None:
        forest = RandomForestClassifier(10, n_jobs=-1, random_state=0).fit(MANY, MANY[:, 0] > 0)
        model = with_few_threads(adapt(forest, MANY))
        scores = model.output(MANY).scores
        np.testing.assert_array_equal(scores, forest.predict_proba(MANY))
        assert forest.n_jobs == -1


def to_frame(encoded: NDArray[np.float64]) -> pd.DataFrame:
    return pd.DataFrame({"a": encoded[:, 0], "b": encoded[:, 1] * 2})


FRAME = to_frame(Z)


FOREST = RandomForestClassifier(5, random_state=0, n_jobs=1).fit(FRAME, SIDE)


LINE = LinearRegression().fit(FRAME, Z[:, 0])


@given(rows=st.integers(0, 50), batch_rows=st.integers(1, 60))
def test_the_batch_size_changes_the_calls_and_not_the_answer(rows: int, batch_rows: int) -> None:
    model = adapt(KNeighborsClassifier(3).fit(FRAME, SIDE), FRAME)
    oracle = Oracle(model, to_frame, DOOR, batch_rows=batch_rows)
    split = oracle.output(Z[:rows])
    assert oracle.rows_asked == rows
    assert oracle.calls == -(-rows // batch_rows)
    assert split.labels is not None
    assert split.scores is not None
    whole = model.output(FRAME)
    assert whole.labels is not None
    assert whole.scores is not None
    assert split.labels.tolist() == whole.labels[:rows].tolist()
    np.testing.assert_array_equal(split.scores, whole.scores[:rows])


def test_the_model_gets_decoded_rows() -> None:
    seen = []

    def remember(rows: Any) -> Any:
        seen.append(rows)
        return rows["a"] > 0

    Oracle(adapt(remember, FRAME), to_frame, DOOR, batch_rows=30).labels(Z)
    pd.testing.assert_frame_equal(pd.concat(seen[1:], ignore_index=True), FRAME)


def test_labels_asks_for_no_scores_and_verdict_brings_both() -> None:
    oracle = Oracle(adapt(FOREST, FRAME), to_frame, DOOR)
    assert oracle.labels(Z).scores is None
    verdict = oracle.verdict(Z)
    np.testing.assert_array_equal(verdict.labels, FOREST.predict(FRAME))
    np.testing.assert_array_equal(verdict.scores, FOREST.predict_proba(FRAME))
    assert (oracle.rows_asked, oracle.calls) == (100, 2)


def test_numbers_are_joined_too() -> None:
    oracle = Oracle(adapt(LINE, FRAME, wants_numbers=True), to_frame, DOOR, batch_rows=7)
    output = oracle.labels(Z)
    assert output.labels is None
    assert output.scores is None
    np.testing.assert_allclose(np.asarray(output.values), LINE.predict(FRAME), atol=1e-12)


def test_text_of_different_lengths_is_not_cut() -> None:
    def words(rows: NDArray[np.float64]) -> NDArray[np.str_]:
        return np.array(["no" if cell < 0 else "definitely" for cell in rows[:, 0]])

    ordered = np.sort(Z, axis=0)
    labels = Oracle(adapt(words, Z), lambda encoded: encoded, DOOR, batch_rows=1).labels(ordered).labels
    assert labels is not None
    assert labels.tolist() == words(ordered).tolist()


class TestNoRows:
    def test_nothing_is_asked(self) -> None:
        oracle = Oracle(adapt(FOREST, FRAME), to_frame, DOOR)
        labels, output = oracle.labels(Z[:0]), oracle.output(Z[:0])
        assert (oracle.rows_asked, oracle.calls) == (0, 0)
        assert labels.labels is not None
        assert labels.labels.shape == (0,)
        assert labels.scores is None
        assert output.scores is not None
        assert output.scores.shape == (0, 3)

    def test_a_regressor_has_no_values(self) -> None:
        values = Oracle(adapt(LINE, FRAME), to_frame, DOOR).output(Z[:0]).values
        assert values is not None
        assert values.shape == (0,)


class TestInputValidation:
    @pytest.mark.parametrize("batch_rows", [0, -5])
    def test_a_batch_holds_at_least_one_row(self, batch_rows: int) -> None:
        with pytest.raises(ArgumentError, match=f"batch_rows must be at least 1, got {batch_rows}"):
            Oracle(adapt(FOREST, FRAME), to_frame, DOOR, batch_rows=batch_rows)

    def test_a_model_that_fails_is_told_with_its_batch_and_the_rows_are_counted(self) -> None:
        logistic = LogisticRegression().fit(FRAME, SIDE)
        oracle = Oracle(adapt(logistic, FRAME), to_frame, DOOR, batch_rows=20)
        broken = Z.copy()
        broken[25] = np.nan
        with pytest.raises(
            ModelError, match=r"LogisticRegression\.predict, asked about a batch of 20 rows, raised"
        ):
            oracle.labels(broken, np.array([True, True]))
        assert oracle.rows_asked == 40

    @pytest.mark.parametrize("question", ["labels", "output", "verdict"])
    def test_what_a_column_cannot_hold_is_never_asked_about(self, question: str) -> None:
        oracle = Oracle(adapt(FOREST, FRAME), to_frame, DOOR)
        broken = Z.copy()
        broken[25, 1] = np.inf
        with pytest.raises(InternalError, match="about inf in column 'b'"):
            getattr(oracle, question)(broken)
        assert oracle.rows_asked == 0


class TestTheShortWay:
    MODEL = make_pipeline(StandardScaler(), LogisticRegression()).fit(Z, SIDE)

    def oracle(self, asked: list[str], *, known: bool = True) -> Oracle:
        """One that notes which way its rows go."""

        def prepared(encoded: NDArray[np.float64]) -> Prepared | None:
            asked.append("short" if known else "unknown")
            inputs = self.MODEL[0].transform(encoded)
            return Prepared((), self.MODEL[-1], inputs, lambda: encoded) if known else None

        def decode(encoded: NDArray[np.float64]) -> NDArray[np.float64]:
            asked.append("usual")
            return encoded

        return Oracle(adapt(self.MODEL, Z), decode, DOOR, batch_rows=20, short_way=prepared)

    @pytest.mark.parametrize(
        ("method", "ways", "calls"),
        [("labels", "short", 3), ("output", "short", 3), ("verdict", "usual", 3), ("alone", "usual", 50)],
    )
    def test_is_for_searches_and_not_for_the_last_word(self, method: str, ways: str, calls: int) -> None:
        asked = list[str]()
        oracle = self.oracle(asked)
        answer = getattr(oracle, method)(Z)
        assert answer.labels.tolist() == self.MODEL.predict(Z).tolist()
        assert set(asked) == {ways}
        assert (oracle.rows_asked, oracle.calls) == (50, calls)

    def test_is_left_for_rows_that_it_does_not_know(self) -> None:
        asked = list[str]()
        answer = self.oracle(asked, known=False).output(Z[:4])
        assert asked == ["unknown", "usual"]
        assert answer.scores is not None
        assert (answer.scores == self.MODEL.predict_proba(Z[:4])).all()

    def test_counts_its_rows_and_tells_the_watcher(self) -> None:
        tally, told = Tally(), list[int]()
        oracle = self.oracle([])
        oracle.model = counted(with_few_threads(oracle.model), tally)
        with watched(told.append):
            oracle.labels(Z)
        assert (tally.rows, told) == (50, [20, 20, 10])

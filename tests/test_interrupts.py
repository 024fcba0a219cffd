"""Ctrl-C during a call: the first ends it with what was found, the second raises."""

import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from tests.support import every

import ssba
from ssba import interrupts
from ssba.errors import ModelError, SsbaWarning

X = np.random.default_rng(3).normal(size=(300, 4))


def bowl(rows: Any) -> Any:
    return rows[:, 0] + rows[:, 1] ** 2 > 1.5


QUERIES = X[~bowl(X)][:12]


class Pressed:
    """A model during some of whose calls somebody presses Ctrl-C, counted from when it is told to begin."""

    def __init__(self, *at: int, press: Callable[[], object] | None = None) -> None:
        self.at = at
        self.calls = -(10**9)
        self.press = press or (lambda: signal.raise_signal(signal.SIGINT))

    def __call__(self, rows: Any) -> Any:
        self.calls += 1
        if self.calls in self.at:
            self.press()
        return bowl(rows)

    def explainer(self, **settings: Any) -> ssba.Explainer:
        made = ssba.Explainer(self, X, target=True, **settings)
        self.calls = 0
        return made


@pytest.fixture(autouse=True)
def ctrl_c_raises(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Ctrl-C as in a fresh program; a test run in the background of a shell has it ignored."""
    monkeypatch.setattr(interrupts, "_LAST", interrupts._Last())
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


class TestManyQueries:
    def test_each_gets_what_was_found_for_it_checked(self) -> None:
        model = Pressed(30)
        explainer = model.explainer()
        with pytest.warns(
            SsbaWarning, match=r"12 of 12 queries were not searched to the end, 12 of them had"
        ):
            answers = explainer.explain_many(QUERIES)
        assert every((one.status, one.stopped) == ("found", "interrupted") for one in answers)
        assert every(one.best is not None and bowl(one.best.row)[0] for one in answers)
        assert "The search was interrupted; asking again may find a nearer answer." in answers[0].sentence
        assert repr(answers) == "<12 explanations: 12 found; 12 interrupted>"

    def test_what_was_asked_until_then_is_what_would_have_been_asked(self) -> None:
        explainer = Pressed(30).explainer()
        with pytest.warns(SsbaWarning):
            answers = explainer.explain_many(QUERIES)
        whole = Pressed().explainer().explain_many(QUERIES)
        assert every(one.rows_used < other.rows_used for one, other in zip(answers, whole, strict=True))
        assert every(
            one.best and other.best and one.best.distance >= other.best.distance * (1 - 1e-3)
            for one, other in zip(answers, whole, strict=True)
        )

    def test_later_ones_are_not_begun(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("ssba.pipeline.answer.TOGETHER", 4)
        counted = Pressed()
        counted.explainer().explain_many(QUERIES[:4])
        model = Pressed(counted.calls + 20)
        explainer = model.explainer()
        with pytest.warns(SsbaWarning, match="8 of 12 queries were not searched to the end"):
            answers = explainer.explain_many(QUERIES)
        ends = [(one.status.value, one.stopped) for one in answers]
        assert ends[:4] == [("found", "settled")] * 4
        assert ends[4:8] == [("found", "interrupted")] * 4
        assert ends[8:] == [("out_of_budget", "interrupted")] * 4
        assert every((one.rows_used, one.prediction, one.best) == (0, None, None) for one in answers[8:])
        assert (
            answers[11].sentence == "The search was interrupted before it began to look for True; ask again."
        )
        assert answers.answered == tuple(range(8))

    def test_without_an_answer_the_budget_is_not_blamed(self) -> None:
        explainer = Pressed(2).explainer()
        rules = [ssba.within(f"x{j}", amount=0.01) for j in range(4)]
        with pytest.warns(SsbaWarning, match="0 of them had an answer"):
            found = explainer.explain_many(QUERIES[:2], rules)[0]
        assert (found.status, found.stopped) == ("out_of_budget", "interrupted")
        assert found.sentence == "The search was interrupted before any feasible row reached True; ask again."

    def test_results_are_written_and_read_back(self) -> None:
        explainer = Pressed(30).explainer()
        with pytest.warns(SsbaWarning):
            answers = explainer.explain_many(QUERIES)
        assert ssba.results.Explanations.from_json(answers.to_json()) == answers

    def test_the_explainer_can_be_asked_again(self) -> None:
        explainer = Pressed(30).explainer()
        with pytest.warns(SsbaWarning):
            explainer.explain_many(QUERIES)
        again = [one.best for one in explainer.explain_many(QUERIES)]
        assert again == [one.best for one in Pressed().explainer().explain_many(QUERIES)]

    def test_a_proof_is_not_waited_for(self) -> None:
        forest = RandomForestClassifier(20, random_state=0, n_jobs=1).fit(X, bowl(X))
        explainer = ssba.Explainer(forest, X, target=True)
        asked = explainer.rows_used
        with interrupts.interrupted_by(lambda: explainer.rows_used > asked + 100), pytest.warns(SsbaWarning):
            found = explainer.explain_many(QUERIES, prove=True)[0]
        assert found.stopped == "interrupted"
        assert found.evidence.unproved == "the call was interrupted before the proof was done"


class TestOneQuery:
    def test_it_gets_what_was_found(self) -> None:
        explainer = Pressed(30).explainer()
        with pytest.warns(SsbaWarning, match="1 of 1 queries"):
            found = explainer.explain(QUERIES[0])
        assert (found.status, found.stopped) == ("found", "interrupted")

    def test_a_loop_of_calls_can_be_left(self) -> None:
        model = Pressed(30)
        explainer = model.explainer()
        with pytest.warns(SsbaWarning):
            explainer.explain(QUERIES[0])
        model.at = (model.calls + 5,)
        with pytest.raises(KeyboardInterrupt):
            explainer.explain(QUERIES[1])

    def test_later_it_is_a_wish_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(interrupts, "AT_ONCE", 0.0)
        model = Pressed(30)
        explainer = model.explainer()
        for _ in range(2):
            model.at = (model.calls + 30,)
            with pytest.warns(SsbaWarning):
                assert explainer.explain(QUERIES[0]).stopped == "interrupted"


class TestRaises:
    def test_the_second_one(self) -> None:
        model = Pressed(30, 31)
        explainer = model.explainer()
        with pytest.raises(KeyboardInterrupt):
            explainer.explain_many(QUERIES)
        assert model.calls == 31

    def test_one_of_the_model_itself_is_passed_on(self) -> None:
        def interrupt() -> None:
            raise KeyboardInterrupt

        model = Pressed(30, press=interrupt)
        explainer = model.explainer()
        with pytest.raises(KeyboardInterrupt):
            explainer.explain_many(QUERIES)
        assert model.calls == 30

    def test_a_failing_model_after_the_first(self) -> None:
        def fail() -> None:
            signal.raise_signal(signal.SIGINT)
            raise ValueError("gone")

        explainer = Pressed(30, press=fail).explainer()
        with pytest.raises(ModelError, match="gone"):
            explainer.explain_many(QUERIES)


class TestOtherHandlers:
    def test_a_program_keeps_its_own(self) -> None:
        pressed: list[int] = []
        signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
        try:
            found = Pressed(30).explainer().explain(QUERIES[0])
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        assert pressed == [signal.SIGINT]
        assert found.stopped == "settled"

    def test_other_threads_have_none(self) -> None:
        handlers: list[Any] = []
        explainer = Pressed(5, press=lambda: handlers.append(signal.getsignal(signal.SIGINT))).explainer()
        found: list[ssba.results.Explanation] = []
        thread = threading.Thread(target=lambda: found.append(explainer.explain(QUERIES[0])))
        thread.start()
        thread.join()
        assert handlers == [signal.default_int_handler]
        assert found[0].stopped == "settled"

"""Several processes share the queries of a call: same order, same answers, same figures as one process."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from tests.pipeline.worker_models import (
    Killed,
    Noted,
    bowl,
    fails_on_large,
    is_worker,
    mixed,
    otherwise_in_workers,
)
from tests.support import every

import ssba
from ssba import interrupts
from ssba.errors import ArgumentError, ModelError, SsbaWarning, StoppedError
from ssba.pipeline import sharing

_rng = np.random.default_rng(8)
X = _rng.normal(size=(250, 4))
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(kind=_rng.choice(["p", "q", "r"], size=250))
QUERIES = X[~bowl(X)][:6]


def figures(answers: ssba.results.Explanations) -> list[Any]:
    """All that results say, but for the clock."""
    return [{**one.to_dict(), "seconds": 0.0, "sentence": one.sentence} for one in answers]


class TestSameResults:
    def test_frames_constraints_a_row_and_options(self) -> None:
        explainer = ssba.Explainer(mixed, FRAME).toward("up")
        rules = [["kind == x.kind", f"a <= {2 + i}"] for i in range(7)]
        asked = FRAME.iloc[[3, 1, 4, 5, 9, 2, 6]]
        alone = explainer.explain_many(asked, rules, k=2)
        shared = explainer.explain_many(asked, rules, k=2, workers=2)
        assert figures(shared) == figures(alone)
        assert shared.rows().equals(alone.rows())

    def test_trees_and_boundary_points(self) -> None:
        forest = RandomForestClassifier(10, max_depth=4, random_state=0, n_jobs=1).fit(X, bowl(X))
        explainer = ssba.Explainer(forest, X, target=True)
        points = explainer.sample_boundary(200)
        asked = X[:9]
        alone = explainer.explain_many(asked, boundary=points)
        assert figures(explainer.explain_many(asked, boundary=points, workers=3)) == figures(alone)

    def test_more_parts_than_workers(self, monkeypatch: pytest.MonkeyPatch) -> None:
        explainer = ssba.Explainer(bowl, X, target=True)
        alone = explainer.explain_many(X[:11])
        monkeypatch.setattr("ssba.pipeline.sharing.TOGETHER", 2)
        assert figures(explainer.explain_many(X[:11], workers=2)) == figures(alone)

    def test_budgets_of_rows_and_of_seconds_hold(self) -> None:
        explainer = ssba.Explainer(bowl, X, target=True)
        few = ssba.Budget(rows=40)
        assert figures(explainer.explain_many(QUERIES, budget=few, workers=2)) == figures(
            explainer.explain_many(QUERIES, budget=few)
        )
        # No process is there so soon: its time is over when it begins.
        answers = explainer.explain_many(QUERIES, budget=ssba.Budget(seconds=1e-3), workers=2)
        assert every(one.stopped == "seconds" for one in answers)

    def test_the_explainer_counts_what_others_asked(self) -> None:
        explainer = ssba.Explainer(bowl, X, target=True)
        before = explainer.rows_used
        answers = explainer.explain_many(QUERIES, workers=2)
        assert explainer.rows_used - before >= sum(one.rows_used for one in answers)


class TestPlainWay:
    @pytest.mark.parametrize("workers", [None, 1])
    def test_one_worker_is_this_process(self, workers: int | None) -> None:
        # A function like this one cannot be sent anywhere.
        explainer = ssba.Explainer(lambda rows: bowl(rows) & (not is_worker()), X, target=True)
        assert every(one.best for one in explainer.explain_many(QUERIES, workers=workers))

    def test_so_is_a_single_query(self) -> None:
        explainer = ssba.Explainer(lambda rows: bowl(rows), X, target=True)
        assert explainer.explain_many(QUERIES[:1], workers=4)[0].best is not None

    @pytest.mark.parametrize("workers", [0, -1, 1.5, "two"])
    def test_other_numbers_are_refused(self, workers: Any) -> None:
        with pytest.raises(ArgumentError, match=r"explain_many\(workers=...\)"):
            ssba.Explainer(bowl, X).explain_many(QUERIES, workers=workers)


class TestRefused:
    def test_a_model_that_cannot_be_pickled_before_it_is_asked(self) -> None:
        explainer = ssba.Explainer(lambda rows: bowl(rows), X, target=True)
        before = explainer.rows_used
        with pytest.raises(ArgumentError, match=r"cannot be pickled.*defined by name at the top of a module"):
            explainer.explain_many(QUERIES, workers=2)
        assert explainer.rows_used == before

    def test_a_model_that_answers_otherwise_elsewhere(self) -> None:
        explainer = ssba.Explainer(otherwise_in_workers, X, target=True)
        with pytest.raises(ModelError, match="answers otherwise in another process"):
            explainer.explain_many(QUERIES, workers=2)

    def test_every_part_of_one_worker_is_told_the_same(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whichever worker takes both parts, the second one does not fail for want of the job."""
        monkeypatch.setattr(sharing, "_HELD", {})

        class Otherwise:
            @property
            def blueprint(self) -> Any:
                raise ModelError("it answers otherwise")

        monkeypatch.setattr("ssba.pipeline.sharing.pickle.loads", lambda data: Otherwise())
        sharing._begin(b"", sharing._Lines())
        for place in range(2):
            with pytest.raises(ModelError, match="otherwise"):
                sharing._explain(sharing._Part(place, ()))

    def test_a_row_that_the_model_fails_on_is_named(self) -> None:
        explainer = ssba.Explainer(fails_on_large, X, target=True)
        asked = np.concatenate([QUERIES, [[99.0, 0.0, 0.0, 0.0]]])
        with pytest.raises(ModelError, match=r"^row 6\b.*too large"):
            explainer.explain_many(asked, workers=2)


def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python; a call that would hang ends as a failure."""
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=300
    )


SCRIPT = """
import numpy as np, ssba
X = np.random.default_rng(0).normal(size=(100, 3))
def model(rows):
    return rows[:, 0] > 0.5
answers = ssba.Explainer(model, X, target=True).explain_many(X[:6], workers=2)
"""


class TestScripts:
    def test_without_a_guard_the_error_says_what_is_missing(self, tmp_path: Path) -> None:
        script = tmp_path / "script.py"
        script.write_text(SCRIPT)
        said = ran(str(script))
        assert said.returncode == 1
        assert '`if __name__ == "__main__":`' in said.stderr.splitlines()[-1]

    def test_with_one_its_own_functions_are_found(self, tmp_path: Path) -> None:
        script = tmp_path / "script.py"
        begin, last = SCRIPT.rsplit("answers = ", maxsplit=1)
        script.write_text(f'{begin}if __name__ == "__main__":\n    print({last.strip()})\n')
        said = ran(str(script))
        assert said.stdout.startswith("<6 explanations: "), said.stderr

    def test_what_was_typed_in_is_refused_with_a_way_out(self) -> None:
        said = ran("-c", SCRIPT)
        assert said.returncode == 1
        assert "put it into a module" in said.stderr.splitlines()[-1]


class TestKilledWorker:
    def test_its_part_is_done_again(self, tmp_path: Path) -> None:
        explainer = ssba.Explainer(Killed(tmp_path, times=1), X, target=True)
        shared = explainer.explain_many(QUERIES, workers=2)
        assert len(list(tmp_path.iterdir())) == 1
        assert figures(shared) == figures(explainer.explain_many(QUERIES))

    def test_one_that_is_killed_each_time_is_told(self, tmp_path: Path) -> None:
        explainer = ssba.Explainer(Killed(tmp_path, times=1000), X, target=True)
        with pytest.raises(StoppedError, match=r"worker process was killed.*6 queries were not explained"):
            explainer.explain_many(QUERIES, workers=2)
        assert len(list(tmp_path.iterdir())) >= 2


class TestCtrlC:
    @pytest.fixture(autouse=True)
    def by_default(self, monkeypatch: pytest.MonkeyPatch) -> None:
        # A test run in the background of a shell has it ignored.
        monkeypatch.setattr(interrupts, "_LAST", interrupts._Last())
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def press_when(self, sign: Path, times: int = 1) -> None:
        """Press Ctrl-C once workers are at work."""

        def press() -> None:
            while not sign.exists():
                time.sleep(0.01)
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.1)

        threading.Thread(target=press, daemon=True).start()

    def test_what_was_found_comes_back_from_all(self, tmp_path: Path) -> None:
        sign = tmp_path / "asked"
        explainer = ssba.Explainer(Noted(sign), X, target=True)
        self.press_when(sign)
        with pytest.warns(SsbaWarning, match="interrupted by Ctrl-C"):
            answers = explainer.explain_many(np.repeat(QUERIES, 300, axis=0), k=5, workers=2)
        assert len(answers) == 1800
        assert any(one.stopped == "interrupted" for one in answers)
        assert {one.status.value for one in answers} <= {"found", "out_of_budget"}
        assert all(bowl(one.best.row)[0] for one in answers if one.best is not None)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def test_the_second_one_raises(self, tmp_path: Path) -> None:
        sign = tmp_path / "asked"
        explainer = ssba.Explainer(Noted(sign), X, target=True)
        self.press_when(sign, times=2)
        with pytest.raises(KeyboardInterrupt):
            explainer.explain_many(np.repeat(QUERIES, 300, axis=0), k=5, workers=2)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

"""Running one world: the query, all checks, and a watch on time and on what the model is asked."""

import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from tests.generated.advice_checks import (
    check_certificate,
    check_levers,
    check_plan,
    check_ranges,
    check_why_not,
)
from tests.generated.candidates import Candidates
from tests.generated.checks import Case, check_result
from tests.generated.claims import check_evidence
from tests.generated.findings import Failure, Findings
from tests.generated.models import Watch, inside, watched
from tests.generated.repeats import check_batch, check_budgets, check_twice
from tests.generated.truth import Truth
from tests.generated.worlds import Extra, World

import ssba

QUICK, THOROUGH = 20_000, 1_000_000
"""Rows drawn against the claims of one result, in the quick suite and in the long one."""

HANG = 120


_EXTRAS: dict[Extra, Callable[[Case], None]] = {
    "budgets": check_budgets,
    "batch": check_batch,
    "twice": check_twice,
    "plan": check_plan,
    "ranges": check_ranges,
    "why_not": check_why_not,
    "levers": check_levers,
    "certificate": check_certificate,
}


class Hang(BaseException):
    """A world took longer than the watchdog allows; no plain exception, which the library may catch."""


def run(world: World, attack: int = QUICK) -> Findings:
    """Run a world and check all it says; whatever is raised is a failure, too."""
    findings, begun = Findings(world.seed, world.family), time.process_time()
    try:
        with _watchdog(HANG), warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ssba.SsbaWarning)
            # Encoders warn of values that they were not fitted to, which are legal rows all the same.
            warnings.filterwarnings("ignore", message="Found unknown categories")
            _run(world, findings, attack)
    except Hang:
        findings.check("hang", False, f"more than {HANG} s of CPU")
    except Exception as error:
        findings.failures.append(Failure("exception", _told(error)))
    findings.seconds = time.process_time() - begun
    return findings


def _run(world: World, findings: Findings, attack: int) -> None:
    watch = Watch(world.columns, np.isnan(world.data).any(axis=0) | np.isnan(world.query))
    model = watched(world.built, watch)
    before, rows = inside(model), world.rows.copy()
    explainer = world.explainer(model)
    begun = time.process_time()
    result = explainer.explain(world.values, world.given_rules(), **world.options.given())
    spent = time.process_time() - begun
    truth = Truth(world)
    case = Case(world, truth, Candidates(truth), result, explainer, findings)
    check_result(case)
    check_evidence(case, attack)
    _check_asked(case, watch)
    _check_time(case, spent)
    for extra in sorted(world.extras):
        _EXTRAS[extra](case)
    findings.check("the model stays as it was", inside(model) == before)
    findings.check("the data stay as they were", _is_same(world.rows, rows))


def _check_asked(case: Case, watch: Watch) -> None:
    for what in ("a missing cell", "an infinite or unknown cell"):
        count = watch.odd.get(what, 0)
        case.check(f"the model is never asked about {what}", not count, f"{count} times")


def _check_time(case: Case, spent: float) -> None:
    seconds = case.world.options.seconds
    if seconds is not None:
        call = _one_call(case.world)
        case.check("time", spent <= seconds + call + 1.0, f"{spent:.2f} s of CPU for {seconds} s")


def _one_call(world: World) -> float:
    begun = time.process_time()
    world.judge.reaches(world.data)
    return time.process_time() - begun


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other, equal_nan=one.dtype.kind == "f"))
    return bool(one.equals(other))


def _told(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    where = next((one for one in reversed(frames) if "site-packages" not in one.filename), frames[-1])
    return f"{type(error).__name__}: {str(error)[:300]} ({where.filename.rsplit('/', 1)[-1]}:{where.lineno})"


@contextmanager
def _watchdog(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Hang

    # By the process's own time, so that a busy machine is no hang.
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)

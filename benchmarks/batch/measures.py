"""What each figure measures, in this process; one small function a kind of figure.

A measure takes a `Setup` and gives numbers by name. Only names that ssba had at the base commit are used, so
that both can be measured; the two that have moved since are looked up where they are.
"""

import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
from benchmarks import remote
from benchmarks.batch.meter import Meter, Spent, stopwatch
from benchmarks.batch.problems import ANSWERS, Problem, problem
from benchmarks.index.memory import peak_megabytes

import ssba

_TIGHT = (
    *(
        f"{name} == x.{name}"
        for name in ("age", "sex", "cp", "fbs", "restecg", "exang", "slope", "ca", "thal")
    ),
    *(f"{name} within 3%" for name in ("trestbps", "chol", "thalach", "oldpeak")),
)
"""Rules for the heart frame that leave many patients without an answer."""


@dataclass(frozen=True)
class Setup:
    """How many queries, and the folder given with --data."""

    queries: int
    folder: Path | None = None


@dataclass(frozen=True)
class Measured:
    """The numbers of a figure in the order in which they are shown, more that are only kept, and a remark."""

    shown: dict[str, float]
    more: dict[str, float] = field(default_factory=dict)
    note: str = ""


Measure = Callable[[Setup], Measured]
Made = Callable[[Path | None], Problem]
"""How a problem is made, given the folder of --data."""


def over_model(name: str) -> Measure:
    """All CPU seconds of a batch over those inside the model, by labels and by scores."""

    def measure(setup: Setup) -> Measured:
        shown, more = dict[str, float](), dict[str, float]()
        for answers in ANSWERS:
            spent, meter = _batch(problem(name, setup.folder), answers, setup.queries)
            shown[answers] = spent.cpu / meter.cpu
            more |= {
                f"{answers}, CPU ms a query": 1e3 * spent.cpu / setup.queries,
                f"{answers}, CPU ms a query inside the model": 1e3 * meter.cpu / setup.queries,
                f"{answers}, ratio on the wall": spent.wall / meter.wall,
                f"{answers}, rows a query": meter.rows / setup.queries,
                f"{answers}, calls": meter.calls,
            }
        return Measured(shown, more)

    return measure


def cpu_a_query(name: str) -> Measure:
    """CPU milliseconds a query of a batch."""

    def measure(setup: Setup) -> Measured:
        return Measured(
            {
                answers: 1e3
                * _batch(problem(name, setup.folder), answers, setup.queries)[0].cpu
                / setup.queries
                for answers in ANSWERS
            }
        )

    return measure


def rows_a_query(name: str) -> Measure:
    """Model rows a query of a batch, with the explainer's own background rows."""

    def measure(setup: Setup) -> Measured:
        return Measured(
            {
                answers: _batch(problem(name, setup.folder), answers, setup.queries)[1].rows / setup.queries
                for answers in ANSWERS
            }
        )

    return measure


def calls_alone(made: Made) -> Measure:
    """Model calls one after the other for a single query: the median of several, each explained alone."""

    def measure(setup: Setup) -> Measured:
        asked = made(setup.folder)
        rows = asked.queries(setup.queries + 1)
        alone = {answers: _alone(*asked.explainer(answers), rows, asked.constraints) for answers in ANSWERS}
        return _spread({answers: [one.calls for one in each] for answers, each in alone.items()})

    return measure


def seconds_alone(made: Made) -> Measure:
    """CPU seconds of a single query: the median of several, each explained alone."""

    def measure(setup: Setup) -> Measured:
        asked = made(setup.folder)
        rows = asked.queries(setup.queries + 1)
        alone = {answers: _alone(*asked.explainer(answers), rows, asked.constraints) for answers in ANSWERS}
        return _spread({answers: [one.cpu for one in each] for answers, each in alone.items()})

    return measure


def seconds_itself(made: Made) -> Measure:
    """CPU seconds of a single query to the model itself: the median of several, each explained alone."""

    def measure(setup: Setup) -> Measured:
        asked = made(setup.folder)
        explainer, rows = asked.itself(), asked.queries(setup.queries + 1)
        seconds = []
        for i in range(len(rows)):
            with stopwatch() as spent:
                explainer.explain(_row(rows, i), asked.constraints)
            seconds.append(spent.cpu)
        return _spread({"seconds": seconds[1:]})

    return measure


def itself_over_model(made: Made) -> Measure:
    """All CPU seconds of a batch to the model itself over those that all its rows take inside the model.

    The latter are measured behind a function of scores, which is asked the same in the same calls.
    """

    def measure(setup: Setup) -> Measured:
        asked = made(setup.folder)
        _, meter = _batch(asked, "scores", setup.queries)
        spent = _many(asked.itself(), asked, setup.queries)
        more = {
            "CPU ms a query": 1e3 * spent.cpu / setup.queries,
            "CPU ms a query inside the model": 1e3 * meter.cpu / setup.queries,
            "calls": meter.calls,
        }
        return Measured({"ratio": spent.cpu / meter.cpu}, more)

    return measure


def large_cohort(name: str) -> Measure:
    """CPU seconds of a large batch by scores, and the peak memory of the whole process."""

    def measure(setup: Setup) -> Measured:
        spent, meter = _batch(problem(name, setup.folder), "scores", setup.queries)
        more = {"seconds on the wall": spent.wall, "CPU seconds inside the model": meter.cpu}
        return Measured({"seconds": spent.cpu, "GB": peak_megabytes() / 1024}, more)

    return measure


def why_not(made: Made) -> Measure:
    """CPU seconds to say what to relax, for queries without an answer."""
    return _after_bounded(made, _relaxed)


def report(made: Made) -> Measure:
    """CPU seconds of the HTML report of queries without an answer."""
    return _after_bounded(made, _reported)


def demo(setup: Setup) -> Measured:
    """CPU seconds of `ssba demo`, the start of Python and the training of its model included."""
    del setup
    before = _children_seconds()
    with tempfile.TemporaryDirectory() as folder:
        call = f"from ssba.apps.cli import main; main(['demo', '--out', {folder!r}])"
        subprocess.run([sys.executable, "-c", call], check=True, stdout=subprocess.DEVNULL)
    return Measured({"seconds": _children_seconds() - before})


def remote_calls(setup: Setup) -> Measured:
    """Requests that a model behind an endpoint would get for a single query, with the rules of `remote`."""
    heart = ssba.datasets.load_heart()
    forest = remote.trained(heart)
    patients = heart.frame[forest.predict(heart.frame) == "disease"][: setup.queries + 1]
    calls = {}
    for answers, model in zip(ANSWERS, (forest.predict, forest.predict_proba), strict=True):
        meter = Meter(model)
        explainer = ssba.Explainer(meter.predict, heart.frame, target=remote.TARGETS[answers])
        calls[answers] = [one.calls for one in _alone(explainer, meter, patients, remote.RULES)]
    return _spread(calls)


def _batch(asked: Problem, answers: str, count: int) -> tuple[Spent, Meter]:
    """What a batch takes, after a single query that imports and prepares what is made once."""
    explainer, meter = asked.explainer(answers)
    return _many(explainer, asked, count, meter.reset), meter


def _many(
    explainer: ssba.Explainer, asked: Problem, count: int, begin: Callable[[], None] = lambda: None
) -> Spent:
    rows = asked.queries(count)
    explainer.explain(_row(rows, 0), asked.constraints)
    begin()
    with stopwatch() as spent:
        explainer.explain_many(rows, asked.constraints, progress=False)
    return spent


@dataclass(frozen=True)
class _Alone:
    calls: int
    cpu: float


def _alone(explainer: ssba.Explainer, meter: Meter, rows: Any, constraints: Any) -> list[_Alone]:
    """What each query takes alone; the first, which prepares what is made once, is left out."""
    found = []
    for i in range(len(rows)):
        meter.reset()
        with stopwatch() as spent:
            explainer.explain(_row(rows, i), constraints)
        found.append(_Alone(meter.calls, spent.cpu))
    return found[1:]


def _row(rows: Any, i: int) -> Any:
    return rows[i] if isinstance(rows, np.ndarray) else rows.iloc[[i]]


def _spread(each: dict[str, list[Any]]) -> Measured:
    """The medians, and what lies around them."""
    more = {
        f"{name}, {what}": float(of(values))
        for name, values in each.items()
        for what, of in (("least", min), ("most", max))
    }
    return Measured({name: float(median(values)) for name, values in each.items()}, more)


def _after_bounded(made: Made, ask: Callable[[Any, Any], object]) -> Measure:
    def measure(setup: Setup) -> Measured:
        asked = made(setup.folder)
        explainer, rows = asked.itself(), asked.case.queries
        found = (explainer.explain(_row(rows, i), _TIGHT) for i in range(len(rows)))
        seconds = []
        for one in islice((one for one in found if one.status == "bounded"), setup.queries):
            with stopwatch() as spent:
                ask(explainer, one)
            seconds.append(spent.cpu)
        return Measured({"seconds": mean(seconds)}, {"least": min(seconds), "most": max(seconds)})

    return measure


def _relaxed(explainer: Any, explanation: Any) -> object:
    if hasattr(explainer, "why_not"):
        return explainer.why_not(explanation, progress=False)
    return explanation.why_not()


def _reported(explainer: Any, explanation: Any) -> object:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.html"
        if hasattr(explainer, "report"):
            return explainer.report(explanation, file, progress=False)
        return explainer.write_report(file, explanation)


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

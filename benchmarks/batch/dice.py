"""Seconds a query beside DiCE, by the harness of `benchmarks.nearest`."""

from collections.abc import Callable
from itertools import cycle, islice

from benchmarks.batch.measures import Measured, Setup
from benchmarks.batch.problems import ANSWERS as FUNCTIONS
from benchmarks.nearest.cases import Case
from benchmarks.nearest.limits import Limits, chosen
from benchmarks.nearest.measuring import check, figures
from benchmarks.nearest.methods import ENTRIES
from benchmarks.nearest.plans import build
from benchmarks.nearest.running import Task, run

_METHODS = ("dice random", "dice genetic", "dice kdtree")
_ASKED = (*FUNCTIONS, "itself")
"""What ssba gets: a function to labels or to probabilities, or the model itself, as DiCE does."""

_SOLVED = 0.9
_REACHABLE = 20
"""How many reachable queries of a case are asked about; DiCE's slow methods get the first of them."""

_SECONDS = 30.0
"""The budget of a single query, as in `benchmarks.nearest`."""


def beside_dice(name: str) -> Callable[[Setup], Measured]:
    """CPU a query of a batch over that of DiCE's fastest method that solves nine in ten."""

    def measure(setup: Setup) -> Measured:
        case, limits = build(name, setup.folder), Limits()
        which = chosen(case, limits, _REACHABLE).tolist()
        solving, more = dict[str, float](), dict[str, float]()
        for method in _METHODS:
            share, cpu = _peer(case, limits, method, which, setup)
            more |= {f"{method}, solved": share, f"{method}, CPU seconds": cpu}
            if share >= _SOLVED:
                solving[method] = cpu
        ours = {answers: _ours(case, answers, which, setup) for answers in _ASKED}
        more |= {f"{answers}, CPU seconds": cpu for answers, cpu in ours.items()}
        if not solving:
            return Measured({}, more, "no method of DiCE solves nine in ten")
        fastest = min(solving, key=lambda method: solving[method])
        shown = {answers: cpu / solving[fastest] for answers, cpu in ours.items()}
        return Measured(shown, more, f"of {solving[fastest]:.2g} s by {fastest}")

    return measure


def _peer(case: Case, limits: Limits, method: str, which: list[int], setup: Setup) -> tuple[float, float]:
    """The share of reachable queries that a method solves, and its CPU seconds a query."""
    outcome = run(Task(case.name, method, which[: ENTRIES[method].at_most], setup.folder, _SECONDS))
    if outcome.status != "ready" or outcome.model != case.fingerprint:
        raise RuntimeError(f"{method}: {outcome.status} {outcome.why}")
    found = figures(case, limits, [check(case, one) for one in outcome.answers], outcome.answers)
    return found["solved"] or 0.0, found["cpu"] or float("inf")


def _ours(case: Case, answers: str, which: list[int], setup: Setup) -> float:
    """CPU seconds a query of a batch; where reachable queries are fewer, the same ones again and again."""
    batch = list(islice(cycle(which), setup.queries))
    outcome = run(Task(case.name, f"ssba {answers}", batch, setup.folder, _SECONDS))
    return sum(one.cpu for one in outcome.answers) / len(outcome.answers)

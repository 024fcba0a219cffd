"""Boundary points and queries on a GPU, through the public API; points beside what the model alone takes.

Run it with ``python -m benchmarks.gpu`` where torch sees a GPU (elsewhere it runs on the CPU, with fewer
points). Medians over repeats after a warm-up, by events of the device. "Bare predict" asks the model about as
many rows as the bisection does, in batches of the same size that lie on the device already. "Plain torch" is
the same bisection written by hand, without pairs that never repeat, checks, or a set that can be used.

Queries are explained side by side; the search is what lies between the first question about a region and the
last. How near answers are is told by a limit that is found by other means: steps onto the plane of the
network's gradient, from the answers and from 24 background rows, without regard to the data's range.
"""

import argparse
import copy
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.ensemble import RandomForestClassifier

import ssba
from ssba.boundary.bisection import steps_for
from ssba.pipeline import answer, nearest_rows

COLUMNS, BACKGROUND, TOLERANCE = 50, 20_000, 1e-3
PAPER = "the paper: 6.2 s for 689,574 points, drawn with replacement"


@dataclass(frozen=True)
class Measured:
    """Milliseconds that boundary points took, and what the same rows take without us."""

    name: str
    points: int
    ours: float
    predict: float
    plain: float


def logistic(data: Any) -> Any:
    return balanced(torch.nn.Linear(COLUMNS, 1), data)


def network(data: Any) -> Any:
    layers = torch.nn.Linear(COLUMNS, 64), torch.nn.ReLU(), torch.nn.Linear(64, 32), torch.nn.ReLU()
    return balanced(torch.nn.Sequential(*layers, torch.nn.Linear(32, 1)), data)


def balanced(model: Any, data: Any) -> Any:
    """Return the model with as many background rows on either side."""
    with torch.no_grad():
        last = list(model.parameters())[-1]
        last -= model(torch.as_tensor(data)).median()
    return model.eval()


def forest(data: Any) -> Any:
    """Return the twin of a forest; it has a column a class."""
    some = data[:2000]
    label = some[:, 0] + some[:, 1] * some[:, 2] > 0
    return ssba.to_torch(
        RandomForestClassifier(100, random_state=0).fit(some, label), some, dtype=torch.float32
    )


@dataclass(frozen=True)
class Case:
    """A model, how many of its points are found, the target, and how a raw answer is read."""

    name: str
    make: Callable[[Any], Any]
    points: tuple[int, ...]
    target: Any
    reaches: Callable[[Any], Any]


CASES = (
    Case("logistic", logistic, (1_000_000, 10_000_000), 1, lambda raw: raw[:, 0] > 0),
    Case("MLP 64-32", network, (1_000_000, 10_000_000), 1, lambda raw: raw[:, 0] > 0),
    Case("forest of 100 trees, by to_torch", forest, (1_000_000,), True, lambda raw: raw[:, 1] > raw[:, 0]),
)


def milliseconds(work: Callable[[], object], device: str, repeats: int) -> float:
    """Return the median time of some work, after it was done once and the device has come to rest."""
    work()
    taken = []
    for _ in range(repeats):
        if device == "cpu":
            begun = time.perf_counter()
            work()
            taken.append((time.perf_counter() - begun) * 1e3)
            continue
        torch.cuda.synchronize()
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        first.record()
        work()
        last.record()
        torch.cuda.synchronize()
        taken.append(first.elapsed_time(last))
    return statistics.median(taken)


def bare_predict(model: Any, rows: Any, calls: int, case: Case) -> Callable[[], None]:
    def work() -> None:
        with torch.no_grad():
            for _ in range(calls):
                reached = case.reaches(model(rows))
        assert len(reached) == len(rows)

    return work


def plain_torch(model: Any, background: Any, count: int, case: Case) -> Callable[[], Any]:
    """Return the bisection of random pairs as one would write it by hand."""
    with torch.no_grad():
        reaches = case.reaches(model(background))
    leaving, reaching = background[~reaches], background[reaches]

    def work() -> Any:
        device = background.device
        start = leaving[torch.randint(len(leaving), (count,), device=device)]
        end = reaching[torch.randint(len(reaching), (count,), device=device)]
        low = torch.zeros(count, device=device)
        width = 1.0
        with torch.no_grad():
            for _ in range(steps_for(TOLERANCE)):
                width /= 2
                reached = case.reaches(model(torch.lerp(start, end, (low + width)[:, None])))
                low = torch.where(reached, low, low + width)
        return torch.lerp(start, end, (low + width)[:, None])

    return work


def measure(case: Case, points: int, device: str, repeats: int) -> Measured:
    torch.manual_seed(0)
    data = np.random.default_rng(0).normal(size=(BACKGROUND, COLUMNS)).astype(np.float32)
    model = case.make(data).to(device)
    explainer = ssba.Explainer(model, data, target=case.target)
    at_once = min(points, 1 << 20)
    rows = torch.randn(at_once, COLUMNS, device=device)
    calls = steps_for(TOLERANCE) * points // at_once
    background = torch.as_tensor(data, device=device)
    return Measured(
        case.name,
        points,
        milliseconds(lambda: explainer.sample_boundary(points, TOLERANCE), device, repeats),
        milliseconds(bare_predict(model, rows, calls, case), device, repeats),
        milliseconds(plain_torch(model, background, points, case), device, repeats),
    )


@dataclass(frozen=True)
class Answers:
    """What explaining many queries took, in milliseconds, and how near the answers are to the limit."""

    whole: float
    search: float
    mean: float
    worst: float
    rows: float


def answers(count: int, device: str, repeats: int) -> Answers:
    """Explain so many queries of the network, all at once."""
    torch.manual_seed(0)
    data = np.random.default_rng(0).normal(size=(BACKGROUND, COLUMNS)).astype(np.float32)
    model = network(data).to(device)
    explainer = ssba.Explainer(model, data, target=1)
    with torch.no_grad():
        reaches = (model(torch.as_tensor(data, device=device))[:, 0] > 0).cpu().numpy()
    queries = data[~reaches][:count]
    searched: list[float] = []
    search = nearest_rows.search_nearest

    def timed(states: Any) -> None:
        begun = time.perf_counter()
        search(states)
        searched.append((time.perf_counter() - begun) * 1e3)

    answer.search_nearest = timed  # type: ignore[attr-defined]
    try:
        explained = explainer.explain_many(queries)
        searched.clear()
        whole = []
        for _ in range(repeats):
            begun = time.perf_counter()
            explained = explainer.explain_many(queries)
            whole.append((time.perf_counter() - begun) * 1e3)
    finally:
        answer.search_nearest = search  # type: ignore[attr-defined]
    found = np.array([one.best.distance for one in explained if one.best is not None])
    own = np.array([list(one.best.values.values()) for one in explained if one.best is not None])
    others = np.repeat(data[reaches][:24, None], len(queries), axis=1)
    ratio = found / np.minimum(found, limits(model, queries, [own, *others], data.std(axis=0), device))
    rows = float(np.mean([one.rows_used for one in explained]))
    return Answers(
        statistics.median(whole), sum(searched) / repeats, float(ratio.mean()), float(ratio.max()), rows
    )


def limits(model: Any, queries: Any, ends: Any, scale: Any, device: str) -> Any:
    """Return how far the nearest row that reaches is from each query, as far as steps from ends show.

    A step goes toward the foot of the plane that the network's gradient shows. `ends` are ``[starts, queries,
    columns]``; the boundary is looked for a little before and beyond where the steps lead.
    """
    units = torch.as_tensor(scale, device=device, dtype=torch.float64)
    start = torch.as_tensor(queries, device=device, dtype=torch.float64) / units
    exact = copy.deepcopy(model).double()
    best = torch.full((len(queries),), torch.inf, device=device, dtype=torch.float64)
    for end in ends:
        z = torch.as_tensor(end, device=device, dtype=torch.float64) / units
        for pace in [0.7] * 40 + [0.2] * 40:
            z = z.detach().requires_grad_()
            logit = exact(z * units)[:, 0]
            (slope,) = torch.autograd.grad(logit.sum(), z)
            with torch.no_grad():
                along = ((start - z) * slope).sum(dim=1) + logit
                z = torch.lerp(z, start - slope * (along / (slope * slope).sum(dim=1))[:, None], pace)
        with torch.no_grad():
            for share in torch.linspace(0.95, 1.1, 301, device=device, dtype=torch.float64):
                there = torch.lerp(start, z, share)
                far = torch.linalg.norm(there - start, dim=1)
                best = torch.where((exact(there * units)[:, 0] >= 0) & (far < best), far, best)
    return best.cpu().numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    given = parser.parse_args()
    has_gpu = torch.cuda.is_available()
    device = "cuda" if has_gpu else "cpu"
    machine = torch.cuda.get_device_name() if has_gpu else platform.processor() or platform.machine()
    print(f"{machine}; torch {torch.__version__}, NumPy {np.__version__}, Python {platform.python_version()}")
    print(f"{COLUMNS} columns of 32 bits, {BACKGROUND:,} background rows, tolerance {TOLERANCE:g}; {PAPER}\n")
    print("| model | points | ms | bare predict, ms | over bare predict | plain torch, ms |")
    print("|---|---|---|---|---|---|")
    for case in CASES:
        for points in case.points if has_gpu else (20_000,):
            one = measure(case, points, device, given.repeats)
            figures = one.ours, one.predict, one.ours / one.predict, one.plain
            shown = " | ".join(f"{figure:.2f}" for figure in figures)
            print(f"| {case.name} | {points:,} | {shown} |", flush=True)
    print("\n| queries of the MLP | ms in all | ms of the search | over the limit, mean / worst | rows |")
    print("|---|---|---|---|---|")
    for count in (1, 100, 1000) if has_gpu else (20,):
        told = answers(count, device, max(3, given.repeats // 3))
        near = f"{told.mean:.4f} / {told.worst:.3f}"
        print(f"| {count:,} | {told.whole:.0f} | {told.search:.0f} | {near} | {told.rows:.0f} |", flush=True)


if __name__ == "__main__":
    main()

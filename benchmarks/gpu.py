"""Boundary points on a GPU, through the public API, beside what the model alone takes for the same rows.

Run it with ``python -m benchmarks.gpu`` where torch sees a GPU (elsewhere it runs on the CPU, with fewer
points). Medians over repeats after a warm-up, by events of the device. "Bare predict" asks the model about as
many rows as the bisection does, in batches of the same size that lie on the device already. "Plain torch" is
the same bisection written by hand, without pairs that never repeat, checks, or a set that can be used.
"""

import argparse
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import ssba
from ssba.boundary.bisection import steps_for

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


def logistic() -> Any:
    return torch.nn.Linear(COLUMNS, 1)


def network() -> Any:
    layers = torch.nn.Linear(COLUMNS, 64), torch.nn.ReLU(), torch.nn.Linear(64, 32), torch.nn.ReLU()
    return torch.nn.Sequential(*layers, torch.nn.Linear(32, 1))


MODELS = {"logistic": logistic, "MLP 64-32": network}


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


def bare_predict(model: Any, rows: Any, calls: int) -> Callable[[], None]:
    def work() -> None:
        with torch.no_grad():
            for _ in range(calls):
                reached = model(rows) > 0
        assert len(reached) == len(rows)

    return work


def plain_torch(model: Any, background: Any, count: int) -> Callable[[], Any]:
    """Return the bisection of random pairs as one would write it by hand."""
    with torch.no_grad():
        reaches = model(background)[:, 0] > 0
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
                reached = model(torch.lerp(start, end, (low + width)[:, None]))[:, 0] > 0
                low = torch.where(reached, low, low + width)
        return torch.lerp(start, end, (low + width)[:, None])

    return work


def measure(name: str, points: int, device: str, repeats: int) -> Measured:
    torch.manual_seed(0)
    model = MODELS[name]().to(device).eval()
    data = np.random.default_rng(0).normal(size=(BACKGROUND, COLUMNS)).astype(np.float32)
    # As many background rows on either side.
    with torch.no_grad():
        last = list(model.parameters())[-1]
        last -= model(torch.as_tensor(data, device=device)).median()
    explainer = ssba.Explainer(model, data, target=1)
    at_once = min(points, 1 << 20)
    rows = torch.randn(at_once, COLUMNS, device=device)
    calls = steps_for(TOLERANCE) * points // at_once
    return Measured(
        name,
        points,
        milliseconds(lambda: explainer.sample_boundary(points, TOLERANCE), device, repeats),
        milliseconds(bare_predict(model, rows, calls), device, repeats),
        milliseconds(plain_torch(model, torch.as_tensor(data, device=device), points), device, repeats),
    )


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
    sizes = (1_000_000, 10_000_000) if has_gpu else (100_000,)
    for name in MODELS:
        for points in sizes:
            one = measure(name, points, device, given.repeats)
            figures = one.ours, one.predict, one.ours / one.predict, one.plain
            print(
                f"| {name} | {points:,} | {' | '.join(f'{figure:.2f}' for figure in figures)} |", flush=True
            )


if __name__ == "__main__":
    main()

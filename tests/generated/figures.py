"""How near answers come to the nearest row there is, family by family: `python -m tests.generated.figures`.

Functions whose nearest row is known: by a convex solver where the target is convex, in closed form, or by
enumeration. The figures are in docs/reliability.md, to be lowered.
"""

import argparse
import itertools
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, minimize
from scipy.special import expit

import ssba

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Margin = Callable[[Matrix], Vector]
By = Literal["labels", "scores"]

ROWS = 150
_CLOSELY: Any = {"ftol": 1e-14, "maxiter": 500}


@dataclass(frozen=True)
class Problem:
    """A function that is reached where its margin is 0 or more, a query that misses, and the nearest row."""

    data: Matrix
    query: Vector
    margin: Margin
    optimum: float
    norm: Literal["l1", "l2"] = "l2"
    rules: tuple[str, ...] = ()

    def ratio(self, by: By) -> float:
        """Return how many times as far as the nearest row the answer is; infinite where there is none."""
        explainer = ssba.Explainer(
            self.by_labels if by == "labels" else self.by_scores,
            self.data,
            target=True if by == "labels" else 1,
            distance=ssba.Distance(self.norm, scale="none"),
        )
        best = explainer.explain(self.query, list(self.rules)).best
        return np.inf if best is None else best.distance / self.optimum

    def by_labels(self, rows: Any) -> Any:
        return self.margin(np.asarray(rows, dtype=float)) >= 0

    def by_scores(self, rows: Any) -> Any:
        return expit(self.margin(np.asarray(rows, dtype=float)))


@dataclass(frozen=True)
class Planes:
    """Rows with ``weights @ z >= limits`` for each of some planes."""

    weights: Matrix
    limits: Vector

    def heights(self, rows: Matrix) -> Matrix:
        return np.asarray(rows @ self.weights.T - self.limits)

    def nearest(self, x: Vector, low: Vector, high: Vector) -> float:
        """Return the distance of the nearest row above all planes within a box; infinite where none is."""

        def gap(z: Vector) -> float:
            return float((z - x) @ (z - x))

        above = LinearConstraint(self.weights, lb=self.limits, ub=np.inf)
        begin = np.clip(x, low, high)
        found = minimize(
            gap, begin, method="SLSQP", bounds=Bounds(low, high), constraints=above, options=_CLOSELY
        )
        return float(np.sqrt(found.fun)) if self.heights(found.x[None, :]).min() > -1e-9 else np.inf


def drawn(rng: np.random.Generator, width: int) -> tuple[Matrix, Vector, Vector]:
    data = rng.normal(size=(ROWS, width))
    return data, data.min(axis=0), data.max(axis=0)


def planes(rng: np.random.Generator, data: Matrix, shares: Sequence[float]) -> Planes:
    """Draw planes that a share of the data each lies below."""
    weights = rng.normal(size=(len(shares), data.shape[1]))
    return Planes(
        weights,
        np.array([np.quantile(data @ own, share) for own, share in zip(weights, shares, strict=True)]),
    )


def two_at_once(rng: np.random.Generator) -> Problem | None:
    data, low, high = drawn(rng, int(rng.integers(3, 7)))
    both = planes(rng, data, (0.85, 0.5))
    return _missing(data, lambda Z: both.heights(Z).min(axis=1), lambda x: both.nearest(x, low, high))


def either_of_two(rng: np.random.Generator) -> Problem | None:
    data, low, high = drawn(rng, int(rng.integers(3, 7)))
    both = planes(rng, data, (0.9, 0.9))
    alone = [Planes(both.weights[[i]], both.limits[[i]]) for i in range(2)]
    return _missing(
        data, lambda Z: both.heights(Z).max(axis=1), lambda x: min(one.nearest(x, low, high) for one in alone)
    )


def with_relations(rng: np.random.Generator) -> Problem | None:
    width = int(rng.integers(3, 7))
    data, low, high = drawn(rng, width)
    plane = planes(rng, data, (0.85,))
    texts, rows, limits = [], [], []
    for _ in range(int(rng.integers(1, 3))):
        i, j = rng.choice(width, 2, replace=False)
        factor, right = float(rng.choice([0.5, 1.0, 1.5])), float(np.round(rng.uniform(-1, 0.5), 2))
        texts.append(f"x{i} - {factor} * x{j} >= {right}")
        row = np.zeros(width)
        row[i], row[j] = 1.0, -factor
        rows.append(row)
        limits.append(right)
    all_of_it = Planes(np.vstack([plane.weights, *rows]), np.r_[plane.limits, limits])
    return _missing(
        data,
        lambda Z: plane.heights(Z)[:, 0],
        lambda x: all_of_it.nearest(x, low, high),
        rules=tuple(texts),
    )


def outside_a_ball(rng: np.random.Generator) -> Problem | None:
    width = int(rng.integers(3, 7))
    data, low, high = drawn(rng, width)
    radius = 0.9 * np.sqrt(width)
    center = rng.normal(size=width) * 0.2
    inside = np.flatnonzero(((data - center) ** 2).sum(axis=1) < radius**2)
    for i in inside:
        way = data[i] - center
        length = float(np.linalg.norm(way))
        end = center + way * radius / length
        if (low < end).all() and (end < high).all():
            return Problem(
                data, data[i], lambda Z: np.linalg.norm(Z - center, axis=1) - radius, radius - length
            )
    return None


def l1_in_many_columns(rng: np.random.Generator) -> Problem | None:
    width = int(rng.integers(9, 16))
    data, low, high = drawn(rng, width)
    plane = planes(rng, data, (0.85,))
    x = data[np.flatnonzero(plane.heights(data)[:, 0] < 0)[0]]
    solved = linprog(
        np.ones(2 * width),
        A_ub=np.hstack([-plane.weights, plane.weights]),
        b_ub=plane.weights @ x - plane.limits,
        bounds=[*zip(np.zeros(width), high - x, strict=True), *zip(np.zeros(width), x - low, strict=True)],
    )
    if solved.fun is None:
        return None
    return Problem(data, x, lambda Z: plane.heights(Z)[:, 0], float(solved.fun), "l1")


def discrete(rng: np.random.Generator) -> Problem | None:
    width = int(rng.integers(4, 6))
    data = rng.integers(0, 8, size=(ROWS, width)).astype(float)
    weights, salt = rng.normal(size=width), rng.integers(1, 9, size=width)
    limit = np.quantile(data @ weights, 0.85)

    def margin(Z: Matrix) -> Vector:
        return np.asarray(Z @ weights - limit + 0.6 * np.sin(Z @ salt))

    grid = np.array(list(itertools.product(range(8), repeat=width)), dtype=float)
    reaching = grid[margin(grid) >= 0]
    return _missing(
        data, margin, lambda x: float(np.sqrt(((reaching - x) ** 2).sum(axis=1).min())), whole=True
    )


def _missing(
    data: Matrix,
    margin: Margin,
    nearest: Callable[[Vector], float],
    rules: tuple[str, ...] = (),
    whole: bool = False,
) -> Problem | None:
    """Take the first row that misses as the query."""
    misses = np.flatnonzero(margin(data) < 0)
    if len(misses) in (0, len(data)):
        return None
    query = data[misses[0]]
    optimum = nearest(query)
    if not np.isfinite(optimum) or optimum <= 0:
        return None
    return Problem(data.astype(int) if whole else data, query, margin, optimum, rules=rules)


FAMILIES: dict[str, Callable[[np.random.Generator], Problem | None]] = {
    "two half-spaces at once": two_at_once,
    "either of two half-spaces": either_of_two,
    "half-space with relations": with_relations,
    "outside a ball": outside_a_ball,
    "half-space in L1, 9 to 15 columns": l1_in_many_columns,
    "whole numbers, rugged": discrete,
}


def ratios(family: str, seed: int) -> tuple[float, float] | None:
    """Return how near the answers to one problem come, by labels and by scores."""
    problem = FAMILIES[family](np.random.default_rng(seed))
    if problem is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return problem.ratio("labels"), problem.ratio("scores")


def table(count: int, jobs: int) -> Iterator[str]:
    yield "| family | problems | by labels: mean (worst) | by scores: mean (worst) |"
    yield "|---|---|---|---|"
    with ProcessPoolExecutor(jobs) as pool:
        for family in FAMILIES:
            found = pool.map(ratios, [family] * count, range(count), chunksize=5)
            known = np.array([one for one in found if one is not None])
            shown = [f"{known[:, i].mean():.3f} ({known[:, i].max():.2f})" for i in range(2)]
            yield f"| {family} | {len(known)} | {shown[0]} | {shown[1]} |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.generated.figures", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="problems of each family")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    for line in table(given.count, given.jobs):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

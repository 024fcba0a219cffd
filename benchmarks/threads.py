"""What threads cost a search, which asks about few rows at a time: as many as there are cores against one.

Run it with ``python -m benchmarks.threads``, on an idle machine and beside another program.
"""

import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import joblib
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from threadpoolctl import threadpool_limits

_ROWS = (1, 30, 200, 1000, 5000, 20_000)
_SECONDS = 0.5


def median_ms(ask: Callable[[Any], Any], rows: Any, around: Any) -> float:
    """Return the median time of a call."""
    spent: list[float] = []
    with around:
        ask(rows)
        while sum(spent) < _SECONDS or len(spent) < 5:
            begun = time.perf_counter()
            ask(rows)
            spent.append(time.perf_counter() - begun)
    return 1000 * float(np.median(spent))


def main() -> None:
    """Print a row for each number of rows asked about."""
    X = np.random.default_rng(0).normal(size=(20_000, 20))
    y = X[:, 0] + X[:, 1] > 0
    boosting = HistGradientBoostingClassifier(max_iter=50).fit(X[:2000], y[:2000])
    forest = RandomForestClassifier(100, n_jobs=-1, random_state=0).fit(X[:2000], y[:2000])
    print("| rows | HistGradientBoosting, all threads | one | forest, n_jobs=-1 | in sequence |")
    print("|---|---|---|---|---|")
    for count in _ROWS:
        figures = (
            median_ms(boosting.predict_proba, X[:count], nullcontext()),
            median_ms(boosting.predict_proba, X[:count], threadpool_limits(1)),
            median_ms(forest.predict_proba, X[:count], nullcontext()),
            median_ms(forest.predict_proba, X[:count], joblib.parallel_config(backend="sequential")),
        )
        print(f"| {count:,} | " + " | ".join(f"{one:.2f} ms" for one in figures) + " |")


if __name__ == "__main__":
    main()

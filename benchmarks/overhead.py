"""What finding boundary points costs beyond the model's own time.

For each case the rows that `sample_boundary` asks about are recorded once. Then, in turn, `sample_boundary` is
timed, and bare `predict` is timed on the same rows: in the same batches, and once more with all rows of a
halving in one call. Each figure is the median over the repeats; the ratio is what counts.

    python -m benchmarks.overhead [--points 100000] [--repeats 7]
"""

import argparse
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import ssba


def fitted(features: int, frame: bool) -> tuple[Any, Any]:
    """Return the data and model of the paper's table 1(a)."""
    X, y = make_classification(
        n_samples=2000, n_features=features, n_informative=features, n_redundant=0, random_state=42
    )
    data = pd.DataFrame(X, columns=[f"f{j}" for j in range(features)]) if frame else X
    return data, LogisticRegression().fit(data, y)


class Recorder:
    """A model that keeps every batch of rows it is asked about."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.batches: list[Any] = []

    def predict(self, rows: Any) -> Any:
        self.batches.append(rows.copy())
        return self.model.predict(rows)


def batches_of(data: Any, model: Any, points: int) -> list[Any]:
    recorder = Recorder(model)
    explainer = ssba.Explainer(recorder, data, target=1)
    explainer.sample_boundary(2)
    recorder.batches.clear()
    explainer.sample_boundary(points, progress=False)
    return recorder.batches


def seconds(action: Callable[[], object]) -> float:
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def compare(features: int, frame: bool, points: int, repeats: int) -> dict[str, float]:
    data, model = fitted(features, frame)
    batches = batches_of(data, model, points)
    rows = pd.concat(batches) if frame else np.concatenate(batches)
    whole = [rows[begin : begin + points] for begin in range(0, len(rows), points)]
    explainer = ssba.Explainer(model, data, target=1)
    explainer.sample_boundary(2)
    times: dict[str, list[float]] = {"ssba": [], "same": [], "whole": []}
    for _ in range(repeats):
        times["ssba"].append(seconds(lambda: explainer.sample_boundary(points, progress=False)))
        times["same"].append(seconds(lambda: [model.predict(rows) for rows in batches]))
        times["whole"].append(seconds(lambda: [model.predict(rows) for rows in whole]))
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=7)
    asked = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, ", end="")
    print(f"numpy {np.__version__}, scikit-learn {sklearn.__version__}, ssba {ssba.__version__}")
    print(
        f"sample_boundary({asked.points:,}) over bare predict of the same rows, medians of {asked.repeats}\n"
    )
    print(
        "| rows as | features | sample_boundary | predict, same batches | ratio | predict, large batches | ratio |"
    )
    print("|---|---|---|---|---|---|---|")
    for frame in (False, True):
        for features in (2, 10, 50):
            found = compare(features, frame, asked.points, asked.repeats)
            same, whole = found["ssba"] / found["same"], found["ssba"] / found["whole"]
            print(
                f"| {'frame' if frame else 'array'} | {features} | {found['ssba'] * 1e3:.0f} ms | "
                f"{found['same'] * 1e3:.0f} ms | {same:.2f} | {found['whole'] * 1e3:.0f} ms | {whole:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

"""What finding boundary points costs beyond the model's own time.

For each case the rows that `sample_boundary` asks about are recorded once. Then, in turn,
`sample_boundary` is timed, and bare `predict` is timed on the same rows: in the same batches, and once
more with all rows of a halving in one call. Each figure is the median over the repeats; the ratios are
what counts.

    python -m benchmarks.overhead [--points 100000] [--repeats 7]
"""

import argparse
import platform
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

import ssba

MODELS: dict[str, Callable[[], Any]] = {
    "logistic": LogisticRegression,
    "MLP 64-32": lambda: MLPClassifier((64, 32), max_iter=60, random_state=0),
    "RBF SVC": SVC,
    "forest 100": lambda: RandomForestClassifier(100, random_state=0),
}


def fitted(features: int, frame: bool, name: str = "logistic") -> tuple[Any, Any]:
    """Return the data of the paper's table 1(a) and a model of it."""
    X, y = make_classification(
        n_samples=2000, n_features=features, n_informative=features, n_redundant=0, random_state=42
    )
    data = pd.DataFrame(X, columns=[f"f{j}" for j in range(features)]) if frame else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return data, MODELS[name]().fit(data, y)


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


def compare(
    features: int, frame: bool, points: int, repeats: int, name: str = "logistic"
) -> dict[str, float]:
    data, model = fitted(features, frame, name)
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


def show(name: str, features: int, frame: bool, points: int, repeats: int) -> None:
    found = compare(features, frame, points, repeats, name)
    same, whole = found["ssba"] / found["same"], found["ssba"] / found["whole"]
    print(
        f"| {name} | {'frame' if frame else 'array'} | {features} | {points:,} "
        f"| {found['ssba'] * 1e3:.0f} ms | {found['same'] * 1e3:.0f} ms | {same:.2f} "
        f"| {found['whole'] * 1e3:.0f} ms | {whole:.2f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=7)
    asked = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, ", end="")
    print(f"numpy {np.__version__}, scikit-learn {sklearn.__version__}, ssba {ssba.__version__}")
    print(f"sample_boundary over bare predict of the same rows, one process, medians of {asked.repeats}\n")
    print("| model | rows as | features | points | sample_boundary | predict, same batches | ratio ", end="")
    print("| predict, all rows of a halving at once | ratio |\n|---|---|---|---|---|---|---|---|---|")
    for frame in (False, True):
        for features in (2, 10, 50):
            show("logistic", features, frame, asked.points, asked.repeats)
    for name in list(MODELS)[1:]:
        show(name, 10, False, asked.points // 20, asked.repeats)


if __name__ == "__main__":
    main()

"""Models that tell their slopes, given themselves and through a function that gives the same scores.

    OMP_NUM_THREADS=1 python -m benchmarks.slopes

Prints CPU milliseconds and rows a query of a batch, and distances over the nearer of both answers.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import ssba

QUERIES = 100


@dataclass(frozen=True)
class Case:
    """A fitted model, a function with its scores, the data, the target, and rows that do not reach it."""

    name: str
    model: Any
    scores: Callable[[Any], Any]
    data: Any
    target: Any
    queries: Any


def cases(columns: int) -> Iterator[Case]:
    draw = np.random.default_rng(0)
    units = draw.normal(size=(2000, columns))
    data = units * np.linspace(1, 5, columns)
    height = units @ draw.normal(size=columns) / 4 + np.sin(2 * units[:, 0]) + units[:, 1] * units[:, 2]
    two = (height > 0).astype(int)

    def network(activation: str, labels: Any) -> Any:
        last = MLPClassifier((64, 32), activation=activation, max_iter=60, random_state=0)
        return make_pipeline(StandardScaler(), last).fit(data, labels)

    relu, tanh = network("relu", two), network("tanh", two)
    three = network("relu", two + (units[:, 3] > 1))
    machine = make_pipeline(StandardScaler(), SVC()).fit(data, two)
    number = make_pipeline(StandardScaler(), SVR()).fit(data, units[:, 0] + units[:, 1] ** 2)

    def logistic(rows: Any) -> Any:
        return 1 / (1 + np.exp(-machine.decision_function(rows)))

    probable, high = ssba.probability(1, at_least=0.8), ssba.value_between(2.5, None)
    yield Case("MLP", relu, relu.predict_proba, data, 1, data[relu.predict(data) != 1])
    yield Case("MLP, three classes", three, three.predict_proba, data, 2, data[three.predict(data) != 2])
    yield Case("MLP, tanh, 0.8", tanh, tanh.predict_proba, data, probable, data[tanh.predict(data) == 0])
    yield Case("SVC", machine, logistic, data, 1, data[machine.predict(data) != 1])
    yield Case("SVR", number, number.predict, data, high, data[number.predict(data) < 1.5])


def answers(model: Any, case: Case) -> tuple[float, float, Any]:
    """Return milliseconds and rows a query, and the distances."""
    explainer, queries = ssba.Explainer(model, case.data, target=case.target), case.queries[:QUERIES]
    explainer.explain(queries[0])
    begun = time.process_time()
    found = explainer.explain_many(queries, progress=False)
    spent = (time.process_time() - begun) * 1e3 / len(queries)
    far = np.array([np.inf if one.best is None else one.best.distance for one in found])
    return spent, float(np.mean([one.rows_used for one in found])), far


def main() -> None:
    warnings.simplefilter("ignore")
    print("| model | columns | through a function | given itself |\n|---|---|---|---|")
    for columns in (20, 50):
        for case in cases(columns):
            told = [answers(model, case) for model in (case.scores, case.model)]
            best = np.minimum(told[0][2], told[1][2])
            cells = [
                f"{spent:.1f} ms, {rows:.0f} rows, {(far / best).mean():.4f} (worst {(far / best).max():.2f})"
                for spent, rows, far in told
            ]
            print(f"| {case.name} | {columns} | {cells[0]} | {cells[1]} |", flush=True)


if __name__ == "__main__":
    main()

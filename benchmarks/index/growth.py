"""Growing an index on disk, beside finding as many boundary points in memory."""

import statistics
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.index.sections import Section
from benchmarks.index.timing import timed
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

import ssba


def explainer(columns: int, seed: int, model: Any) -> ssba.Explainer:
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(5000, columns))
    truth = (data[:, : columns // 2].sum(axis=1) + np.sin(3 * data[:, -1]) > 0).astype(int)
    return ssba.Explainer(model.fit(data, truth), data, target=1)


def models() -> dict[str, Any]:
    return {
        "logistic": LogisticRegression(),
        "MLP 64-32": MLPClassifier((64, 32), tol=10.0, n_iter_no_change=6, random_state=0),
    }


def measure(folder: Path, columns: int, step: int, seed: int, repeats: int) -> Section:
    """Time growth by `step` points in turn with finding `step` points in memory."""
    lines = []
    for name, model in models().items():
        made = explainer(columns, seed, model)
        path = folder / f"{name.split()[0]}.boundary"
        made.sample_boundary(step, path=path, progress=False)
        pairs, growth = [], []
        for turn in range(2, repeats + 2):
            pairs.append(_seconds(made, step))
            growth.append(_seconds(made, turn * step, path))
        ratios = [one / other for one, other in zip(growth, pairs, strict=True)]
        lines.append(
            {
                "model": name,
                "points": f"{step:,}",
                "pairs in memory, s": statistics.median(pairs),
                "growth on disk, s": statistics.median(growth),
                "ratio (median of turns)": statistics.median(ratios),
            }
        )
    note = (
        f"{columns} columns; medians of {repeats} turns, each of which first finds the points in memory and "
        "then grows the index by as many. Asked for: at most 1.1."
    )
    return Section("Growth", note, lines)


def _seconds(made: ssba.Explainer, n: int, path: Path | None = None) -> float:
    return timed(lambda: made.sample_boundary(n, path=path, progress=False))[0]

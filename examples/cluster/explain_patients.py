"""Grows an index of boundary points and explains a file of patients, on all GPUs of a Ray cluster.

On this machine alone: `python examples/cluster/explain_patients.py --patients 2000`. On a cluster, from where
the dashboard of its head can be reached; the driver gets a GPU, too, since the explainer is built there:

    ray job submit --working-dir . --entrypoint-num-gpus 1 -- \
        python examples/cluster/explain_patients.py --address auto --device cuda --num-gpus 1 \
        --folder /shared/patients --points 10000000 --patients 1000000

The folder must be one that the driver can write to; what is in it already is gone on with. To use a model of
your own, change `explainer_on`.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ssba

COLUMNS = ["age", "trestbps", "chol", "thalach", "oldpeak"]
RULES = ["age == x.age", "chol <= x.chol", "trestbps <= x.trestbps"]


def patients_like(count: int, seed: int) -> pd.DataFrame:
    """Return patients who are a little other than the packaged ones, since these are only 303."""
    known, draw = ssba.datasets.load_heart().frame[COLUMNS].astype(float), np.random.default_rng(seed)
    cells = known.to_numpy()
    near = cells[draw.integers(len(cells), size=count)] + draw.normal(size=(count, len(COLUMNS)))
    rows = pd.DataFrame(np.clip(near, cells.min(axis=0), cells.max(axis=0)), columns=COLUMNS)
    return rows.round({name: 1 if name == "oldpeak" else 0 for name in COLUMNS})


def explainer_on(device: str) -> ssba.Explainer:
    """Return an explainer of a network for heart patients, whose layers lie on a device."""
    heart = ssba.datasets.load_heart()
    network = make_pipeline(StandardScaler(), MLPClassifier((16,), alpha=3.0, max_iter=2000, random_state=0))
    network.fit(heart.frame[COLUMNS].astype(float), heart.target)
    background = patients_like(10_000, seed=0)
    return ssba.Explainer(ssba.to_torch(network, background, device=device), background, target="no disease")


def write_patients(file: Path, count: int) -> None:
    """Write patients to a file, unless it is there already."""
    if not file.exists():
        rows = patients_like(count, seed=1)
        rows.insert(0, "patient", [f"p{number}" for number in range(count)])
        rows.to_parquet(file, row_group_size=65_536)


def main(arguments: Sequence[str] | None = None) -> None:
    """Do both, and say what was written."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--address", help="of the cluster; without it, one is started on this machine")
    parser.add_argument("--actors", type=int, help="as many as the cluster has room for without it")
    parser.add_argument("--num-gpus", type=float, default=0, help="for each actor")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--folder", type=Path, default=Path("build/cluster"))
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--patients", type=int, default=200)
    asked = parser.parse_args(arguments)
    asked.folder.mkdir(parents=True, exist_ok=True)
    rows, out = asked.folder / "patients.parquet", asked.folder / "answers.parquet"
    write_patients(rows, asked.patients)
    explainer = explainer_on(asked.device)
    with ssba.run.on_ray(explainer, asked.address, actors=asked.actors, num_gpus=asked.num_gpus) as cluster:
        points = cluster.sample_boundary(asked.points, path=asked.folder / "heart.boundary")
        print(points)
        output = ssba.run.Output(out, force=out.exists())
        written = cluster.explain_many(rows, RULES, out=output, id="patient", boundary=points)
    told = ", ".join(f"{count:,} {status}" for status, count in sorted(written.statuses.items()))
    print(f"{written.path}: {written.rows:,} patients ({written.rows_before:,} of them before): {told}")
    print(f"sha256 {written.digest()}")


if __name__ == "__main__":
    main()

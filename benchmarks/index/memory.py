"""Peak memory of filling an index, for few and for many points, each in a process of its own."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.index.sections import Section

import ssba


def fill(path: str, n: int, columns: int) -> None:
    """Fill an index by a cheap linear model, and print this process's peak memory in MB."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(10_000, columns))
    weight = rng.normal(size=columns)

    def model(rows: Any) -> Any:
        return np.asarray(rows @ weight > 0)

    ssba.Explainer(model, data, target=True).sample_boundary(n, path=path, progress=False)
    print(peak_megabytes())


def peak_megabytes() -> float:
    """This process's own peak memory in MB; getrusage would also count what its parent had."""
    (line,) = [one for one in Path("/proc/self/status").read_text().splitlines() if one.startswith("VmHWM:")]
    return int(line.split()[1]) / 1024


def measure(folder: Path, counts: list[int], columns: int) -> Section:
    lines = []
    for n in counts:
        with tempfile.TemporaryDirectory(dir=folder) as inner:
            path = Path(inner) / "index"
            asked = [sys.executable, "-m", "benchmarks.index.memory", str(path), str(n), str(columns)]
            told = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
            size = sum(one.stat().st_size for one in path.rglob("*") if one.is_file())
        lines.append({"points": f"{n:,}", "on disk, MB": size / 2**20, "peak memory, MB": float(told)})
    note = f"{columns} columns, a linear model in NumPy; the whole process, with Python, NumPy and SciPy."
    return Section("Peak memory of filling", note, lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("n", type=int)
    parser.add_argument("columns", type=int)
    given = parser.parse_args()
    fill(given.path, given.n, given.columns)

"""The cluster's example runs as it is, on a cluster of this machine, and again with the same result."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ssba

pytest.importorskip("ray")

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples/cluster/explain_patients.py"


def run(folder: Path, *options: str) -> str:
    command = [
        sys.executable,
        str(SCRIPT),
        "--folder",
        str(folder),
        "--points",
        "500",
        "--patients",
        "6",
        *options,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 0, done.stderr
    return done.stdout


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(ssba.__file__).parents[1]), "OMP_NUM_THREADS": "1"}


def test_the_script_grows_an_index_and_explains_a_file(tmp_path: Path) -> None:
    said = run(tmp_path, "--actors", "1")
    assert "BoundarySet of 500 points toward 'no disease'" in said
    assert re.search(r"answers\.parquet: 6 patients \(0 of them before\): .*found", said)
    (written,) = re.findall(r"sha256 (\w{64})", said)
    assert written == by_one_process(tmp_path)


def by_one_process(folder: Path) -> str:
    from examples.cluster.explain_patients import RULES, explainer_on

    one = explainer_on("cpu")
    points = one.open_boundary(folder / "heart.boundary")
    runner = ssba.run.locally(one)
    rows, out = folder / "patients.parquet", folder / "one.parquet"
    return runner.explain_many(rows, RULES, out=out, boundary=points, id="patient").digest()


def test_the_page_shows_how_the_script_is_submitted() -> None:
    page = (ROOT / "docs/clusters.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"ray job submit .*?\n```", page, flags=re.DOTALL)
    assert "examples/cluster/explain_patients.py" in command
    options = re.findall(r"(--[a-z-]+)", command.partition(" -- ")[2])
    source = SCRIPT.read_text(encoding="utf-8")
    assert options
    assert [one for one in options if f'"{one}"' not in source] == []

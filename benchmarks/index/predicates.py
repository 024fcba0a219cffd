"""Exact nearest rows under bounds on three columns: ssba, bare NumPy, DuckDB and LanceDB."""

import json
import os
import statistics
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.index.bare import pass_over_columns, pass_over_rows
from benchmarks.index.rows import Bounds, Table
from benchmarks.index.sections import Section
from benchmarks.index.timing import medians_in_turn

SHARES = (0.2, 0.001)
ENGINES = ("duckdb", "lancedb")
ROOT = Path(__file__).resolve().parents[2]

Ask = Callable[[Bounds], list[int]]


def measure(table: Table, k: int, queries: int, repeats: int, engines: bool) -> Section:
    asked = {share: table.bounds(share, queries) for share in SHARES}
    lines = _ours(table, asked, k, repeats)
    expected = {share: [_ssba(table, k)(bounds) for bounds in listed] for share, listed in asked.items()}
    versions = []
    for name in ENGINES if engines else ():
        told = _engine(name, table, asked, k, repeats)
        lines += _engine_lines(name, told, expected)
        versions += [f"{name} {told['version']}"] if "version" in told else []
    about = f" ({', '.join(versions)}, their own threads on all cores, no index)" if versions else ""
    note = (
        f"Milliseconds a query, medians of {queries} queries with {repeats} repeats; ssba and bare NumPy "
        f"take turns in one process, each engine has its own{about}. ssba maps the files of its index; the "
        "bare passes have all rows in memory, in one array. `same rows`: whether a method found the rows "
        "that ssba found, in their order. `ssba / it`: less than 1 means that ssba is quicker."
    )
    return Section("Nearest rows under bounds on three columns", note, _with_ratios(lines))


def _ssba(table: Table, k: int) -> Ask:
    finder = table.finder()
    return lambda bounds: finder.nearest([table.query(bounds.x, bounds)], k)[0].position.tolist()


def _ours(table: Table, asked: dict[float, list[Bounds]], k: int, repeats: int) -> list[dict[str, Any]]:
    """Ssba, with and without compiling its constraints, and the bare passes."""
    rows = table.in_memory()
    columns = np.asfortranarray(rows)
    factor, finder = table.factor, table.finder()
    compiled = {id(bounds): table.query(bounds.x, bounds) for listed in asked.values() for bounds in listed}
    ways: dict[str, Ask] = {
        "ssba": lambda bounds: finder.nearest([compiled[id(bounds)]], k)[0].position.tolist(),
        "ssba, constraints compiled each time": _ssba(table, k),
        "bare NumPy, row after row": lambda bounds: pass_over_rows(rows, factor, bounds, k).tolist(),
        "bare NumPy, column after column": lambda bounds: pass_over_columns(
            columns, factor, bounds, k
        ).tolist(),
    }
    expected = {share: [ways["ssba"](bounds) for bounds in listed] for share, listed in asked.items()}
    seconds = {
        share: medians_in_turn(
            {way: [partial(ask, one) for one in asked[share]] for way, ask in ways.items()}, repeats
        )
        for share in SHARES
    }
    return [
        _line(
            way,
            {share: seconds[share][way] for share in SHARES},
            all([ask(one) for one in asked[share]] == expected[share] for share in SHARES),
        )
        for way, ask in ways.items()
    ]


def _line(way: str, seconds: dict[float, float | None], same: bool | None) -> dict[str, Any]:
    told = {f"{share:.1%} of rows, ms": _milliseconds(seconds[share]) for share in SHARES}
    return {"method": way, **told, "same rows": {True: "yes", False: "NO", None: "-"}[same]}


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else 1e3 * seconds


def _with_ratios(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    first = lines[0]
    for share in SHARES:
        key = f"{share:.1%} of rows, ms"
        for line in lines:
            line[f"ssba / it, {share:.1%}"] = None if line[key] is None else first[key] / line[key]
    return lines


def _engine(
    name: str, table: Table, asked: dict[float, list[Bounds]], k: int, repeats: int
) -> dict[str, Any]:
    """Run one of the engines in its own environment; `why` tells where that was not possible."""
    python = ROOT / ".venv-bench-index" / "bin" / "python"
    if not python.exists():
        return {"why": "not installed"}
    task, out = table.folder / f"{name}-task.json", table.folder / f"{name}-out.json"
    told = {
        "files": table.files,
        "folder": str(table.folder),
        "factor": table.factor.tolist(),
        "k": k,
        "repeats": repeats,
        "queries": {
            str(share): [{**vars(one), "x": one.x.tolist()} for one in listed]
            for share, listed in asked.items()
        },
    }
    task.write_text(json.dumps(told))
    command = [str(python), "-m", "benchmarks.index.engines", name, str(task), str(out)]
    done = subprocess.run(command, cwd=ROOT, env=os.environ, capture_output=True, text=True)
    if done.returncode:
        return {"why": (done.stderr.strip().splitlines() or ["failed"])[-1]}
    answers: dict[str, Any] = json.loads(out.read_text())
    return answers


def _engine_lines(
    name: str, told: dict[str, Any], expected: dict[float, list[list[int]]]
) -> list[dict[str, Any]]:
    if "why" in told:
        return [_line(f"{name}: {told['why']}", dict.fromkeys(SHARES), None)]
    return [
        _line(
            way,
            {share: statistics.median(found[str(share)]["seconds"]) for share in SHARES},
            all(found[str(share)]["found"] == expected[share] for share in SHARES),
        )
        for way, found in told["ways"].items()
    ]

"""Few dimensions: scans of all rows against the tree that is built once there were enough queries."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.index.rows import Table
from benchmarks.index.sections import Section
from benchmarks.index.timing import median_seconds, timed

DIMENSIONS = (2, 3, 5, 8, 10)
ENOUGH = 1_000
"""Queries in one call for which a tree is worth building whatever the number of rows."""


def measure(table: Table, k: int, repeats: int) -> Section:
    lines = [_line(table, k, repeats, columns) for columns in DIMENSIONS]
    note = (
        f"Milliseconds a query, medians of 5 queries with {repeats} repeats. `first {ENOUGH:,}`: as many "
        "queries in one call, which is when the tree is built. Rows of more than 10 columns get no tree."
    )
    return Section("Few dimensions", note, lines)


def _line(table: Table, k: int, repeats: int, columns: int) -> dict[str, Any]:
    small = replace(table, folder=_made(table.folder / f"of-{columns}"), columns=columns)
    queries = [small.query(x) for x in small.points(5)]
    scanning, growing = small.finder(), small.finder()
    scan = median_seconds([partial(scanning.nearest, [query], k) for query in queries], repeats)
    many = [small.query(x) for x in small.points(50)] * (ENOUGH // 50)
    building, _ = timed(lambda: growing.nearest(many, k))
    tree = median_seconds([partial(growing.nearest, [query], k) for query in queries], repeats)
    return {
        "columns": columns,
        "scan, ms": 1e3 * scan,
        f"first {ENOUGH:,}, s": building,
        "tree, ms": 1e3 * tree,
        "times as fast": scan / tree,
    }


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder

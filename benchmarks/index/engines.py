"""Runs DuckDB or LanceDB on the same rows and queries, in an environment of their own.

    python -m benchmarks.index.engines duckdb TASK.json OUT.json

Both answer exactly: neither has an index. DuckDB is asked in the two ways it offers, and each is reported.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

Task = dict[str, Any]
Ask = Callable[[dict[str, Any]], list[int]]


def rows_of(task: Task) -> Any:
    return np.concatenate([np.load(path) for path in task["files"]])


def arrow_table(task: Task) -> Any:
    """All columns, the position, and the scaled row as one vector."""
    import pyarrow as pa

    rows = rows_of(task)
    columns = {f"c{j}": pa.array(rows[:, j]) for j in range(rows.shape[1])}
    flat = pa.array((rows * np.array(task["factor"])).reshape(-1))
    vector = pa.FixedSizeListArray.from_arrays(flat, rows.shape[1])
    return pa.table(columns | {"position": pa.array(np.arange(len(rows))), "vector": vector})


def condition(query: dict[str, Any]) -> str:
    return " AND ".join(f"c{j} BETWEEN {query['low']!r} AND {query['high']!r}" for j in query["columns"])


def duckdb(task: Task) -> tuple[str, dict[str, Ask]]:
    engine = import_module("duckdb")

    connection = engine.connect()
    connection.execute(f"SET threads = {os.cpu_count()}")
    source = arrow_table(task)
    connection.register("source", source)
    connection.execute("CREATE TABLE t AS SELECT * FROM source")
    connection.unregister("source")

    def by_columns(query: dict[str, Any]) -> list[int]:
        gaps = [
            f"(c{j} - {x!r}) * {f!r}" for j, (x, f) in enumerate(zip(query["x"], task["factor"], strict=True))
        ]
        return ask(query, " + ".join(f"({gap}) * ({gap})" for gap in gaps))

    def by_array(query: dict[str, Any]) -> list[int]:
        scaled = (np.array(query["x"]) * np.array(task["factor"])).tolist()
        return ask(query, f"array_distance(vector, {scaled!r}::DOUBLE[{len(scaled)}])")

    def ask(query: dict[str, Any], distance: str) -> list[int]:
        sql = (
            f"SELECT position FROM t WHERE {condition(query)} ORDER BY {distance}, position LIMIT {task['k']}"
        )
        return [row[0] for row in connection.execute(sql).fetchall()]

    return str(engine.__version__), {
        "DuckDB, sum over columns": by_columns,
        "DuckDB, array_distance": by_array,
    }


def lancedb(task: Task) -> tuple[str, dict[str, Ask]]:
    engine = import_module("lancedb")

    folder = tempfile.mkdtemp(dir=task["folder"])
    table = engine.connect(folder).create_table("t", arrow_table(task))

    def ask(query: dict[str, Any]) -> list[int]:
        scaled = np.array(query["x"]) * np.array(task["factor"])
        found = table.search(scaled).distance_type("l2").where(condition(query), prefilter=True)
        positions: list[int] = found.select(["position"]).limit(task["k"]).to_arrow()["position"].to_pylist()
        return positions

    return str(engine.__version__), {"LanceDB": ask}


def measured(ask: Ask, task: Task) -> dict[str, Any]:
    """Seconds of every query and repeat, after each was asked once to warm up, and what was found."""
    told: dict[str, Any] = {}
    for share, queries in task["queries"].items():
        found = [ask(query) for query in queries]
        seconds = []
        for _ in range(task["repeats"]):
            for query in queries:
                begun = time.perf_counter()
                ask(query)
                seconds.append(time.perf_counter() - begun)
        told[share] = {"seconds": seconds, "found": found}
    return told


def main() -> None:
    name, source, out = sys.argv[1:]
    task = json.loads(Path(source).read_text())
    version, asks = {"duckdb": duckdb, "lancedb": lancedb}[name](task)
    told = {way: measured(ask, task) for way, ask in asks.items()}
    Path(out).write_text(json.dumps({"version": version, "ways": told}))


if __name__ == "__main__":
    main()

"""The boundary index: exact nearest rows in a large one, beside bare NumPy, DuckDB and LanceDB; its growth,
its memory, and the model rows it saves.

    python -m benchmarks.index [--rows 1000000] [--columns 50] [--queries 7] [--repeats 5] [--out FILE]
                               [--folder DIR] [--data DIR] [--no-engines] [--quick]
                               [--only NAME ...]

Writes FILE.md and FILE.json. DuckDB and LanceDB live in an environment of their own, `.venv-bench-index`,
with what benchmarks/index/peers.txt names; where that is missing the report says so. `--quick` is for tests:
few rows, and no other engines. The index lies in a temporary folder, below --folder if given (4 GB at most).
`--data` is that of `benchmarks.nearest`, whose cases show the rows saved.
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.index import batches, growth, memory, opening, predicates, saving, trees
from benchmarks.index.rows import Table
from benchmarks.index.sections import Section, as_json, as_markdown

SEED = 20251115


def measurements(table: Table, wished: argparse.Namespace) -> dict[str, Callable[[], Section]]:
    """All measurements, one module each."""
    return {
        "predicates": lambda: predicates.measure(
            table, wished.k, wished.queries, wished.repeats, engines=not wished.no_engines
        ),
        "opening": lambda: opening.measure(table, repeats=4 * wished.repeats),
        "batches": lambda: batches.measure(table, wished.k, 10 if wished.quick else 100, wished.repeats),
        "trees": lambda: trees.measure(table, wished.k, wished.repeats),
        "growth": lambda: growth.measure(table.folder, wished.columns, wished.step, SEED, wished.repeats),
        "memory": lambda: memory.measure(table.folder, wished.fill, wished.columns),
        "saving": lambda: saving.measure(wished.points, wished.saved_queries, wished.data, wished.cases),
    }


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--queries", type=int, default=7)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("index-figures"))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--no-engines", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="predicates, opening, batches, trees, ...")
    wished = parser.parse_args(given)
    wished.step, wished.fill = 100_000, [1_000_000, 10_000_000]
    wished.points, wished.saved_queries, wished.cases = 100_000, 20, saving.CASES
    if wished.quick:
        wished.rows, wished.queries, wished.repeats, wished.no_engines = 20_000, 2, 1, True
        wished.step, wished.fill = 1000, [1000, 2000]
        wished.points, wished.saved_queries, wished.cases = 2000, 3, saving.CASES[:1]
    return wished


def main(given: list[str] | None = None) -> None:
    wished = arguments(given)
    settings: dict[str, Any] = {
        name: getattr(wished, name) for name in ("rows", "columns", "k", "queries", "repeats")
    }
    settings["seed"] = SEED
    with tempfile.TemporaryDirectory(dir=wished.folder) as folder:
        every = measurements(Table(Path(folder), wished.rows, wished.columns, SEED), wished)
        told = [measure() for name, measure in every.items() if not wished.only or name in wished.only]
    wished.out.with_suffix(".md").write_text(as_markdown(told, settings))
    wished.out.with_suffix(".json").write_text(as_json(told, settings))
    print(as_markdown(told, settings))


if __name__ == "__main__":
    main()

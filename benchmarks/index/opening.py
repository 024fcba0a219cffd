"""Opening an index: its latest manifest is read and checked, its shards are not."""

from benchmarks.index.rows import Table
from benchmarks.index.sections import Section
from benchmarks.index.timing import median_seconds

from ssba.index.files.store import Store


def measure(table: Table, repeats: int) -> Section:
    path = table.store.path

    def opened() -> int:
        return Store.open(path).latest().rows

    lines = [
        {
            "rows": f"{opened():,}",
            "shards": len(table.blocks),
            "open, ms": 1e3 * median_seconds([opened], repeats),
        }
    ]
    return Section("Opening", f"Median of {repeats} times; asked for: less than 50 ms.", lines)

"""Many queries that nothing restricts, in one call and one by one."""

from functools import partial

import numpy as np
from benchmarks.index.rows import Table
from benchmarks.index.sections import Section
from benchmarks.index.timing import median_seconds, timed


def measure(table: Table, k: int, count: int, repeats: int) -> Section:
    finder = table.finder()
    queries = [table.query(x) for x in table.points(count)]
    first, _ = timed(lambda: finder.nearest(queries[:1], k))
    together = finder.nearest(queries, k)
    alone = [finder.nearest([query], k)[0] for query in queries]
    same = all(np.array_equal(a.position, b.position) for a, b in zip(together, alone, strict=True))
    one = median_seconds([partial(finder.nearest, [query], k) for query in queries[:10]], repeats)
    many = median_seconds([lambda: finder.nearest(queries, k)], repeats) / count
    lines = [
        {
            "queries": count,
            "the very first, ms": 1e3 * first,
            "one by one, ms a query": 1e3 * one,
            "in one call, ms a query": 1e3 * many,
            "times as fast": one / many,
            "same rows": "yes" if same else "NO",
        }
    ]
    note = (
        "The very first query also checks the sha256 of every shard and looks at all columns; that is kept."
    )
    return Section("Queries without bounds", note, lines)

"""The archives of many queries: what came in for each of them is looked at for all of them at once."""

from collections.abc import Sequence

import numpy as np

from ssba.search.archive import Archive
from ssba.search.regions import Matrix, Numbers, Regions, Vector


def look_at_new(archives: Sequence[Archive]) -> None:
    """Give each archive, of the rows that were recorded in it, those that are feasible."""
    waiting = [(archive, rows) for archive in archives if (rows := archive.take_new()) is not None]
    waiting = [(archive, rows) for archive, rows in waiting if len(rows)]
    if not waiting:
        return
    regions = Regions(tuple(archive.region for archive, _ in waiting), np.arange(len(waiting)))
    at = np.repeat(np.arange(len(waiting)), [len(rows) for _, rows in waiting])
    rows = np.concatenate([rows for _, rows in waiting])
    inside = regions.contains(rows, at)
    rows, at = rows[inside], at[inside]
    far = waiting[0][0].metric.distance(rows, regions.x[at])
    share_out([archive for archive, _ in waiting], rows, at, far)


def share_out(archives: Sequence[Archive], rows: Matrix, at: Numbers, far: Vector) -> None:
    """Add to each archive its rows, as they came, which are feasible and reach; `far` is how far they are."""
    order = np.argsort(at, kind="stable")
    rows, far = rows[order], far[order]
    ends = np.searchsorted(at[order], np.arange(len(archives) + 1)).tolist()
    for number, archive in enumerate(archives):
        begin, end = ends[number], ends[number + 1]
        if begin < end:
            archive.add(rows[begin:end], far[begin:end])

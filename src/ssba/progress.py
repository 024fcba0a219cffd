"""The progress bar of everything that may take a while."""

from typing import Any

_QUERIES = "{l_bar}{bar}| {n:.0f}/{total_fmt} [{elapsed}<{remaining}, {rate_fmt}]"
"""How a bar of queries looks, of which there may be parts."""


def unwatched() -> None:
    """Take note of a piece of work for nobody."""


def bar(total: int | None, what: str, progress: bool | None, done: int = 0, unit: str = "it") -> Any:
    """Return a progress bar; by default it shows only where somebody watches a terminal or notebook.

    Without a total, where nobody knows how much there will be to do, it counts.
    """
    from tqdm.auto import tqdm

    return tqdm(total=total, initial=done, desc=what, disable=_hidden(progress), leave=False, unit=unit)


def query_bar(total: int, progress: bool | None) -> Any:
    """Return a progress bar of queries, which takes parts of them; time left is by the whole time so far."""
    from tqdm.auto import tqdm

    return tqdm(
        total=total,
        desc="queries",
        disable=_hidden(progress),
        leave=False,
        unit=" queries",
        bar_format=_QUERIES,
        smoothing=0,
    )


def _hidden(progress: bool | None) -> bool | None:
    # tqdm's own rule for None: no bar where nobody watches.
    return None if progress is None else not progress

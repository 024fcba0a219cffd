"""The progress bar of everything that may take a while."""

from typing import Any


def unwatched() -> None:
    """Take note of a piece of work for nobody."""


def bar(total: int | None, what: str, progress: bool | None, done: int = 0, unit: str = "it") -> Any:
    """Return a progress bar; by default it shows only where somebody watches a terminal or notebook.

    Without a total, where nobody knows how much there will be to do, it counts.
    """
    from tqdm.auto import tqdm

    # tqdm's own rule for None: no bar where nobody watches.
    hidden = None if progress is None else not progress
    return tqdm(total=total, initial=done, desc=what, disable=hidden, leave=False, unit=unit)

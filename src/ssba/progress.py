"""The progress bar of everything that may take a while."""

from typing import Any


def bar(total: int, what: str, progress: bool | None, done: int = 0) -> Any:
    """Return a progress bar; by default it shows only where somebody watches a terminal or notebook."""
    from tqdm.auto import tqdm

    # tqdm's own rule for None: no bar where nobody watches.
    hidden = None if progress is None else not progress
    return tqdm(total=total, initial=done, desc=what, disable=hidden, leave=False)

"""One method on one case, in a process of its own: writes one JSON line a query to a file.

    python -m benchmarks.nearest.worker CASE METHOD OUT --which 0 1 2 ... [--data DIR]

The first line says how the preparation went; the parent reads the lines as they come, and stops a worker
that takes too long for one.
"""

import argparse
import json
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

from benchmarks.nearest.counting import Counter, count_rows
from benchmarks.nearest.methods import ENTRIES, Answering, NotApplicableError, installed, prepare
from benchmarks.nearest.plans import build


class Watch:
    """Time and model rows since the last look."""

    def __init__(self, counter: Counter) -> None:
        self.counter = counter
        self.look()

    def look(self) -> dict[str, float]:
        now = (time.perf_counter(), time.process_time(), self.counter.rows, self.counter.calls)
        since = getattr(self, "_before", now)
        self._before = now
        spent = (after - before for after, before in zip(now, since, strict=True))
        return dict(zip(("seconds", "cpu", "rows", "calls"), spent, strict=True))


def work(name: str, method: str, which: list[int], folder: Path | None, out: Path) -> None:
    with out.open("w", buffering=1) as lines:

        def tell(**said: Any) -> None:
            lines.write(json.dumps(said) + "\n")

        if not installed(method):
            tell(status="not installed", why=f"{ENTRIES[method].package} is not in this environment")
            return
        case = build(name, folder)
        model = case.fingerprint
        watch = Watch(count_rows(case.model))
        try:
            answering = prepare(method, case)
        except NotApplicableError as reason:
            tell(status="not applicable", why=str(reason))
            return
        tell(status="ready", model=model, **watch.look())
        _answer(answering, which, watch, tell)


def _answer(answering: Answering, which: list[int], watch: Watch, tell: Any) -> None:
    """Answer query by query; a query that fails is told as such, and the rest is answered anew."""
    left = list(which)
    while left:
        watch.look()
        try:
            for offered in answering(tuple(left)):
                tell(query=left.pop(0), offered=offered.tolist(), **watch.look())
            return
        except Exception:
            tell(query=left.pop(0), offered=[], error=traceback.format_exc(limit=-3), **watch.look())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("case")
    parser.add_argument("method", choices=ENTRIES)
    parser.add_argument("out", type=Path)
    parser.add_argument("--which", type=int, nargs="+", required=True)
    parser.add_argument("--data", type=Path)
    wished = parser.parse_args()
    warnings.simplefilter("ignore")
    work(wished.case, wished.method, wished.which, wished.data, wished.out)


if __name__ == "__main__":
    main()

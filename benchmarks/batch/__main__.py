"""How fast: batches beside the model's own time, single queries, cohorts, advice, and DiCE.

    OMP_NUM_THREADS=1 python -m benchmarks.batch [--only NAME ...] [--queries N] [--repeats R]
                                                 [--data DIR] [--json FILE] [--no-base]

Prints a Markdown table, each row as soon as it is measured. Every figure is measured in processes of its own
with one thread, with today's sources and those of commit 5fad16f in turn; several repeats give medians.
Seconds are CPU seconds. `--queries` caps the queries of every figure. `--json` keeps all numbers, so that two
runs can be compared. Adult needs --data or OpenML, the toy points --data; DiCE lives in an environment of its
own (`make bench-peers`).
"""

import argparse
from pathlib import Path

from benchmarks.batch.figures import FIGURES
from benchmarks.batch.reporting import HEAD, as_json, as_line, heading
from benchmarks.batch.runs import Row, Task, measured
from benchmarks.batch.sources import NoBaseError, base_sources
from benchmarks.nearest.running import ROOT


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="+", default=list(FIGURES), choices=FIGURES, metavar="NAME")
    parser.add_argument("--queries", type=int, help="at most so many for each figure")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--data", type=Path, help="folder of heart.csv, adult.csv and toy_dataset.csv")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to keep all numbers")
    parser.add_argument("--no-base", action="store_true", help="measure today's sources only")
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> None:
    options = arguments(given)
    print(heading())
    base = None if options.no_base else _base()
    print(f"\n{HEAD}", flush=True)
    rows = list[Row]()
    for name in options.only:
        task = Task(name, options.queries, options.repeats, options.data)
        rows.append(measured(task, ROOT / "src", base))
        print(as_line(rows[-1]), flush=True)
        if options.json is not None:
            # Written after every figure: a long run that is stopped leaves what it has.
            settings = {"queries": options.queries, "repeats": options.repeats}
            options.json.write_text(as_json(rows, settings))


def _base() -> Path | None:
    try:
        return base_sources()
    except NoBaseError as error:
        print(f"Without the base commit: {error}.")
        return None


if __name__ == "__main__":
    main()

"""Measure what each move and each number of the search is good for.

    OMP_NUM_THREADS=1 python -m benchmarks.ablate moves|settings [--data DIR] [--cases NAME ...]
                      [--half first|second] [--queries N] [--jobs N] [--only PREFIX] [--out FILE]

`moves` leaves each move of `ssba.search.nearest.MOVES` out in turn; `settings` halves and doubles each number
of `ssba.search.settings`. For every case of `benchmarks.nearest`, by labels and by scores, it prints the mean
distance over the limit and the mean of rows, as they are and as they change. Settings are chosen on the
first half of the queries, the even-numbered ones; `moves` is reported on the second.
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from benchmarks.ablate.measuring import Table
from benchmarks.ablate.report import as_markdown, as_text
from benchmarks.ablate.running import run
from benchmarks.ablate.variants import Variant, moves, settings
from benchmarks.golden.table import Half
from benchmarks.nearest.plans import NAMES

AS_IT_IS = Variant()


_OF_MOVES = (
    "Every move has a problem of its own in `tests/search/test_nearest.py`, to which the answer is farther, "
    "or dearer, without it: also those that change nothing here. Stored points are used with an index "
    "only; climbs, single columns, other arms and bent edges are rare in these cases, none of them is smooth "
    "in more than 50 columns, and none has several real numbers beside levels, for which one descends "
    "again.\n\n"
)


def _heading(what: str, half: Half, base: Table) -> str:
    queries, cases = max(len(one.rows) for one in base.values()), len({case for case, _ in base})
    return (
        f"# What each of the {what} is good for\n\n"
        f"Printed by `python -m benchmarks.ablate {what}`: up to {queries} queries of the {half} half "
        f"of each of {cases} cases of `benchmarks.nearest`, by labels and by scores. A query that is "
        "missed counts as twice as far.\n\n" + (_OF_MOVES if what == "moves" else "")
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ablate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=("moves", "settings"))
    parser.add_argument("--data", type=Path, help="folder of heart.csv, adult.csv and toy_dataset.csv")
    parser.add_argument("--cases", nargs="+", default=list(NAMES), choices=NAMES, metavar="NAME")
    parser.add_argument("--half", choices=("first", "second", "both"), help="second for moves, else first")
    parser.add_argument("--queries", type=int, help="at most so many queries a case")
    parser.add_argument("--only", default="", metavar="PREFIX", help="settings whose names begin so")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--out", type=Path, help="write the table there as Markdown")
    given = parser.parse_args(arguments)
    half: Half = given.half or ("second" if given.what == "moves" else "first")
    variants = [AS_IT_IS, *(moves() if given.what == "moves" else settings(given.only))]
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(run, one, given.cases, half, given.queries, given.data) for one in variants]
        base = waiting[0].result()
        found = {}
        for variant, one in zip(variants[1:], waiting[1:], strict=True):
            found[variant] = one.result()
            print(as_text(variant, base, found[variant]), flush=True)
    if given.out:
        given.out.write_text(_heading(given.what, half, base) + as_markdown(base, found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

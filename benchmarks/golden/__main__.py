"""Keep, compare or show the answers to the queries of `benchmarks.nearest`.

    OMP_NUM_THREADS=1 python -m benchmarks.golden write|check|report [--only PREFIX] [--queries N]
                                                  [--half first|second|both] [--data DIR]

`write` asks every case by labels and by scores and keeps the answers in answers.csv; `check` compares a
fresh run with them, and ends with status 1 where an answer is missed, a mean distance is 1% farther, or rows
have grown by 30%; `report` prints the kept answers as a Markdown table. Even-numbered queries are the first
half, on which settings are chosen, odd-numbered ones the second, which counts in reports.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.golden.asking import answers, numbers, ways
from benchmarks.golden.comparing import compare
from benchmarks.golden.laws import LAWS
from benchmarks.golden.report import as_markdown, laws_as_markdown
from benchmarks.golden.table import KEPT, Answer, in_half, read, write
from benchmarks.nearest.limits import Limits
from benchmarks.nearest.plans import NAMES, build
from benchmarks.nearest.sources import NoDataError


def fresh(given: argparse.Namespace, limits: Limits) -> Iterator[list[Answer]]:
    """Ask the chosen queries of the chosen cases; yield the answers case by case."""
    for name in NAMES:
        if not name.startswith(given.only):
            continue
        try:
            case = build(name, given.data)
        except NoDataError as missing:
            print(f"{name}: {missing}", flush=True)
            continue
        which = [i for i in numbers(case, limits, given.queries) if in_half(i, given.half)]
        if not which:
            print(f"{name}: no limits are kept for its model as it was trained here", flush=True)
            continue
        begun = time.process_time()
        found = answers(case, ways(name), which, limits, lower=given.what == "write")
        print(f"{name}: {len(found)} answers, {time.process_time() - begun:.0f} s", flush=True)
        yield found


def keep(given: argparse.Namespace) -> int:
    """Replace what is asked anew; the rest stays, but for cases, ways and queries that are no more."""
    limits = Limits()
    whole = given.queries is None and given.half == "both"
    order = {place: i for i, place in enumerate((name, way.name) for name in NAMES for way in ways(name))}
    for found in fresh(given, limits):
        limits.save()
        others = {key: one for key, one in read().items() if not (whole and one.case == found[0].case)}
        kept = others | {one.key: one for one in found}
        left = [one for one in kept.values() if (one.case, one.way) in order]
        write(sorted(left, key=lambda one: (order[one.case, one.way], one.query)), KEPT)
    return 0


def check(given: argparse.Namespace) -> int:
    kept, faults, now = read(), 0, list[Answer]()
    for found in fresh(given, Limits()):
        now += found
        compared = compare(kept, found)
        if not compared:
            print("  nothing of it was kept, or of a model that was trained differently", flush=True)
        for one in compared:
            faults += len(one.faults)
            print(one.text, flush=True)
    before = [kept[one.key] for one in now if one.key in kept]
    for law in LAWS:
        print(f"{law.text}: {len(law.broken(before))} queries broke this, {len(law.broken(now))} do now")
    print(f"{faults} faults")
    return 1 if faults else 0


def report(given: argparse.Namespace) -> int:
    kept = [one for one in read().values() if one.case.startswith(given.only)]
    print(as_markdown(kept, given.half), laws_as_markdown(kept, given.half), sep="\n\n")
    return 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.golden",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=("write", "check", "report"))
    parser.add_argument("--only", default="", metavar="PREFIX", help="cases whose names begin so")
    parser.add_argument("--queries", type=int, help="at most so many queries a case")
    parser.add_argument("--half", choices=("first", "second", "both"), help="both; second for `report`")
    parser.add_argument("--data", type=Path, help="folder of heart.csv, adult.csv and toy_dataset.csv")
    given = parser.parse_args(arguments)
    given.half = given.half or ("second" if given.what == "report" else "both")
    return {"write": keep, "check": check, "report": report}[given.what](given)


if __name__ == "__main__":
    sys.exit(main())

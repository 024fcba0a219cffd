"""`python -m tests.generated SEED` re-runs one world; `--from 0 --count 20000 --jobs 2` runs many."""

import argparse
import sys
import time
from pathlib import Path

from tests.generated.drawing import world
from tests.generated.report import markdown, run_many, tallied
from tests.generated.running import QUICK, run
from tests.generated.script import script
from tests.generated.shrink import shrink
from tests.generated.worlds import FAMILIES

_LONG = 20


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.generated", description=__doc__)
    parser.add_argument(
        "seed", nargs="?", type=int, help="re-run this world and print a small script if it fails"
    )
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument(
        "--attack", type=int, default=QUICK, help="rows drawn against the claims of each result"
    )
    parser.add_argument("--markdown", type=Path, help="a file for the tables")
    parser.add_argument("--whole", action="store_true", help="print the script without making it smaller")
    given = parser.parse_args(arguments)
    return _one(given) if given.seed is not None else _many(given)


def _one(given: argparse.Namespace) -> int:
    made = world(given.seed, given.families)
    findings = run(made, given.attack)
    _say(f"# {findings.checks.total()} checks, {len(findings.failures)} failures")
    for failure in findings.failures:
        _say(f"# {failure}")
    if not findings.failures:
        _say(script(made))
    for statement in sorted(findings.failed):
        smaller = made if given.whole else shrink(made, statement)
        _say("", script(smaller, statement))
        for failure in run(smaller, given.attack).failures:
            _say(f"# {failure}")
    return 1 if findings.failures else 0


def _many(given: argparse.Namespace) -> int:
    begun, found = time.monotonic(), []
    seeds = range(given.first, given.first + given.count)
    for number, one in enumerate(run_many(seeds, given.families, given.attack, given.jobs), start=1):
        found.append(one)
        for failure in one.failures:
            _say(f"seed {one.seed} ({one.family}): {str(failure)[:400]}")
        if one.seconds > _LONG:
            _say(f"seed {one.seed} ({one.family}): took {one.seconds:.0f} s")
        if number % 100 == 0:
            failing = sum(bool(other.failures) for other in found)
            _say(f"{number:,} worlds, {failing} of them fail, {time.monotonic() - begun:.0f} s")
    tables = markdown(tallied(found))
    if given.markdown is not None:
        given.markdown.write_text(tables, encoding="utf-8")
    _say("", tables)
    return 1 if any(one.failures for one in found) else 0


def _say(*lines: str) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

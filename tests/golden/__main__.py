"""`python -m tests.golden write` keeps all answers; `check` compares them, and prints what differs."""

import argparse
import sys
from pathlib import Path

from tests.golden.answers import Answer, all_answers, differing, read, write

KEPT = Path(__file__).with_name("answers.csv")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("what", choices=("write", "check"))
    parser.add_argument("--data", type=Path, help="the folder with adult.csv, for the cases that need it")
    parser.add_argument("--only", default="", help="names that begin so")
    given = parser.parse_args(arguments)
    kept = {} if given.what == "write" else read(KEPT)
    found: dict[str, Answer] = {}
    count = 0
    for name, answer in all_answers(given.data, given.only):
        found[name] = answer
        if given.what == "check" and (reason := differing(kept.get(name), answer)):
            count += 1
            sys.stdout.write(f"{name}: {reason}\n")
            sys.stdout.flush()
    if given.what == "write":
        write(KEPT, found)
    else:
        sys.stdout.write(f"{len(found):,} answers, {count} differ\n")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())

"""How near to the nearest: ssba and its peers on the same models, queries and constraints.

    python -m benchmarks.nearest [--cases NAME ...] [--methods NAME ...] [--queries 20] [--batch 100]
                                 [--data DIR] [--out FILE] [--budget-seconds 30] [--reuse-peers]

Every method runs on every case in a process of its own, with one thread. What takes longer than its budget
for a query is stopped, and the query counts as unsolved; after three in a row so do the rest. Every row that
comes back is asked about again and held against the constraints; nothing is repaired. Peers live in their
own environments (`make bench-peers`); those that are missing are reported as not installed. Writes FILE.md
and FILE.json, and lowers unproved limits in limits.json where an answer is nearer; one that is nearer than a
proved limit is a fault, told at the end.
"""

import argparse
import itertools
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.nearest.cases import Case
from benchmarks.nearest.limits import Limits, chosen
from benchmarks.nearest.measuring import Checked, check, figures, lower_limits
from benchmarks.nearest.methods import ENTRIES
from benchmarks.nearest.plans import NAMES, build
from benchmarks.nearest.reporting import Line, as_json, as_markdown
from benchmarks.nearest.running import Outcome, Task, run, run_or_reuse
from benchmarks.nearest.sources import NoDataError


def measured(case: Case, methods: list[str], limits: Limits, wished: argparse.Namespace) -> list[Line]:
    """Run all methods on a case; figures are taken last, against the limits that all of them leave."""
    which = chosen(case, limits, wished.queries).tolist()
    outcomes: dict[str, Outcome] = {}
    checked: dict[str, list[Checked]] = {}
    batch: dict[str, float] = {}
    beaten: dict[str, list[str]] = {}
    for method in methods:
        asked = which[: ENTRIES[method].at_most]
        task = Task(case.name, method, asked, wished.data, wished.budget_seconds)
        reuse = wished.reuse_peers and not method.startswith("ssba")
        outcome = _same_model(case, run_or_reuse(task, case.fingerprint, reuse))
        outcomes[method] = outcome
        checked[method] = [check(case, answer) for answer in outcome.answers]
        lowered, faults = lower_limits(case, limits, checked[method], method)
        beaten[method] = faults
        if wished.batch and ENTRIES[method].at_once and outcome.status == "ready":
            batch[method] = _batch_cpu(case, method, asked, wished)
        print(f"{case.name}, {method}: {outcome.status} {outcome.why}; {lowered} limits lowered", flush=True)
        for trouble in (*faults, *Counter(answer.error for answer in outcome.answers if answer.error)):
            print(trouble, flush=True)
    limits.save()
    about = _about_limits(case, limits, which)
    lines = []
    for method, outcome in outcomes.items():
        told: dict[str, Any] = {}
        if outcome.status == "ready":
            told = about | figures(case, limits, checked[method], outcome.answers)
            told |= {"batch cpu": batch.get(method)}
            told |= {"faults": beaten[method]}
        lines.append(Line(case.name, method, outcome.status, outcome.why, told))
    return lines


def _same_model(case: Case, outcome: Outcome) -> Outcome:
    """A method that was given a differently trained model, by its environment's libraries, has no figures."""
    if outcome.status == "ready" and outcome.model != case.fingerprint:
        return Outcome("other model", "its environment trains this case differently")
    return outcome


def _batch_cpu(case: Case, method: str, asked: list[int], wished: argparse.Namespace) -> float:
    """CPU seconds a query where many are asked together: the same ones as one by one, again and again."""
    which = list(itertools.islice(itertools.cycle(asked), wished.batch))
    outcome = run(Task(case.name, method, which, wished.data, wished.budget_seconds))
    return sum(answer.cpu for answer in outcome.answers) / max(1, len(outcome.answers))


def _about_limits(case: Case, limits: Limits, which: list[int]) -> dict[str, Any]:
    known = [limit for i in which if (limit := limits.get(case, i)) is not None and limit.reachable]
    if not known:
        return {}
    hows = Counter(f"{limit.how}{', proved' if limit.proved else ''}" for limit in known)
    by = "; ".join(f"{how}: {count}" if len(hows) > 1 else how for how, count in hows.most_common())
    return {"limit of all": sum(limit.distance for limit in known) / len(known), "limit by": by}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=NAMES, choices=NAMES, metavar="NAME")
    parser.add_argument("--methods", nargs="+", default=list(ENTRIES), choices=ENTRIES, metavar="NAME")
    parser.add_argument("--queries", type=int, default=20, help="reachable queries a case")
    parser.add_argument("--batch", type=int, default=0, help="time ssba on this many queries at once, too")
    parser.add_argument("--data", type=Path, help="folder of heart.csv, adult.csv and toy_dataset.csv")
    parser.add_argument("--out", type=Path, default=Path("nearest"), help="files to write, without suffix")
    parser.add_argument("--budget-seconds", type=float, default=30, help="for one query")
    parser.add_argument("--reuse-peers", action="store_true", help="take peers' answers from an earlier run")
    wished = parser.parse_args()
    settings = {"queries": wished.queries, "batch": wished.batch, "budget_seconds": wished.budget_seconds}
    limits, lines = Limits(), list[Line]()
    for name in wished.cases:
        try:
            case = build(name, wished.data)
        except NoDataError as missing:
            print(f"{name}: {missing}")
            continue
        lines += measured(case, wished.methods, limits, wished)
        # written after every case: a long run that is cut short leaves what it has
        wished.out.with_suffix(".json").write_text(as_json(lines, settings))
        wished.out.with_suffix(".md").write_text(as_markdown(lines, settings))
    print(as_markdown(lines, settings))
    if faults := [fault for line in lines for fault in line.figures.get("faults", ())]:
        sys.exit("\n".join(["Proved limits were beaten, so something is wrong:", *faults]))


if __name__ == "__main__":
    main()

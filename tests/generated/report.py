"""Many worlds in several processes, and what came of them as tables."""

import collections
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from tests.generated.drawing import world
from tests.generated.findings import Failure, Findings
from tests.generated.running import QUICK, run
from tests.generated.worlds import FAMILIES, Family


@dataclass
class Tally:
    """Counts of one family."""

    worlds: int = 0
    checks: int = 0
    failed: collections.Counter[str] = field(default_factory=collections.Counter)
    seeds: dict[str, list[int]] = field(default_factory=dict)
    over: dict[str, list[float]] = field(default_factory=dict)

    def add(self, findings: Findings) -> None:
        self.worlds += 1
        self.checks += findings.checks.total()
        for statement in findings.failed:
            self.failed[statement] += 1
            self.seeds.setdefault(statement, []).append(findings.seed)
        if findings.over_optimum is not None:
            self.over.setdefault(findings.by, []).append(findings.over_optimum)


def run_seed(seed: int, families: Sequence[Family] = FAMILIES, attack: int = QUICK) -> Findings:
    """Draw and run the world of a seed; a world that cannot be drawn is a failure of the generator."""
    try:
        made = world(seed, families)
    except Exception as error:
        findings = Findings(seed, "none")
        findings.failures.append(Failure("no world", f"{type(error).__name__}: {error}"))
        return findings
    return run(made, attack)


def _portion(seeds: Sequence[int], families: Sequence[Family], attack: int) -> list[Findings]:
    return [run_seed(seed, families, attack) for seed in seeds]


def run_many(
    seeds: Sequence[int], families: Sequence[Family] = FAMILIES, attack: int = QUICK, jobs: int = 1
) -> Iterator[Findings]:
    """Run worlds in several processes; findings come in the order of the seeds."""
    if jobs == 1:
        for seed in seeds:
            yield run_seed(seed, families, attack)
        return
    # Two processes with as many threads as cores each would fight for the cores.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    portions = [seeds[i : i + 10] for i in range(0, len(seeds), 10)]
    with ProcessPoolExecutor(jobs) as pool:
        running = [pool.submit(_portion, portion, families, attack) for portion in portions]
        for portion, one in zip(portions, running, strict=True):
            try:
                yield from one.result()
            except Exception as error:
                # A process that died takes its portion with it; the others go on.
                lost = Findings(portion[0], "none")
                lost.failures.append(
                    Failure("process died", f"seeds {portion[0]} to {portion[-1]}: {error!r}")
                )
                yield lost


def tallied(found: Iterable[Findings]) -> dict[str, Tally]:
    tallies: dict[str, Tally] = {}
    for one in found:
        tallies.setdefault(one.family, Tally()).add(one)
    return dict(sorted(tallies.items()))


def markdown(tallies: dict[str, Tally]) -> str:
    """Return the counts, the failing statements, and how near answers come, as Markdown tables."""
    lines = ["| family | worlds | checks | worlds that fail |", "|---|---|---|---|"]
    for family, one in tallies.items():
        failing = len({seed for seeds in one.seeds.values() for seed in seeds})
        lines.append(f"| {family} | {one.worlds:,} | {one.checks:,} | {failing} |")
    lines += ["", *_over_table(tallies), "", *_failed_table(tallies)]
    return "\n".join(lines).strip() + "\n"


def _over_table(tallies: dict[str, Tally]) -> list[str]:
    rows = [
        f"| {family} | {by} | {len(over):,} | {np.mean(over):.4f} | {np.max(over):.4f} |"
        for family, one in tallies.items()
        for by, over in sorted(one.over.items())
    ]
    if not rows:
        return []
    head = [
        "| family | model gives | answers | mean distance over the nearest row | worst |",
        "|---|---|---|---|---|",
    ]
    return [*head, *rows]


def _failed_table(tallies: dict[str, Tally]) -> list[str]:
    rows = [
        f"| {family} | {statement} | {count} | {', '.join(map(str, one.seeds[statement][:8]))} |"
        for family, one in tallies.items()
        for statement, count in one.failed.most_common()
    ]
    return ["| family | statement | worlds | seeds |", "|---|---|---|---|", *rows] if rows else []

"""Runs a figure on both sources in turn, each time in a new process, and takes the medians."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.batch.figures import FIGURES
from benchmarks.batch.measures import Measured
from benchmarks.nearest.running import ROOT, one_thread


@dataclass(frozen=True)
class Task:
    """Which figure, how many queries at most (None: as many as the figure says) and how often."""

    figure: str
    queries: int | None
    repeats: int
    folder: Path | None

    @property
    def asked(self) -> int:
        usual = FIGURES[self.figure].queries
        return usual if self.queries is None else min(usual, self.queries)


@dataclass(frozen=True)
class Row:
    """What was measured of a figure: now, and at the base commit if that was measured, too."""

    figure: str
    queries: int
    now: Measured
    base: Measured | None = None


@dataclass(frozen=True)
class _Runs:
    sources: Path
    found: list[Measured] = field(default_factory=list)


def measured(task: Task, now: Path, base: Path | None) -> Row:
    """Measure a figure now and at the base commit, in turn: what disturbs one disturbs the other, too."""
    ours = _Runs(now)
    theirs = None if base is None or not FIGURES[task.figure].at_base else _Runs(base)
    for _ in range(task.repeats):
        for runs in (theirs, ours):
            if runs is not None:
                runs.found.append(_run(task, runs.sources))
    return Row(
        task.figure, task.asked, _medians(ours.found), None if theirs is None else _medians(theirs.found)
    )


def _run(task: Task, sources: Path) -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "measured.json"
        command = [sys.executable, "-m", "benchmarks.batch.worker", task.figure, str(out)]
        command += ["--queries", str(task.asked)]
        if task.folder is not None:
            command += ["--data", str(task.folder.resolve())]
        ended = subprocess.run(
            command, cwd=ROOT, env=one_thread(sources), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        if ended.returncode:
            return Measured({}, note=_last_line(ended.stderr))
        return Measured(**json.loads(out.read_text()))


def _last_line(complaints: bytes) -> str:
    lines = complaints.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "the process ended without a message"


def _medians(found: Sequence[Measured]) -> Measured:
    """The median of every number over the runs that gave it; the remark is that of the last run."""
    return Measured(
        _median([one.shown for one in found]), _median([one.more for one in found]), found[-1].note
    )


def _median(found: Sequence[dict[str, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for one in found for name in one)
    return {name: median(one[name] for one in found if name in one) for name in names}

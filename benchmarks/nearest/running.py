"""Runs one method on one case in a process of its own, and stops it where it takes too long."""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.nearest.methods import ENTRIES
from benchmarks.nearest.plans import CACHE

ROOT = Path(__file__).resolve().parents[2]
PREPARATION_SECONDS = 300.0
GIVEN_UP_AFTER = 3
"""So many queries in a row that ran out of time, and the rest of them count as unsolved too."""

_POLL = 0.05


@dataclass(frozen=True)
class Answer:
    """What a method offered for one query, and what that took; `stopped` where it ran out of time."""

    query: int
    offered: list[list[float]]
    seconds: float
    cpu: float = 0.0
    rows: int = 0
    calls: int = 0
    stopped: bool = False
    error: str = ""


@dataclass(frozen=True)
class Outcome:
    """How a method did on a case: "ready" and its answers, or why there are none."""

    status: str
    why: str = ""
    model: str = ""
    answers: list[Answer] = field(default_factory=list)


@dataclass(frozen=True)
class Task:
    """A method, a case, and which of its queries."""

    case: str
    method: str
    which: list[int]
    folder: Path | None
    seconds_a_query: float


def run(task: Task) -> Outcome:
    """Run a task to its end; after a query that took too long the rest goes on in a new process."""
    python = interpreter(ENTRIES[task.method].environment)
    if python is None:
        return Outcome("not installed", "its environment is missing; `make bench-peers` makes it")
    at_once, patience = ENTRIES[task.method].at_once, task.seconds_a_query
    done: list[Answer] = []
    model = ""
    while left := task.which[len(done) :]:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "answers.jsonl"
            first_wait = patience * (len(left) if at_once else 1)
            told = _watched(_start(python, task, left, out), out, patience, first_wait)
            head = told.pop(0) if told else {"status": "failed", "why": _last_words(out)}
        if head["status"] != "ready" and not done:
            return Outcome(head["status"], head["why"])
        model = head.get("model", model)
        done += [Answer(**one) for one in told]
        late = left[len(told) :]
        hopeless = at_once or 1 + _stopped_last(done) >= GIVEN_UP_AFTER
        done += [Answer(query, [], patience, stopped=True) for query in (late if hopeless else late[:1])]
    return Outcome("ready", model=model, answers=done)


def _stopped_last(done: list[Answer]) -> int:
    """How many of the last queries in a row ran out of time."""
    return next((n for n, one in enumerate(reversed(done)) if not one.stopped), len(done))


def run_or_reuse(task: Task, model: str, reuse: bool) -> Outcome:
    """Run a task, or take its answers from an earlier run with the same model, queries and budget."""
    kept = _kept_at(task, model)
    if reuse and kept.exists():
        told = json.loads(kept.read_text())
        return Outcome(**told | {"answers": [Answer(**one) for one in told["answers"]]})
    outcome = run(task)
    if outcome.status == "ready":
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(asdict(outcome)))
    return outcome


def _kept_at(task: Task, model: str) -> Path:
    asked = f"{model} {task.which} {task.seconds_a_query:g}"
    name = f"{task.case}-{task.method}-{hashlib.sha256(asked.encode()).hexdigest()[:12]}.json"
    return CACHE / "answers" / name.replace(" ", "-")


def interpreter(environment: str | None) -> Path | None:
    """The Python of a bench environment, or this one; None where the environment is not there."""
    if environment is None:
        return Path(sys.executable)
    python = ROOT / f".venv-bench-{environment}" / "bin" / "python"
    return python if python.exists() else None


def _start(python: Path, task: Task, left: list[int], out: Path) -> subprocess.Popen[bytes]:
    command = [str(python), "-m", "benchmarks.nearest.worker", task.case, task.method, str(out)]
    command += ["--which", *map(str, left)]
    if task.folder is not None:
        command += ["--data", str(task.folder.resolve())]
    with _complaints(out).open("w") as complaints:
        return subprocess.Popen(
            command, cwd=ROOT, env=one_thread(), stdout=subprocess.DEVNULL, stderr=complaints
        )


def one_thread(sources: Path = ROOT / "src") -> dict[str, str]:
    """The variables of a worker: one thread, so that seconds mean the same for all, and ssba from here."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**os.environ, **threads, "PYTHONPATH": os.pathsep.join([str(ROOT), str(sources)])}


def _complaints(out: Path) -> Path:
    return out.with_suffix(".stderr")


def _last_words(out: Path) -> str:
    """The last line that a worker wrote to its stderr."""
    said = _complaints(out).read_text().strip().splitlines()
    return said[-1] if said else "the process ended without a word"


def _watched(
    process: subprocess.Popen[bytes], out: Path, wait: float, first_wait: float
) -> list[dict[str, Any]]:
    """The lines that a worker wrote until it ended, or until a line was overdue.

    The preparation has its own time, the first answer may wait longer than the others.
    """
    overdue = time.monotonic() + PREPARATION_SECONDS
    told = 0
    try:
        while process.poll() is None and time.monotonic() < overdue:
            time.sleep(_POLL)
            if len(lines := _lines(out)) > told:
                overdue = time.monotonic() + (first_wait if told == 0 else wait)
                told = len(lines)
    finally:
        process.kill()
        process.wait()
    return _lines(out)


def _lines(out: Path) -> list[dict[str, Any]]:
    """Whole lines only: the last one may still be on its way."""
    if not out.exists():
        return []
    *whole, _ = out.read_text().split("\n")
    return [json.loads(line) for line in whole]

"""The figures as Markdown and JSON, with what is needed to read them: machine, versions, seeds."""

import json
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.nearest.plans import SEED

PACKAGES = ("ssba", "numpy", "scipy", "scikit-learn", "pandas", "xgboost")


@dataclass(frozen=True)
class Line:
    """One method on one case: its figures, or why there are none."""

    case: str
    method: str
    status: str
    why: str
    figures: dict[str, Any]


def machine() -> dict[str, Any]:
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {name: metadata.version(name) for name in PACKAGES},
        "seed": SEED,
    }


def _cpu() -> str:
    told = Path("/proc/cpuinfo")
    if told.exists():
        for line in told.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def as_json(lines: Sequence[Line], settings: dict[str, Any]) -> str:
    told = [
        {"case": line.case, "method": line.method, "status": line.status, "why": line.why, **line.figures}
        for line in lines
    ]
    return json.dumps({"machine": machine(), "settings": settings, "results": told}, indent=1) + "\n"


COLUMNS = {
    "queries": "queries",
    "solved": "solved",
    "invalid": "invalid",
    "violations": "violations",
    "l2 mean": "L2 / limit, mean",
    "l2 median": "median",
    "l2 worst": "worst",
    "l2 ratio of means": "of the means",
    "l2 mean of k": "mean of k",
    "l1 mean": "L1 / limit",
    "l0": "columns changed",
    "rows": "rows",
    "cpu": "CPU seconds",
    "seconds": "wall",
    "batch cpu": "CPU seconds in a batch",
}


def as_markdown(lines: Sequence[Line], settings: dict[str, Any]) -> str:
    about = machine()
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    parts = [
        f"Machine: {about['cpu']}, {about['cores']} cores, one thread a method; Python {about['python']}, "
        f"{versions}; seed {about['seed']}; {settings['queries']} queries a case (slow methods fewer), "
        f"at most {settings['budget_seconds']:g} s each.",
        "`solved`: share of the reachable queries with a valid, legal answer. `invalid`, `violations`: rows "
        "returned that the model does not put into the target class, or that break a bound, a fixed column "
        "or a whole number. Distances are of the nearest good row; rows and seconds are means a query; wall "
        "seconds count those stopped at their budget, and depend on what else the machine does.",
    ]
    parts += ["L2 over the limit, mean @ share solved:", _summary(lines, _nearness)]
    parts += ["CPU seconds a query:", _summary(lines, lambda told: _cell("cpu", told["cpu"]))]
    for case in dict.fromkeys(line.case for line in lines):
        own = [line for line in lines if line.case == case]
        parts.append(f"### {case}{_limit(own)}")
        parts.append(_table(own))
    return "\n\n".join(parts) + "\n"


def _summary(lines: Sequence[Line], cell: Callable[[dict[str, Any]], str]) -> str:
    """One row a case, one column a method."""
    methods = list(dict.fromkeys(line.method for line in lines))
    told = {(line.case, line.method): line.figures for line in lines if line.status == "ready"}
    rows = [["case", *methods], ["---"] * (len(methods) + 1)]
    for case in dict.fromkeys(line.case for line in lines):
        found = [told.get((case, method)) for method in methods]
        rows.append([case, *("" if one is None else cell(one) for one in found)])
    return _lines_of(rows)


def _nearness(told: dict[str, Any]) -> str:
    if not told["solved"]:
        return "none"
    return f"{told['l2 mean']:.2f}@{told['solved']:.2g}"


def _limit(lines: Sequence[Line]) -> str:
    limits = {line.figures["limit of all"] for line in lines if line.figures.get("limit of all")}
    hows = {line.figures["limit by"] for line in lines if line.figures.get("limit by")}
    return f" (mean limit {limits.pop():.3g}, {hows.pop()})" if limits and hows else ""


def _table(lines: Sequence[Line]) -> str:
    used = {
        key: title
        for key, title in COLUMNS.items()
        if any(line.figures.get(key) is not None for line in lines)
    }
    rows = [["method", *used.values()], ["---"] * (len(used) + 1)]
    for line in lines:
        if line.status == "ready":
            rows.append([line.method, *(_cell(key, line.figures.get(key)) for key in used)])
        else:
            rows.append([line.method, f"{line.status}: {line.why}", *[""] * (len(used) - 1)])
    return _lines_of(rows)


def _lines_of(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _cell(key: str, value: float | None) -> str:
    if value is None:
        return "-"
    if key == "solved":
        return f"{value:.0%}"
    if key in ("queries", "invalid", "violations"):
        return f"{value:d}"
    if key == "rows":
        return f"{value:,.0f}"
    if key in ("cpu", "seconds", "batch cpu"):
        return f"{value:.2g}"
    return f"{value:.1f}" if key == "l0" else f"{value:.3f}"

"""The figures as a Markdown table and as JSON, with machine, versions and commit."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.batch.figures import FIGURES
from benchmarks.batch.measures import Measured
from benchmarks.batch.runs import Row
from benchmarks.batch.sources import BASE, commit
from benchmarks.nearest.reporting import machine

HEAD = f"| figure | at commit {BASE} | now | goal |\n|---|---|---|---|"


def heading() -> str:
    about = machine()
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items() if name != "ssba")
    return (
        f"{about['cpu']}, {about['cores']} cores, one thread; Python {about['python']}, {versions}; "
        f"commit {commit()}; seed {about['seed']}."
    )


def as_line(row: Row) -> str:
    figure = FIGURES[row.figure]
    now = _cell(row.now)
    if figure.relative and row.base is not None and row.now.shown.keys() == row.base.shown.keys():
        shares = {name: value / row.base.shown[name] for name, value in row.now.shown.items()}
        now += f" ({_numbers(shares)} of it)"
    title = f"{figure.title} ({row.queries:,} queries)" if row.queries > 1 else figure.title
    return f"| {title} | {'' if row.base is None else _cell(row.base)} | {now} | {figure.goal} |"


def as_json(rows: Sequence[Row], settings: dict[str, Any]) -> str:
    about = machine() | {"commit": commit(), "base": BASE}
    results = {row.figure: asdict(row) for row in rows}
    return json.dumps({"machine": about, "settings": settings, "results": results}, indent=1) + "\n"


def _cell(measured: Measured) -> str:
    return " ".join(part for part in (_numbers(measured.shown), measured.note) if part)


def _numbers(shown: dict[str, float]) -> str:
    return " / ".join(_digits(value) for value in shown.values())


def _digits(value: float) -> str:
    """Two digits, as these figures scatter; whole numbers from 10 on."""
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:.2g}"

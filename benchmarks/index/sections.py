"""What a measurement hands over, and all of them as Markdown and JSON with what is needed to read them."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.nearest.reporting import machine


@dataclass(frozen=True)
class Section:
    """A table of figures; every line has the same keys, which are its titles."""

    title: str
    note: str
    lines: list[dict[str, Any]]


def _about(settings: dict[str, Any]) -> dict[str, Any]:
    threads = os.environ.get("OMP_NUM_THREADS", "unset")
    return machine() | {"seed": settings["seed"], "OMP_NUM_THREADS": threads}


def as_json(sections: Sequence[Section], settings: dict[str, Any]) -> str:
    told = {"machine": _about(settings), "settings": settings, "sections": [asdict(one) for one in sections]}
    return json.dumps(told, indent=1) + "\n"


def as_markdown(sections: Sequence[Section], settings: dict[str, Any]) -> str:
    about = _about(settings)
    versions = ", ".join(f"{name} {about['versions'][name]}" for name in ("ssba", "numpy", "scipy"))
    parts = [
        f"Machine: {about['cpu']}, {about['cores']} cores, OMP_NUM_THREADS {about['OMP_NUM_THREADS']}; "
        f"Python {about['python']}, {versions}; seed {about['seed']}; {settings['rows']:,} rows of "
        f"{settings['columns']} numbers (float64), k = {settings['k']}. All figures are of one run, warm."
    ]
    for section in sections:
        parts += [f"### {section.title}", section.note, _table(section.lines)]
    return "\n\n".join(parts) + "\n"


def _table(lines: Sequence[dict[str, Any]]) -> str:
    titles = list(lines[0])
    rows = [titles, ["---"] * len(titles)]
    rows += [[_cell(line[title]) for title in titles] for line in lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else str(value)

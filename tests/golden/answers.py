"""Answers that a change of structure must not change: status, distance and row of many queries.

The queries are those of `benchmarks.nearest` (a function to labels, one to probabilities, both norms where
limits of both are kept) and the worlds of `tests.generated`, whose columns, rules and options are of every
kind. Kept are a line a query: status, distance, and a digest of all rows returned, to nine digits.
"""

import csv
import hashlib
import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.nearest.cases import NAMES, build
from tests.generated.drawing import world
from tests.generated.worlds import FAMILIES

import ssba

WORLDS = range(300)
DIGITS = 9
_NEEDS_DATA = ("adult-",)


@dataclass(frozen=True)
class Answer:
    """What one query gave."""

    status: str
    distance: float | None
    rows: str


def all_answers(folder: Path | None, only: str = "") -> Iterator[tuple[str, Answer]]:
    """Yield every answer under its name; cases whose data are not given are left out."""
    for name in NAMES:
        if name.startswith(_NEEDS_DATA) and folder is None:
            continue
        for by in ("labels", "scores"):
            if f"{name} {by}".startswith(only):
                yield from nearest_answers(name, by, folder)
    for seed in WORLDS:
        if f"world {seed}".startswith(only) and (answer := world_answer(seed)) is not None:
            yield f"world {seed}", answer


def nearest_answers(name: str, by: str, folder: Path | None) -> Iterator[tuple[str, Answer]]:
    """Yield the answers to all queries of a case of `benchmarks.nearest`."""
    case = build(name, folder)
    explainer = ssba.Explainer(case.labels if by == "labels" else case.scores, case.data, **case.options())
    found = explainer.explain_many(case.queries, case.constraints, progress=False)
    for i, one in enumerate(found):
        yield f"{name} {by} {i}", summary(one)


def world_answer(seed: int) -> Answer | None:
    """Return the answer to a generated world's query; None where it depends on the clock."""
    made = world(seed, FAMILIES)
    if made.options.seconds is not None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = made.explainer().explain(made.values, made.given_rules(), **made.options.given())
    return summary(result)


def summary(result: Any) -> Answer:
    """Return what is kept of an explanation."""
    returned = [*result.counterfactuals, *([result.bounded] if result.bounded else [])]
    rows = [sorted((name, _digits(cell)) for name, cell in one.values.items()) for one in returned]
    digest = hashlib.sha256(repr(rows).encode()).hexdigest()[:12]
    return Answer(str(result.status), returned[0].distance if returned else None, digest)


def _digits(cell: Any) -> str:
    if isinstance(cell, float) and math.isfinite(cell):
        return f"{cell:.{DIGITS}g}"
    return repr(cell)


def differing(kept: Answer | None, found: Answer) -> str | None:
    """Return in what two answers differ."""
    if kept is None:
        return "was not kept"
    if kept.status != found.status:
        return f"{found.status}, was {kept.status}"
    if _shown(kept.distance) != _shown(found.distance):
        return f"distance {found.distance}, was {kept.distance}"
    return None if kept.rows == found.rows else "other rows at the same distance"


def _shown(distance: float | None) -> str:
    return "" if distance is None else f"{distance:.{DIGITS}g}"


def write(path: Path, answers: Mapping[str, Answer]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        for name, one in answers.items():
            writer.writerow([name, one.status, _shown(one.distance), one.rows])


def read(path: Path) -> dict[str, Answer]:
    with path.open(newline="", encoding="utf-8") as file:
        return {
            name: Answer(status, float(distance) if distance else None, rows)
            for name, status, distance, rows in csv.reader(file)
        }

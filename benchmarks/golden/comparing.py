"""Holds answers against the kept ones: what is farther, missed or dearer now."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import mean

from benchmarks.golden.table import Answer, Key

FARTHER = 1.01
"""A distance, or a mean of them, is worse from this factor on."""

DEARER = 1.3
"""Mean rows have grown from this factor on."""


@dataclass(frozen=True)
class Figures:
    """What some answers come to; the distances are over the limit, and None where nothing was found."""

    queries: int
    missed: int
    mean: float | None
    worst: float | None
    rows: float
    calls: float

    @property
    def text(self) -> str:
        distances = "none found" if self.mean is None else f"{self.mean:.4f} ({self.worst:.3f})"
        missed = f", {self.missed} missed" if self.missed else ""
        return f"{distances}{missed}, {self.rows:,.0f} rows, {self.calls:,.0f} calls"


def figures(answers: Sequence[Answer]) -> Figures:
    ratios = [one.over_limit for one in answers if one.over_limit is not None]
    return Figures(
        queries=len(answers),
        missed=len(answers) - len(ratios),
        mean=mean(ratios) if ratios else None,
        worst=max(ratios, default=None),
        rows=mean(one.rows for one in answers),
        calls=mean(one.calls for one in answers),
    )


@dataclass(frozen=True)
class Comparison:
    """The same queries of one case, asked in one way, as kept and as of now, in the same order."""

    name: str
    kept: Sequence[Answer]
    now: Sequence[Answer]

    @property
    def worse(self) -> list[str]:
        """The queries that are missed now, or more than 1% farther."""
        pairs = zip(self.kept, self.now, strict=True)
        return [f"{new.query} ({_change(old, new)})" for old, new in pairs if _is_worse(old, new)]

    @property
    def faults(self) -> list[str]:
        """What must not come of a change: more missed, a mean 1% farther, or 30% more rows."""
        kept, now = figures(self.kept), figures(self.now)
        found = []
        if any(old.distance is not None and new.distance is None for old, new in self._pairs):
            found.append("a query that was answered is missed")
        if kept.mean is not None and now.mean is not None and now.mean > kept.mean * FARTHER:
            found.append(f"the mean distance over the limit was {kept.mean:.4f} and is {now.mean:.4f}")
        if now.rows > kept.rows * DEARER:
            found.append(f"the mean of rows was {kept.rows:,.0f} and is {now.rows:,.0f}")
        return found

    @property
    def text(self) -> str:
        lines = [
            f"{self.name}, {len(self.now)} queries",
            f"  kept {figures(self.kept).text}",
            f"  now  {figures(self.now).text}",
        ]
        if self.worse:
            lines.append(f"  worse by more than 1%: {', '.join(self.worse)}")
        return "\n".join([*lines, *(f"  FAULT: {fault}" for fault in self.faults)])

    @property
    def _pairs(self) -> Sequence[tuple[Answer, Answer]]:
        return list(zip(self.kept, self.now, strict=True))


def compare(kept: dict[Key, Answer], now: Sequence[Answer]) -> list[Comparison]:
    """Pair the answers of now with the kept ones, case by case and way by way.

    Those that were not kept, or of a model that was trained differently, are left out.
    """
    common = [one for one in now if one.key in kept and kept[one.key].model == one.model]
    found = []
    for (case, way), group in groupby(common, key=lambda one: (one.case, one.way)):
        new = list(group)
        old = [_to_limit_of(one, kept[one.key]) for one in new]
        found.append(Comparison(f"{case} by {way}", old, new))
    return found


def _to_limit_of(new: Answer, old: Answer) -> Answer:
    """The kept answer over the limit of now, which may be a lower one."""
    if new.distance is None or new.over_limit is None or old.distance is None:
        return old
    return replace(old, over_limit=old.distance / new.distance * new.over_limit)


def _is_worse(old: Answer, new: Answer) -> bool:
    if old.distance is None or new.distance is None:
        return old.distance is not None
    return new.distance > old.distance * FARTHER


def _change(old: Answer, new: Answer) -> str:
    return f"{_shown(old.over_limit)} to {_shown(new.over_limit)}"


def _shown(ratio: float | None) -> str:
    return "missed" if ratio is None else f"{ratio:.3f}"

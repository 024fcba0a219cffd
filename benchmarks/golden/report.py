"""The kept table as Markdown: distance over the limit, rows and calls, case by case."""

from collections import Counter
from collections.abc import Iterable, Sequence

from benchmarks.golden.comparing import figures
from benchmarks.golden.laws import LAWS
from benchmarks.golden.table import Answer, Half, in_half


def as_markdown(answers: Iterable[Answer], half: Half = "second") -> str:
    """One line a case and norm, with labels and scores side by side; only one half of the queries."""
    told = [one for one in answers if in_half(one.query, half)]
    lines = [
        "| case | queries | limit | labels: mean (worst) | rows | calls "
        "| scores: mean (worst) | rows | calls |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for case, norm in dict.fromkeys((one.case, _norm(one.way)) for one in told):
        own = [one for one in told if one.case == case]
        sides = [[one for one in own if one.way == f"{by}{norm}"] for by in ("labels", "scores")]
        if not any(sides):
            continue
        asked = sides[0] or sides[1]
        lines.append(
            f"| {case}{',' * bool(norm)}{norm} | {len(asked)} | {_limits(asked)} | "
            + " | ".join(_cells(side) for side in sides)
            + " |"
        )
    return "\n".join(lines)


def laws_as_markdown(answers: Iterable[Answer], half: Half = "second") -> str:
    """One line a law: how many queries break it, and in which cases."""
    told = [one for one in answers if in_half(one.query, half)]
    lines = ["| law | queries | broken | where |", "|---|---|---|---|"]
    for law in LAWS:
        broken = law.broken(told)
        cases = Counter(one.case for one in broken)
        where = ", ".join(f"{case}: {count}" for case, count in cases.items())
        lines.append(f"| {law.text} | {len(law.compared(told))} | {len(broken)} | {where} |")
    return "\n".join(lines)


def _norm(way: str) -> str:
    return " L1" if way.endswith(" L1") else ""


def _limits(answers: Sequence[Answer]) -> str:
    proved = sum(one.limit == "proved" for one in answers)
    if proved in (0, len(answers)):
        return answers[0].limit
    return f"{proved} proved"


def _cells(answers: Sequence[Answer]) -> str:
    """Mean and worst, rows, calls."""
    if not answers:
        return "- | - | -"
    told = figures(answers)
    distance = "none found" if told.mean is None else f"{told.mean:.3f} ({told.worst:.2f})"
    missed = f", {told.missed} missed" if told.missed else ""
    return f"{distance}{missed} | {told.rows:,.0f} | {told.calls:,.0f}"

"""The figures of variants beside those of the search as it is."""

from collections.abc import Mapping
from statistics import mean

import numpy as np
from benchmarks.ablate.measuring import Found, Place, Table
from benchmarks.ablate.variants import Variant

NOTICED = 0.001
"""A change of the mean distance by this share, or of rows by ten times as much, is shown."""


def as_text(variant: Variant, base: Table, found: Table) -> str:
    """One line a variant: the mean change over all cases, and the cases in which it is noticed."""
    changes = [change(base[place], found[place]) for place in base]
    farther, dearer = mean(one for one, _ in changes), mean(rows for _, rows in changes)
    worst = sorted(base, key=lambda place: -abs(change(base[place], found[place])[0]))[:3]
    shown = "; ".join(
        f"{case} {by} {change(base[case, by], found[case, by])[0]:+.2%}"
        for case, by in worst
        if abs(change(base[case, by], found[case, by])[0]) >= NOTICED
    )
    return f"{variant.name:44} distance {farther:+.3%} rows {dearer:+.1%}  {shown}"


def change(base: Found, found: Found) -> tuple[float, float]:
    """By what share distances and rows change; a query that is missed counts as twice as far."""
    pairs = [
        (new if np.isfinite(new) else 2 * old) / old
        for old, new in zip(base.over_limit, found.over_limit, strict=True)
        if np.isfinite(old)
    ]
    return (mean(pairs) - 1 if pairs else 0.0), found.mean_rows / base.mean_rows - 1


def as_markdown(base: Table, found: Mapping[Variant, Table]) -> str:
    """What each variant changes, on the whole and case by case; cases that it leaves alone are left out."""
    lines = [
        "| variant | distance | rows | cases that change |",
        "|---|---|---|---|",
        *(_summary(variant, base, table) for variant, table in found.items()),
        "",
        "Case by case: the mean distance over the limit, and rows a query, as it is and in the variant.",
        "",
        "| variant | case | by | distance | rows |",
        "|---|---|---|---|---|",
    ]
    for variant, table in found.items():
        lines += [_line(variant, place, base[place], table[place]) for place in _told(base, table)]
    return "\n".join(lines) + "\n"


def _summary(variant: Variant, base: Table, found: Table) -> str:
    changes = [change(base[place], found[place]) for place in base]
    farther, dearer = mean(one for one, _ in changes), mean(rows for _, rows in changes)
    return f"| {variant.name} | {farther:+.2%} | {dearer:+.1%} | {len(_told(base, found))} of {len(base)} |"


def _told(base: Table, found: Table) -> list[Place]:
    return [place for place in base if _is_noticed(base[place], found[place])]


def _is_noticed(base: Found, found: Found) -> bool:
    farther, dearer = change(base, found)
    return abs(farther) >= NOTICED or abs(dearer) >= 10 * NOTICED


def _line(variant: Variant, place: Place, base: Found, found: Found) -> str:
    missed = f", {found.missed} missed" if found.missed else ""
    return (
        f"| {variant.name} | {place[0]} | {place[1]} | {base.distance:.4f} → {found.distance:.4f}{missed} "
        f"| {base.mean_rows:,.0f} → {found.mean_rows:,.0f} |"
    )

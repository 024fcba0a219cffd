"""The sections of a report about many queries."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ssba.html import Cell, Markup
from ssba.results import prose, text, words
from ssba.results.cohort.sentences import step_words
from ssba.views.charts.cohort import frequency_chart
from ssba.views.charts.tracks import DataContext, move_of
from ssba.views.report.pieces import facts, figure, note, paragraph, section, table, tiles
from ssba.views.report.query import column_name
from ssba.views.svg import distances_picture

if TYPE_CHECKING:
    from ssba.results.cohort.intervals import Estimate
    from ssba.results.cohort.summary import Cohort, ColumnUse, Group
    from ssba.results.explanation import Explanation

MOST_LISTED = 1_000
"""Queries that are listed one by one; all of them are counted."""

_STATUS_WORDS = {
    "found": "A change was found",
    "bounded": "Only a bounded move",
    "infeasible": "Constraints contradict",
    "already_there": "Nothing to change",
    "out_of_budget": "Out of budget",
}


def summary(cohort: "Cohort") -> Markup:
    """Say what came out: in a few sentences and numbers."""
    counts = cohort.everyone.statuses
    parts: dict[str, Any] = {"Queries": f"{cohort.everyone.count:,}"}
    parts |= {named: f"{counts[status]:,}" for status, named in _STATUS_WORDS.items() if counts.get(status)}
    if cohort.distances:
        parts["Median distance"] = words.show(cohort.distances["median"])
    return section("In short", paragraph(cohort.sentence), tiles(parts), note(prose.CAUTION))


def columns(cohort: "Cohort", around: DataContext) -> Markup | None:
    """Show how often columns change, which way and by how much."""
    used = [one for one in cohort.columns if one.changed]
    if not used:
        return None
    heads = ["Column", "Changes in", "Importance", "Raised", "Lowered", "Other changes"]
    return section(
        "Which columns change",
        figure(frequency_chart(cohort, meanings=around.meanings), "In how many answers each column changes"),
        table("How the answers use each column", heads, [_use_row(one, around) for one in used]),
        paragraph(
            "Importance: each answer is worth 1, divided evenly among the columns that it changes. "
            "Raised and lowered: in how many answers, and the median step.",
            class_="soft small",
        ),
    )


def _use_row(use: "ColumnUse", around: DataContext) -> list[Any]:
    moves = [f"{words.show(one.before)} to {words.show(one.after)}: {one.count}" for one in use.moves]
    return [
        column_name(use.column, around.label(use.column)),
        f"{use.share:.0%}",
        f"{use.importance:.2f}",
        Cell(_way(use.up, use.median_up, use), "value"),
        Cell(_way(use.down, use.median_down, use), "value"),
        ", ".join(moves),
    ]


def _way(count: int, size: float | None, use: "ColumnUse") -> str:
    return f"{count}, by {step_words(size, use)}" if count else ""


def distances(cohort: "Cohort") -> Markup | None:
    """Show how far the answers are."""
    if not cohort.distances:
        return None
    quantiles = {_QUANTILES.get(name, name): words.show(value) for name, value in cohort.distances.items()}
    picture = distances_picture(_distances(cohort), "distance from the query", "answers within that distance")
    return section(
        "How far it is",
        figure(picture, "Share of the answers found within each distance"),
        facts(quantiles),
    )


_QUANTILES = {
    "min": "nearest",
    "25%": "a quarter lies within",
    "median": "half lie within",
    "75%": "three quarters lie within",
    "90%": "90% lie within",
    "max": "farthest",
}


def _distances(cohort: "Cohort") -> Mapping[str, Sequence[float]]:
    """Return the distances by group, where curves can be told apart; else all together."""
    if 2 <= len(cohort.groups) <= 3:
        found: dict[str, list[float]] = {one.label: [] for one in cohort.groups}
        for member in cohort.members:
            if member.distance is not None and member.group is not None:
                found[member.group].append(member.distance)
        if all(found.values()):
            return found
    return {"everyone": [one.distance for one in cohort.members if one.distance is not None]}


def groups(cohort: "Cohort") -> Markup | None:
    """Show for whom it is harder."""
    if not cohort.groups:
        return None
    heads = [cohort.by or "group", "Queries", "A change was found for", "Median distance of those", "Burden"]
    rows = [_group_row(one) for one in (cohort.everyone, *cohort.groups)]
    return section(
        "For whom it is harder",
        table(f"How groups fare, by {cohort.by}", heads, rows),
        paragraph(
            "Intervals are exact and at 95% confidence. Burden is the median distance of all that needed a "
            "change, where nothing found counts as farther than anything that was. Groups whose intervals "
            "overlap may differ by chance.",
            class_="soft small",
        ),
    )


def _group_row(group: "Group") -> list[Any]:
    return [
        group.label,
        f"{group.count:,}",
        f"{group.found:,} of {group.needed:,} ({_interval(group.share_found, '.0%')})",
        _interval(group.distance),
        _interval(group.burden),
    ]


def _interval(estimate: "Estimate", form: str = ".3g") -> str:
    """Write an estimate with its interval."""
    if estimate.value is None and estimate.low is None:
        return "none"
    value = "without limit" if estimate.value is None else format(estimate.value, form)
    if estimate.low is None:
        return f"{value}; too few for an interval"
    high = "any distance" if estimate.high is None else format(estimate.high, form)
    return f"{value}; {estimate.low:{form}} to {high}"


def queries(explanations: Sequence["Explanation"]) -> Markup:
    """List the queries one by one."""
    shown = explanations[:MOST_LISTED]
    heads = ["Query", "The model says", "Outcome", "What would change", Cell("Distance", "number")]
    rows = [_query_row(number, one) for number, one in enumerate(shown)]
    left = len(explanations) - len(shown)
    return section(
        "One by one",
        table("All queries, in their order, numbered from 0", heads, rows),
        paragraph(f"{left:,} more are counted above but not listed.", class_="soft small") if left else None,
    )


def _query_row(number: int, explanation: "Explanation") -> list[Any]:
    move = move_of(explanation)
    parts = ""
    if move is not None:
        wording = prose.wording_of(explanation)
        parts = prose.actions(move.changes, wording) if move.changes else "nothing"
    if explanation.clash:
        parts = f"contradiction: {words.join(explanation.clash)}"
    return [
        str(number),
        "not asked" if explanation.prediction is None else text.spoken(explanation)[0][0],
        Cell(_STATUS_WORDS[explanation.status.value], "value"),
        Cell(parts, "wrap"),
        Cell("" if move is None else words.show(move.distance), "number"),
    ]

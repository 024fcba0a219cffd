"""A cohort in words, for a sentence and for the terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ssba.results.words import columns as aligned
from ssba.results.words import join, show

if TYPE_CHECKING:
    from ssba.results.cohort.intervals import Estimate
    from ssba.results.cohort.summary import Cohort, ColumnUse, Group

# Columns that the sentence names.
_MOST_NAMED = 3


def sentence(cohort: "Cohort") -> str:
    """Say how many were found, what changes most often, and where recourse is harder."""
    return " ".join([_outcome(cohort), *_habits(cohort), *_comparison(cohort)])


def report(cohort: "Cohort") -> str:
    """Return a readable page: the sentence, how columns are used, how groups fare."""
    parts = [sentence(cohort)]
    used = [one for one in cohort.columns if one.changed]
    if used:
        parts.append(aligned([("column", "changed", "importance", "how"), *map(_column_line, used)]))
    if cohort.groups:
        head = (cohort.by or "group", "queries", "found", "median distance", "burden")
        parts.append(aligned([head, *map(_group_line, (cohort.everyone, *cohort.groups))]))
    return "\n\n".join(parts)


def _outcome(cohort: "Cohort") -> str:
    everyone = cohort.everyone
    if not everyone.count:
        return "There are no queries."
    there = everyone.count - everyone.needed
    which = f"{there} of them "
    if there == everyone.count:
        which = "" if there == 1 else "all of them "
    sentences = f"{_queries(everyone.count)}{f', {which}already at the target' if there else ''}."
    if not everyone.needed:
        return sentences
    sentences += f" A counterfactual was found for {everyone.found} of {everyone.needed} ({_share(everyone)})"
    if cohort.distances:
        nearest, middle, farthest = (cohort.distances[one] for one in ("min", "median", "max"))
        sentences += f", at a median distance of {middle:.3g} ({nearest:.3g} to {farthest:.3g})"
    others = {name: n for name, n in everyone.statuses.items() if name not in ("found", "already_there")}
    if others:
        sentences += f"; {join(f'{n} ended {name}' for name, n in others.items())}"
    return f"{sentences}."


def _habits(cohort: "Cohort") -> list[str]:
    used = [one for one in cohort.columns if one.changed][:_MOST_NAMED]
    if not used:
        return []
    named = join(f"{one.column} (in {one.share:.0%}{_how(one, ': ')})" for one in used)
    return [f"Most often changed: {named}."]


def _how(use: "ColumnUse", lead: str) -> str:
    sentences = _how_changed(use)
    return f"{lead}{sentences}" if sentences else ""


def _how_changed(use: "ColumnUse") -> str:
    """Say how a column changes: directions with the median step, or the moves between levels."""
    both = (("up", use.up, use.median_up), ("down", use.down, use.median_down))
    sentences = [
        f"{count} {word} by {'a median of ' if count > 1 else ''}{step_words(size, use)}"
        for word, count, size in both
        if count
    ]
    sentences += [f"{one.count} {show(one.before)} to {show(one.after)}" for one in use.moves]
    return ", ".join(sentences)


def step_words(size: float | None, use: "ColumnUse") -> str:
    """Write the median step of a column, with its unit; an ordinal column goes in levels."""
    if use.is_ordinal:
        return f"{show(size)} {'level' if size == 1 else 'levels'}"
    return show(size, use.unit)


def _comparison(cohort: "Cohort") -> list[str]:
    """Say where recourse is harder, and only where the intervals do not overlap."""
    if len(cohort.groups) < 2:
        return []
    shares = [one for one in cohort.groups if one.needed]
    sentences = [
        f"{lower.label} finds a counterfactual less often than {higher.label} "
        f"({_share(lower)} against {_share(higher)})."
        for lower, higher in _apart(shares, "share_found")
    ]
    sentences += [
        f"{farther.label} has farther to go than {nearer.label} (median {_interval(farther.burden)} "
        f"against {_interval(nearer.burden)})."
        for nearer, farther in _apart(shares, "burden")
    ]
    if sentences:
        return [f"By {cohort.by}: {sentences[0]}", *sentences[1:]]
    return [f"By {cohort.by} no difference shows beyond chance: the groups' 95% intervals overlap."]


def _apart(groups: Sequence["Group"], which: str) -> list[tuple["Group", "Group"]]:
    """Return the pairs of groups, the lower first, whose intervals do not overlap."""
    pairs = ((one, other) for one in groups for other in groups)
    return [(one, other) for one, other in pairs if getattr(one, which).is_below(getattr(other, which))]


def _share(group: "Group") -> str:
    return _interval(group.share_found, ".0%")


def _interval(estimate: "Estimate", form: str = ".3g") -> str:
    """Write an estimate with its interval.

    >>> from ssba.results.cohort.intervals import Estimate
    >>> _interval(Estimate(0.5, 0.25)), _interval(Estimate(0.9, 0.5, 1), ".0%"), _interval(Estimate(None))
    ('0.5, interval from 0.25', '90%, interval 50% to 100%', 'none')
    """
    if estimate.value is None and estimate.low is None:
        return "none"
    value = "without limit" if estimate.value is None else format(estimate.value, form)
    if estimate.low is None:
        return f"{value}, too few for an interval"
    if estimate.high is None:
        return f"{value}, interval from {estimate.low:{form}}"
    return f"{value}, interval {estimate.low:{form}} to {estimate.high:{form}}"


def _queries(count: int) -> str:
    return f"{count:,} {'query' if count == 1 else 'queries'}"


def _column_line(use: "ColumnUse") -> tuple[str, ...]:
    return use.column, f"{use.share:.0%}", f"{use.importance:.2f}", _how_changed(use)


def _group_line(group: "Group") -> tuple[str, ...]:
    found = f"{group.found} of {group.needed} ({_share(group)})"
    return group.label, f"{group.count}", found, _interval(group.distance), _interval(group.burden)

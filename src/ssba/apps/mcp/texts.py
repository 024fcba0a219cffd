"""Replies as text, for people and language models: the sentence, numbered changes, the caution."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ssba.apps.requests import (
    CheckReply,
    DescribeReply,
    ExplainReply,
    PlanReply,
    PredictReply,
    RowReply,
    RowsReply,
    WhyNotReply,
)
from ssba.arguments import listing
from ssba.results import (
    Allowed,
    Column,
    ColumnTable,
    ConstraintCheck,
    Counterfactual,
    Explanation,
    Plan,
    Relaxation,
    WhyNot,
)
from ssba.results.numbers import short
from ssba.results.plan import change_words
from ssba.results.text import short_of_target, shown_lines
from ssba.results.words import cell, join, show

_NO_ANSWER = ("bounded", "infeasible")
_MOST_LEVELS = 40


def describe_text(reply: DescribeReply) -> str:
    """Say what the model is about, and what its columns are."""
    columns = ColumnTable.from_dict(reply.columns)
    names = ", ".join(f"{label} is {name!r}" for label, name in reply.class_names.items())
    parts = [
        reply.sentence,
        f"Desired outcome: {reply.target}." + (f" Classes: {names}." if names else ""),
        "Columns:",
        *(f"- {_column(one, reply.meanings)}" for one in columns),
        "Constraints that hold by default:" if reply.constraints else "No constraint holds by default.",
        *(f"- {one}" for one in reply.constraints),
        reply.caution,
    ]
    return "\n".join(parts)


def _column(one: Column, meanings: Mapping[str, str]) -> str:
    low, high = one.range
    order = ", from low to high" if one.kind == "ordinal" else ""
    values = f"{cell(low)} to {cell(high, one.unit)}"
    if one.levels:
        values = f"{listing(one.levels, _MOST_LEVELS)}{order}"
    meaning = f" ({meanings[one.name]})" if one.name in meanings else ""
    return f"{one.name}{meaning}: {one.kind}, {values}"


def rows_text(reply: RowsReply) -> str:
    """List rows with what the model says about them."""
    if not reply.rows:
        return f"No row at {reply.offset}: {reply.total:,} rows match." if reply.total else "No row matches."
    last = reply.offset + len(reply.rows)
    match = "1 row matches." if reply.total == 1 else f"{reply.total:,} rows match"
    some = "" if reply.total == 1 else f"; these are {reply.offset + 1:,} to {last:,} of them."
    head = f"{match}{some}"
    return "\n".join([head, *map(_row, reply.rows)])


def _row(one: RowReply) -> str:
    score = "" if one.score is None else f" (score {short(one.score)})"
    outcome = "at the target already" if one.reached else "not at the target"
    return f"- row {one.row}: predicted {show(one.prediction_name)}{score}, {outcome}; {_cells(one.values)}"


def _cells(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={cell(value)}" for name, value in values.items())


def predict_text(reply: PredictReply) -> str:
    """Say what the model predicts, and for which values."""
    return f"{reply.sentence}\nThe row: {_cells(reply.prediction['values'])}\n{reply.caution}"


def check_text(reply: CheckReply) -> str:
    """Say what may change, and how far."""
    check = ConstraintCheck.from_dict(reply.check)
    return "\n".join([reply.sentence, *(f"- {_allowed(one)}" for one in check.may_change)])


def _allowed(one: Allowed) -> str:
    values = listing(one.levels, _MOST_LEVELS) if one.levels else f"{cell(one.low)} to {cell(one.high)}"
    return f"{one.column}: {values} (now {cell(one.now)})"


def explain_text(reply: ExplainReply) -> str:
    """Say what the smallest change is; where there is none, how far one gets, and what to ask next."""
    found = Explanation.from_dict(reply.explanation)
    return "\n".join([reply.sentence, *_answers(found), *shown_lines(found), *_next(found), reply.caution])


def _answers(found: Explanation) -> Iterable[str]:
    several = len(found.counterfactuals) > 1
    for number, one in enumerate(found.counterfactuals):
        chosen = f" (answer={number} in make_plan)" if several else ""
        yield f"Answer {number + 1}{chosen}, at a distance of {short(one.distance)}:"
        yield from _numbered(one, found.units)
    if found.bounded is not None and found.bounded.changes:
        yield f"The bounded move, which {short_of_target(found)}:"
        yield from _numbered(found.bounded, found.units)


def _numbered(answer: Counterfactual, units: dict[str, str]) -> list[str]:
    return _list(change_words({name: both}, units) for name, both in answer.changes.items())


def _list(lines: Iterable[str]) -> list[str]:
    return [f"{number}. {line}" for number, line in enumerate(lines, start=1)]


def _next(found: Explanation) -> Sequence[str]:
    if found.status not in _NO_ANSWER:
        return []
    return ["Next: why_not with the same arguments says which constraints are in the way, and what to relax."]


def plan_text(reply: PlanReply) -> str:
    """Say the steps, one a line."""
    plan = Plan.from_dict(reply.plan)
    steps = _list(f"{change_words(one.changes, plan.units)}{_score(one.score_after)}" for one in plan.steps)
    found = Explanation.from_dict(reply.explanation)
    return "\n".join([reply.sentence, *steps, *_next(found), reply.caution])


def _score(score: float | None) -> str:
    return "" if score is None else f" (score {short(score)} after it)"


def why_not_text(reply: WhyNotReply) -> str:
    """Say what is in the way, and how to ask with a relaxation that is enough."""
    found = Explanation.from_dict(reply.explanation)
    return "\n".join([reply.sentence, *_relaxed_call(WhyNot.from_dict(reply.why_not), found), reply.caution])


def _relaxed_call(why: WhyNot, found: Explanation) -> Iterable[str]:
    """Say how to ask with the first relaxation that gives up nothing that was said to stay as it is.

    An agent must not turn a man into a woman because that reaches the target. Limits of options are not
    constraints: their relaxation is an option.
    """
    enough = [one for one in why.relaxations if one.flips]
    arguable = [one for one in enough if not one.facts]
    usable = [one for one in arguable if set(one.constraints) <= set(found.constraints)]
    if usable:
        yield _call_with(usable[0], found.constraints)
        return
    for one in [one for one in arguable if one.is_beyond_data][:1]:
        yield (
            f"To {join(one.words)} gives up only the range of the data: no row has such a value. "
            "Whether it can be at all is for the person to say."
        )
    if given_up := [one for one in enough if one.facts]:
        which = "Each other relaxation" if arguable else "Each relaxation"
        yield (
            f"{which} that was found to be enough gives up something that was said to stay as it is, such as "
            f"{join(given_up[0].facts)}. Do not ask with it unless the person says that it can change at all."
        )


def _call_with(relaxation: Relaxation, asked: Sequence[str]) -> str:
    instead = dict(zip(relaxation.constraints, relaxation.relaxed, strict=True))
    constraints = [text for one in asked if (text := instead.get(one, one)) is not None]
    listed = json.dumps(constraints, ensure_ascii=False)
    return (
        f"If the person agrees to {join(relaxation.words)}: ask find_counterfactual or make_plan for the "
        f"same row with project_constraints=false and constraints={listed}"
    )

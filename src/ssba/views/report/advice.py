"""The sections of a report about what can be done with a result: plan, ranges, why not, levers."""

from typing import TYPE_CHECKING, Any

from ssba.html import Cell, Markup, element, joined
from ssba.results import prose, text, words
from ssba.results.numbers import Numbers, signed
from ssba.results.plan import gives_values, numbers_of
from ssba.results.prose import Wording
from ssba.views.charts.plans import plan_chart
from ssba.views.charts.tracks import DataContext
from ssba.views.report.pieces import figure, paragraph, section, table
from ssba.views.report.query import column_name

if TYPE_CHECKING:
    from ssba.results.levers import Lever, LeverTable
    from ssba.results.plan import Plan, Step
    from ssba.results.ranges import Interval, Ranges
    from ssba.results.why_not import Binding, Relaxation, WhyNot

_MOST_LISTED = 12


def plan_section(plan: "Plan", wording: Wording) -> Markup | None:
    """Show the steps of a plan, and the score after each."""
    if not plan.steps:
        return section("Step by step", paragraph(plan.sentence))
    has_scores = None not in (plan.score, *(step.score_after for step in plan.steps))
    named = ("Predicted value after it", "Nearer by") if gives_values(plan) else ("Score after it", "It adds")
    heads = ["Step", "What to do", *(Cell(name, "number") for name in named)]
    # What a regressor says is the number itself.
    heads += [] if gives_values(plan) else ["The model then says"]
    caption = (
        "Predicted value after each step" if gives_values(plan) else "Score of the target after each step"
    )
    rows = [_step_row(number, step, plan, wording) for number, step in enumerate(plan.steps, start=1)]
    return section(
        "Step by step",
        paragraph(_plan_intro(plan)),
        *(paragraph(remark) for remark in _plan_remarks(plan, wording)),
        table("The steps of the plan, in order", heads, rows),
        figure(plan_chart(plan), caption) if has_scores else None,
    )


def _plan_intro(plan: "Plan") -> str:
    order = "chosen among all orders" if plan.best_order else "chosen one at a time"
    end = "The last one does not reach the target yet."
    if plan.steps[-1].reached:
        limits = "" if plan.reached else ", but not with all that was asked for beside it"
        end = f"The last one reaches the target{limits}."
    # Where the query breaks a constraint, the first steps may have to lead away from the target.
    helps = all(step.gain is None or step.gain > 0 for step in plan.steps)
    aim = ", so that early steps help most" if helps else ""
    return f"Each step meets every constraint; their order is {order}{aim}. {end}"


def _plan_remarks(plan: "Plan", wording: Wording) -> list[str]:
    sentences = []
    if plan.left_out:
        skipped = prose.actions(plan.left_out, wording)
        sentences.append(f"The plan does without these of the proposed changes: {skipped}.")
    if plan.beyond:
        jumps = words.join(plan.beyond)
        sentences.append(f"Longer than max_step, as no feasible row was found in between: {jumps}.")
    return sentences


def _step_row(number: int, step: "Step", plan: "Plan", wording: Wording) -> list[Any]:
    numbers = numbers_of(plan)
    return [
        str(number),
        Cell(prose.actions(step.changes, wording), "wrap"),
        Cell(numbers.write(step.score_after, step.reached), "number"),
        Cell("" if step.gain is None else signed(step.gain), "number"),
        *([] if gives_values(plan) else [text.said(step.prediction, numbers, step.reached)]),
    ]


def ranges_section(ranges: "Ranges", around: DataContext) -> Markup:
    """Show how far each changed value may go."""
    if not ranges.intervals:
        return section("Ranges that hold", paragraph(ranges.sentence))
    heads = ["Column", "Now", "Proposed", "Any value in"]
    return section(
        "Ranges that hold",
        paragraph(
            "The proposed values need not be met exactly: a row with all of these values in their ranges, "
            f"and the rest as it is, should reach {ranges.target}."
        ),
        table(
            "Ranges around the proposed values",
            heads,
            [_interval_row(one, around) for one in ranges.intervals],
        ),
        paragraph(
            f"Checked on rows drawn evenly from these ranges: {round(ranges.held * ranges.n_samples):,} of "
            f"{ranges.n_samples:,} reached it and met every constraint. That is a sample, and no proof.",
            class_="soft small",
        ),
    )


def _interval_row(interval: "Interval", around: DataContext) -> list[Any]:
    sentences = interval.text.removeprefix(f"{interval.column} ")
    return [
        column_name(interval.column, around.label(interval.column)),
        Cell(element("span", words.cell(interval.now, interval.unit), class_="now"), "value"),
        Cell(element("span", words.cell(interval.proposed, interval.unit), class_="then"), "value"),
        Cell(element("strong", sentences), "value"),
    ]


def why_not_section(why: "WhyNot", wording: Wording, number: str = "score") -> Markup:
    """Show what stands in the way, and what to relax; `number` is what the model's scores are called."""
    parts: list[Any] = [paragraph(why.sentence)]
    if why.relaxations:
        heads = ["Relax", "Ask for", "Then this reaches the target", Cell("Distance", "number")]
        rows = [_relaxation_row(one, wording) for one in why.relaxations[:_MOST_LISTED]]
        caption = "What to relax: one constraint before two, then by how much it is loosened"
        parts.append(table(caption, heads, rows))
        parts.append(_more(len(why.relaxations), "more relaxations were found."))
    if why.bindings:
        parts.append(element("h3", "What holds it back"))
        numbers = Numbers.of(why.target, [one.score for one in why.bindings])
        rows = [_binding_row(one, number, numbers) for one in why.bindings]
        parts.append(
            table(
                "What would come of relaxing one constraint alone",
                ["Relaxing", "Then", Cell(number.capitalize(), "number")],
                rows,
            )
        )
    return section("Why not, and what to relax", *parts)


def _relaxation_row(one: "Relaxation", wording: Wording) -> list[Any]:
    instead = [element("code", asked) if asked else "leave it out" for asked in one.relaxed]
    then = prose.actions(one.changes, wording) if one.changes else "nothing"
    if not one.flips:
        then = "there are feasible rows then, but none was found that reaches the target"
    caution = _given_up(one)
    shown = [words.join(one.words), element("div", caution, class_="moved small") if caution else None]
    return [
        Cell(joined(shown), "wrap"),
        Cell(joined(element("div", asked) for asked in instead), "wrap"),
        Cell(then, "wrap"),
        Cell("" if one.distance is None else words.show(one.distance), "number"),
    ]


def _given_up(one: "Relaxation") -> str:
    """Say what a relaxation gives up that may not be anybody's to give."""
    if one.facts:
        stay = "was said to stay as it is" if len(one.facts) == 1 else "were said to stay as they are"
        return f"Gives up a fact: {words.join(one.facts)} {stay}."
    return "Leads to values that no row of the data has." if one.is_beyond_data else ""


def _binding_row(one: "Binding", number: str, numbers: Numbers) -> list[Any]:
    then = "the target is reached"
    if not one.flips:
        better = f"a better {number}, but not the target"
        then = "it takes another relaxation, too" if one.score is None else better
    score = "" if one.score is None else numbers.write(one.score, one.flips)
    return [element("code", one.constraint), then, Cell(score, "number")]


def levers_section(menu: "LeverTable", wording: Wording) -> Markup:
    """Show which columns can reach the target, alone or together, and which cannot."""
    parts: list[Any] = [paragraph(menu.sentence)]
    if menu.levers:
        heads = ["Change only", "To reach the target", Cell("Distance", "number"), "Shown"]
        rows = [_lever_row(one, wording) for one in menu.levers]
        parts.append(table("Columns that can reach the target, nearest first", heads, rows))
    if menu.unable:
        heads = ["Change only", "Outcome", Cell("Rows asked", "number")]
        parts.append(element("h3", "What does not reach it"))
        rows = [_vain_row(one) for one in menu.unable[:_MOST_LISTED]]
        parts.append(table("Columns for which nothing was found", heads, rows))
        parts.append(_more(len(menu.unable), "more sets of columns for which nothing was found."))
    return section("Levers", *parts)


def _more(count: int, words: str) -> Markup | None:
    left = count - _MOST_LISTED
    return paragraph(f"{left:,} {words}", class_="soft small") if left > 0 else None


def _lever_row(one: "Lever", wording: Wording) -> list[Any]:
    nearest = one.proof in ("optimal", "exhausted")
    return [
        words.join(one.columns),
        Cell(prose.actions(one.changes, wording), "wrap"),
        Cell("" if one.distance is None else words.show(one.distance), "number"),
        "the nearest with these columns" if nearest else "found by search",
    ]


def _vain_row(one: "Lever") -> list[Any]:
    shown = one.status == "unreachable"
    outcome = "proved not to be enough" if shown else "nothing found, which is no proof"
    return [words.join(one.columns), outcome, Cell(f"{one.rows_asked:,}", "number")]

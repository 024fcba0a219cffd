"""Results in the terminal, as tables."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from ssba.apps.words import COMMAND_LINE, PYTHON
from ssba.results import Counterfactual, Explanation, Plan
from ssba.results.plan import change_words, gives_values
from ssba.results.text import is_value, kinds_line, short_of_target, shown_lines
from ssba.results.words import show, show_both

_WRAPS = ("meaning", "change", "why")


def plain_table(*titles: str) -> Table:
    """A table with one line under its head, in which only meanings, changes and reasons may wrap."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for title in titles:
        table.add_column(title, no_wrap=title not in _WRAPS)
    return table


def print_explanation(console: Console, explanation: Explanation, meanings: Mapping[str, str]) -> None:
    """Print what an explanation says, its answers as tables, and what was shown beside them."""
    console.print(f"{COMMAND_LINE.instead_of(PYTHON, explanation.sentence)}\n")
    answers = [one for one in explanation.answers if one.changes]
    for number, answer in enumerate(answers, start=1):
        if explanation.counterfactuals and len(answers) > 1:
            console.print(f"Answer {number} of {len(answers)}\n", style="bold")
        elif not explanation.counterfactuals:
            console.print(f"The bounded move, which {short_of_target(explanation)}\n", style="bold")
        console.print(_answer_table(explanation, answer, meanings))
        console.print()
    for line in (*shown_lines(explanation), *kinds_line(explanation, "`ssba check`")):
        console.print(f"{line}\n")
    rows = f"{explanation.rows_used:,} model {'row' if explanation.rows_used == 1 else 'rows'}"
    console.print(f"{rows}, {explanation.seconds:.2f} s\n")


def _answer_table(explanation: Explanation, answer: Counterfactual, meanings: Mapping[str, str]) -> Table:
    titles = ("column", "meaning", "now", "proposed")
    lines = [
        (name, meanings.get(name, ""), *show_both(*both, explanation.units.get(name)))
        for name, both in answer.changes.items()
    ]
    facts = [("", "prediction", show(explanation.prediction), show(answer.prediction))]
    scored = explanation.score is not None and answer.score is not None
    if scored and not is_value(answer.prediction, answer.score):
        facts.append(("", "score", show(explanation.score), show(answer.score)))
    facts.append(("", "distance", "", show(answer.distance)))
    table = plain_table(*titles)
    for line in lines:
        table.add_row(*line)
    table.add_section()
    for line in facts:
        table.add_row(*line)
    return table


def print_plan(console: Console, plan: Plan) -> None:
    """Print what a plan says, and its steps as a table."""
    console.print(f"{plan.sentence}\n")
    if not plan.steps:
        return
    has_scores = plan.score is not None and not gives_values(plan)
    table = plain_table("step", "change", *(["score"] if has_scores else []), "prediction")
    rows: list[Sequence[Any]] = [("", "as it is", plan.score, plan.prediction)]
    rows += [
        (number, change_words(step.changes, plan.units), step.score_after, step.prediction)
        for number, step in enumerate(plan.steps, start=1)
    ]
    for number, change, score, prediction in rows:
        table.add_row(str(number), change, *([show(score)] if has_scores else []), show(prediction))
    console.print(table)
    console.print()

"""`ssba plan`: an answer in steps."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from ssba.apps.cells import read_amounts
from ssba.apps.commands.asking import (
    AnswerOptions,
    BudgetSeconds,
    Repeated,
    RowOptions,
    answer_fields,
    open_service,
    query_fields,
)
from ssba.apps.commands.explain import has_answer, print_reply
from ssba.apps.commands.printing import Out, check_out, draw, echo, interruptible, waiting
from ssba.apps.exits import NO_ANSWER
from ssba.apps.project.choice import ProjectChoice, with_groups, with_project
from ssba.apps.refusals import read_request
from ssba.apps.requests import ExplainReply, ExplainRequest, PlanReply, PlanRequest
from ssba.apps.service import Service
from ssba.apps.tables import print_plan
from ssba.apps.usage import UsageError
from ssba.errors import ArgumentError
from ssba.results import Plan


@dataclass(frozen=True)
class PlanOptions:
    """How the steps shall be, as the options say it."""

    answer: Annotated[int, typer.Option(metavar="N", min=1, help="Which of the answers, counted from 1.")] = 1
    effort: Annotated[
        Repeated,
        typer.Option(
            metavar="NAME=NUMBER",
            help="What a change of a column takes: chol=2 counts twice and comes later; may be repeated.",
        ),
    ] = None
    max_step: Annotated[
        Repeated,
        typer.Option(
            metavar="NAME=NUMBER", help="How much a column may change in one step: chol=20; may be repeated."
        ),
    ] = None


@with_project
@with_groups
def plan(
    choice: ProjectChoice,
    which: RowOptions,
    asked: AnswerOptions,
    steps: PlanOptions,
    budget_seconds: BudgetSeconds = None,
    format: Annotated[
        Literal["table", "json"], typer.Option(help="A table to read, or the reply as JSON.")
    ] = "table",
    out: Out = None,
) -> None:
    """Put the smallest feasible change in ordered, feasible steps; exit with 4 if they fall short.

    Where no answer was found the steps lead to the bounded move; where there is none either, or nothing to
    change, the explanation is printed instead.
    """
    check_out(out)
    _check_answer(steps.answer, asked.k or 1)
    with interruptible("nothing was written"):
        with waiting() as meter:
            service = open_service(choice)
            how = step_fields(service, steps)
            wishes = answer_fields(asked, budget_seconds, service)
            request = read_request(ExplainRequest, {**wishes, **query_fields(service, which, meter)})
            reply = service.explain(request, meter)
            if found := reply.explanation["counterfactuals"] or reply.explanation["bounded"]:
                _check_found(steps.answer, len(found) if isinstance(found, list) else 1)
                how = {**how, "explanation": reply.explanation}
                reply = service.plan(read_request(PlanRequest, how), meter)
        if format == "json":
            echo(reply.model_dump_json(indent=2), out)
        else:
            draw(partial(_print, service=service, reply=reply), out)
    if not has_answer(reply):
        raise typer.Exit(NO_ANSWER)


def _check_answer(answer: int, asked: int) -> None:
    """Refuse an answer that is not asked for, before any search."""
    if answer > asked:
        there = "1 answer is" if asked == 1 else f"{asked} answers are"
        raise UsageError(f"--answer {answer}: {there} asked for; ask for more with --k {answer}")


def _check_found(answer: int, found: int) -> None:
    """Refuse an answer that was not found; the bounded move counts as one."""
    if answer > found:
        there = "there is 1 answer" if found == 1 else f"there are {found} answers"
        raise ArgumentError(f"--answer {answer}: {there}, and no further one was found")


def step_fields(service: Service, steps: PlanOptions) -> dict[str, Any]:
    """Return the fields of a request that say how the steps shall be."""
    columns = {one.name: one for one in service.columns}
    return {
        "answer": steps.answer - 1,
        "effort": read_amounts("--effort", steps.effort or (), columns) or None,
        "max_step": read_amounts("--max-step", steps.max_step or (), columns) or None,
    }


def _print(console: Console, service: Service, reply: ExplainReply) -> None:
    if not isinstance(reply, PlanReply):
        print_reply(console, service, reply)
        return
    print_plan(console, service.names.told(Plan.from_dict(reply.plan)))
    console.print(reply.caution, style="bold")

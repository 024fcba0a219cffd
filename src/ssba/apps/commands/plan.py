"""`ssba plan`: an answer in steps."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import typer
from rich.console import Console

from ssba.apps.cells import read_numbers
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
from ssba.apps.commands.groups import with_groups
from ssba.apps.commands.printing import Out, draw, echo, interruptible
from ssba.apps.exits import NO_ANSWER
from ssba.apps.project.choice import ProjectChoice, with_project
from ssba.apps.refusals import read_request
from ssba.apps.requests import ExplainReply, ExplainRequest, PlanReply, PlanRequest
from ssba.apps.service import Service
from ssba.apps.tables import print_plan
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
    """Put the smallest feasible change in ordered, feasible steps; leave with 4 if they fall short.

    Where no answer was found the steps lead to the bounded move; where there is none either, or nothing to
    change, the explanation is printed instead.
    """
    with interruptible("nothing was written"):
        service = open_service(choice)
        fields = {**query_fields(service, which), **answer_fields(asked, budget_seconds, service)}
        reply = service.explain(read_request(ExplainRequest, fields))
        if reply.explanation["counterfactuals"] or reply.explanation["bounded"]:
            reply = service.plan(plan_request(reply, steps))
        if format == "json":
            echo(reply.model_dump_json(indent=2), out)
        else:
            draw(partial(_print, service=service, reply=reply), out)
    if not has_answer(reply):
        raise typer.Exit(NO_ANSWER)


def plan_request(reply: ExplainReply, steps: PlanOptions) -> PlanRequest:
    """Return the request for steps to an answer that was found."""
    return read_request(
        PlanRequest,
        {
            "explanation": reply.explanation,
            "answer": steps.answer - 1,
            "effort": read_numbers("--effort", steps.effort or ()) or None,
            "max_step": read_numbers("--max-step", steps.max_step or ()) or None,
        },
    )


def _print(console: Console, service: Service, reply: ExplainReply) -> None:
    if not isinstance(reply, PlanReply):
        print_reply(console, service, reply)
        return
    print_plan(console, service.names.told(Plan.from_dict(reply.plan)))
    console.print(reply.caution, style="bold")

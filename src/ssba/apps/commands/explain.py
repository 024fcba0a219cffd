"""`ssba explain`: the smallest feasible change for one row."""

from functools import partial
from typing import Annotated, Literal

import typer
from rich.console import Console

from ssba.apps.commands.asking import (
    AnswerOptions,
    BudgetSeconds,
    RowOptions,
    answer_fields,
    open_service,
    query_fields,
)
from ssba.apps.commands.printing import Out, check_out, draw, echo, interruptible, waiting
from ssba.apps.exits import NO_ANSWER
from ssba.apps.project.choice import ProjectChoice, with_groups, with_project
from ssba.apps.refusals import read_request
from ssba.apps.requests import AdviceRequest, ExplainReply, ExplainRequest, WhyNotReply, WhyNotRequest
from ssba.apps.service import Service
from ssba.apps.tables import print_explanation
from ssba.results import Explanation, Status

HINTS = {
    Status.BOUNDED: "--why-not says which constraints are in the way, and what would be enough.",
    Status.INFEASIBLE: "--why-not says which constraints are in the way, and what would be enough.",
    Status.OUT_OF_BUDGET: "--budget-rows and --budget-seconds allow more.",
}


@with_project
@with_groups
def explain(
    choice: ProjectChoice,
    which: RowOptions,
    asked: AnswerOptions,
    budget_seconds: BudgetSeconds = None,
    why_not: Annotated[
        bool, typer.Option("--why-not", help="Where there is no answer, say what to relax, too.")
    ] = False,
    format: Annotated[
        Literal["table", "json", "html"],
        typer.Option(help="Tables to read, the reply as JSON, or a page with pictures."),
    ] = "table",
    out: Out = None,
) -> None:
    """Find the smallest feasible change that gives a row the desired outcome; exit with 4 if none was found.

    Without --row, --where or --values it is about a row that does not have that outcome yet.
    """
    check_out(out)
    page = None
    with interruptible("nothing was written"):
        with waiting() as meter:
            service = open_service(choice)
            wishes = answer_fields(asked, budget_seconds, service)
            request = read_request(ExplainRequest, {**wishes, **query_fields(service, which, meter)})
            reply = service.explain(request, meter)
            if why_not and not has_answer(reply):
                reply = service.why_not(WhyNotRequest(explanation=reply.explanation), meter)
            if format == "html":
                page = service.report(AdviceRequest(explanation=reply.explanation), meter)
        if page is not None:
            echo(page, out)
        elif format == "json":
            echo(reply.model_dump_json(indent=2), out)
        else:
            draw(partial(print_reply, service=service, reply=reply), out)
    if not has_answer(reply):
        raise typer.Exit(NO_ANSWER)


def has_answer(reply: ExplainReply) -> bool:
    """Tell whether there is a counterfactual, or no need for one."""
    return reply.explanation["status"] in (Status.FOUND, Status.ALREADY_THERE)


def print_reply(console: Console, service: Service, reply: ExplainReply) -> None:
    """Print a reply as tables, with the names of classes and the caution."""
    explanation = service.names.told(Explanation.from_dict(reply.explanation))
    print_explanation(console, explanation, service.project.settings.meanings)
    if isinstance(reply, WhyNotReply):
        console.print(f"Why not, and what to relax: {reply.sentence}\n")
    elif hint := HINTS.get(explanation.status):
        console.print(f"{hint}\n")
    console.print(reply.caution, style="bold")

"""The tools: what each is called, what goes in and comes out, and which question of the service it asks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from mcp_types import Tool, ToolAnnotations

from ssba.apps.limits import Meter
from ssba.apps.mcp import descriptions, texts
from ssba.apps.mcp.schemas import input_schema, output_schema
from ssba.apps.requests import (
    AdviceRequest,
    CheckReply,
    CheckRequest,
    DescribeReply,
    ExplainReply,
    ExplainRequest,
    PlanReply,
    PlanRequest,
    PredictReply,
    PredictRequest,
    Query,
    Reply,
    Request,
    RowsReply,
    RowsRequest,
    WhyNotReply,
    WhyNotRequest,
)
from ssba.apps.service import Service


class DescribeArguments(Request):
    """Nothing needs to be said to ask what the model is about."""


class AboutRow(AdviceRequest):
    """A further question about a row: explanations are too long for an agent to hand back."""

    # A class variable takes the field out of the form, and out of its schema.
    explanation: ClassVar[None] = None  # type: ignore[misc]
    ways: ClassVar[tuple[str, ...]] = Query.ways


class PlanArguments(AboutRow, PlanRequest):
    """Asks for the steps to an answer for a row."""


class WhyNotArguments(AboutRow, WhyNotRequest):
    """Asks what is in the way of an answer for a row."""


@dataclass(frozen=True)
class ServiceTool:
    """A question of the service as a tool.

    Attributes
    ----------
    name, title, description
        What an agent knows it by.
    request, reply
        What comes in and what goes out.
    ask
        Asks the service.
    text
        Says the reply to a person or a language model.
    light
        Whether it searches nothing, and so waits for no search.
    """

    name: str
    title: str
    description: str
    request: type[Request]
    reply: type[Reply]
    ask: Callable[[Service, Any, Meter], Reply]
    text: Callable[[Any], str]
    light: bool = False

    @property
    def listed(self) -> Tool:
        """The tool as clients list it."""
        return Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=input_schema(self.request),
            output_schema=output_schema(self.reply),
            annotations=ToolAnnotations(
                read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
            ),
        )


TOOLS = (
    ServiceTool(
        name="describe_model",
        title="Describe the model",
        description=descriptions.DESCRIBE_MODEL,
        request=DescribeArguments,
        reply=DescribeReply,
        ask=lambda service, request, meter: service.describe(),
        text=texts.describe_text,
        light=True,
    ),
    ServiceTool(
        name="find_rows",
        title="Find rows of the data",
        description=descriptions.FIND_ROWS,
        request=RowsRequest,
        reply=RowsReply,
        ask=lambda service, request, meter: service.rows(request, meter),
        text=texts.rows_text,
        light=True,
    ),
    ServiceTool(
        name="predict",
        title="Ask the model about a row",
        description=descriptions.PREDICT,
        request=PredictRequest,
        reply=PredictReply,
        ask=lambda service, request, meter: service.predict(request, meter),
        text=texts.predict_text,
        light=True,
    ),
    ServiceTool(
        name="find_counterfactual",
        title="Find the smallest change that flips the decision",
        description=descriptions.FIND_COUNTERFACTUAL,
        request=ExplainRequest,
        reply=ExplainReply,
        ask=lambda service, request, meter: service.explain(request, meter),
        text=texts.explain_text,
    ),
    ServiceTool(
        name="make_plan",
        title="Put the change in steps",
        description=descriptions.MAKE_PLAN,
        request=PlanArguments,
        reply=PlanReply,
        ask=lambda service, request, meter: service.plan(request, meter),
        text=texts.plan_text,
    ),
    ServiceTool(
        name="why_not",
        title="Ask what is in the way",
        description=descriptions.WHY_NOT,
        request=WhyNotArguments,
        reply=WhyNotReply,
        ask=lambda service, request, meter: service.why_not(request, meter),
        text=texts.why_not_text,
    ),
    ServiceTool(
        name="check_constraints",
        title="Check constraints before a search",
        description=descriptions.CHECK_CONSTRAINTS,
        request=CheckRequest,
        reply=CheckReply,
        ask=lambda service, request, meter: service.check_constraints(request, meter),
        text=texts.check_text,
        light=True,
    ),
)
"""Trials and levers are left to other ways in: for an agent predict with `set`, and options.k, do as much."""

"""The OpenAPI document: requests and replies from their pydantic models, results from their own schema."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import Field

import ssba
from ssba.apps.http.problems import Refusal
from ssba.apps.limits import Meter
from ssba.apps.page_requests import MapReply, MapRequest
from ssba.apps.requests import (
    MOST_ROWS,
    RESULT,
    CertificateReply,
    CertificateRequest,
    CheckReply,
    CheckRequest,
    CohortRequest,
    DescribeReply,
    ExplainReply,
    ExplainRequest,
    LeversReply,
    LeversRequest,
    PlanReply,
    PlanRequest,
    PredictReply,
    PredictRequest,
    RangesReply,
    RangesRequest,
    Reply,
    ReportRequest,
    Request,
    RowsRequest,
    TryReply,
    TryRequest,
    WhyNotReply,
    WhyNotRequest,
)
from ssba.apps.service import Service
from ssba.results.column import Column
from ssba.results.schemas import results_schema


@dataclass(frozen=True)
class Endpoint:
    """A route for one question: the service's method, the form of request and reply (None: HTML)."""

    path: str
    method: str
    request: type[Request]
    reply: type[Reply] | None
    summary: str


ENDPOINTS = (
    Endpoint("/api/predict", "predict", PredictRequest, PredictReply, "What the model says about a row"),
    Endpoint(
        "/api/check-constraints",
        "check_constraints",
        CheckRequest,
        CheckReply,
        "What constraints mean for a row",
    ),
    Endpoint("/api/explain", "explain", ExplainRequest, ExplainReply, "The smallest feasible change found"),
    Endpoint("/api/plan", "plan", PlanRequest, PlanReply, "The steps to an answer"),
    Endpoint("/api/why-not", "why_not", WhyNotRequest, WhyNotReply, "What is in the way, and what to relax"),
    Endpoint("/api/levers", "levers", LeversRequest, LeversReply, "Which columns can flip the decision"),
    Endpoint("/api/try", "try_values", TryRequest, TryReply, "What the model says about edited values"),
    Endpoint("/api/ranges", "ranges", RangesRequest, RangesReply, "Intervals around an answer that hold"),
    Endpoint("/api/map", "place", MapRequest, MapReply, "Where a row lies among the rows of the data"),
    Endpoint("/api/report", "report", ReportRequest, None, "A page of HTML about a row and its answers"),
    Endpoint(
        "/api/certificate",
        "certificate",
        CertificateRequest,
        CertificateReply,
        "A document that an answer can be checked by",
    ),
)

_REQUESTS: tuple[type[Request], ...] = (
    *dict.fromkeys(one.request for one in ENDPOINTS),
    RowsRequest,
    CohortRequest,
)
_AT = "#/components/schemas/"


class SchemaReply(DescribeReply):
    """What the service is about, and the form of everything that is sent and returned."""

    requests: Annotated[dict[str, Any], Field(description="JSON Schema of every request, by its name.")]
    results: Annotated[dict[str, Any], Field(description="JSON Schema of every result, under $defs.")]


def request_schemas() -> dict[str, Any]:
    """Return the JSON Schema of every request."""
    return {one.__name__: one.model_json_schema() for one in _REQUESTS}


def asks_for(model: type[Request]) -> dict[str, Any]:
    """Say in the document which body a route takes; the examples come later."""
    schema = {"$ref": f"{_AT}{model.__name__}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


_REFUSALS = {
    401: "The token is missing or wrong.",
    403: "The request comes from a page of another origin.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    421: "The server is not called by this name.",
    422: "The request cannot be read, or cannot be answered.",
    500: "Something went wrong on the server.",
    503: "Too many requests are waiting; Retry-After says when to come again.",
}


def refusals_of(*others: int) -> dict[int | str, dict[str, Any]]:
    """Return the replies that are no answers, for the document."""
    said = {**_REFUSALS, **dict.fromkeys(others, "There is no such job.")}
    content = {"application/json": {"schema": {"$ref": f"{_AT}{Refusal.__name__}"}}}
    return {status: {"content": content, "description": text} for status, text in sorted(said.items())}


def rows_parameters() -> list[dict[str, Any]]:
    """Return what the query string for rows may hold, as the request has it."""
    properties = RowsRequest.model_json_schema()["properties"]
    where = {
        "name": "where",
        "in": "query",
        "description": "COLUMN:VALUE that the rows have; may be repeated.",
        "schema": {"type": "array", "items": {"type": "string", "pattern": "^[^:]+:"}},
    }
    plain = {
        "search": {"type": "string", "maxLength": 200},
        "reached": {"type": "boolean"},
        "sort": {"type": "string", "enum": ["row", "score", "-score"]},
        "offset": {"type": "integer", "minimum": 0},
        "limit": {"type": "integer", "minimum": 1, "maximum": MOST_ROWS},
    }
    others = [
        {"name": name, "in": "query", "description": properties[name]["description"], "schema": schema}
        for name, schema in plain.items()
    ]
    return [where, *others]


def document(app: FastAPI, service: Service) -> None:
    """Give the application its OpenAPI document."""
    examples = examples_of(service)

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = get_openapi(
                title=app.title,
                version=app.version,
                summary="The smallest feasible change that flips a trained model's decision.",
                routes=app.routes,
            )
            app.openapi_schema = _completed(made, examples)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _completed(made: dict[str, Any], examples: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Add the schemas of requests and results, and the examples, to what FastAPI made of the routes."""
    schemas = made["components"]["schemas"]
    schemas.update(request_schemas())
    refusal = Refusal.model_json_schema(ref_template=_AT + "{model}")
    schemas.update({**refusal.pop("$defs"), Refusal.__name__: refusal})
    schemas.update(_relocated(results_schema()["$defs"]))
    for path, of_path in examples.items():
        content = made["paths"][path]["post"]["requestBody"]["content"]["application/json"]
        content["examples"] = {name: {"summary": name, "value": value} for name, value in of_path.items()}
    completed: dict[str, Any] = _with_results(made)
    return completed


def _relocated(schema: Any) -> Any:
    """Return a schema whose references lead to the components of the document."""
    if isinstance(schema, Mapping):
        return {
            name: inner.replace("#/$defs/", _AT) if name == "$ref" else _relocated(inner)
            for name, inner in schema.items()
        }
    return [_relocated(one) for one in schema] if isinstance(schema, list) else schema


def _with_results(schema: Any) -> Any:
    """Return a schema in which marks of results have become references to their definitions."""
    if isinstance(schema, Mapping):
        if RESULT in schema:
            reference = {"$ref": f"{_AT}{schema[RESULT]}"}
            told = {name: schema[name] for name in ("description",) if name in schema}
            return {**told, **reference}
        return {name: _with_results(inner) for name, inner in schema.items()}
    return [_with_results(one) for one in schema] if isinstance(schema, list) else schema


def examples_of(service: Service) -> dict[str, dict[str, Any]]:
    """Return requests to try about this very project, by path; rows are named by their numbers only."""
    # Looked for once, whatever the limits of requests are.
    page = service.rows(RowsRequest(limit=50), Meter()).rows
    row = next((one.row for one in page if not one.reached), 0)
    first, last = service.columns[0], service.columns[-1]
    kept = str(ssba.fixed(first.name))
    simple: dict[str, Any] = {"a row of the data": {"row": row}}
    return {
        "/api/predict": simple,
        "/api/check-constraints": {**simple, "a column that stays": {"row": row, "constraints": [kept]}},
        "/api/explain": {
            **simple,
            "a column that stays, and up to three answers": {
                "row": row,
                "constraints": [kept],
                "options": {"k": 3},
                "budget": {"rows": 5000},
            },
        },
        "/api/plan": simple,
        "/api/why-not": simple,
        "/api/levers": {"one column at a time": {"row": row, "max_columns": 1}},
        "/api/try": {"a value of one's own": {"row": row, "try_values": {last.name: _some_value(last)}}},
        "/api/ranges": {"whatever the project rules out": {"row": row, "project_constraints": False}},
        "/api/map": {"all columns together": {"row": row}},
        "/api/report": simple,
        "/api/certificate": simple,
        "/api/rows": {"rows that need a change": {"reached": False, "limit": 5}},
        "/api/cohort": {"two rows": {"rows": [0, row]}},
    }


def _some_value(column: Column) -> Any:
    """Return a value that the column may have, which says nothing about any row."""
    if column.levels:
        return column.levels[0]
    low, _ = column.range
    return False if low is None else low

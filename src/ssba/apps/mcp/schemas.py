"""The schemas of tools: their arguments are the service's requests, their results its replies in brief."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from ssba.apps.requests import RESULT, Json, Reply, Request
from ssba.results.schemas import results_schema

LEFT_OUT = frozenset(
    {
        "schema",
        "kind",
        "goal",
        "options",
        "budget",
        "seconds",
        "seed",
        "columns",
        "metric",
        "layout",
        "row_label",
        "model",
        "model_fingerprint",
        "versions",
    }
)
"""Parts of an explanation that an agent has no use for: what it said itself, and what a program needs to
read the explanation back. They would be most of its text."""

_BRIEF = "Explanation"


def input_schema(request: type[Request]) -> Json:
    """Return the schema of a tool's arguments: the fields of a request."""
    schema = request.model_json_schema()
    fields = {name: _untitled(one) for name, one in schema["properties"].items()}
    required = {"required": schema["required"]} if "required" in schema else {}
    return {"type": "object", "properties": fields, **required, "additionalProperties": False}


def output_schema(reply: type[Reply]) -> Json:
    """Return the schema of what a tool returns, with all that it refers to."""
    schema = reply.model_json_schema(mode="serialization")
    inner = schema.pop("$defs", {})
    fields = {name: _resolved(one) for name, one in schema["properties"].items()}
    definitions = {**inner, **_definitions()}
    return {
        "type": "object",
        "description": schema["description"],
        "properties": fields,
        "required": schema["required"],
        "additionalProperties": False,
        "$defs": {name: definitions[name] for name in sorted(_needed(fields, definitions))},
    }


def structured(reply: Reply) -> Json:
    """Return a reply as the structured content of a tool's result."""
    content = reply.model_dump(mode="json")
    return {name: brief(part) if name == "explanation" else part for name, part in content.items()}


def brief(explanation: Mapping[str, Any]) -> Json:
    """Leave out of an explanation what an agent has no use for."""
    return {name: part for name, part in explanation.items() if name not in LEFT_OUT}


def _untitled(schema: Any) -> Any:
    """Leave out the titles that only repeat names: agents read schemas, and pay for each word."""
    if isinstance(schema, Mapping):
        return {name: _untitled(part) for name, part in schema.items() if name != "title"}
    return [_untitled(part) for part in schema] if isinstance(schema, list) else schema


def _resolved(field: Json) -> Json:
    """Return the schema of a field of a reply, where a result is what `ssba.results.schemas` says it is."""
    if RESULT not in field:
        return {name: part for name, part in field.items() if name != "title"}
    note = field.get("description", "")
    if field[RESULT] == _BRIEF:
        note = f"{note} In brief, without {', '.join(sorted(LEFT_OUT))}.".strip()
    return {"$ref": f"#/$defs/{field[RESULT]}", "description": note}


@cache
def _definitions() -> Json:
    """Return the definitions of all results, that of an explanation in brief."""
    found: Json = dict(results_schema()["$defs"])
    whole = found[_BRIEF]
    found[_BRIEF] = {
        **whole,
        "properties": brief(whole["properties"]),
        "required": [name for name in whole["required"] if name not in LEFT_OUT],
    }
    return found


def _needed(schema: Any, definitions: Json) -> set[str]:
    """Return the names of the definitions that a schema refers to, directly or through others."""
    found: set[str] = set()
    left = list(_referred(schema))
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += _referred(definitions[name])
    return found


def _referred(schema: Any) -> Iterable[str]:
    if isinstance(schema, Mapping):
        if isinstance(to := schema.get("$ref"), str):
            yield to.removeprefix("#/$defs/")
        schema = list(schema.values())
    if isinstance(schema, list):
        for part in schema:
            yield from _referred(part)

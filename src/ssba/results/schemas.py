"""The JSON form of all results, as JSON Schema: `results.schema.json` beside this file.

The schema follows from the dataclasses, so that a field cannot be forgotten; a test holds the file against
them. `python -m ssba.results.schemas` prints it.
"""

import dataclasses
import json
import sys
import types
from collections.abc import Mapping
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from ssba.json_form import JsonForm, hints_of, kind_of, written_fields
from ssba.options import Options
from ssba.results.certificate import Certificate, CertificateCheck
from ssba.results.cohort.summary import Cohort
from ssba.results.column_table import ColumnTable
from ssba.results.constraint_check import ConstraintCheck
from ssba.results.explanation import Explanation, Explanations
from ssba.results.levers import LeverTable
from ssba.results.line_scan import LineScan
from ssba.results.plan import Plan
from ssba.results.prediction import Prediction
from ssba.results.ranges import Ranges
from ssba.results.trial import Trial
from ssba.results.why_not import WhyNot

DOCUMENTS: tuple[type[JsonForm], ...] = (
    Certificate,
    CertificateCheck,
    Cohort,
    ColumnTable,
    ConstraintCheck,
    Explanation,
    LeverTable,
    LineScan,
    Options,
    Plan,
    Prediction,
    Ranges,
    Trial,
    WhyNot,
)
"""Everything that `to_json` writes, but for `Explanations`, which holds what its items share once."""

_SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_MANY = {
    "type": "object",
    "properties": {
        "schema": {"const": Explanations.schema_version},
        "kind": {"const": "explanations"},
        "layout": {"anyOf": [{"$ref": "#/$defs/Layout"}, {"type": "null"}]},
        "shared": {"type": "object", "description": "Parts of an Explanation that all items have in common."},
        "items": {"type": "array", "items": {"type": "object"}, "description": "The other parts of each."},
        "sentence": {"type": "string"},
    },
    "required": ["schema", "kind", "layout", "shared", "items", "sentence"],
    "additionalProperties": False,
}


def results_schema() -> dict[str, Any]:
    """Return the schema of every document, one definition each."""
    found: dict[str, Any] = {}
    for document in DOCUMENTS:
        _define(document, found)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:ssba:results",
        "title": "What ssba returns",
        "$defs": {**dict(sorted(found.items())), "Explanations": _MANY},
    }


def options_schema() -> dict[str, Any]:
    """Return the schema of options in a request: any may be left out, and a margin may be a number."""
    found: dict[str, Any] = {}
    hints = hints_of(Options)
    properties = {one.name: _of(hints[one.name], found) for one in written_fields(Options)}
    properties["margin"] = {"anyOf": [{"type": "number"}, {"type": "null"}, *found.values()]}
    defaults = Options()
    properties = {name: {**schema, "default": getattr(defaults, name)} for name, schema in properties.items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _define(cls: type, found: dict[str, Any]) -> dict[str, str]:
    """Add the definition of a dataclass, and of those inside it; return the reference to it."""
    name = cls.__name__
    if name not in found:
        found[name] = {}
        hints = hints_of(cls)
        properties = {one.name: _field(hints[one.name], one, found) for one in written_fields(cls)}
        properties |= {added: _of(_returned(cls, added), found) for added in getattr(cls, "derived", ())}
        if issubclass(cls, JsonForm):
            properties = {"schema": {"const": cls.schema_version}, **_kind(cls), **properties}
        elif getattr(cls, "has_kind", False):
            properties = {**_kind(cls), **properties}
        found[name] |= {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
    return {"$ref": f"#/$defs/{name}"}


def _kind(cls: type) -> dict[str, Any]:
    return {"kind": {"const": kind_of(cls)}}


def _field(hint: Any, field: "dataclasses.Field[Any]", found: dict[str, Any]) -> dict[str, Any]:
    return _of(hint | None if "null" in field.metadata else hint, found)


def _returned(cls: type, name: str) -> Any:
    """Return the type of a property."""
    return get_type_hints(getattr(cls, name).fget)["return"]


def _of(hint: Any, found: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a type."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return {}
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return dict(_define(hint, found))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [one.value for one in hint]}
    if hint in _SIMPLE:
        return {"type": _SIMPLE[hint]}
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_of(one, found) for one in inner]}
    if origin is tuple and len(inner) == 2 and inner[1] is Ellipsis:
        return {"type": "array", "items": _of(inner[0], found)}
    if origin is tuple:
        items = [_of(one, found) for one in inner]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _of(inner[1], found)}
    raise TypeError(f"no JSON form is known for {hint!r}")


if __name__ == "__main__":
    sys.stdout.write(json.dumps(results_schema(), indent=1) + "\n")

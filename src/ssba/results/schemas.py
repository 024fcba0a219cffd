"""The JSON form of what further questions give, as JSON Schema: `advice.schema.json` beside this file.

The schema follows from the dataclasses, so that a field cannot be forgotten; a test holds the file against
them. `python -m ssba.results.schemas` prints it.
"""

import dataclasses
import json
import sys
import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from ssba.results.advice import ADVICE_VERSION
from ssba.results.certificate.document import FORMAT, CertificateCheck
from ssba.results.cohort.summary import Cohort
from ssba.results.explanation import Counterfactual
from ssba.results.levers import Menu
from ssba.results.line_scan import Way
from ssba.results.plan import Plan
from ssba.results.ranges import Interval, Ranges
from ssba.results.trial import Trial
from ssba.results.why_not import WhyNot

# What `to_dict` writes beside the fields.
_ADDED: dict[type, dict[str, Any]] = {
    Plan: {"final": {"type": "object"}, "total_effort": {"type": "number"}},
    Interval: {"text": {"type": "string"}},
    CertificateCheck: {"passed": {"type": "boolean"}},
}
_CERTIFICATE = {
    "type": "object",
    "properties": {
        "format": {"const": FORMAT},
        "explanation": {"type": "object", "description": "As explanation.schema.json describes it."},
        "model": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "fingerprint": {"type": "string"}},
            "required": ["name", "fingerprint"],
        },
        "columns": {"type": "array", "items": {"type": "object"}, "minItems": 1},
        "target": {"type": "object"},
        "request": {"type": "object"},
        "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    },
    "required": ["format", "explanation", "model", "columns", "target", "request", "sha256"],
    "additionalProperties": False,
}
_SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def advice_schema() -> dict[str, Any]:
    """Return the schema of every document that further questions give, one definition each."""
    found: dict[str, Any] = {}
    for kind in (Plan, Ranges, WhyNot, Menu, Trial, Way, Cohort, CertificateCheck):
        _define(kind, found)
        found[kind.__name__]["properties"] |= {
            "schema": {"const": ADVICE_VERSION},
            "sentence": {"type": "string"},
        }
        found[kind.__name__]["required"] += ["schema", "sentence"]
    found["Certificate"] = _CERTIFICATE
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:ssba:advice:{ADVICE_VERSION}",
        "title": "What further questions about an explanation give",
        "$defs": dict(sorted(found.items())),
    }


def _define(kind: type, found: dict[str, Any]) -> dict[str, str]:
    """Add the definition of a dataclass, and of those inside it; return the reference to it."""
    name = kind.__name__
    if name not in found:
        found[name] = {}
        hints = get_type_hints(kind, localns={"Counterfactual": Counterfactual})
        assert dataclasses.is_dataclass(kind)
        fields = {one.name: _of(hints[one.name], found) for one in dataclasses.fields(kind)}
        fields |= _ADDED.get(kind, {})
        found[name] |= {
            "type": "object",
            "properties": fields,
            "required": list(fields),
            "additionalProperties": False,
        }
    return {"$ref": f"#/$defs/{name}"}


def _of(hint: Any, found: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a type, as `listed` and JSON write its values."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return {}
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return dict(_define(hint, found))
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
    sys.stdout.write(json.dumps(advice_schema(), indent=1) + "\n")

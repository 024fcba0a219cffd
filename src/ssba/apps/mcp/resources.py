"""The resources: what an agent may read before it asks."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp_types import (
    INVALID_PARAMS,
    ListResourcesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    TextResourceContents,
)

from ssba.apps.service import Service


@dataclass(frozen=True)
class ServiceResource:
    """Something to read, and how it is made from the service."""

    listed: Resource
    text: Callable[[Service], str]


def constraint_language() -> str:
    """Return the description of the constraint language for a language model."""
    return files("ssba.apps.mcp").joinpath("constraints.md").read_text(encoding="utf-8")


RESOURCES = (
    ServiceResource(
        Resource(
            uri="ssba://schema",
            name="schema",
            title="Columns and target",
            description="The model's columns with kinds, units, ranges or levels and meanings, its classes, "
            "the desired outcome and the constraints that hold by default.",
            mime_type="application/json",
        ),
        lambda service: service.describe().model_dump_json(),
    ),
    ServiceResource(
        Resource(
            uri="ssba://constraints",
            name="constraints",
            title="How to write constraints",
            description="The constraint language: from somebody's words to constraints, what is not "
            "possible, and the grammar.",
            mime_type="text/markdown",
        ),
        lambda service: constraint_language(),
    ),
    ServiceResource(
        Resource(
            uri="ssba://caution",
            name="caution",
            title="Caution",
            description="What to say along with every answer that a person reads.",
            mime_type="text/plain",
        ),
        lambda service: service.project.settings.caution,
    ),
)


class Reading:
    """Lists and reads the resources."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._known = {one.listed.uri: one for one in RESOURCES}

    async def list(
        self, context: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        """List the resources."""
        return ListResourcesResult(resources=[one.listed for one in RESOURCES])

    async def read(
        self, context: ServerRequestContext[Any], params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        """Read one."""
        found = self._known.get(params.uri)
        if found is None:
            known = ", ".join(self._known)
            raise MCPError(INVALID_PARAMS, f"there is no resource {params.uri!r:.80}; there are {known}")
        text = found.text(self._service)
        contents = TextResourceContents(uri=params.uri, mime_type=found.listed.mime_type, text=text)
        return ReadResourceResult(contents=[contents])

"""Errors as replies: which status, and one readable sentence each, without what is inside the server."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi.responses import JSONResponse
from pydantic import Field

from ssba.apps import refusals
from ssba.apps.limits import Busy, Cancelled, Closed
from ssba.apps.requests import Reply
from ssba.errors import ArgumentError, ModelError, SsbaError

CLIENT_GONE = 499
"""What a log calls a request whose client has gone before the answer."""


class Problem(Reply):
    """One thing that is wrong."""

    where: Annotated[
        str, Field(description="The part of the request, such as constraints.0; empty for the whole.")
    ]
    message: Annotated[str, Field(description="What is wrong and what may help, in one sentence.")]


class Refusal(Reply):
    """Why a request was not answered."""

    error: Annotated[str, Field(description="The class in ssba.errors, or another short name.")]
    detail: tuple[Problem, ...]


class InvalidRequest(ArgumentError):
    """A request that cannot be read, with every problem that it has."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("; ".join(one.message for one in problems))
        self.problems = problems


def refused(status: int, error: str, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Make the reply to a request that is not answered, with a sentence about the whole of it."""
    return JSONResponse(_refusal(error, [Problem(where="", message=message)]).model_dump(), status, headers)


def reply_to(error: Exception) -> JSONResponse:
    """Make the reply to a request that ended with an error."""
    status, headers = 500, {}
    match error:
        case Busy(retry_after=seconds):
            status, headers = 503, {"Retry-After": str(seconds)}
        case Closed():
            status, headers = 503, {"Retry-After": "5"}
        case Cancelled():
            status = CLIENT_GONE
        case ModelError():
            status = 422
        case _ if refusals.is_about_the_request(error):
            status = 422
    return JSONResponse(refusal_of(error).model_dump(), status, headers)


def refusal_of(error: Exception) -> Refusal:
    """Say what an error means for who asked; what is inside of the server stays there."""
    if isinstance(error, InvalidRequest):
        return _refusal("ArgumentError", error.problems)
    message = str(error) if isinstance(error, Closed) else refusals.refusal(error)
    name = type(error).__name__ if isinstance(error, Busy | Closed) else public_name(error)
    return _refusal(name, [Problem(where="", message=message)])


def _refusal(error: str, problems: Sequence[Problem]) -> Refusal:
    return Refusal(error=error, detail=tuple(problems))


def public_name(error: Exception) -> str:
    """Return the class of an error that a client can raise again.

    >>> public_name(Cancelled("gone")), public_name(KeyError("chol"))
    ('StoppedError', 'InternalError')
    """
    if not isinstance(error, SsbaError):
        return "InternalError"
    return next(cls.__name__ for cls in type(error).__mro__ if cls.__module__ == "ssba.errors")

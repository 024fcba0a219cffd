"""Requests as they come over HTTP: JSON bodies, query strings, and clients that do not wait any more."""

import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

from anyio import create_task_group, to_thread
from fastapi import Request
from pydantic import ValidationError

from ssba.apps.http.problems import InvalidRequest, Problem
from ssba.apps.limits import Cancelled
from ssba.apps.refusals import placed, request_problems, short
from ssba.apps.requests import Request as Asked
from ssba.apps.requests import RowsRequest
from ssba.errors import ArgumentError
from ssba.json_form import read_json

Model = TypeVar("Model", bound=Asked)
Answer = TypeVar("Answer")

_DEEPEST = 40
"""How far values may be nested; an explanation, the deepest that is sent, has less than ten levels."""

_LARGE = 1 << 16


async def read_body(request: Request, model: type[Model]) -> Model:
    """Read the JSON body of a request; a large one in a thread, since it may take seconds to refuse."""
    body = await request.body()
    if len(body) <= _LARGE:
        return validated(model, parse(body))
    return await to_thread.run_sync(lambda: validated(model, parse(body)))


def validated(model: type[Model], given: Any) -> Model:
    """Read a request, or refuse it with a sentence for each problem; no more of them than are of use."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        found = request_problems(error, list(model.model_fields))
    raise InvalidRequest(*(Problem(where=where, message=placed(where, said)) for where, said in found))


def parse(body: bytes) -> Any:
    """Parse JSON from a stranger: not a number, deep nesting and half characters are refused.

    >>> parse(b'{"row": 3}')
    {'row': 3}
    """
    try:
        text = body.decode("utf-8")
        parsed = read_json(text, "a request")
        if "\\u" in text:
            # An escape may stand for half of a character, which no reply could repeat.
            json.dumps(parsed, ensure_ascii=False).encode("utf-8")
    except UnicodeError:
        raise ArgumentError("this is not the JSON of a request: it holds what is no UTF-8 text") from None
    _refuse_depth(parsed)
    return parsed


def _refuse_depth(parsed: Any) -> None:
    """Refuse what is nested so deeply that looking at it could exhaust the stack."""
    level: list[Any] = [parsed]
    for _ in range(_DEEPEST):
        level = [one for outer in level for one in _members(outer) if isinstance(one, dict | list)]
        if not level:
            return
    raise ArgumentError(f"this is not the JSON of a request: it is nested more than {_DEEPEST} levels deep")


def _members(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def read_query(request: Request) -> RowsRequest:
    """Read which rows are asked for from a query string: ``?search=male&where=sex:male&limit=5``."""
    given: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        if name == "where":
            column, colon, cell = value.partition(":")
            if not colon:
                raise InvalidRequest(
                    Problem(where="where", message=f"where is {value!r:.40}: give COLUMN:VALUE")
                )
            given.setdefault("where", {})[column] = cell or None
        elif name in given:
            raise InvalidRequest(Problem(where=short(name), message=f"{short(name)} is given twice"))
        else:
            given[name] = value
    return validated(RowsRequest, given)


async def unless_gone(request: Request, work: Callable[[], Awaitable[Answer]]) -> Answer:
    """Await work for a request whose body was read; cancel it where the client closes the connection."""
    answers: list[Answer] = []
    failure: Exception | None = None
    async with create_task_group() as group:

        async def watch() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass
            group.cancel_scope.cancel()

        group.start_soon(watch)
        # An error is carried out of the task group, which would wrap it in an ExceptionGroup.
        try:
            answers.append(await work())
        except Exception as error:
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
    if not answers:
        raise Cancelled("the client has gone")
    return answers[0]

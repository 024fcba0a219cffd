"""Nobody waits for the answer any more: then it is not worked out either."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from anyio import create_task_group
from fastapi import Request

from ssba.apps.limits import Cancelled

Answer = TypeVar("Answer")


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

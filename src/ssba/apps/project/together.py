"""Several problems of a project, told together."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from ssba.errors import ArgumentError, SsbaError

Found = TypeVar("Found")


class ProjectFileError(ArgumentError):
    """A project that cannot be used; its message has one line for each problem."""


def all_of(steps: Iterable[Callable[[], Found]]) -> list[Found]:
    """Take every step, also behind one that fails, and tell the problems of all of them together."""
    done: list[Found] = []
    problems: list[SsbaError] = []
    for step in steps:
        try:
            done.append(step())
        except SsbaError as error:
            problems.append(error)
    tell(problems)
    return done


def tell(problems: Sequence[SsbaError]) -> None:
    """Raise problems, if there are any: a single one as it is, several as lines of one error."""
    if len(problems) == 1:
        raise problems[0]
    if problems:
        # Twice the same line, as for a column that two settings misspell alike, says no more than once.
        lines = dict.fromkeys(" ".join(str(one).split()) for one in problems)
        raise ProjectFileError("\n".join(lines))

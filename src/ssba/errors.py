"""Everything that ssba raises or warns with.

The tree::

    SsbaError
    ├── ArgumentError      an argument of ours has a value that is not allowed
    ├── SchemaError        data or a query row does not fit: columns, dtypes, cells, levels
    ├── ConstraintError    a constraint names something unknown, or its text cannot be read
    ├── TargetError        the desired outcome does not exist for this model
    ├── ModelError         the user's model raised, or answered with something unusable
    ├── BoundaryFileError  a boundary index on disk cannot be read or written, or is damaged
    ├── ServiceError       a server of ours cannot be reached, or does not answer
    ├── StoppedError       a call was ended from outside: its limits ran out, or nobody waits for it
    ├── MissingExtra       an optional library is needed and not installed
    └── InternalError      ssba itself went wrong; nothing of the user's is at fault

    SsbaWarning            something was decided for the user that they may want to know

What a query leads to (found, bounded, infeasible, ...) is a status of its
`Explanation`, never an exception: exceptions are for misuse, and for a fault of our own.
"""

from typing import Self


class SsbaError(Exception):
    """Base of all errors raised on purpose by ssba."""

    @property
    def one_line(self) -> str:
        """The message in one line, for a log or a reply."""
        return " ".join(str(self).split())

    def located(self, place: str) -> Self:
        """Return the same error with a place before its message."""
        return type(self)(f"{place}: {self}")


class ArgumentError(SsbaError, ValueError):
    """An argument has a value that is not allowed."""


class SchemaError(SsbaError, ValueError):
    """Data or a query row does not fit: columns, dtypes, cells or levels."""


class ConstraintError(SsbaError, ValueError):
    """A constraint names an unknown column or level, or its text cannot be read.

    A message that points at a place by a line of its own comes with a `brief` one, which names the place.
    """

    def __init__(self, message: str, brief: str | None = None) -> None:
        super().__init__(message)
        self.brief = brief

    @property
    def one_line(self) -> str:
        """The message in one line, for a log or a reply."""
        return self.brief or super().one_line

    def located(self, place: str) -> Self:
        """Return the same error with a place before its message."""
        return type(self)(f"{place}: {self}", self.brief and f"{place}: {self.brief}")


class TargetError(SsbaError, ValueError):
    """The desired outcome does not exist for this model."""


class ModelError(SsbaError, RuntimeError):
    """The user's model raised, or answered with something unusable."""


class BoundaryFileError(SsbaError, RuntimeError):
    """A boundary index on disk cannot be read or written, is damaged, or is about something else.

    The message names the file, what was being done, what came of it, and what may help.
    """


class ServiceError(SsbaError, RuntimeError):
    """A server (`ssba serve`) cannot be reached, refuses the request, or is too busy."""


class StoppedError(SsbaError, RuntimeError):
    """A call was ended from outside: its time or rows ran out, or nobody waits for its answer any more."""


class MissingExtra(SsbaError, ImportError):
    """Something needs an optional library that is not installed; the message says how to install it."""


class InternalError(SsbaError, RuntimeError):
    """Something in ssba itself went wrong, and was stopped before it could do harm; please report it."""


class SsbaWarning(UserWarning):
    """Something was decided for the user that they may want to know."""

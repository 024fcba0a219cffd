"""Wrong usage: what the command line alone shows to be wrong, said in our own words."""

import re
from typing import Any

from ssba.arguments import meant
from ssba.errors import ArgumentError

_QUOTED = re.compile("'(.*?)'")


class UsageError(ArgumentError):
    """An option has a value that it cannot have, whatever the project."""


def is_usage(error: Exception) -> bool:
    """Tell whether an error is about usage: our own, or one of typer's, which has no public base class."""
    return isinstance(error, UsageError) or hasattr(error, "format_message")


def usage_line(error: Any) -> str:
    """Say in one line what is wrong with a command line, and where to read more."""
    if isinstance(error, UsageError):
        return str(error)
    context = getattr(error, "ctx", None)
    command = "ssba" if context is None else context.command_path
    return f"{_said(error, context)}; see `{command} --help`"


def _said(error: Any, context: Any) -> str:
    message = str(error.message).rstrip(".")
    if match := re.search(r"unexpected extra arguments?.* \((.*)\)$", message):
        return _unexpected(match.group(1), context)
    if match := re.match(r"No such command '(.*?)'", message):
        return f"there is no command {match.group(1)!r}{meant(match.group(1), context.command.commands)}"
    if message.startswith("No such option"):
        known = [name for one in context.command.params for name in one.opts]
        return f"there is no option {error.option_name}{meant(error.option_name, known)}"
    if (name := _name(getattr(error, "param", None))) is not None:
        return f"{name} {_problem(error, message)}"
    return message[:1].lower() + message[1:]


def _unexpected(arguments: str, context: Any) -> str:
    """Say that an argument is one too many; a bare number is most likely meant as a row."""
    options = [name for one in context.command.params for name in one.opts]
    row = f" (did you mean --row {arguments}?)" if arguments.isdigit() and "--row" in options else ""
    return f"{arguments!r} is not expected here{row}"


def _name(param: Any) -> str | None:
    """Return an option, or an argument, as one writes it."""
    if param is None:
        return None
    return str(param.opts[0] if param.opts[0].startswith("-") else param.metavar or param.name)


def _problem(error: Any, message: str) -> str:
    """Say what is wrong with a value; newer versions of typer have pydantic look at values."""
    from pydantic import ValidationError

    from ssba.apps.refusals import request_problems

    if match := re.search(r"'(.*)' is not one of (.*)$", message):
        value, allowed = match.groups()
        return f"is {value!r}{meant(value, _QUOTED.findall(allowed))}: give one of {allowed}"
    if isinstance(error.__cause__, ValidationError):
        return request_problems(error.__cause__, ())[0][1]
    return f"cannot be used: {message}" if message else "is missing"

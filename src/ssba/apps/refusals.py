"""What is said to somebody whose request failed: one readable line, and nothing about the machine."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ssba.apps.limits import Busy
from ssba.apps.words import HTTP, PYTHON, Words
from ssba.arguments import came, meant
from ssba.errors import (
    ArgumentError,
    BoundaryFileError,
    ConstraintError,
    ModelError,
    SchemaError,
    SsbaError,
    StoppedError,
    TargetError,
)

Form = TypeVar("Form", bound=BaseModel)

UNEXPECTED = "something went wrong on our side; the log of the service says what"

MOST_PROBLEMS = 20
"""How many problems of one request are told; a stranger may send any number of them."""
_SHOWN = 40

_ABOUT_THE_REQUEST = (ArgumentError, Busy, ConstraintError, SchemaError, StoppedError, TargetError)
"""Errors whose messages are made for whoever sent the request."""

_INSTEAD: Mapping[type[SsbaError], str] = {
    ModelError: "the model could not answer; the log of the service says why",
    BoundaryFileError: "the project's boundary points could not be read; the log of the service says why",
}
"""What is said instead of messages that may quote a model or name a file."""


def is_about_the_request(error: Exception) -> bool:
    """Tell whether an error is the sender's to mend, so that nobody has to read a log."""
    return isinstance(error, _ABOUT_THE_REQUEST)


def refusal(error: Exception, words: Words = HTTP) -> str:
    """Return what to tell the sender of a request about an error, in the words of the way in.

    >>> refusal(StoppedError("this takes longer than 2 seconds"))
    'this takes longer than 2 seconds'
    >>> refusal(ModelError("file /home/me/model.py, line 3"))
    'the model could not answer; the log of the service says why'
    >>> refusal(KeyError("chol"))
    'something went wrong on our side; the log of the service says what'
    """
    if isinstance(error, _ABOUT_THE_REQUEST):
        return words.instead_of(PYTHON, error.one_line)
    return next((said for kind, said in _INSTEAD.items() if isinstance(error, kind)), UNEXPECTED)


def read_request(form: type[Form], given: Any) -> Form:
    """Read a request, or refuse it in one line that names each problem."""
    try:
        return form.model_validate(given)
    except ValidationError as error:
        problems = request_problems(error, list(form.model_fields))
        raise ArgumentError("; ".join(placed(where, said) for where, said in problems)) from None


def placed(where: str, said: str) -> str:
    """Say where a problem is; messages of our own are whole sentences."""
    if not where:
        return said
    return f"{where} {said}" if said.startswith(("is ", "has ")) else f"{where}: {said}"


def request_problems(error: ValidationError, known: Sequence[str]) -> list[tuple[str, str]]:
    """Return where each problem of a request is, and what it is; of many, the first, and how many more.

    >>> class Walk(BaseModel, extra="forbid"):
    ...     steps: int
    ...     mood: str | int = ""
    >>> try:
    ...     Walk.model_validate({"steps": "many", "moods": 1, "mood": []})
    ... except ValidationError as error:
    ...     for where, what in request_problems(error, ["steps", "mood"]):
    ...         print(where, what)
    steps is 'many': give a whole number
    mood is of type list: give text, a number, true or false
    moods is not known (did you mean 'mood'?): there are steps, mood
    """
    found: dict[str, tuple[Mapping[str, Any], str | None]] = {}
    for one in error.errors(include_url=False):
        place = one["loc"]
        # A cell that fits no type of a union is one problem, not one for each type.
        is_cell = len(place) > 1 and place[-1] in ("str", "int", "float", "bool")
        where = ".".join(map(str, place[:-1] if is_cell else place))
        found.setdefault(where, (one, "give text, a number, true or false" if is_cell else None))
    told = [
        (short(where), _problem(one, known, wanted))
        for where, (one, wanted) in islice(found.items(), MOST_PROBLEMS)
    ]
    more = len(found) - len(told)
    return [*told, ("", f"and {more:,} more")] if more else told


def short(name: str) -> str:
    """Return a name that a stranger gave, cut where it is too long to be one."""
    return name if len(name) <= _SHOWN else f"{name[:_SHOWN]}..."


def _problem(one: Mapping[str, Any], known: Sequence[str], wanted: str | None) -> str:
    """Say what is wrong with a part of a request."""
    if isinstance(own := one.get("ctx", {}).get("error"), SsbaError):
        return own.one_line
    if one["type"] == "missing":
        return "is missing"
    if one["type"] == "extra_forbidden":
        allowed = f"there are {', '.join(known)}" if known else "nothing can be given here"
        return f"is not known{meant(short(str(one['loc'][-1])), known)}: {allowed}"
    if one["type"] == "too_long":
        return f"has {len(one['input']):,} entries: give at most {one['ctx']['max_length']:,}"
    return f"is {came(one['input'])}: {wanted or _wanted(one)}"


def _wanted(one: Mapping[str, Any]) -> str:
    """Say what to give instead, in our own words where the problem is a common one."""
    limits: Mapping[str, Any] = one.get("ctx", {})
    words = {
        "greater_than_equal": f"give {limits.get('ge')} or more",
        "less_than_equal": f"give {limits.get('le')} or less",
        "string_too_long": f"give at most {limits.get('max_length', 0):,} characters",
        "too_short": f"give at least {limits.get('min_length')}",
        "finite_number": "give a finite number",
        "tuple_type": "give a list",
        "dict_type": 'give an object with columns and values, such as {"chol": 233}',
        "model_type": "give an object",
    }
    kinds = {"int": "a whole number", "float": "a number", "string": "text", "bool": "true or false"}
    kind = kinds.get(str(one["type"]).split("_")[0])
    return words.get(one["type"]) or (f"give {kind}" if kind else str(one["msg"]))

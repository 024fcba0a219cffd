"""Options that several commands share, as dataclasses whose fields become options."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command, in place of each parameter that is a dataclass, one option for each of its fields.

    The first parameter is left to `with_project`, which goes around it.
    """
    first, *own = inspect.signature(command, eval_str=True).parameters.values()
    groups: dict[str, Any] = {one.name: one.annotation for one in own if is_dataclass(one.annotation)}
    spread = [
        option.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for one in own
        for option in (_options(groups[one.name]) if one.name in groups else [one])
    ]

    @wraps(command)
    def run(choice: Any, **given: Any) -> None:
        built = {
            name: group(**{one.name: given.pop(one.name) for one in fields(group)})
            for name, group in groups.items()
        }
        command(choice, **built, **given)

    vars(run)["__signature__"] = inspect.Signature([first, *spread])
    run.__annotations__ = {one.name: one.annotation for one in (first, *spread)}
    return run


def _options(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]

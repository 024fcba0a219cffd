"""Names of classes for people: results as they are told, in which a class is called by its name."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ssba.apps.project.target import named
from ssba.models.targets import Leave, Reach, describe

Result = TypeVar("Result")


@dataclass(frozen=True)
class ClassNames:
    """The names that a project gives to the classes of its model; there may be none.

    What comes of it is shown to people and no more: programs get the classes themselves.
    """

    names: Mapping[str, str]
    classes: Sequence[Any]

    def of(self, prediction: Any) -> Any:
        """Return the name of a class; a class without one, or a number, as it is."""
        return named(prediction, self.names)

    def target(self, words: str) -> str:
        """Return a target in words with the name of its class."""
        for label in self.classes if self.names else ():
            for kind in (Reach, Leave):
                if words == describe(kind(label)):
                    return describe(kind(self.of(label)))
        return words

    def told(self, result: Result) -> Result:
        """Return a result in which predictions and targets, also of its parts, are called by their names."""
        if not self.names or not dataclasses.is_dataclass(result) or isinstance(result, type):
            return result
        fields = {one.name: getattr(result, one.name) for one in dataclasses.fields(result) if one.init}
        renamed = {name: self._field(name, value) for name, value in fields.items()}
        changed = {name: value for name, value in renamed.items() if value is not fields[name]}
        return dataclasses.replace(result, **changed) if changed else result

    def _field(self, name: str, value: Any) -> Any:
        if name == "prediction":
            return self.of(value)
        if name == "target" and isinstance(value, str):
            return self.target(value)
        if isinstance(value, tuple) and any(map(dataclasses.is_dataclass, value)):
            return tuple(self.told(one) for one in value)
        return self.told(value)

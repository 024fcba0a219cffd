"""Where things are said: in which line of a project file, or by which option."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from ssba.errors import SsbaError

Key = tuple[str | int, ...]


def _no_line(key: Key) -> int | None:
    return None


@dataclass(frozen=True)
class Locations:
    """Names the place of a setting for error messages: file, line and key, or the option that replaces it.

    >>> Locations("ssba.toml", {("features", "chol"): 7}.get)("features", "chol")
    'ssba.toml, line 7: features.chol'
    >>> Locations("ssba.toml")("model"), Locations()("constraints", 2)
    ('ssba.toml: model', 'constraints[2]')
    >>> Locations("ssba.toml", options={("model",): "--model"})("model")
    '--model'
    """

    file: str = ""
    line: Callable[[Key], int | None] = _no_line
    options: Mapping[Key, str] = field(default_factory=dict)

    def __call__(self, *key: str | int) -> str:
        """Return the place of a key."""
        if key in self.options:
            return self.options[key]
        line = self.line(key)
        place = self.file if line is None else f"{self.file}, line {line}"
        return ": ".join(filter(None, (place, key_text(key))))


def key_text(key: Key) -> str:
    """Write a key as code does.

    >>> key_text(("features", "chol", "levels", 0))
    'features.chol.levels[0]'
    """
    first, *rest = key
    return str(first) + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in rest)


@contextmanager
def told_at(place: str, *kinds: type[SsbaError]) -> Iterator[None]:
    """Put the place of a setting before errors of some kinds."""
    try:
        yield
    except kinds as error:
        raise error.located(place) from error


NOWHERE = Locations()

"""Reads YAML, and remembers in which line each key is said."""

import re
from typing import Any

import yaml

from ssba.apps.project.locations import Key
from ssba.apps.project.problems import QUOTE_COLONS

_TAG = "tag:yaml.org,2002:"
_DEEPEST = 50
"""How far lists and tables may be nested; settings need less than five levels."""

_ITEM_WITH_COLON = re.compile(r"(^\s*-|\[).*:\s")


class _Loader(yaml.SafeLoader):
    """Numbers, text, true, false and null as YAML 1.2 has them: `yes` and `no` are text, as levels may be."""


_Loader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in known if tag in (f"{_TAG}int", f"{_TAG}float", f"{_TAG}null")]
    for letter, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(f"{_TAG}bool", re.compile("true|True|TRUE|false|False|FALSE"), list("tTfF"))


class YamlProblem(Exception):
    """A YAML text that is refused, and the line of it."""

    def __init__(self, line: int, said: str) -> None:
        super().__init__(said)
        self.line = line


def read_yaml(text: str) -> tuple[Any, dict[Key, int]]:
    r"""Read a document of plain values; also return the lines, counted from 1, of its keys.

    >>> read_yaml("data: heart.csv\nfeatures:\n  exang: {levels: [no, yes]}\n")
    ({'data': 'heart.csv', 'features': {'exang': {'levels': ['no', 'yes']}}}, {('data',): 1, ...})
    """
    loader = _Loader(text)
    try:
        _refuse_events(text)
        node = loader.get_single_node()
        lines: dict[Key, int] = {}
        return (None if node is None else _build(loader, node, (), lines)), lines
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        number = 0 if mark is None else mark.line
        problem = error.problem or error.context or "it cannot be read"
        hint = f"; {QUOTE_COLONS}" if _ITEM_WITH_COLON.search(text.splitlines()[number]) else ""
        raise YamlProblem(number + 1, f"{problem}{hint}") from error
    except yaml.YAMLError as error:
        raise YamlProblem(1, " ".join(str(error).split())) from error
    finally:
        loader.dispose()


def _refuse_events(text: str) -> None:
    """Refuse what would take too long, or too much of the stack, to build: references and deep nesting."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent):
            raise YamlProblem(_line(event), f"*{event.anchor} refers elsewhere; write the value itself")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise YamlProblem(_line(event), "lists or tables are nested too deeply")


def _build(loader: _Loader, node: yaml.Node, key: Key, lines: dict[Key, int]) -> Any:
    if isinstance(node, yaml.SequenceNode):
        items = []
        for number, item in enumerate(node.value):
            lines[*key, number] = _line(item)
            items.append(_build(loader, item, (*key, number), lines))
        return items
    if isinstance(node, yaml.MappingNode):
        members = {}
        for name, value in node.value:
            if not isinstance(name, yaml.ScalarNode):
                raise YamlProblem(_line(name), "a key is a list or a table; give text")
            if name.value in members:
                raise YamlProblem(_line(name), f"{name.value} is said twice; keep one of them")
            # A key is text even where it looks like a number, as the class 0 among the names of classes.
            lines[*key, name.value] = _line(name)
            members[name.value] = _build(loader, value, (*key, name.value), lines)
        return members
    try:
        return loader.construct_object(node)
    except ValueError:
        # Python limits the digits of a number; a tag may also claim that a text is one.
        raise YamlProblem(_line(node), f"{node.value!r:.40} cannot be read as a number") from None


def _line(place: Any) -> int:
    return int(place.start_mark.line) + 1

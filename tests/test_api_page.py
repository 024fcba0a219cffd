"""`docs/api.md` lists every public name; `python -m tests.test_api_page` writes it from the docstrings."""

import inspect
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ssba

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
_HEAD = """# Every public name

What you construct stands at the root of `ssba`, what comes back in `ssba.results`, errors in `ssba.errors`.
This page is written by `python -m tests.test_api_page` from the docstrings, and a test holds it against them;
`help(ssba.Explainer.explain)` has the parameters.
"""


def api_page() -> str:
    """Return the page: one line a name."""
    parts = [_HEAD, _section("ssba", ssba), _section("ssba.Explainer", ssba.Explainer)]
    parts.append(_section("ssba.Client", ssba.Client))
    parts.append(_section("ssba.run.Runner", ssba.run.Runner))
    parts += [_section(f"ssba.{one.__name__.removeprefix('ssba.')}", one) for one in _modules()]
    return "\n".join(parts)


def _modules() -> list[types.ModuleType]:
    from ssba import charts, errors, results, run

    return [results, errors, charts, run]


def _section(title: str, owner: Any) -> str:
    lines = [f"| `{_written(name, value)}` | {_summary(value)} |" for name, value in _members(owner)]
    return "\n".join([f"## `{title}`", "", "| name | |", "|---|---|", *lines, ""])


def _members(owner: Any) -> Iterator[tuple[str, Any]]:
    if inspect.isclass(owner):
        yield from ((name, value) for name, value in vars(owner).items() if _is_public_method(name, value))
        return
    names = getattr(owner, "__all__", None) or [
        name for name, value in vars(owner).items() if inspect.isclass(value) and not name.startswith("_")
    ]
    for name in sorted(names, key=str.lower):
        if not name.startswith("__"):
            yield name, getattr(owner, name)


def _is_public_method(name: str, value: Any) -> bool:
    return not name.startswith("_") and isinstance(value, types.FunctionType | property)


def _written(name: str, value: Any) -> str:
    """Return a name with its parameters where it is called."""
    if not inspect.isfunction(value):
        return name
    names = [one for one in inspect.signature(value).parameters.values() if one.name != "self"]
    return f"{name}({', '.join(map(_parameter, names))})"


def _parameter(one: inspect.Parameter) -> str:
    stars = "*" * (one.kind is one.VAR_POSITIONAL) + "**" * (one.kind is one.VAR_KEYWORD)
    return f"{stars}{one.name}" if one.default is inspect.Parameter.empty else f"{one.name}=..."


def _summary(value: Any) -> str:
    return (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def test_the_page_of_public_names_is_what_the_docstrings_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == api_page()


if __name__ == "__main__":
    PAGE.write_text(api_page(), encoding="utf-8")

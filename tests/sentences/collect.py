"""Every sentence that a user can see, collected from the source: errors, warnings, results, pages, commands.

`python -m tests.sentences.collect` writes the list; a test holds it against the source, so that new sentences
are read by somebody. What is filled in stands in braces.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import ssba

SOURCE = Path(ssba.__file__).parent
LIST = Path(__file__).with_name("sentences.txt")

# Rooms whose every text is for a person; elsewhere only errors and warnings are.
_FOR_PEOPLE = ("results/", "views/", "apps/", "suggest/", "constraints/relaxing/", "constraints/lists")


def collected() -> str:
    """Return the list: a line a sentence, under the module that it stands in."""
    lines: list[str] = []
    for file in sorted(SOURCE.rglob("*.py")):
        name = file.relative_to(SOURCE).as_posix()
        tree = ast.parse(file.read_text(encoding="utf-8"))
        found = list(dict.fromkeys(_texts(tree) if name.startswith(_FOR_PEOPLE) else _raised(tree)))
        if found:
            lines += [f"# {name}", *found, ""]
    return "\n".join(lines)


def _raised(tree: ast.AST) -> Iterator[str]:
    """Yield what is raised or warned about."""
    for node in ast.walk(tree):
        call = node.exc if isinstance(node, ast.Raise) else node
        if not isinstance(call, ast.Call) or not call.args:
            continue
        name = ast.unparse(call.func)
        if isinstance(node, ast.Raise) or name in ("warnings.warn", "_refuse"):
            text = _written(call.args[0])
            if text is not None and _is_sentence(text):
                yield text


def _texts(tree: ast.AST) -> Iterator[str]:
    """Yield every text of several words that is no docstring and no piece of another."""
    skipped = set(_docstrings(tree))
    for node in ast.walk(tree):
        if id(node) in skipped or not isinstance(node, ast.Constant | ast.JoinedStr):
            continue
        skipped.update(id(inner) for inner in ast.walk(node) if inner is not node)
        text = _written(node)
        if text is not None and _is_sentence(text):
            yield text


def _docstrings(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield id(node.value)


def _written(node: ast.AST) -> str | None:
    match node:
        case ast.Constant(value=str(text)):
            return " ".join(text.split())
        case ast.JoinedStr(values=parts):
            return " ".join("".join(map(_part, parts)).split())
    return None


def _part(node: ast.AST) -> str:
    if isinstance(node, ast.FormattedValue):
        return f"{{{ast.unparse(node.value)}}}"
    return str(node.value) if isinstance(node, ast.Constant) else ""


def _is_sentence(text: str) -> bool:
    return len([word for word in text.split() if any(sign.isalpha() for sign in word)]) > 2


if __name__ == "__main__":
    LIST.write_text(collected(), encoding="utf-8")

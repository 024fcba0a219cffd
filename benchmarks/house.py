"""How the source is built, in figures: files, lines, functions, and what one plain query visits.

    python -m benchmarks.house

Lengths are from the `def` line to the last line of the body; parameters do not count `self` and `cls`. The
plain query is one row of the heart data, a function to labels, no constraints: every function of `ssba` that
`explain` enters is counted once, comprehensions not at all. It is the second query of its explainer: what
the first one does once, such as predicting the background rows, is not a visit.
"""

import ast
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import ssba

SOURCE = Path(ssba.__file__).parent


@dataclass(frozen=True)
class Function:
    """One function of the source."""

    where: str
    lines: int
    parameters: int


def functions(folder: Path = SOURCE) -> Iterator[Function]:
    """Yield every function and method below a folder."""
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                where = f"{file.relative_to(folder)}:{node.name}"
                yield Function(where, length, len(_parameters(node.args)))


def _parameters(arguments: ast.arguments) -> list[str]:
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    extra = [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    return [one.arg for one in (*named, *extra) if one.arg not in ("self", "cls")]


def visited(question: Callable[[], Any], folder: Path = SOURCE) -> set[tuple[str, str]]:
    """Return the modules and functions below a folder that are entered while a question is answered."""
    seen: set[tuple[str, str]] = set()
    prefix = str(folder)

    def note(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(prefix) and not code.co_name.startswith("<"):
            seen.add((code.co_filename, code.co_qualname))

    sys.setprofile(note)
    try:
        question()
    finally:
        sys.setprofile(None)
    return seen


def plain_query() -> set[tuple[str, str]]:
    """Return what one query by labels without constraints visits."""
    heart = ssba.datasets.load_heart()
    complete = heart.frame.dropna()
    rows = complete.select_dtypes("number")
    labels = (heart.target[complete.index] == "disease").to_numpy()
    model = make_pipeline(StandardScaler(), SVC()).fit(rows, labels)
    explainer = ssba.Explainer(lambda given: model.predict(given), rows, target=False)
    ill = rows[np.asarray(model.predict(rows))]
    explainer.explain(ill.iloc[1])
    return visited(lambda: explainer.explain(ill.iloc[0]))


def report() -> str:
    found = list(functions())
    lengths = sorted(one.lines for one in found)
    longest = max(found, key=lambda one: one.lines)
    widest = max(found, key=lambda one: one.parameters)
    files = sorted(SOURCE.rglob("*.py"))
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
    visits = plain_query()
    p90 = lengths[int(0.9 * len(lengths))]
    return "\n".join(
        [
            f"files                          {len(files):,}",
            f"lines                          {lines:,}",
            f"functions                      {len(found):,}",
            f"lines a function, median       {statistics.median(lengths):g}",
            f"lines a function, 90th of 100  {p90}",
            f"longest function               {longest.lines} ({longest.where})",
            f"most parameters                {widest.parameters} ({widest.where})",
            f"more than 8 parameters         {sum(one.parameters > 8 for one in found)}",
            f"modules a plain query visits   {len({file for file, _ in visits})}",
            f"functions a plain query visits {len(visits)}",
        ]
    )


if __name__ == "__main__":
    sys.stdout.write(report() + "\n")

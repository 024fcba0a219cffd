"""HTML views for notebooks: self-contained, no outside requests, readable on light and dark themes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ssba.html import Cell, Markup, element, table
from ssba.results import text, words

if TYPE_CHECKING:
    from ssba.results.explanation import Explanation, Explanations

# Colours are see-through and the text keeps the notebook's own, so that they fit any theme.
_STYLE = Markup(
    "<style>.ssba table{border-collapse:collapse}"
    ".ssba caption{text-align:left;opacity:.8;padding:2px 0}"
    ".ssba td,.ssba th{padding:2px 10px;text-align:left}"
    ".ssba .changed{background:rgba(255,179,0,.3);font-weight:600}</style>"
)
_MOST_LISTED = 100


def report(explanation: "Explanation") -> str:
    """Return the sentence and a table of the query beside its answers, changed cells coloured."""
    title = element("p", element("b", explanation.status.value), f": {text.sentence(explanation)}")
    lines = [element("p", line) for line in (*text.shown_lines(explanation), *text.kinds_line(explanation))]
    return element(
        "div", _STYLE, title, _answers(explanation) if explanation.answers else None, *lines, class_="ssba"
    )


def framed(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of texts."""
    return element("div", _STYLE, table(caption, heads, rows), class_="ssba")


def _answers(explanation: "Explanation") -> Markup:
    answers = explanation.answers
    label = "counterfactual" if explanation.counterfactuals else "bounded move"
    several = len(answers) > 1
    heads = ["column", "query", *(f"{label} {i}" if several else label for i in range(1, len(answers) + 1))]
    predictions, scores = zip(*text.spoken(explanation), strict=True)
    rows = [_column(explanation, name) for name in explanation.query]
    rows.append(_fact("prediction", predictions))
    # A regressor's score is its prediction.
    has_scores = explanation.score is not None or any(one.score is not None for one in answers)
    if has_scores and not text.is_value(explanation.prediction, explanation.score):
        rows.append(_fact("score", scores))
    rows.append(_fact("distance", ["0", *(words.show(one.distance) for one in answers)]))
    return table(f"The query beside its {label}{'s' if several else ''}", heads, rows)


def _column(explanation: "Explanation", name: str) -> list[Any]:
    unit = explanation.units.get(name)
    cells = [
        Cell(words.cell(one.values[name], unit), "changed" if name in one.changes else None)
        for one in explanation.answers
    ]
    return [name, words.cell(explanation.query[name], unit), *cells]


def _fact(name: str, values: Sequence[str]) -> list[Any]:
    return [element("i", name), *(element("i", value) for value in values)]


def overview(explanations: "Explanations") -> str:
    """Return a table of many results, a line each; the first hundred."""
    shown = explanations[:_MOST_LISTED]
    rows = [[number, *_result(one)] for number, one in enumerate(shown)]
    left = len(explanations) - len(shown)
    whole = table(
        text.overview(explanations).strip("<>"), ["query", "status", "what came out", "distance"], rows
    )
    more = element("p", f"{left:,} more are not shown.") if left else None
    return element("div", _STYLE, whole, more, class_="ssba")


def _result(explanation: "Explanation") -> list[str]:
    best = explanation.best
    distance = "" if best is None else words.show(best.distance)
    return [explanation.status.value, text.sentence(explanation), distance]

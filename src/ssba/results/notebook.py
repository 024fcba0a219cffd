"""HTML views for notebooks: self-contained, no outside requests, readable on light and dark themes."""

from html import escape
from typing import TYPE_CHECKING

from ssba.results import text

if TYPE_CHECKING:
    from ssba.results.explanation import Counterfactual, Explanation, Explanations

# Colours are see-through and the text keeps the notebook's own, so that they fit any theme.
_STYLE = (
    "<style>.ssba table{border-collapse:collapse}"
    ".ssba caption{text-align:left;opacity:.8;padding:2px 0}"
    ".ssba td,.ssba th{padding:2px 10px;text-align:left}"
    ".ssba .changed{background:rgba(255,179,0,.3);font-weight:600}"
    ".ssba .answer{border-top:1px solid rgba(128,128,128,.5)}</style>"
)
_MOST_LISTED = 100


def report(explanation: "Explanation") -> str:
    """Return the sentence and a table of the query beside its answers, changed cells coloured."""
    answers = explanation.counterfactuals or ((explanation.bounded,) if explanation.bounded else ())
    title = f"<p><b>{escape(explanation.status.value)}</b>: {escape(text.sentence(explanation))}</p>"
    shown = "".join(f"<p>{escape(line)}</p>" for line in text.shown_lines(explanation))
    if not answers:
        return f'<div class="ssba">{_STYLE}{title}{shown}</div>'
    return f'<div class="ssba">{_STYLE}{title}{_table(explanation, answers)}{shown}</div>'


def _table(explanation: "Explanation", answers: "tuple[Counterfactual, ...]") -> str:
    label = "counterfactual" if explanation.counterfactuals else "bounded move"
    numbers = [f" {i + 1}" if len(answers) > 1 else "" for i in range(len(answers))]
    heads = ["column", "query", *(f"{label}{number}" for number in numbers)]
    lines = [_line(explanation, name, answers) for name in explanation.query]
    lines.append(
        _facts("prediction", [explanation.prediction, *(one.prediction for one in answers)], "answer")
    )
    lines.append(_facts("score", [explanation.score, *(one.score for one in answers)]))
    lines.append(_facts("distance", [0.0, *(one.distance for one in answers)]))
    top = "".join(f'<th scope="col">{head}</th>' for head in heads)
    caption = f"<caption>The query beside its {label}{'s' if len(answers) > 1 else ''}</caption>"
    return f"<table>{caption}<thead><tr>{top}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _line(explanation: "Explanation", name: str, answers: "tuple[Counterfactual, ...]") -> str:
    unit = explanation.units.get(name)
    written = [escape(text.cell(one.values[name], unit)) for one in answers]
    cells = "".join(
        f'<td class="changed">{cell}</td>' if name in one.changes else f"<td>{cell}</td>"
        for one, cell in zip(answers, written, strict=True)
    )
    now = escape(text.cell(explanation.query[name], unit))
    return f'<tr><th scope="row">{escape(name)}</th><td>{now}</td>{cells}</tr>'


def _facts(name: str, values: list[object], look: str = "") -> str:
    if all(value is None for value in values):
        return ""
    cells = "".join(f"<td><i>{_cell(value)}</i></td>" for value in values)
    shown = f' class="{look}"' if look else ""
    return f'<tr{shown}><th scope="row"><i>{name}</i></th>{cells}</tr>'


def _cell(value: object) -> str:
    return escape(text.show(value))


def overview(explanations: "Explanations") -> str:
    """Return a table of many results, a line each; the first hundred."""
    lines = [_result_line(number, one) for number, one in enumerate(explanations[:_MOST_LISTED])]
    heads = ("query", "status", "what came out", "distance")
    top = "".join(f'<th scope="col">{head}</th>' for head in heads)
    left = len(explanations) - len(lines)
    more = f"<p>{left:,} more are not shown.</p>" if left else ""
    caption = f"<caption>{escape(text.overview(explanations).strip('<>'))}</caption>"
    table = f"<table>{caption}<thead><tr>{top}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    return f'<div class="ssba">{_STYLE}{table}{more}</div>'


def _result_line(number: int, explanation: "Explanation") -> str:
    best = explanation.best
    cells = (
        explanation.status.value,
        text.sentence(explanation),
        "" if best is None else text.show(best.distance),
    )
    written = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
    return f'<tr><th scope="row">{number}</th>{written}</tr>'

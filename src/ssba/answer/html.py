"""HTML views for notebooks: self-contained, no outside requests."""

from html import escape
from typing import TYPE_CHECKING

from ssba.answer import text

if TYPE_CHECKING:
    from ssba.answer.result import Counterfactual, Explanation

_STYLE = (
    "<style>.ssba td,.ssba th{padding:2px 10px;text-align:left}"
    ".ssba .changed{background:#fff3c4;color:#3d2c00;font-weight:600}</style>"
)


def report(explanation: "Explanation") -> str:
    """Return the sentence and a table of the query beside its answers, changed cells coloured."""
    answers = explanation.counterfactuals or ((explanation.bounded,) if explanation.bounded else ())
    title = f"<p><b>{escape(explanation.status.value)}</b>: {escape(text.sentence(explanation))}</p>"
    shown = "".join(f"<p>{escape(line)}</p>" for line in text.shown_lines(explanation))
    if not answers:
        return f'<div class="ssba">{_STYLE}{title}{shown}</div>'
    label = "counterfactual" if explanation.counterfactuals else "bounded move"
    numbers = [f" {i + 1}" if len(answers) > 1 else "" for i in range(len(answers))]
    head = "".join(f"<th>{label}{number}</th>" for number in numbers)
    lines = [f"<tr><th>column</th><th>query</th>{head}</tr>"]
    lines += [_line(explanation, name, answers) for name in explanation.query]
    lines.append(_facts("prediction", [explanation.prediction, *(one.prediction for one in answers)]))
    lines.append(_facts("score", [explanation.score, *(one.score for one in answers)]))
    lines.append(_facts("distance", [0.0, *(one.distance for one in answers)]))
    return f'<div class="ssba">{_STYLE}{title}<table>{"".join(lines)}</table>{shown}</div>'


def _line(explanation: "Explanation", name: str, answers: "tuple[Counterfactual, ...]") -> str:
    unit = explanation.units.get(name)
    written = [escape(text.cell(one.values[name], unit)) for one in answers]
    cells = "".join(
        f'<td class="changed">{cell}</td>' if name in one.changes else f"<td>{cell}</td>"
        for one, cell in zip(answers, written, strict=True)
    )
    now = escape(text.cell(explanation.query[name], unit))
    return f"<tr><th>{escape(name)}</th><td>{now}</td>{cells}</tr>"


def _facts(name: str, values: list[object]) -> str:
    if all(value is None for value in values):
        return ""
    return f"<tr><th><i>{name}</i></th>{''.join(f'<td><i>{_cell(value)}</i></td>' for value in values)}</tr>"


def _cell(value: object) -> str:
    return escape(text.show(value))

"""Plain-text views of results: one sentence, a table for the terminal, an overview of many."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

_MOST_LISTED = 5

if TYPE_CHECKING:
    from ssba.answer.result import Counterfactual, Explanation


def sentence(explanation: "Explanation") -> str:
    """Say what came out and, where there is one, the remedy."""
    told = {
        "found": _found,
        "bounded": _bounded,
        "infeasible": _infeasible,
        "already_there": _already_there,
        "out_of_budget": _out_of_budget,
    }
    return told[explanation.status.value](explanation)


def _found(explanation: "Explanation") -> str:
    best = explanation.counterfactuals[0]
    changes = join(_change(explanation, name, *both) for name, both in best.changes.items())
    if best.prediction == explanation.prediction or isinstance(best.prediction, float):
        score = f" ({show(explanation.score)} before, {show(best.score)} after)" if best.score else ""
        return f"Changing {changes} reaches {explanation.target}{score}."
    turned = f"from {show(explanation.prediction)} to {show(best.prediction)}"
    return f"Changing {changes} turns the model's answer {turned}."


def _change(explanation: "Explanation", name: str, before: Any, after: Any) -> str:
    now, then = show_both(before, after, explanation.units.get(name))
    return f"{name} from {now} to {then}"


def _bounded(explanation: "Explanation") -> str:
    move = explanation.bounded
    if move is None or not move.changes:
        return (
            f"No feasible row was found that reaches {explanation.target}, and no feasible move comes nearer "
            f"to the boundary than the query itself; relax a constraint: {_listed(explanation.constraints)}."
        )
    left = score = ""
    if move.distance_to_boundary is not None:
        left = f" and leaves {move.distance_to_boundary:.3g} to the boundary"
    if explanation.score is not None and move.score is not None:
        score = f", with the score going from {explanation.score:.3g} to {move.score:.3g}"
    return (
        f"No feasible row was found that reaches {explanation.target}. The bounded move changes "
        f"{join(move.changes)}{left}{score}; "
        f"relax a constraint to get further: {_listed(explanation.constraints)}."
    )


def _infeasible(explanation: "Explanation") -> str:
    return (
        f"No row can meet the constraints at once: {_listed(explanation.clash)} contradict each other "
        "for this query; drop or relax one of them."
        if len(explanation.clash) > 1
        else f"No row can meet the constraint {_listed(explanation.clash)} for this query; drop or relax it."
    )


def _already_there(explanation: "Explanation") -> str:
    now = show(explanation.prediction)
    return f"The model already answers {now}, which reaches {explanation.target}: nothing to change."


def _out_of_budget(explanation: "Explanation") -> str:
    return (
        f"The budget ran out after {explanation.rows_used:,} model rows before any feasible row reached "
        f"{explanation.target}; allow more with budget=ssba.Budget(rows=...)."
    )


def report(explanation: "Explanation") -> str:
    """Return a readable page for the terminal: the sentence, the changes, how it was found."""
    parts = [f"{explanation.status.value}: {sentence(explanation)}"]
    answers = explanation.counterfactuals or ((explanation.bounded,) if explanation.bounded else ())
    parts += [_table(explanation, answer) for answer in answers if answer.changes]
    parts.append(
        f"{explanation.rows_used:,} model rows, {explanation.seconds:.2f} s, seed {explanation.seed}"
    )
    return "\n\n".join(parts)


def _table(explanation: "Explanation", answer: "Counterfactual") -> str:
    lines = [("column", "now", "proposed")]
    for name, (before, after) in answer.changes.items():
        lines.append((name, *show_both(before, after, explanation.units.get(name))))
    lines.append(("prediction", show(explanation.prediction), show(answer.prediction)))
    if explanation.score is not None and answer.score is not None:
        lines.append(("score", show(explanation.score), show(answer.score)))
    lines.append(("distance", "0", show(answer.distance)))
    return columns(lines)


def columns(lines: Sequence[Sequence[str]]) -> str:
    """Align cells in columns.

    >>> print(columns([("a", "b"), ("long", "c")]))
    a     b
    long  c
    """
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    aligned = (
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines
    )
    return "\n".join(line.rstrip() for line in aligned)


def overview(explanations: Sequence["Explanation"]) -> str:
    """Return one line for many results: how many ended how."""
    counts = Counter(one.status.value for one in explanations)
    told = ", ".join(f"{count} {status}" for status, count in counts.most_common())
    return f"<{len(explanations)} explanations: {told or 'none'}>"


def show_both(before: Any, after: Any, unit: str | None = None) -> tuple[str, str]:
    """Write two values of a cell with all their digits: what is shown is what was scored.

    >>> show_both(240.5, 241.0, "mg/dl")
    ('240.5 mg/dl', '241 mg/dl')
    """
    return cell(before, unit), cell(after, unit)


def cell(value: Any, unit: str | None = None) -> str:
    """Write a cell of a row in full.

    >>> cell(0.1), cell(3.0), cell(None)
    ('0.1', '3', 'missing')
    """
    return show(repr(value).removesuffix(".0") if isinstance(value, float) else value, unit)


def show(value: Any, unit: str | None = None) -> str:
    """Write a value for a person: short numbers, a word for missing, the unit behind.

    >>> show(2.30000001, "mm"), show(None), show("typical")
    ('2.3 mm', 'missing', 'typical')
    """
    if value is None:
        return "missing"
    written = f"{value:.6g}" if isinstance(value, float) else str(value)
    return f"{written} {unit}" if unit else written


def join(words: Iterable[str]) -> str:
    """Join words as in a sentence.

    >>> join(["a", "b", "c"])
    'a, b and c'
    """
    *most, last = list(words) or ["nothing"]
    return f"{', '.join(most)} and {last}" if most else last


def _listed(constraints: Sequence[str]) -> str:
    if not constraints:
        return "there are none but the ranges of the data, which between(...) widens"
    shown = [f'"{one}"' for one in constraints[:_MOST_LISTED]]
    more = len(constraints) - len(shown)
    return join([*shown, f"{more} more"] if more else shown)

"""Plain-text views of results: one sentence, a table for the terminal, an overview of many."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ssba.constraints.language.parser import constraint
from ssba.constraints.language.tree import column_text
from ssba.constraints.language.tree import columns as constraint_columns
from ssba.constraints.relaxing.ladder import plain, short_between
from ssba.errors import ConstraintError
from ssba.models.targets import Probability
from ssba.results.broken import broken_by_query
from ssba.results.numbers import Numbers, short
from ssba.results.words import capital, cell, columns, constant_columns, join, quoted, show, show_both

_MOST_LISTED = 5
# From so many steps on, an amount is told in whole ones.
_MANY_STEPS = 10

if TYPE_CHECKING:
    from ssba.results.column import Column
    from ssba.results.explanation import Counterfactual, Evidence, Explanation, Obstacle


def sentence(explanation: "Explanation") -> str:
    """Say what came out and, where there is one, the remedy."""
    writers = {
        "found": _found,
        "bounded": _bounded,
        "infeasible": _infeasible,
        "already_there": _already_there,
        "out_of_budget": _out_of_budget,
    }
    return writers[explanation.status.value](explanation) + _fewer(explanation) + _ended(explanation)


def _fewer(explanation: "Explanation") -> str:
    """Say why there are fewer answers than were asked for."""
    count, wanted = len(explanation.counterfactuals), explanation.options.k
    if not 0 < count < wanted:
        return ""
    few = f" {'This is the only one' if count == 1 else f'These are {count}'} of {wanted} answers asked for: "
    evidence = explanation.evidence
    if evidence.column_searches_left:
        left = evidence.column_searches_left
        return (
            f"{few}{left:,} {'search' if left == 1 else 'searches'} for other sets of columns "
            f"{'was' if left == 1 else 'were'} left when the search ended; a larger budget or k goes further."
        )
    if explanation.options.diversity == "levers":
        searches = "search" if evidence.column_searches == 1 else "searches"
        return (
            f"{few}no other set of columns was found that reaches the target, in "
            f"{evidence.column_searches:,} {searches} without columns of these answers."
        )
    return f"{few}no other row was found that differs enough."


def _ended(explanation: "Explanation") -> str:
    """Say what ended a search before it was done: there may be a nearer answer, or one at all."""
    status = explanation.status.value
    if status not in ("found", "bounded") or explanation.stopped not in (*_MORE, "calls", "interrupted"):
        return ""
    wanted = "a nearer answer" if status == "found" else "an answer"
    if explanation.stopped == "interrupted":
        return f" The search was interrupted; asking again may find {wanted}."
    if explanation.stopped == "calls":
        return f" The search ended with the few calls it was allowed; calls='many' may find {wanted}."
    more = _MORE[explanation.stopped]
    return f" The search ended with its {_spent(explanation)}; a larger one ({more}) may find {wanted}."


_MORE = {"rows": "budget=ssba.Budget(rows=...)", "seconds": "budget=ssba.Budget(seconds=...)"}


def _spent(explanation: "Explanation") -> str:
    """Name the part of the budget that ended a search."""
    budget = explanation.budget
    if explanation.stopped == "seconds" and budget.seconds is not None:
        return f"budget of {budget.seconds:g} {'second' if budget.seconds == 1 else 'seconds'}"
    return f"budget of {budget.rows:,} model {'row' if budget.rows == 1 else 'rows'}"


def is_value(prediction: Any, score: float | None) -> bool:
    """Tell whether a score is nothing but the predicted number, as for a regressor.

    >>> is_value(12.5, 12.5), is_value("ill", 0.2)
    (True, False)
    """
    return isinstance(prediction, float) and prediction == score


def numbers_of(explanation: "Explanation", *more: Any) -> Numbers:
    """Return how a text about a result writes its scores and predicted values; `more` are others in it."""
    shown = [value for one in explanation.answers for value in (one.prediction, one.score)]
    return Numbers.of(explanation.target, [explanation.prediction, explanation.score, *shown, *more])


def said(prediction: Any, numbers: Numbers, reached: bool = True) -> str:
    """Write what the model predicts: a label, or a number as the text writes its numbers."""
    return numbers.write(prediction, reached) if isinstance(prediction, float) else show(prediction)


def spoken(explanation: "Explanation") -> list[tuple[str, str]]:
    """Return what the model predicts, and the score, in words: for the query, and for each answer."""
    numbers = numbers_of(explanation)
    reached = bool(explanation.counterfactuals) or explanation.bounded_flips
    there = explanation.status.value == "already_there"
    rows: list[tuple[Explanation | Counterfactual, bool]] = [(explanation, there)]
    rows += [(one, reached) for one in explanation.answers]
    return [(said(one.prediction, numbers, flag), numbers.write(one.score, flag)) for one, flag in rows]


def _found(explanation: "Explanation") -> str:
    best = explanation.best
    if best is None:
        return f"A counterfactual that reaches {explanation.target} was found, but is not in this result."
    changes = join(_change(explanation, name, *both) for name, both in best.changes.items())
    numbers = numbers_of(explanation)
    turned = (
        f"changes the model's prediction from {said(explanation.prediction, numbers, reached=False)} to "
        f"{said(best.prediction, numbers)}"
    )
    stays = best.prediction == explanation.prediction
    if not isinstance(explanation.goal, Probability) and not stays and not isinstance(best.prediction, float):
        return f"Changing {changes} {turned}."
    known = explanation.score is not None and best.score is not None
    before, after = numbers.write(explanation.score, reached=False), numbers.write(best.score)
    scores = f" ({before} before, {after} after)" if known else ""
    also = "" if stays or isinstance(best.prediction, float) else f" and {turned}"
    return f"Changing {changes} reaches {explanation.target}{scores}{also}."


def _change(explanation: "Explanation", name: str, before: Any, after: Any) -> str:
    now, then = show_both(before, after, explanation.units.get(name))
    return f"{name} from {now} to {then}"


def _bounded(explanation: "Explanation") -> str:
    move = explanation.bounded
    wished = _wished(explanation)
    found = "reaches" if explanation.evidence.proof else "was found that reaches"
    if move is None or not move.changes:
        return (
            f"No feasible row {found} {wished}, and no feasible move that gets closer than the "
            f"query itself was found; {_stops(explanation)}.{_missing(explanation)}"
        )
    left = ""
    if explanation.bounded_flips:
        left = f" and reaches {explanation.target} without that"
    elif move.distance_to_boundary is not None:
        left = f" and stays {_to_boundary(explanation, move)}"
    return (
        f"No feasible row {found} {wished}. The bounded move changes "
        f"{join(move.changes)}{left}{_score_moved(explanation, move)}; {_stops(explanation)}."
        f"{_missing(explanation)}"
    )


def _score_moved(explanation: "Explanation", move: "Counterfactual") -> str:
    if explanation.score is None or move.score is None:
        return ""
    number = "predicted value" if is_value(move.prediction, move.score) else "score"
    numbers = numbers_of(explanation)
    before = numbers.write(explanation.score, reached=False)
    if move.score == explanation.score:
        return f", with the {number} staying at {before}"
    after = numbers.write(move.score, reached=explanation.bounded_flips)
    return f", with the {number} going from {before} to {after}"


def _to_boundary(explanation: "Explanation", move: "Counterfactual") -> str:
    """Say what is left to the boundary, and how far that is in the units of a column."""
    far = move.distance_to_boundary or 0.0
    words = f"at a distance of {show(float(f'{far:.3g}'))} from the boundary"
    numbers = [one for one in explanation.columns if not one.feature.has_levels]
    if not numbers:
        return f"{words}, where one changed level counts 1"
    one = next((one for one in numbers if one.name in move.changes), numbers[0])
    return f"{words}, as far as a change of {one.name} by {_amount(far * one.scale / one.weight, one)}"


def _amount(size: float, column: "Column") -> str:
    """Write how far a column would have to change; where it goes in steps, its values lie beside that."""
    is_date = column.kind == "date"
    unit = "days" if is_date else column.unit
    if column.step is None and not is_date:
        return show(float(f"{size:.3g}"), unit)
    step = column.step or 1.0
    steps = size / step
    return f"about {show(round(steps) * step if steps >= _MANY_STEPS else float(f'{size:.2g}'), unit)}"


def short_of_target(explanation: "Explanation") -> str:
    """Say of the bounded move what it lacks."""
    if not explanation.bounded_flips:
        return "does not reach the target"
    return f"reaches the target, but not with {join(explanation.options.limits)}"


def _stops(explanation: "Explanation") -> str:
    """Name what stands between the bounded move and the boundary; all that may be relaxed if unknown."""
    if explanation.obstacles:
        return f"what stops it: {obstacle_words(explanation.obstacles)}"
    relaxable = _relaxable(explanation)
    return f"relax a constraint to get further: {quoted(relaxable)}" if relaxable else _ranges(explanation)


def _ranges(explanation: "Explanation") -> str:
    """Say what limits a search without constraints, and how it is widened, with a column of the data."""
    columns = explanation.columns
    if columns and all(one.feature.has_levels for one in columns):
        return "only the levels of the columns limit the search"
    example = next(filter(None, map(_wider_bound, columns)), None)
    such = f', such as "{example}",' if example else ""
    return (
        f"only the ranges of the data limit the search, and a constraint with a bound beyond them{such} "
        "widens them"
    )


def _wider_bound(column: "Column") -> str | None:
    """Return a bound beyond the data of a column of numbers; None where it has another end, or varies not."""
    feature, low, high = column.feature, column.data_low, column.data_high
    if feature.has_levels or column.kind == "date" or column.high is not None or low is None or high is None:
        return None
    if feature.is_constant:
        return None
    room = high - low
    end = short_between(high + room / 10, high + room / 2)
    if column.step:
        end = (math.floor(high / column.step) + math.ceil(room / 4 / column.step)) * column.step
    return f"{column_text(column.name)} <= {cell(plain(float(f'{end:.12g}')))}"


def obstacle_words(obstacles: "Sequence[Obstacle]") -> str:
    """List what stops a bounded move, with how far each would have to be loosened.

    >>> from ssba.results import Obstacle
    >>> obstacle_words([Obstacle("age <= 45", "let age go up to 52"), Obstacle("b == x.b")])
    '"age <= 45" (the nearest boundary point takes all this: let age go up to 52) and "b == x.b"'
    """
    shown: list[str] = []
    for one in obstacles[:_MOST_LISTED]:
        lead = "" if shown else "the nearest boundary point takes all this: "
        shown.append(f'"{one.constraint}"' + (f" ({lead}{one.relaxed})" if one.relaxed else ""))
    more = len(obstacles) - len(shown)
    return join([*shown, f"{more} more"] if more else shown)


def _missing(explanation: "Explanation") -> str:
    """Say that a missing cell of the query stays missing, where nothing allows it to be filled."""
    gaps = [
        name
        for name, value in explanation.query.items()
        if value is None and f"{column_text(name)} may be filled" not in explanation.constraints
    ]
    if not gaps:
        return ""
    permission = f'"{column_text(gaps[0])} may be filled"'
    if len(gaps) == 1:
        return f" {gaps[0]} is missing, and stays so without the constraint {permission}."
    return f" {join(gaps)} are missing, and stay so without constraints such as {permission}."


def _wished(explanation: "Explanation") -> str:
    return (
        f"{explanation.target} with {join(explanation.options.limits)}"
        if explanation.options.limits
        else explanation.target
    )


def _relaxable(explanation: "Explanation") -> tuple[str, ...]:
    return (*explanation.options.limits, *explanation.constraints)


def _infeasible(explanation: "Explanation") -> str:
    which = "it" if len(explanation.clash) == 1 else "one of them"
    said = f"{clash_words(explanation.clash)} for this query; drop or relax {which}."
    return " ".join([said, *_beside_clash(explanation)])


def _beside_clash(explanation: "Explanation") -> Iterator[str]:
    """Say what else holds for columns of the clash: some cannot change, and some have declared bounds."""
    names = {name for text in explanation.clash for name in _columns_of(text)}
    named = [one for one in explanation.columns if one.name in names]
    if held := [one.name for one in named if one.feature.is_constant]:
        yield f"{capital(constant_columns(held))}."
    if bounds := [bound for one in named for bound in _declared_bounds(one)]:
        yield f"Declared is {join(bounds)}."


def _declared_bounds(column: "Column") -> Iterator[str]:
    if column.low is not None:
        yield f"{column_text(column.name)} >= {cell(column.feature.value(column.low))}"
    if column.high is not None:
        yield f"{column_text(column.name)} <= {cell(column.feature.value(column.high))}"


def _columns_of(text: str) -> frozenset[str]:
    try:
        return frozenset(constraint_columns(constraint(text)))
    except ConstraintError:
        # Limits that options set are no constraints, and speak of no column.
        return frozenset()


def clash_words(clash: Sequence[str]) -> str:
    """Say that no row meets constraints: one that nothing can meet, or several that clash.

    >>> clash_words(["a >= 5"]), clash_words(["a >= 5", "a <= 3"])[-43:]
    ('No row can meet the constraint "a >= 5"', '"a >= 5" and "a <= 3" contradict each other')
    """
    if len(clash) == 1:
        return f"No row can meet the constraint {quoted(clash)}"
    return f"No row can meet the constraints at once: {quoted(clash)} contradict each other"


def _already_there(explanation: "Explanation") -> str:
    now = said(explanation.prediction, numbers_of(explanation))
    reaches = f"The model already predicts {now}, which reaches {explanation.target}: nothing to change."
    broken = broken_by_query(explanation)
    if not broken:
        return reaches
    them = "it" if len(broken) == 1 else "them"
    return (
        f"{reaches} The row itself breaks {quoted(broken)}; constraints are about proposed rows, so none "
        f"that meets {them} was looked for."
    )


def _out_of_budget(explanation: "Explanation") -> str:
    if explanation.stopped == "interrupted":
        begun = "before any feasible row reached" if explanation.rows_used else "before it began to look for"
        return f"The search was interrupted {begun} {_wished(explanation)}; ask again."
    if explanation.stopped == "calls":
        return (
            f"No feasible row reached {_wished(explanation)} in the few calls that the search was allowed; "
            "ask with calls='many'."
        )
    if explanation.stopped not in _MORE:
        return (
            f"No feasible row was found that reaches {_wished(explanation)}, nor a bounded move, but it is "
            f"not certain that there is none; {_stops(explanation)}."
        )
    return (
        f"The {_spent(explanation)} ran out before any feasible row reached "
        f"{_wished(explanation)}; allow more with {_MORE[explanation.stopped]}."
    )


def evidence_sentence(evidence: "Evidence") -> str:
    """Say what speaks for there being no nearer answer; empty where nothing was shown."""
    words = _shown(evidence)
    if evidence.lower_bound and not evidence.proof:
        words += f" No feasible row nearer than {short(evidence.lower_bound)} can reach it."
    if evidence.reading_contradicted:
        words += " The model contradicts what was read from its inside, so nothing was proved from there."
    if evidence.unproved:
        words += f" Not proved: {evidence.unproved}."
    return words.strip()


def _shown(evidence: "Evidence") -> str:
    if evidence.proof == "optimal" and evidence.lower_bound is not None:
        return (
            f"Proved optimal: no feasible row nearer than {short(evidence.lower_bound)} reaches the target."
        )
    if evidence.proof == "unreachable":
        return "Proved: no feasible row reaches the target."
    if evidence.proof == "exhausted":
        which = "feasible" if evidence.nearer_than is None else "nearer feasible"
        return f"Exact: every {which} row was asked, and none reaches the target."
    if evidence.share is not None and evidence.nearer_than is not None:
        rows = "row" if evidence.drawn == 1 else "rows"
        return (
            f"At 95% confidence under {percent_above(evidence.share)} of the feasible region nearer "
            f"than {short(evidence.nearer_than)} reaches the target "
            f"({evidence.drawn:,} {rows} drawn there, none did)."
        )
    if evidence.asked_nearer and evidence.nearer_than is not None:
        return (
            f"The search asked {evidence.asked_nearer:,} times about feasible rows nearer than "
            f"{short(evidence.nearer_than)}; none reached the target."
        )
    return ""


def shown_lines(explanation: "Explanation") -> list[str]:
    """Say, a line each, what was shown beside the answers: no nearer ones, and the room around them."""
    lines = [explanation.evidence.sentence] if explanation.evidence.sentence else []
    around = [one.rows_around for one in explanation.counterfactuals if one.rows_around]
    if around:
        each = "each answer" if len(around) > 1 else "the answer"
        lines.append(
            f"{min(around):,} rows within the desired distance of {each} were asked: all reach the target."
        )
    return lines


def kinds_line(explanation: "Explanation", listed_by: str = "explainer.columns") -> list[str]:
    """Say where to look up kinds that come from the data's values; nothing where none does."""
    count = sum(one.by_values for one in explanation.columns)
    if not count:
        return []
    kinds = f"The kinds of {count} columns come" if count > 1 else "The kind of 1 column comes"
    return [f"{kinds} from the data's values: {listed_by} lists them."]


def percent_above(share: float) -> str:
    """Write a share as a percentage that is not below it, in two digits.

    >>> percent_above(0.04951), percent_above(0.00299), percent_above(0.95)
    ('5%', '0.3%', '95%')
    """
    digits = 1 - math.floor(math.log10(100 * share))
    # What the last bits of the product add is not worth another digit.
    return f"{math.ceil(round(100 * share * 10**digits, 6)) / 10**digits:g}%"


def report(explanation: "Explanation") -> str:
    """Return a readable page for the terminal: the sentence, the changes, how it was found."""
    parts = [f"{explanation.status.value}: {sentence(explanation)}"]
    before, *after = spoken(explanation)
    parts += [
        _table(explanation, answer, (before, then))
        for answer, then in zip(explanation.answers, after, strict=True)
        if answer.changes
    ]
    parts += shown_lines(explanation)
    parts += kinds_line(explanation)
    parts.append(
        f"{explanation.rows_used:,} model rows, {explanation.seconds:.2f} s, seed {explanation.seed}"
    )
    return "\n\n".join(parts)


def _table(explanation: "Explanation", answer: "Counterfactual", model: Sequence[tuple[str, str]]) -> str:
    (predicted, score), (predicted_then, score_then) = model
    lines = [("column", "now", "proposed")]
    for name, (before, after) in answer.changes.items():
        lines.append((name, *show_both(before, after, explanation.units.get(name))))
    lines.append(("prediction", predicted, predicted_then))
    has_score = explanation.score is not None and answer.score is not None
    if has_score and not is_value(answer.prediction, answer.score):
        lines.append(("score", score, score_then))
    lines.append(("distance", "0", show(answer.distance)))
    if answer.distance_to_data is not None:
        lines.append(("distance to data", "", show(answer.distance_to_data)))
    return columns(lines)


def overview(explanations: Sequence["Explanation"]) -> str:
    """Return one line for many results: how many ended how."""
    counts = Counter(one.status.value for one in explanations)
    shown = ", ".join(f"{count} {status}" for status, count in counts.most_common())
    interrupted = sum(one.stopped == "interrupted" for one in explanations)
    ended = f"; {interrupted} interrupted" if interrupted else ""
    return f"<{len(explanations)} explanations: {shown or 'none'}{ended}>"


def interrupted(explanations: Sequence["Explanation"]) -> str:
    """Say what is left of a call that Ctrl-C ended."""
    ended = sum(one.stopped == "interrupted" for one in explanations)
    found = sum(one.stopped == "interrupted" and one.best is not None for one in explanations)
    return (
        f"interrupted by Ctrl-C: {ended:,} of {len(explanations):,} queries were not searched to the end, "
        f"{found:,} of them had an answer by then; pressed twice, Ctrl-C raises KeyboardInterrupt"
    )

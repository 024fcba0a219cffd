"""A result as one paragraph of plain language: no number in it that is not in the result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ssba.models.targets import Probability
from ssba.results import text, words
from ssba.results.column import signed_step
from ssba.results.numbers import Numbers, short_value

if TYPE_CHECKING:
    from ssba.results.explanation import Counterfactual, Explanation
    from ssba.results.plan import Plan, Step
    from ssba.results.ranges import Ranges
    from ssba.results.why_not import WhyNot

CAUTION = "This explains the model: it does not say what causes what, and it is not medical advice."

_MOST_STEPS = 6
_MOST_BINDINGS = 5
_LONG_VALUE = 9

Meanings = Mapping[str, str]


@dataclass(frozen=True)
class Wording:
    """What is known about columns for sentences about them, by name.

    Their units, the levels of ordinal ones from low to high, what they mean for a person, and which are
    boolean: of these, 0 and 1 are no more and less.
    """

    units: Mapping[str, str] = field(default_factory=dict)
    orders: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    meanings: Meanings = field(default_factory=dict)
    booleans: frozenset[str] = frozenset()


def wording_of(explanation: "Explanation", meanings: Meanings | None = None) -> Wording:
    """Return how to speak about the columns of a result."""
    booleans = frozenset(one.name for one in explanation.columns if one.kind == "boolean")
    return Wording(explanation.units, explanation.orders, meanings or {}, booleans)


def paragraph(
    explanation: "Explanation",
    plan: "Plan | None" = None,
    ranges: "Ranges | None" = None,
    why_not: "WhyNot | None" = None,
    *,
    meanings: Meanings | None = None,
) -> str:
    """Say in one paragraph what the model says, what would change that, and how sure that is.

    Parameters
    ----------
    explanation : Explanation
        The result.
    plan, ranges, why_not : optional
        What else is known about it: `Explanation.plan()`, `.ranges()`, `.why_not()`.
    meanings : mapping, optional
        Column to what it means, for a person.

    Examples
    --------
    >>> from ssba.results import Column, Counterfactual, Explanation, Status
    >>> row = Counterfactual({"chol": 240.0}, {"chol": (286.0, 240.0)}, 1.0, "well", score=0.53)
    >>> found = Explanation(Status.FOUND, {"chol": 286.0}, "ill", 0.31, "'well'", counterfactuals=(row,),
    ...                     columns=(Column("chol", "numeric", unit="mg/dl"),))
    >>> print(paragraph(found))
    The model predicts ill for this row (score 0.31). The nearest feasible change that was found is to
    lower chol from 286 to 240 mg/dl: then it predicts well (score 0.53). All other values stay as they are,
    and every constraint is met. This explains the model: it does not say what causes what, and it is not
    medical advice.
    """
    return " ".join([*sentences(explanation, plan, ranges, why_not, meanings=meanings), CAUTION])


def sentences(
    explanation: "Explanation",
    plan: "Plan | None" = None,
    ranges: "Ranges | None" = None,
    why_not: "WhyNot | None" = None,
    *,
    meanings: Meanings | None = None,
) -> list[str]:
    """Return the sentences of `paragraph`, without the caution at its end."""
    wording = wording_of(explanation, meanings)
    steps = () if plan is None else plan.steps
    numbers = text.numbers_of(explanation, *(one.score_after for one in steps))
    parts = [*_outcome(explanation, wording, numbers), *_evidence(explanation)]
    parts += _plan(plan, wording, numbers) if plan is not None else []
    parts += _ranges(ranges, wording.meanings) if ranges is not None else []
    if why_not is not None:
        parts += _why_not(why_not)
    elif explanation.obstacles:
        parts.append(f"What stops it: {text.obstacle_words(explanation.obstacles)}.")
    return parts


def _outcome(explanation: "Explanation", wording: Wording, numbers: Numbers) -> list[str]:
    if explanation.best is not None:
        return _found(explanation, explanation.best, wording, numbers)
    if explanation.bounded is not None and explanation.bounded.changes:
        return _bounded(explanation, explanation.bounded, wording, numbers)
    if explanation.status.value == "bounded":
        return [
            _now(explanation, numbers),
            f"Within the constraints no change was found that reaches {explanation.target}, and none that "
            "gets closer to it.",
        ]
    # Nothing is proposed, so the result's own sentence says it all.
    return [explanation.sentence]


def _now(explanation: "Explanation", numbers: Numbers) -> str:
    score = ""
    if explanation.score is not None and not text.is_value(explanation.prediction, explanation.score):
        score = f" (score {numbers.write(explanation.score, reached=False)})"
    return (
        f"The model predicts {text.said(explanation.prediction, numbers, reached=False)} for this row{score}."
    )


def _found(
    explanation: "Explanation", best: "Counterfactual", wording: Wording, numbers: Numbers
) -> list[str]:
    then = f"then it predicts {_said(best, numbers, reached=True)}"
    named = isinstance(explanation.goal, Probability) or isinstance(best.prediction, float)
    if named or best.prediction == explanation.prediction:
        then += f", which reaches {explanation.target}"
    nearest = "The nearest feasible change that was found is to"
    if explanation.options.limits:
        nearest = (
            f"The nearest feasible change that was found with {words.join(explanation.options.limits)} is to"
        )
    parts = [
        _now(explanation, numbers),
        f"{nearest} {actions(best.changes, wording)}: {then}.",
        "All other values stay as they are, and every constraint is met.",
    ]
    others = [words.show(one.distance) for one in explanation.counterfactuals[1:]]
    if others:
        where = "distances" if len(others) > 1 else "a distance"
        this = words.show(best.distance)
        parts.append(f"Other answers lie at {where} of {words.join(others)}, this one at {this}.")
    return parts


def _said(move: "Counterfactual", numbers: Numbers, reached: bool) -> str:
    """Write what the model predicts, with its score in brackets where that is not the prediction."""
    predicted = text.said(move.prediction, numbers, reached)
    if move.score is None or text.is_value(move.prediction, move.score):
        return predicted
    return f"{predicted} (score {numbers.write(move.score, reached)})"


def _bounded(
    explanation: "Explanation", move: "Counterfactual", wording: Wording, numbers: Numbers
) -> list[str]:
    flips = explanation.bounded_flips
    still = "still " if move.prediction == explanation.prediction and not flips else ""
    then = f"the model then {still}predicts {_said(move, numbers, flips)}"
    # The prediction alone does not tell that a probability, or a number, that was asked for is missed.
    if not still and not flips:
        then += f", which does not reach {explanation.target}"
    target = explanation.target
    if explanation.options.limits:
        target += f" with {words.join(explanation.options.limits)}"
    return [
        _now(explanation, numbers),
        f"Within the constraints no change was found that reaches {target}.",
        f"The feasible move that comes nearest to it is to {actions(move.changes, wording)}: {then}.",
    ]


def _evidence(explanation: "Explanation") -> list[str]:
    shown = explanation.evidence
    if shown.proof == "optimal" and shown.lower_bound is not None:
        bound = words.show(shown.lower_bound)
        return [f"It is proved that no feasible row nearer than {bound} reaches the target."]
    if shown.proof == "unreachable":
        return ["It is proved that no feasible row reaches the target."]
    if shown.proof == "exhausted":
        which = "feasible" if shown.nearer_than is None else "nearer feasible"
        return [f"Every {which} row was asked, and none reaches the target."]
    parts = []
    if shown.drawn:
        parts.append(
            f"Of {shown.drawn} nearer feasible rows that were drawn at random none reached the target."
        )
    if shown.unproved:
        parts.append(f"It is not proved that there is no nearer one: {shown.unproved}.")
    return parts


def _plan(plan: "Plan", wording: Wording, numbers: Numbers) -> list[str]:
    if len(plan.steps) < 2:
        return []
    told = [_step(step, wording, numbers) for step in plan.steps[:_MOST_STEPS]]
    more = ", and so on" if len(plan.steps) > _MOST_STEPS else ""
    return [f"Step by step: first {', then '.join(told)}{more}."]


def _step(step: "Step", wording: Wording, numbers: Numbers) -> str:
    what = actions(step.changes, wording)
    if step.score_after is None:
        return what
    number = "predicted value" if text.is_value(step.prediction, step.score_after) else "score"
    return f"{what} ({number} {numbers.write(step.score_after, step.reached)})"


def _ranges(ranges: "Ranges", meanings: Meanings) -> list[str]:
    if not ranges.intervals:
        return []
    held = words.join(
        meanings.get(one.column, one.column) + one.text.removeprefix(one.column) for one in ranges.intervals
    )
    share = "all of" if ranges.held == 1 else f"a share of {words.show(ranges.held)} of"
    return [
        f"These values need not be met exactly: {share} {ranges.n_samples:,} rows drawn with {held} reached "
        f"{ranges.target}."
    ]


def _why_not(why: "WhyNot") -> list[str]:
    parts = []
    if why.bindings:
        named = words.join(f'"{one.constraint}"' for one in why.bindings[:_MOST_BINDINGS])
        others = ", among others" if len(why.bindings) > _MOST_BINDINGS else ""
        parts.append(f"What holds it back: {named}{others}.")
    if why.best is not None:
        far = "" if why.best.distance is None else f", at a distance of {words.show(why.best.distance)}"
        parts.append(f"{why.best.claim}{far}: {words.join(why.best.words)}.")
    return parts


def actions(changes: Mapping[str, tuple[Any, Any]], wording: Wording) -> str:
    """Say what to do, column by column, with a word for the direction.

    >>> known = Wording({"chol": "mg/dl"}, {"slope": ("down", "flat", "up")})
    >>> actions({"chol": (286.0, 240.0), "slope": ("flat", "up"), "ca": (None, 1.0)}, known)
    'lower chol from 286 to 240 mg/dl, raise slope from flat to up and fill in ca with 1'
    """
    return words.join(action(name, *both, wording) for name, both in changes.items())


def action(name: str, before: Any, after: Any, wording: Wording) -> str:
    """Say what to do with one column.

    >>> known = Wording({"thalach": "beats/min"}, meanings={"thalach": "highest heart rate"})
    >>> action("thalach", 131, 134, known)
    'raise highest heart rate (thalach) from 131 to 134 beats/min'
    >>> action("owner", 0, 1, Wording(booleans=frozenset({"owner"})))
    'change owner from 0 to 1'
    """
    meaning, unit = wording.meanings.get(name), wording.units.get(name)
    called = f"{meaning} ({name})" if meaning else name
    if before is None:
        return f"fill in {called} with {_value(after, unit=unit)}"
    word = direction_of(name, before, after, wording)
    return f"{word} {called} from {_value(before, after)} to {_value(after, before, unit)}"


def _value(value: Any, other: Any = None, unit: str | None = None) -> str:
    """Write a value for reading: a long number in six digits, or in those that tell it from the other one."""
    if not isinstance(value, float):
        return words.cell(value, unit)
    full = words.cell(value)
    if len(full) <= _LONG_VALUE:
        return words.cell(value, unit)
    return words.cell(short_value(value, *([other] if isinstance(other, float) else [])), unit)


def direction_of(name: str, before: Any, after: Any, wording: Wording) -> str:
    """The word for a change of one column."""
    boolean = name in wording.booleans and before is not None
    return "change" if boolean else direction(before, after, wording.orders.get(name, ()))


def direction(before: Any, after: Any, order: Sequence[Any] = ()) -> str:
    """The word for a change: raise or lower a number or an ordinal level, change anything else.

    >>> direction(3, 4), direction(3.5, 2.0), direction("yes", "no"), direction(None, 2)
    ('raise', 'lower', 'change', 'fill in')
    >>> direction("high school", "college", ["high school", "college"])
    'raise'
    """
    if before is None:
        return "fill in"
    step = signed_step(before, after, order)
    if step is None:
        return "change"
    return "raise" if step > 0 else "lower"

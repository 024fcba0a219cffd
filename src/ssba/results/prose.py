"""A result as one paragraph of plain language: no number in it that is not in the result."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ssba.arguments import is_number
from ssba.results import text

if TYPE_CHECKING:
    from ssba.results.explanation import Counterfactual, Explanation
    from ssba.results.plan import Plan, Step
    from ssba.results.ranges import Ranges
    from ssba.results.why_not import WhyNot

CAUTION = "This explains the model: it does not say what causes what, and it is not medical advice."

_MOST_STEPS = 6
_MOST_BINDINGS = 5

Meanings = Mapping[str, str]


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
    known = meanings or {}
    parts = [*_outcome(explanation, known), *_evidence(explanation)]
    parts += _plan(plan, known) if plan is not None else []
    parts += _ranges(ranges, known) if ranges is not None else []
    parts += _why_not(why_not) if why_not is not None else []
    return parts


def _outcome(explanation: "Explanation", meanings: Meanings) -> list[str]:
    if explanation.best is not None:
        return _found(explanation, explanation.best, meanings)
    if explanation.bounded is not None and explanation.bounded.changes:
        return _bounded(explanation, explanation.bounded, meanings)
    if explanation.status.value == "bounded":
        return [
            _now(explanation),
            f"Within the constraints no change was found that reaches {explanation.target}, and none that "
            "comes nearer to it.",
        ]
    # Nothing is proposed, so the result's own sentence says it all.
    return [explanation.sentence]


def _now(explanation: "Explanation") -> str:
    return f"The model predicts {text.show(explanation.prediction)} for this row{_score(explanation.score)}."


def _found(explanation: "Explanation", best: "Counterfactual", meanings: Meanings) -> list[str]:
    then = f"then it predicts {text.show(best.prediction)}{_score(best.score)}"
    if best.prediction == explanation.prediction or isinstance(best.prediction, float):
        then += f", which reaches {explanation.target}"
    nearest = "The nearest feasible change that was found is to"
    if explanation.options.limits:
        nearest = (
            f"The nearest feasible change that was found with {text.join(explanation.options.limits)} is to"
        )
    parts = [
        _now(explanation),
        f"{nearest} {actions(best.changes, explanation.units, meanings)}: {then}.",
        "All other values stay as they are, and every constraint is met.",
    ]
    others = [f"{one.distance:.4g}" for one in explanation.counterfactuals[1:]]
    if others:
        where = "distances" if len(others) > 1 else "a distance"
        parts.append(f"Other answers lie at {where} of {text.join(others)}, this one at {best.distance:.4g}.")
    return parts


def _bounded(explanation: "Explanation", move: "Counterfactual", meanings: Meanings) -> list[str]:
    still = f"the model then still predicts {text.show(move.prediction)}{_score(move.score)}"
    target = explanation.target
    if explanation.options.limits:
        target += f" with {text.join(explanation.options.limits)}"
    return [
        _now(explanation),
        f"Within the constraints no change was found that reaches {target}.",
        f"The feasible move that comes nearest to it is to "
        f"{actions(move.changes, explanation.units, meanings)}: {still}.",
    ]


def _evidence(explanation: "Explanation") -> list[str]:
    shown = explanation.evidence
    if shown.proof == "optimal" and shown.lower_bound is not None:
        return [f"It is proved that no feasible row nearer than {shown.lower_bound:.4g} reaches the target."]
    if shown.proof == "unreachable":
        return ["It is proved that no feasible row reaches the target."]
    if shown.proof == "exhausted":
        which = "feasible" if shown.nearer_than is None else "nearer feasible"
        return [f"Every {which} row was asked, and none reaches the target."]
    if shown.drawn:
        return [f"Of {shown.drawn} nearer feasible rows that were drawn at random none reached the target."]
    return []


def _plan(plan: "Plan", meanings: Meanings) -> list[str]:
    if len(plan.steps) < 2:
        return []
    words = [_step(step, plan.units, meanings) for step in plan.steps[:_MOST_STEPS]]
    more = ", and so on" if len(plan.steps) > _MOST_STEPS else ""
    return [f"Step by step: first {', then '.join(words)}{more}."]


def _step(step: "Step", units: Mapping[str, str], meanings: Meanings) -> str:
    return f"{actions(step.changes, units, meanings)}{_score(step.score_after)}"


def _ranges(ranges: "Ranges", meanings: Meanings) -> list[str]:
    if not ranges.intervals:
        return []
    held = text.join(
        meanings.get(one.column, one.column) + one.text.removeprefix(one.column) for one in ranges.intervals
    )
    share = "all of" if ranges.held == 1 else f"a share of {ranges.held:.4g} of"
    return [
        f"These values need not be met exactly: {share} {ranges.n_samples:,} rows drawn with {held} reached "
        f"{ranges.target}."
    ]


def _why_not(why: "WhyNot") -> list[str]:
    parts = []
    if why.bindings:
        named = text.join(f'"{one.constraint}"' for one in why.bindings[:_MOST_BINDINGS])
        others = ", among others" if len(why.bindings) > _MOST_BINDINGS else ""
        parts.append(f"What holds it back: {named}{others}.")
    if why.best is not None:
        far = "" if why.best.distance is None else f", at a distance of {why.best.distance:.4g}"
        parts.append(f"The smallest relaxation that was found to flip it{far}: {text.join(why.best.words)}.")
    return parts


def actions(
    changes: Mapping[str, tuple[Any, Any]], units: Mapping[str, str], meanings: Meanings | None = None
) -> str:
    """Say what to do, column by column, with a word for the direction.

    >>> actions({"chol": (286.0, 240.0), "exang": ("yes", "no"), "ca": (None, 1.0)}, {"chol": "mg/dl"})
    'lower chol from 286 to 240 mg/dl, change exang from yes to no and fill in ca with 1'
    """
    return text.join(action(name, *both, units.get(name), meanings) for name, both in changes.items())


def action(
    name: str, before: Any, after: Any, unit: str | None = None, meanings: Meanings | None = None
) -> str:
    """Say what to do with one column.

    >>> action("thalach", 131, 134, "beats/min", {"thalach": "highest heart rate"})
    'raise highest heart rate (thalach) from 131 to 134 beats/min'
    """
    meaning = (meanings or {}).get(name)
    called = f"{meaning} ({name})" if meaning else name
    if before is None:
        return f"fill in {called} with {text.cell(after, unit)}"
    return f"{direction(before, after)} {called} from {text.cell(before)} to {text.cell(after, unit)}"


def direction(before: Any, after: Any) -> str:
    """The word for a change: raise or lower a number, change anything else.

    >>> direction(3, 4), direction(3.5, 2.0), direction("yes", "no"), direction(None, 2)
    ('raise', 'lower', 'change', 'fill in')
    """
    if before is None:
        return "fill in"
    if not all(is_number(cell) for cell in (before, after)):
        return "change"
    return "raise" if after > before else "lower"


def _score(score: float | None) -> str:
    return "" if score is None else f" (score {short(score)})"


def short(score: float | None) -> str:
    """Write a score in four digits.

    >>> short(0.342511), short(None)
    ('0.3425', 'none')
    """
    return "none" if score is None else f"{score:.4g}"

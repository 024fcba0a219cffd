"""A plan: the steps from a query to its counterfactual, or as far toward it as the constraints allow."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ssba.json_form import JsonForm
from ssba.results.numbers import Numbers, signed
from ssba.results.text import is_value, said
from ssba.results.words import columns, join, show_both


@dataclass(frozen=True)
class Step:
    """One step of a plan: the change of one column, or of several that can only move together.

    Attributes
    ----------
    columns : tuple of str
        What changes.
    changes : dict
        Column -> (before, after) this step.
    values : dict
        The whole row after this step; it meets every constraint.
    prediction, score_after
        What the model says about that row; the score is None where the model gives none.
    score_before : float or None
        The score before this step.
    gain : float or None
        What the step contributed: the change of the score. Where the target is an interval of numbers, how
        much nearer to the interval (or deeper inside) the number came.
    share : float
        The step's share of the way from the query to the plan's last row, by distance.
    reached : bool
        Whether the row after this step reaches the target.
    effort : float
        What the step takes: 1 for each column, or what ``effort`` says for it.
    """

    columns: tuple[str, ...]
    changes: dict[str, tuple[Any, Any]]
    values: dict[str, Any]
    prediction: Any
    score_before: float | None
    score_after: float | None
    gain: float | None
    share: float
    reached: bool
    effort: float


@dataclass(frozen=True)
class Plan(JsonForm):
    """Ordered, feasible steps from a query toward its target, each with the model's score after it.

    Attributes
    ----------
    query, prediction, score
        The row that the plan begins with, and what the model says about it.
    target : str
        What is to be reached, in words.
    steps : tuple of Step
        In the order in which they are made.
    reached : bool
        Whether the last row is a counterfactual. Where not, the plan is what the paper calls a directional
        improvement: it ends at the best score it can get to.
    left_out : dict
        Changes of the answer that the plan does without: column -> (before, after). Where there are some,
        the plan's last row is a row of its own, checked like every answer.
    best_order : bool
        Whether all orders were compared. Where they are too many, each step is the one that helps most next.
    beyond : tuple of str
        Columns that move more than ``max_step`` at once, since no feasible row lies in between.
    rows_used : int
        Rows between query and answer that the model was asked about.
    units : dict
        The units of the columns that have one.
    """

    query: dict[str, Any]
    prediction: Any
    score: float | None
    target: str
    steps: tuple[Step, ...]
    reached: bool
    left_out: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    best_order: bool = True
    beyond: tuple[str, ...] = ()
    rows_used: int = 0
    units: dict[str, str] = field(default_factory=dict)

    derived: ClassVar[tuple[str, ...]] = ("final", "total_effort", "sentence")

    @property
    def final(self) -> dict[str, Any]:
        """The row that the plan ends with."""
        return self.steps[-1].values if self.steps else self.query

    @property
    def total_effort(self) -> float:
        """The effort of all steps."""
        return sum(step.effort for step in self.steps)

    @property
    def sentence(self) -> str:
        """The plan in a few plain sentences."""
        return " ".join([_outcome(self), *_remarks(self)])

    def __repr__(self) -> str:
        return f"{self.sentence}\n\n{_table(self)}" if self.steps else self.sentence


def change_words(changes: dict[str, tuple[Any, Any]], units: dict[str, str]) -> str:
    """Say what changes, column by column.

    >>> change_words({"chol": (240.0, 212.5), "exang": ("yes", "no")}, {"chol": "mg/dl"})
    'chol from 240 mg/dl to 212.5 mg/dl and exang from yes to no'
    """
    return join(_change(name, both, units) for name, both in changes.items())


def numbers_of(plan: Plan) -> Numbers:
    """Return how a text about a plan writes its scores and predicted values."""
    shown = [value for one in plan.steps for value in (one.score_before, one.score_after, one.prediction)]
    return Numbers.of(plan.target, [plan.score, plan.prediction, *shown])


def _change(name: str, both: tuple[Any, Any], units: dict[str, str]) -> str:
    now, then = show_both(*both, units.get(name))
    return f"{name} from {now} to {then}"


def _outcome(plan: Plan) -> str:
    if not plan.steps:
        return _nothing_to_do(plan)
    one = len(plan.steps) == 1
    count = "One step" if one else f"{len(plan.steps)} steps"
    parts = "; ".join(_steps_words(plan))
    last, numbers = plan.steps[-1], numbers_of(plan)
    if not plan.reached:
        score = _score_words(plan, plan.score, last)
        verb = "it does" if one else "they do"
        if last.reached:
            verb = f"{verb} reach, but not with all that was asked for beside it"
        else:
            verb = f"{verb} not reach"
        return f"{count} toward {plan.target}, which {verb}{score}: {parts}."
    leads = f"{count} {'leads' if one else 'lead'}"
    if last.prediction == plan.prediction or isinstance(last.prediction, float):
        return f"{leads} to {plan.target}: {parts}."
    then = said(last.prediction, numbers)
    return f"{leads} from {said(plan.prediction, numbers, reached=False)} to {then}: {parts}."


def _nothing_to_do(plan: Plan) -> str:
    if plan.reached:
        now = said(plan.prediction, numbers_of(plan))
        return f"The model already predicts {now}, which reaches {plan.target}: no steps."
    return f"No step toward {plan.target} improves on the query as it is."


def _steps_words(plan: Plan) -> Iterable[str]:
    reached = False
    for step in plan.steps:
        yield change_words(step.changes, plan.units) + _score_words(plan, step.score_before, step, reached)
        reached = step.reached


def _score_words(plan: Plan, before: float | None, step: Step, reached: bool = False) -> str:
    """Write a score and that after a step; `reached` is whether the row with the first reached the target."""
    if before is None or step.score_after is None:
        return ""
    name, numbers = "predicted value" if gives_values(plan) else "score", numbers_of(plan)
    return f" ({name} {numbers.write(before, reached)} to {numbers.write(step.score_after, step.reached)})"


def gives_values(plan: Plan) -> bool:
    """Tell whether the scores of a plan are the predicted numbers, as for a regressor."""
    return is_value(plan.prediction, plan.score)


def _remarks(plan: Plan) -> Iterable[str]:
    if plan.steps and not plan.reached and plan.steps[-1].score_after is None:
        yield "This is a directional improvement; the model gives no score to measure it by."
    elif plan.steps and not plan.reached:
        best = "predicted value" if gives_values(plan) else "score"
        yield f"This is a directional improvement: the best {best} along this plan."
    if plan.left_out:
        changes = change_words(plan.left_out, plan.units)
        if plan.reached:
            needed = "is not needed" if len(plan.left_out) == 1 else "are not needed"
            yield f"Of the proposed changes {changes} {needed}: the last row is a counterfactual of its own."
        else:
            gained = "bring the predicted value nearer" if gives_values(plan) else "raise the score"
            yield f"Of the proposed changes {changes} would not {gained}."
    if plan.beyond:
        yield f"{join(plan.beyond)}: a step is longer than max_step, as no feasible row was found in between."


def _table(plan: Plan) -> str:
    numbers = numbers_of(plan)
    lines = [("step", "change", "score", "gain", "prediction")]
    now = said(plan.prediction, numbers, reached=False)
    lines.append(("", "as it is", numbers.write(plan.score, reached=False), "", now))
    for number, step in enumerate(plan.steps, start=1):
        gain = "" if step.gain is None else signed(step.gain)
        score = numbers.write(step.score_after, step.reached)
        then = said(step.prediction, numbers, step.reached)
        lines.append((str(number), change_words(step.changes, plan.units), score, gain, then))
    if gives_values(plan):
        lines[0] = ("step", "change", "score", "nearer by", "predicted value")
        return columns([(number, change, value, gain) for number, change, _, gain, value in lines])
    if plan.score is not None:
        return columns(lines)
    return columns([(number, change, prediction) for number, change, _, _, prediction in lines])

"""A plan: the steps from a query to its counterfactual, or as far toward it as the constraints allow."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ssba.json_form import JsonForm
from ssba.results.text import columns, is_value, join, show, show_both


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


def _change(name: str, both: tuple[Any, Any], units: dict[str, str]) -> str:
    now, then = show_both(*both, units.get(name))
    return f"{name} from {now} to {then}"


def _outcome(plan: Plan) -> str:
    if not plan.steps:
        return _nothing_to_do(plan)
    one = len(plan.steps) == 1
    count = "One step" if one else f"{len(plan.steps)} steps"
    parts = "; ".join(_step_words(plan, step) for step in plan.steps)
    last = plan.steps[-1]
    if not plan.reached:
        score = _score_words(plan, plan.score, last.score_after)
        verb = "it does" if one else "they do"
        if last.reached:
            verb = f"{verb} reach, but not with all that was asked for beside it"
        else:
            verb = f"{verb} not reach"
        return f"{count} toward {plan.target}, which {verb}{score}: {parts}."
    leads = f"{count} {'leads' if one else 'lead'}"
    if last.prediction == plan.prediction or isinstance(last.prediction, float):
        return f"{leads} to {plan.target}: {parts}."
    return f"{leads} from {show(plan.prediction)} to {show(last.prediction)}: {parts}."


def _nothing_to_do(plan: Plan) -> str:
    if plan.reached:
        return f"The model already predicts {show(plan.prediction)}, which reaches {plan.target}: no steps."
    return f"No step toward {plan.target} improves on the query as it is."


def _step_words(plan: Plan, step: Step) -> str:
    return change_words(step.changes, plan.units) + _score_words(plan, step.score_before, step.score_after)


def _score_words(plan: Plan, before: float | None, after: float | None) -> str:
    name = "predicted value" if gives_values(plan) else "score"
    return "" if before is None or after is None else f" ({name} {before:.4g} to {after:.4g})"


def gives_values(plan: Plan) -> bool:
    """Tell whether the scores of a plan are the predicted numbers, as for a regressor."""
    return is_value(plan.prediction, plan.score)


def _remarks(plan: Plan) -> Iterable[str]:
    if plan.steps and not plan.reached:
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
    lines = [("step", "change", "score", "gain", "prediction")]
    lines.append(("", "as it is", _score(plan.score), "", show(plan.prediction)))
    for number, step in enumerate(plan.steps, start=1):
        change, gain = (
            change_words(step.changes, plan.units),
            "" if step.gain is None else f"{step.gain:+.3g}",
        )
        lines.append((str(number), change, _score(step.score_after), gain, show(step.prediction)))
    if gives_values(plan):
        lines[0] = ("step", "change", "score", "nearer by", "predicted value")
        return columns([(number, change, value, gain) for number, change, _, gain, value in lines])
    if plan.score is not None:
        return columns(lines)
    return columns([(number, change, prediction) for number, change, _, _, prediction in lines])


def _score(score: float | None) -> str:
    return "" if score is None else show(score)

"""The plan chart: the score of the target, step by step."""

from ssba.arguments import instance
from ssba.errors import ArgumentError
from ssba.results import words
from ssba.results.plan import Plan, Step, gives_values
from ssba.views.picture import Picture
from ssba.views.svg import Place, steps_picture


def plan_chart(plan: Plan, *, title: str = "") -> Picture:
    """Draw the score of the target step by step, each step named, and where the target is reached.

    Parameters
    ----------
    plan : Plan
        From `Explainer.plan`; the model must give scores.
    title : str
        Above the picture.

    Examples
    --------
    >>> from ssba.views.charts import plan_chart
    >>> from ssba.results.plan import Plan, Step
    >>> step = Step(("chol",), {"chol": (286, 240)}, {"chol": 240}, "well", 0.31, 0.53, 0.22, 1.0, True, 1.0)
    >>> plan_chart(Plan({"chol": 286}, "ill", 0.31, "'well'", (step,), True)).title
    "score of 'well', now: 0.31; chol 286 to 240: 0.53"
    """
    instance("plan", plan, Plan, "give what explainer.plan(explanation) returned")
    known = [step.score_after for step in plan.steps if step.score_after is not None]
    if plan.score is None or len(known) < len(plan.steps) or not plan.steps:
        raise ArgumentError(
            "plan_chart: "
            + ("the model gives no scores" if plan.steps else "the plan has no steps")
            + "; print the plan instead"
        )
    places = [
        Place(score, _change(step, plan.units), step.reached, step.gain)
        for score, step in zip(known, plan.steps, strict=True)
    ]
    name = f"predicted value, toward {plan.target}" if gives_values(plan) else f"score of {plan.target}"
    return steps_picture([Place(plan.score, "now", False), *places], name, title)


def _change(step: Step, units: dict[str, str]) -> str:
    return ", ".join(
        f"{name} {words.cell(before)} to {words.cell(after, units.get(name))}"
        for name, (before, after) in step.changes.items()
    )

"""Answers what an explanation is asked further: from `ssba.results` to those who can ask the model."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ssba.advice.certify import certify
from ssba.advice.context import Context
from ssba.advice.levers import menu_of_levers
from ssba.advice.plan.make_plan import make_plan
from ssba.advice.ranges.find_ranges import find_ranges
from ssba.advice.try_values import try_values
from ssba.advice.why_not import why_not
from ssba.arguments import whole
from ssba.constraints.language.lists import constraint_list
from ssba.engine import Engine
from ssba.errors import ArgumentError
from ssba.models.targets import describe
from ssba.pipeline import Request
from ssba.results.certificate.document import Certificate
from ssba.results.explanation import Counterfactual, Explanation, Status
from ssba.results.levers import Menu
from ssba.results.plan import Plan
from ssba.results.ranges import Ranges
from ssba.results.trial import Trial
from ssba.results.why_not import WhyNot
from ssba.search.robust import Ball, ScoreMargin


@dataclass(frozen=True)
class QueryAdvisor:
    """The advisor of one query's explanation."""

    context: Context

    def plan(
        self,
        explanation: Explanation,
        answer: int,
        effort: Mapping[str, float] | None,
        max_step: Mapping[str, float] | None,
    ) -> Plan:
        """Return the steps to an answer, or to the bounded move where there is none."""
        chosen = explanation.bounded or _chosen(explanation, answer, "plan")
        context = self.context
        return make_plan(context, context.x, context.encode(chosen.values), effort, max_step)

    def ranges(self, explanation: Explanation, answer: int, samples: int) -> Ranges:
        """Return the intervals around an answer."""
        chosen = _chosen(explanation, answer, "ranges")
        return find_ranges(self.context, self.context.encode(chosen.values), samples)

    def why_not(self, explanation: Explanation) -> WhyNot:
        """Return what stands in the way, and what to relax."""
        return why_not(self.context, explanation)

    def levers(self, explanation: Explanation, most_columns: int) -> Menu:
        """Return which sets of columns can flip the decision."""
        return menu_of_levers(self.context, most_columns)

    def try_values(self, explanation: Explanation, values: Mapping[str, Any]) -> Trial:
        """Return what the model says about the query with some cells edited."""
        return try_values(self.context, values)

    def certificate(self, explanation: Explanation) -> Certificate:
        """Return the explanation as a certificate."""
        return certify(self.context, explanation)


def _chosen(explanation: Explanation, answer: int, who: str) -> Counterfactual:
    number = whole(f"{who}(answer=...)", answer, at_least=0)
    found = explanation.counterfactuals
    if number < len(found):
        return found[number]
    if not found:
        remedy = "" if explanation.status is Status.ALREADY_THERE else " why_not() tells what to relax"
        raise ArgumentError(
            f"{who}() needs an answer, but this query ended as {explanation.status.value}: "
            f"{explanation.sentence}{remedy}"
        )
    raise ArgumentError(f"{who}(answer={number}): there are {len(found)} answers, counted from 0")


def attached(engine: Engine, explanation: Explanation) -> Explanation:
    """Return an explanation that was read from a file, with an advisor; refuse one of another model."""
    if explanation.model_fingerprint != engine.model.fingerprint:
        raise ArgumentError(
            f"this explanation is of another model or of other background data (fingerprint "
            f"{explanation.model_fingerprint!r}, here {engine.model.fingerprint!r}); explain its query anew: "
            "explainer.explain(explanation.query)"
        )
    constraints = constraint_list(explanation.constraints, engine.space.by_name)
    x = engine.space.encode_row(explanation.query)
    context = Context(engine, x, constraints, _request(explanation.wishes))
    if (wished := describe(context.goal)) != explanation.target:
        raise ArgumentError(f"this explanation leads to {explanation.target}, this explainer to {wished}")
    if not _measures_alike(context, explanation):
        raise ArgumentError(
            "this explanation's distances are others than this explainer's; give it the distance, scale and "
            "weights of then"
        )
    return replace(explanation, advisor=QueryAdvisor(context))


def _measures_alike(context: Context, explanation: Explanation) -> bool:
    """Tell whether the explainer finds the distances that the explanation tells."""
    metric = context.engine.metric
    moves = [*explanation.counterfactuals, *([explanation.bounded] if explanation.bounded else [])]
    found = [float(metric.distance(context.encode(one.values)[None, :], context.x)[0]) for one in moves]
    told = [one.distance for one in moves]
    return metric.norm == explanation.metric and bool(np.allclose(found, told, rtol=1e-9, atol=0.0))


def _request(wishes: tuple[str, ...]) -> Request:
    """Read the wishes of a call back from their words, as `Request.wishes` writes them."""
    request = Request()
    for wish in wishes:
        match wish.replace("(", "=").rstrip(")").split("="):
            case ["max_changes", number]:
                request = replace(request, max_changes=int(number))
            case ["plausible", "True"]:
                request = replace(request, plausible=True)
            case ["margin", "ssba.ball" | "ball", radius]:
                request = replace(request, margin=Ball(float(radius)))
            case ["margin", "ssba.score_margin" | "score_margin", amount]:
                request = replace(request, margin=ScoreMargin(float(amount)))
            case _:
                raise ArgumentError(f"the wish {wish!r:.80} of this explanation is not understood")
    return request

"""Certificates, checked again with the model."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ssba.advice.context import Context
from ssba.advice.rows import is_answer
from ssba.columns.space import Matrix
from ssba.constraints.lists import constraint_list
from ssba.engine import Engine
from ssba.errors import SsbaError
from ssba.models.targets import describe
from ssba.pipeline.max_changes import force_too_many
from ssba.results.certificate import (
    Certificate,
    CertificateCheck,
    Check,
    answers_of,
    is_same_number,
    own_checks,
)
from ssba.results.explanation import Explanation, Status
from ssba.results.numbers import short_value

# Scores are shown in nine digits, of which the last depend on thread counts and libraries.
_SAME_SCORE = 1e-6


def check_certificate(engine: Engine, certificate: Certificate) -> CertificateCheck:
    """Check a certificate: what it shows by itself, then the model, then each answer by the model's word.

    Parameters
    ----------
    engine : Engine
        Of an explainer around the model and the data that the certificate was made with.
    certificate : Certificate
        The document to check.
    """
    shown = certificate.explanation
    checks = [*own_checks(certificate), *_same_problem(engine, shown)]
    try:
        constraints = constraint_list(shown.constraints, engine.space.by_name)
        context = Context(engine, engine.space.encode_row(shown.query), constraints, shown.options)
    except (SsbaError, KeyError, TypeError, ValueError) as error:
        asked = [Check("query", False, f"it cannot be asked about: {error}")]
    else:
        asked = [_query_check(context, shown), *_answer_checks(context, shown)]
    return CertificateCheck((*checks, *asked))


def _same_problem(engine: Engine, shown: Explanation) -> list[Check]:
    """Check that model, columns and distances are those that were certified."""
    mark, claimed = engine.judging.model.fingerprint, shown.model_fingerprint
    return [
        Check(
            "model",
            mark == claimed,
            f"its fingerprint on these data is {mark}, "
            + ("as certified" if mark == claimed else f"not {claimed!r:.40} as certified"),
        ),
        _columns_check(engine, shown),
        _metric_check(engine, shown),
    ]


def _columns_check(engine: Engine, shown: Explanation) -> Check:
    ours = [(one.name, one.kind, one.levels, one.step) for one in engine.space.features]
    theirs = [(one.name, one.kind, one.levels, one.step) for one in shown.columns]
    differing = [mine[0] for mine in ours if mine not in theirs]
    if ours == theirs:
        return Check("columns", True, f"{len(ours)}, of the same kinds")
    return Check("columns", False, f"others than certified: {', '.join(differing) or 'in another order'}")


def _metric_check(engine: Engine, shown: Explanation) -> Check:
    metric, columns = engine.metric, shown.columns
    same = metric.norm == shown.metric and len(columns) == len(metric.scale)
    if same:
        # A change of level counts 1 whatever its scale.
        scales = np.where(metric.discrete, metric.scale, [one.scale for one in columns])
        weights = [one.weight for one in columns]
        same = bool(np.allclose(metric.scale, scales, rtol=1e-9) and np.allclose(metric.weight, weights))
    return Check("metric", same, f"{metric.norm}, with {'the same' if same else 'other'} scales and weights")


def _query_check(context: Context, shown: Explanation) -> Check:
    if shown.status is Status.INFEASIBLE:
        most = context.options.max_changes
        limit = "" if most is None else f" with max_changes={most}"
        empty = force_too_many(
            context.regions, len(context.x) if most is None else most, context.engine.metric
        )
        return Check(
            "query", empty, f"{'no row meets' if empty else 'some rows meet'} all constraints{limit}"
        )
    target = describe(context.goal)
    if target != shown.target:
        return Check("query", False, f"the target is {target}, not {shown.target} as certified")
    asked = context.score(context.x[None, :])
    there = shown.status is Status.ALREADY_THERE
    if there and not asked.reached[0]:
        return Check("query", False, "it does not reach the target")
    return _said_check(
        context, "query", (asked.predictions[0], asked.scores[0]), (shown.prediction, shown.score)
    )


def _said_check(context: Context, name: str, ours: tuple[Any, Any], claimed: tuple[Any, Any]) -> Check:
    """Compare what the model says now with what it is certified to have said."""
    slack = _SAME_SCORE * max(1.0, context.engine.judging.score_size)
    same = [is_same_number(one, other, slack) for one, other in zip(ours, claimed, strict=True)]
    prediction, score = (_shown(one) for one in ours)
    seen = f"the model says {prediction}" + ("" if ours[1] is None else f", with a score of {score}")
    if all(same):
        return Check(name, True, seen)
    return Check(name, False, f"{seen}; certified is {_shown(claimed[0])}, with {_shown(claimed[1])}")


def _answer_checks(context: Context, shown: Explanation) -> Iterator[Check]:
    for name, answer in answers_of(shown).items():
        try:
            z = context.encode(answer.values)
        except (SsbaError, TypeError, ValueError) as error:
            yield Check(f"{name}, model", False, f"it cannot be asked about: {error}")
            continue
        asked = context.score(z[None, :], as_given=True)
        ours, claimed = (asked.predictions[0], asked.scores[0]), (answer.prediction, answer.score)
        yield _said_check(context, f"{name}, model", ours, claimed)
        yield _promise_check(context, name, z, answer is not shown.bounded)


def _promise_check(context: Context, name: str, z: Matrix, should_reach: bool) -> Check:
    """Check, by the model's own word, that a counterfactual is one, and that a bounded move is none."""
    feasible, reaches = bool(context.is_feasible(z[None, :])[0]), is_answer(context, z)
    limits = f" with {', '.join(context.options.limits)}" if context.options.limits else ""
    seen = (
        f"it is {'feasible' if feasible else 'not feasible'} and "
        f"{'reaches' if reaches else 'does not reach'} {describe(context.goal)}{limits}"
    )
    return Check(f"{name}, target", feasible and reaches == should_reach, seen)


def _shown(value: Any) -> str:
    return short_value(value) if isinstance(value, float) else repr(value)[:60]

"""Certificates: made of a result, and checked again with the model."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ssba.advice.context import Context
from ssba.advice.rows import is_answer
from ssba.columns.space import Matrix
from ssba.constraints.language.lists import constraint_list
from ssba.engine import Engine
from ssba.errors import ArgumentError, SsbaError
from ssba.models.targets import describe
from ssba.pipeline import Request
from ssba.results.certificate.checks import answers_of, is_same_number, own_checks
from ssba.results.certificate.document import Certificate, CertificateCheck, Check, sealed
from ssba.results.certificate.parts import column_parts, target_part
from ssba.results.explanation import Explanation, Status
from ssba.search.robust import Ball, Margin, ScoreMargin

# Scores are shown in nine digits, of which the last depend on thread counts and libraries.
_SAME_SCORE = 1e-6


def certify(context: Context, explanation: Explanation) -> Certificate:
    """Return a result as a certificate, with all that is needed to check it later.

    Parameters
    ----------
    context : Context
        The query, as it was asked.
    explanation : Explanation
        What came out.
    """
    engine = context.engine
    return sealed(
        {
            "explanation": explanation.to_dict(),
            "model": {"name": engine.model.name, "fingerprint": engine.model.fingerprint},
            "columns": column_parts(engine.space.features, engine.metric),
            "target": target_part(engine.target),
            "request": _request_part(context.request),
        }
    )


def check_certificate(engine: Engine, certificate: Certificate) -> CertificateCheck:
    """Check a certificate: what it shows by itself, then the model, then each answer by the model's word.

    Parameters
    ----------
    engine : Engine
        Of an explainer around the model and the data of then.
    certificate : Certificate
        The document to check.
    """
    if not isinstance(certificate, Certificate):
        raise ArgumentError(
            f"certificate is {certificate!r:.80}; give what explanation.certificate() or "
            "ssba.Certificate.from_json(text) returned"
        )
    checks = [*own_checks(certificate), *_same_problem(engine, certificate)]
    try:
        context = _context(engine, certificate)
    except (SsbaError, KeyError, TypeError, ValueError) as error:
        asked = [Check("query", False, f"it cannot be asked about: {error}")]
    else:
        asked = [_query_check(context, certificate), *_answer_checks(context, certificate)]
    return CertificateCheck((*checks, *asked))


def _request_part(request: Request) -> dict[str, Any]:
    """Return, in JSON's form, what was asked of answers beside constraints."""
    margin: dict[str, float] | None = None
    if isinstance(request.margin, Ball):
        margin = {"ball": request.margin.radius}
    elif isinstance(request.margin, ScoreMargin):
        margin = {"score": request.margin.amount}
    return {"max_changes": request.max_changes, "plausible": request.plausible, "margin": margin}


def _read_request(raw: Mapping[str, Any]) -> Request:
    most, plausible = raw["max_changes"], raw["plausible"]
    if not isinstance(plausible, bool) or not (most is None or isinstance(most, int)):
        raise ArgumentError(f"the request {raw!r:.120} is not understood")
    return Request(max_changes=most, plausible=plausible, margin=_read_margin(raw["margin"]))


def _read_margin(raw: Any) -> Margin | None:
    match raw:
        case None:
            return None
        case {"ball": radius}:
            return Ball(radius)
        case {"score": amount}:
            return ScoreMargin(amount)
    raise ArgumentError(f"the margin {raw!r:.80} is not understood")


def _context(engine: Engine, certificate: Certificate) -> Context:
    told = certificate.explanation
    constraints = constraint_list(told.constraints, engine.space.by_name)
    request = _read_request(certificate.document["request"])
    return Context(engine, engine.space.encode_row(told.query), constraints, request)


def _same_problem(engine: Engine, certificate: Certificate) -> list[Check]:
    """Check that model, columns and distances are those of then."""
    told, model = certificate.explanation, certificate.document["model"]
    mark, claimed = engine.model.fingerprint, model.get("fingerprint")
    return [
        Check(
            "model",
            mark == claimed == told.model_fingerprint,
            f"its fingerprint on these data is {mark}, {_and(mark, claimed, told.model_fingerprint)}",
        ),
        _columns_check(engine, certificate),
        _metric_check(engine, certificate),
    ]


def _and(mark: str, *claimed: Any) -> str:
    others = [one for one in claimed if one != mark]
    return f"not {others[0]!r:.40} as certified" if others else "as certified"


def _columns_check(engine: Engine, certificate: Certificate) -> Check:
    ours = [(one.name, one.kind, one.levels, one.step) for one in engine.space.features]
    theirs = [(one.name, one.kind, one.levels, one.step) for one in certificate.columns]
    differing = [mine[0] for mine in ours if mine not in theirs]
    if ours == theirs:
        return Check("columns", True, f"{len(ours)}, of the same kinds")
    return Check("columns", False, f"others than certified: {', '.join(differing) or 'in another order'}")


def _metric_check(engine: Engine, certificate: Certificate) -> Check:
    metric, columns = engine.metric, certificate.columns
    same = metric.norm == certificate.explanation.metric and len(columns) == len(metric.scale)
    if same:
        scales, weights = [one.scale for one in columns], [one.weight for one in columns]
        same = bool(np.allclose(metric.scale, scales, rtol=1e-9) and np.allclose(metric.weight, weights))
    return Check("metric", same, f"{metric.norm}, with {'the same' if same else 'other'} scales and weights")


def _query_check(context: Context, certificate: Certificate) -> Check:
    told = certificate.explanation
    if told.status is Status.INFEASIBLE:
        empty = not context.regions
        return Check("query", empty, f"{'no row meets' if empty else 'some rows meet'} all constraints")
    target = describe(context.goal)
    if target != told.target:
        return Check("query", False, f"the target is {target}, not {told.target} as certified")
    asked = context.score(context.x[None, :])
    there = told.status is Status.ALREADY_THERE
    if there and not asked.reached[0]:
        return Check("query", False, "it does not reach the target")
    return _told_check(
        context, "query", (asked.predictions[0], asked.scores[0]), (told.prediction, told.score)
    )


def _told_check(context: Context, name: str, ours: tuple[Any, Any], claimed: tuple[Any, Any]) -> Check:
    """Compare what the model says now with what it is certified to have said."""
    slack = _SAME_SCORE * max(1.0, context.engine.score_size)
    same = [is_same_number(one, other, slack) for one, other in zip(ours, claimed, strict=True)]
    prediction, score = (_shown(one) for one in ours)
    seen = f"the model says {prediction}" + ("" if ours[1] is None else f", with a score of {score}")
    if all(same):
        return Check(name, True, seen)
    return Check(name, False, f"{seen}; certified is {_shown(claimed[0])}, with {_shown(claimed[1])}")


def _answer_checks(context: Context, certificate: Certificate) -> Iterator[Check]:
    for name, answer in answers_of(certificate.explanation).items():
        try:
            z = context.encode(answer.values)
        except (SsbaError, TypeError, ValueError) as error:
            yield Check(f"{name}, model", False, f"it cannot be asked about: {error}")
            continue
        asked = context.score(z[None, :], as_given=True)
        ours, claimed = (asked.predictions[0], asked.scores[0]), (answer.prediction, answer.score)
        yield _told_check(context, f"{name}, model", ours, claimed)
        yield _promise_check(context, name, z, answer is not certificate.explanation.bounded)


def _promise_check(context: Context, name: str, z: Matrix, should_reach: bool) -> Check:
    """Check, by the model's own word, that a counterfactual is one, and that a bounded move is none."""
    feasible, reaches = bool(context.is_feasible(z[None, :])[0]), is_answer(context, z)
    wishes = f" with {', '.join(context.request.wishes)}" if context.request.wishes else ""
    seen = (
        f"it is {'feasible' if feasible else 'not feasible'} and "
        f"{'reaches' if reaches else 'does not reach'} {describe(context.goal)}{wishes}"
    )
    return Check(f"{name}, target", feasible and reaches == should_reach, seen)


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else repr(value)[:60]

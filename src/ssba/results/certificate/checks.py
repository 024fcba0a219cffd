"""What a certificate shows by itself, without a model: digest, status, changes, distances, constraints."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssba.columns.features import Feature
from ssba.constraints.constraint import check, constraint, holds
from ssba.errors import SsbaError
from ssba.results.certificate.document import Certificate, Check
from ssba.results.certificate.parts import metric_of
from ssba.results.explanation import Counterfactual, Explanation, Status

# Numbers that are equal but for the last bits of sums are equal.
_SAME = 1e-9


def own_checks(certificate: Certificate) -> list[Check]:
    """Check all that needs no model."""
    checks = [_seal(certificate), _status(certificate.explanation)]
    for name, answer in answers_of(certificate.explanation).items():
        checks += [
            _changes(certificate, name, answer),
            _distance(certificate, name, answer),
            _constraints(certificate, name, answer),
        ]
    return checks


def answers_of(explanation: Explanation) -> dict[str, Counterfactual]:
    """Return the certified rows under the names that checks call them by."""
    named = {f"answer {place}": one for place, one in enumerate(explanation.counterfactuals, start=1)}
    return named if explanation.bounded is None else {**named, "bounded move": explanation.bounded}


def is_same_number(one: Any, other: Any, slack: float = _SAME) -> bool:
    """Whether two numbers are equal but for rounding; what is no number is equal to itself only.

    >>> is_same_number(0.3, 0.1 + 0.2), is_same_number(None, None), is_same_number("0.3", 0.3)
    (True, True, False)
    """
    both = (one, other)
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in both):
        return type(one) is type(other) and bool(one == other)
    try:
        return math.isclose(one, other, rel_tol=slack, abs_tol=slack)
    except OverflowError:
        return bool(one == other)


def _seal(certificate: Certificate) -> Check:
    seen = f"sha256 {certificate.sha256[:12]}"
    if certificate.is_sealed:
        return Check("seal", True, f"{seen} is that of the content")
    return Check("seal", False, f"{seen} is not that of the content: it was altered or damaged")


def _status(explanation: Explanation) -> Check:
    found, moved = bool(explanation.counterfactuals), explanation.bounded is not None
    fits = found == (explanation.status is Status.FOUND) and not (found and moved)
    answers = len(explanation.counterfactuals)
    return Check("status", fits, f"{explanation.status.value}, with {answers} answers")


def _changes(certificate: Certificate, name: str, answer: Counterfactual) -> Check:
    query, values = certificate.explanation.query, answer.values
    columns = {one.name for one in certificate.columns}
    if any(not isinstance(row, Mapping) or set(row) != columns for row in (query, values)):
        return Check(f"{name}, changes", False, "its columns are not those of the certificate")
    differing = {one: (query[one], values[one]) for one in query if query[one] != values[one]}
    fits = differing == answer.changes
    seen = f"{len(differing)} columns differ from the query"
    return Check(f"{name}, changes", fits, seen if fits else f"{seen}, which is not what is listed")


def _distance(certificate: Certificate, name: str, answer: Counterfactual) -> Check:
    try:
        metric = metric_of(certificate.columns, certificate.settings["distance"])
        rows = [_codes(certificate, row) for row in (answer.values, certificate.explanation.query)]
    except (SsbaError, KeyError, TypeError, IndexError) as error:
        return Check(f"{name}, distance", False, f"it cannot be computed: {_told(error)}")
    with np.errstate(over="ignore", invalid="ignore"):
        found = float(metric.distance(rows[0][None, :], rows[1])[0])
    fits = is_same_number(found, answer.distance)
    seen = f"{found:.6g}" if fits else f"it is {found:.9g}, not {answer.distance!r:.40}"
    return Check(f"{name}, distance", fits, seen)


def _codes(certificate: Certificate, row: Mapping[str, Any]) -> NDArray[np.float64]:
    return np.array([one.feature.code(row[one.name]) for one in certificate.columns])


def _constraints(certificate: Certificate, name: str, answer: Counterfactual) -> Check:
    told = certificate.explanation
    features = {one.name: one.feature for one in certificate.columns}
    broken = [text for text in told.constraints if not _is_met(text, told.query, answer.values, features)]
    if broken:
        return Check(f"{name}, constraints", False, f"broken or unreadable: {'; '.join(map(str, broken))}")
    return Check(f"{name}, constraints", True, f"all {len(told.constraints)} are met")


def _is_met(text: str, query: Any, row: Any, features: Mapping[str, Feature]) -> bool:
    try:
        read = constraint(text)
        check(read, features)
        return holds(read, query, row, features)
    except (SsbaError, KeyError, TypeError):
        return False


def _told(error: Exception) -> str:
    return str(error) if isinstance(error, SsbaError) else f"{type(error).__name__}: {error}"

"""A result as a document of its own, with a digest, which can be checked again later: for audit."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ssba.columns.distance import Distance
from ssba.constraints.constraint import check, constraint, holds
from ssba.errors import SsbaError
from ssba.json_form import JsonForm, to_plain, written_fields
from ssba.models.targets import target_of
from ssba.results.column import metric_of
from ssba.results.explanation import Counterfactual, Explanation, Status

# Numbers that are equal but for the last bits of sums are equal.
_SAME = 1e-9


@dataclass(frozen=True)
class Check:
    """One thing that was checked: what, whether it held, and what was seen."""

    name: str
    passed: bool
    seen: str

    def __str__(self) -> str:
        return f"{'ok    ' if self.passed else 'FAILED'}  {self.name}: {self.seen}"


@dataclass(frozen=True, repr=False)
class CertificateCheck(JsonForm):
    """The outcome of checking a certificate: one entry for each check; as text, one line each.

    Attributes
    ----------
    checks : tuple of Check
        In the order in which they were made.
    """

    checks: tuple[Check, ...]

    derived: ClassVar[tuple[str, ...]] = ("passed", "sentence")

    @property
    def passed(self) -> bool:
        """Whether every check held."""
        return all(one.passed for one in self.checks)

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that did not hold."""
        return tuple(one for one in self.checks if not one.passed)

    @property
    def sentence(self) -> str:
        """What came out, in one sentence."""
        if self.passed:
            return f"The certificate holds: all {len(self.checks)} checks passed."
        named = "; ".join(one.name for one in self.failed)
        counts = f"{len(self.failed)} of {len(self.checks)}"
        return f"The certificate does not hold: {counts} checks failed ({named})."

    def __repr__(self) -> str:
        return "\n".join([*map(str, self.checks), self.sentence])


@dataclass(frozen=True, repr=False)
class Certificate(JsonForm):
    """A result with the digest of its JSON form, to be checked later: `Explainer.certificate` makes it.

    An explanation holds all that a check needs: the model's name and fingerprint, the columns with their
    kinds, scales and weights, the goal, constraints and options. With the same model and data a check shows
    that the answers are what they claim to be. It is no signature: the digest shows damage and careless
    edits, and whoever forges both is caught where the model disagrees. That nothing nearer was found is on
    record, and is not shown again.

    Attributes
    ----------
    explanation : Explanation
        The result that is certified.
    sha256 : str
        The digest of its JSON form when the certificate was made.
    """

    explanation: Explanation
    sha256: str

    @property
    def is_intact(self) -> bool:
        """Whether the content is what it was when the certificate was made."""
        return digest_of(self.explanation) == self.sha256

    @property
    def settings(self) -> dict[str, Any]:
        """The explainer's settings: ``ssba.Explainer(model, data, **certificate.settings)`` checks it."""
        shown = self.explanation
        return {
            "target": None if shown.goal is None else target_of(shown.goal),
            "features": {one.name: one.declaration for one in shown.columns},
            "distance": Distance(
                shown.metric,
                scale={one.name: one.scale for one in shown.columns if not one.feature.is_discrete},
                weights={one.name: one.weight for one in shown.columns},
            ),
            "seed": shown.seed,
        }

    @property
    def sentence(self) -> str:
        """What is certified, in one sentence."""
        shown = self.explanation
        return (
            f"Certificate of a result with status {shown.status.value} toward {shown.target}, of "
            f"{shown.model} ({shown.model_fingerprint}); answers: {len(shown.counterfactuals)}, "
            f"constraints: {len(shown.constraints)}."
        )

    def __repr__(self) -> str:
        return f"<{self.sentence.rstrip('.')}; sha256 {self.sha256[:12]}>"


def certified(explanation: Explanation) -> Certificate:
    """Return a certificate of a result."""
    return Certificate(explanation, digest_of(explanation))


def digest_of(explanation: Explanation) -> str:
    """Return the sha256 of a result's fields as JSON has them, whatever the order of their names."""
    fields = {one.name: to_plain(getattr(explanation, one.name)) for one in written_fields(Explanation)}
    written = json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(written.encode()).hexdigest()


def own_checks(certificate: Certificate) -> list[Check]:
    """Check all that needs no model: digest, status, changes, distances, constraints."""
    shown = certificate.explanation
    checks = [_digest(certificate), _status(shown)]
    for name, answer in answers_of(shown).items():
        checks += [_changes(shown, name, answer), _distance(shown, name, answer)]
        checks += [_constraints(shown, name, answer)]
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


def _digest(certificate: Certificate) -> Check:
    seen = f"sha256 {certificate.sha256[:12]}"
    if certificate.is_intact:
        return Check("digest", True, f"{seen} is that of the content")
    return Check("digest", False, f"{seen} is not that of the content: it was altered or damaged")


def _status(explanation: Explanation) -> Check:
    found, moved = bool(explanation.counterfactuals), explanation.bounded is not None
    fits = found == (explanation.status is Status.FOUND) and not (found and moved)
    answers = len(explanation.counterfactuals)
    return Check("status", fits, f"{explanation.status.value}, answers: {answers}")


def _changes(explanation: Explanation, name: str, answer: Counterfactual) -> Check:
    query, values = explanation.query, answer.values
    columns = {one.name for one in explanation.columns}
    if any(set(row) != columns for row in (query, values)):
        return Check(f"{name}, changes", False, "its columns are not those of the certificate")
    differing = {one: (query[one], values[one]) for one in query if query[one] != values[one]}
    fits = differing == answer.changes
    seen = f"{len(differing)} {'column differs' if len(differing) == 1 else 'columns differ'} from the query"
    return Check(f"{name}, changes", fits, seen if fits else f"{seen}, which is not what is listed")


def _distance(explanation: Explanation, name: str, answer: Counterfactual) -> Check:
    try:
        metric = metric_of(explanation.columns, explanation.metric)
        rows = [_codes(explanation, row) for row in (answer.values, explanation.query)]
    except (SsbaError, KeyError, TypeError, IndexError) as error:
        what = str(error) if isinstance(error, SsbaError) else f"{type(error).__name__}: {error}"
        return Check(f"{name}, distance", False, f"it cannot be computed: {what}")
    with np.errstate(over="ignore", invalid="ignore"):
        found = float(metric.distance(rows[0][None, :], rows[1])[0])
    fits = is_same_number(found, answer.distance)
    seen = f"{found:.6g}" if fits else f"it is {found:.9g}, not {answer.distance!r:.40}"
    return Check(f"{name}, distance", fits, seen)


def _codes(explanation: Explanation, row: Mapping[str, Any]) -> NDArray[np.float64]:
    return np.array([one.feature.code(row[one.name]) for one in explanation.columns])


def _constraints(explanation: Explanation, name: str, answer: Counterfactual) -> Check:
    broken = [text for text in explanation.constraints if not _is_met(text, explanation, answer.values)]
    if broken:
        return Check(f"{name}, constraints", False, f"broken or unreadable: {'; '.join(broken)}")
    return Check(f"{name}, constraints", True, _met(len(explanation.constraints)))


def _met(count: int) -> str:
    if count < 2:
        return "the only one is met" if count else "there are none"
    return f"all {count} are met"


def _is_met(text: str, explanation: Explanation, row: Mapping[str, Any]) -> bool:
    features = {one.name: one.feature for one in explanation.columns}
    try:
        read = constraint(text)
        check(read, features)
        return holds(read, explanation.query, row, features)
    except (SsbaError, KeyError, TypeError):
        return False

"""A result as a document of its own, which can be checked again later: for audit."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NoReturn, Protocol

from ssba.columns.features import Declaration
from ssba.errors import ArgumentError
from ssba.results.advice import ADVICE_VERSION
from ssba.results.certificate.parts import Column, plain_json, read_columns, read_target, seal_of
from ssba.results.explanation import Explanation

FORMAT = 1
"""Version of the document; a later one is refused by an older ssba."""

_PARTS = {"format": int, "explanation": dict, "columns": list, "target": dict, "request": dict, "model": dict}


@dataclass(frozen=True)
class Check:
    """One thing that was checked: what, whether it held, and what was seen."""

    name: str
    passed: bool
    seen: str

    def __str__(self) -> str:
        return f"{'ok    ' if self.passed else 'FAILED'}  {self.name}: {self.seen}"


@dataclass(frozen=True, repr=False)
class CertificateCheck:
    """What came of checking a certificate: one entry a check; as text, one line each.

    Attributes
    ----------
    checks : tuple of Check
        In the order in which they were made.
    """

    checks: tuple[Check, ...]

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
        named = ", ".join(one.name for one in self.failed)
        counts = f"{len(self.failed)} of {len(self.checks)}"
        return f"The certificate does not hold: {counts} checks failed ({named})."

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dicts, lists, text and numbers."""
        checks = [asdict(one) for one in self.checks]
        return {"schema": ADVICE_VERSION, "passed": self.passed, "checks": checks, "sentence": self.sentence}

    def __repr__(self) -> str:
        return "\n".join([*map(str, self.checks), self.sentence])


class Checker(Protocol):
    """Whoever can ask the model: an `Explainer`."""

    def check_certificate(self, certificate: "Certificate") -> CertificateCheck: ...


@dataclass(frozen=True, repr=False)
class Certificate:
    """A result, with all that is needed to check it later: `Explanation.certificate` makes it.

    It holds the explanation, the model's name and fingerprint, the columns with their kinds, scales and
    weights, the target and the wishes. It is there to show later, with the same model and data, that the
    answers are what they claim. It is no signature: its digest shows damage and careless edits, and whoever
    forges both is caught where the model disagrees. That nothing nearer was found is on record, and is not
    shown again.

    Attributes
    ----------
    document : dict
        The content, as JSON has it.
    sha256 : str
        The digest of the content when it was made.
    """

    document: dict[str, Any]
    sha256: str

    @cached_property
    def explanation(self) -> Explanation:
        """The result that is certified."""
        return Explanation.from_json(json.dumps(self.document["explanation"]))

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the problem: kinds, legal values, scales and weights."""
        return read_columns(self.document["columns"])

    @property
    def is_sealed(self) -> bool:
        """Whether the content is what it was when the certificate was made."""
        return seal_of(self.document) == self.sha256

    @property
    def settings(self) -> dict[str, Any]:
        """The explainer's settings: ``ssba.Explainer(model, data, **certificate.settings)`` checks it."""
        features: dict[str, Declaration] = {one.name: one.declaration for one in self.columns}
        return {
            "target": read_target(self.document["target"]),
            "features": features,
            "distance": self.explanation.metric,
            "scale": {one.name: one.scale for one in self.columns},
            "weights": {one.name: one.weight for one in self.columns},
            "seed": self.explanation.seed,
        }

    def check(self, explainer: Checker) -> CertificateCheck:
        """Check everything again, with the model.

        Parameters
        ----------
        explainer : Explainer
            One around the model and the data of then, with the settings of then.

        Returns
        -------
        CertificateCheck
            One entry for each check; ``.passed`` tells whether all held.
        """
        return explainer.check_certificate(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the content and its digest as plain dicts, lists, text and numbers."""
        return {**self.document, "sha256": self.sha256}

    def to_json(self, indent: int | None = 2) -> str:
        """Return the JSON form, which `from_json` reads back."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "Certificate":
        """Read what `to_json` wrote; a document of another form is refused, an altered one is not.

        Whether it was altered, `check` tells.
        """
        try:
            raw = json.loads(text, object_pairs_hook=_each_name_once, parse_constant=_refuse_constant)
            return _read(cls, raw)
        except (ArgumentError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            what = str(error) if isinstance(error, ArgumentError) else f"{type(error).__name__}: {error}"
            raise ArgumentError(f"this is no certificate in the JSON form of to_json: {what:.300}") from None

    @property
    def sentence(self) -> str:
        """What is certified, in one sentence."""
        told, model = self.explanation, self.document["model"]
        return (
            f"Certificate of a result with status {told.status.value} toward {told.target}, of "
            f"{model['name']} ({model['fingerprint']}), with {len(told.counterfactuals)} answers and "
            f"{len(told.constraints)} constraints."
        )

    def __repr__(self) -> str:
        return f"<{self.sentence.rstrip('.')}; sha256 {self.sha256[:12]}>"


def sealed(content: Mapping[str, Any]) -> Certificate:
    """Make a certificate of some content: bring it into JSON's form, and take its digest."""
    document = plain_json({"format": FORMAT, **content})
    return _read(Certificate, {**document, "sha256": seal_of(document)})


def _read(kind: type[Certificate], raw: Any) -> Certificate:
    if not isinstance(raw, dict) or "format" not in raw:
        raise ArgumentError("it has no format")
    if raw["format"] != FORMAT:
        raise ArgumentError(f"its format is {raw['format']!r:.40}; this version of ssba reads {FORMAT}")
    for name, wanted in _PARTS.items():
        if not isinstance(raw.get(name), wanted):
            raise ArgumentError(f"its part {name!r} is missing, or no {wanted.__name__}")
    document = {name: value for name, value in raw.items() if name != "sha256"}
    read = kind(document, str(raw.get("sha256", "")))
    # Each part is read once here, so that a document of another form is refused at the door.
    _ = read.settings, read.sentence, read.explanation
    return read


def _each_name_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ArgumentError("a name stands twice in it")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ArgumentError(f"it holds {name}, which is no JSON")

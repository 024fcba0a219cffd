"""What a model says about rows, and the one type every kind of model is turned into."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import namespace
from ssba.models.on_device import Height, OnDevice

Array = NDArray[Any]


@final
@dataclass(frozen=True)
class Output:
    """The answers to n rows; what was not asked for, or does not exist, is None.

    Attributes
    ----------
    labels
        [n] hard labels, exactly as the model gives them (classifiers).
    scores
        [n, c] float64, one column per class in the order of `Model.classes`.
    values
        [n] float64, the numbers of a regressor.
    """

    labels: Array | None = None
    scores: Array | None = None
    values: Array | None = None

    def take(self, rows: slice | NDArray[np.int64]) -> "Output":
        """Return the answers to some of the rows."""
        parts = (self.labels, self.scores, self.values)
        return Output(*(None if part is None else part[rows] for part in parts))


def joined(parts: Sequence[Output]) -> Output:
    """Return the answers to batches as the answers to all their rows."""
    if len(parts) == 1:
        return parts[0]
    return Output(
        labels=_concatenated([part.labels for part in parts]),
        scores=_concatenated([part.scores for part in parts]),
        values=_concatenated([part.values for part in parts]),
    )


def _concatenated(arrays: Sequence[Array | None]) -> Array | None:
    present = [array for array in arrays if array is not None]
    return np.concatenate(present) if present else None


Ask = Callable[[Any], Output]


@final
@dataclass(frozen=True)
class Model:
    """Any model of the user, reduced to three questions about rows in the user's own form.

    `labels(rows)` is the cheapest truthful call and gives hard labels only (a regressor: values).
    `output(rows)` is one model call that gives labels and scores, where the labels derived
    from the scores agreed with the model's own on every sample row; otherwise it gives labels only.
    `verdict(rows)` gives the model's own labels, and scores beside them for display where there are any.

    Attributes
    ----------
    name
        What messages call the model, such as ``RandomForestClassifier``.
    classes
        The labels as Python scalars, in the order of the score columns; None for regressors.
    has_scores
        Whether `output` gives scores.
    gives_probabilities
        Whether the scores are probabilities.
    fingerprint
        16 hex digits of the model's answers to the sample rows, so that a retrained model differs.
    on_sample
        What `output` gives for the sample rows.
    on_device
        How it is asked about rows on its own device, where it can be.
    alone
        What it says about rows, each asked alone, as by whoever tries it; None where `verdict` says the same.
    """

    name: str
    classes: tuple[Any, ...] | None
    has_scores: bool
    gives_probabilities: bool
    fingerprint: str
    on_sample: Output = field(repr=False)
    labels: Ask = field(repr=False)
    output: Ask = field(repr=False)
    verdict: Ask = field(repr=False)
    on_device: OnDevice | None = field(default=None, repr=False)
    alone: Ask | None = field(default=None, repr=False)

    def wrapped(self, around: "Around") -> "Model":
        """Return the model with something done around each of its questions."""
        device = self.on_device

        def slopes(rows: Any, height: Height) -> Any:
            assert device is not None
            return around(lambda rows: device.slopes(rows, height))(rows)

        return replace(
            self,
            labels=around(self.labels),
            output=around(self.output),
            verdict=around(self.verdict),
            alone=None if self.alone is None else around(self.alone),
            on_device=None
            if device is None
            else replace(device, answer=around(device.answer), steady=around(device.steady), slopes=slopes),
        )


Around = Callable[[Callable[[Any], Any]], Callable[[Any], Any]]
"""From a question about rows to the same question, with something done around it."""


def fingerprint(name: str, classes: tuple[Any, ...] | None, sample: Output) -> str:
    """Digest the model's behaviour on the sample rows, which any kind of model has."""
    digest = sha256(repr((name, classes)).encode())
    if sample.labels is not None:
        digest.update(repr(sample.labels.tolist()).encode())
    for numbers in (sample.scores, sample.values):
        if numbers is not None:
            digest.update(_six_digits(numbers))
    return digest.hexdigest()[:16]


def first_highest(scores: Array) -> Array:
    """Per row the column of the highest score, the first of several."""
    xp = namespace(scores)
    short = scores.shape[1] == 2  # argmax over so short an axis takes eight times as long
    highest: Array = xp.astype(scores[:, 1] > scores[:, 0], xp.int64) if short else xp.argmax(scores, axis=1)
    return highest


def in_64_bits(answers: Array) -> Array:
    """Return answers as 64-bit floats, which hold every smaller float exactly."""
    xp = namespace(answers)
    wide: Array = xp.astype(answers, xp.float64, copy=False)
    return wide


def plain(scalar: Any) -> Any:
    """A NumPy scalar as its Python twin; anything else as it is."""
    return scalar.item() if isinstance(scalar, np.generic) else scalar


def _six_digits(numbers: Array) -> bytes:
    # Digits are counted from the largest number: the last bits of a tiny probability depend on thread counts.
    largest = float(np.abs(numbers).max(initial=0.0)) or 1.0
    return f"{largest:.5e}".encode() + np.rint(numbers / largest * 1e6).astype(np.int64).tobytes()

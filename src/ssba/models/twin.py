"""Twins: torch modules that stand in for another model while rows are searched, and never have the last word.

`ssba.to_torch` makes them. What is known of them here is what `adapt` needs, so that torch is not imported.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from ssba.models.answers import Array, Model, first_highest, in_64_bits
from ssba.models.calls import Call, Needs, numbers_model, try_out
from ssba.models.kinds import classifier, score_calls
from ssba.models.on_device import OnDevice
from ssba.models.tensors import float_array, is_torch_module, torch_on_device

Adapt = Callable[[Any, Any], Model]
"""From a model and some rows to the adapted model."""


@final
@dataclass(frozen=True)
class Agreement:
    """How a twin's answers compare with those of the model that it was made from.

    Attributes
    ----------
    rows, differing
        How many background rows were compared, and how many of them got another label; of a regressor, a
        number that is off by more than a thousandth of the range of its numbers.
    near_rows, near_differing
        The same for rows beside the boundary: both ends of segments between background rows of different
        predicted classes, halved twenty times. For a regressor, rows half way between background rows.
    largest_difference
        How far scores, or a regressor's numbers, are apart at most, on all of these rows.
    """

    rows: int
    differing: int
    near_rows: int
    near_differing: int
    largest_difference: float
    is_regressor: bool = False

    @property
    def share(self) -> float:
        """The share of the background rows that got another answer."""
        return self.differing / self.rows

    @property
    def near_share(self) -> float:
        """The share of the rows near the boundary that got another answer."""
        return self.near_differing / self.near_rows if self.near_rows else 0.0

    def __str__(self) -> str:
        what, near = ("numbers", "between them") if self.is_regressor else ("labels", "beside the boundary")
        return (
            f"{what} differ on {self.differing} of {self.rows} background rows ({self.share:.2%}) and on "
            f"{self.near_differing} of {self.near_rows} rows {near} ({self.near_share:.2%}); "
            f"{'numbers' if self.is_regressor else 'scores'} are at most {self.largest_difference:.1g} apart"
        )


def is_twin(model: Any) -> bool:
    """Whether the model was made by `ssba.to_torch`, without importing torch."""
    return is_torch_module(model) and isinstance(getattr(model, "agreement", None), Agreement)


def twin_model(twin: Any, rows: Any, needs: Needs, adapt: Adapt) -> Model:
    """Adapt a twin: it is asked while searching, and the original has the last word on every answer."""
    original = original_of(twin, rows, needs, adapt)
    quick = _quick_model(twin, original.name, rows, needs)
    # The original's fingerprint, since it is the original that answers are about.
    return replace(
        quick, fingerprint=original.fingerprint, verdict=original.verdict, on_device=_on_device(twin)
    )


def _on_device(twin: Any) -> OnDevice:
    if twin.classes is None:
        return torch_on_device(lambda: twin, twin)
    return torch_on_device(lambda: twin, twin, first_highest, in_64_bits)


def original_of(twin: Any, rows: Any, needs: Needs, adapt: Adapt) -> Model:
    """Adapt the model that a twin was made from, with the scores that the twin gives.

    `adapt` takes care of an original that is a regressor, or that answers by one call.
    """
    original, name = twin.original, type(twin.original).__name__
    if twin.method is None:
        return adapt(original, rows)
    trial = try_out(name, Call(f"{name}.predict", original.predict), rows)
    return classifier(trial, score_calls(original, name, (twin.method,)), twin.classes, needs)


def _quick_model(twin: Any, name: str, rows: Any, needs: Needs) -> Model:
    who = f"the torch twin of {name}"
    scores = Call(who, lambda rows: twin_answers(twin, rows))
    if twin.classes is None:
        return numbers_model(try_out(name, scores, rows))
    labels = Call(who, lambda rows: twin_labels(twin, twin_answers(twin, rows)))
    return classifier(try_out(name, labels, rows), [scores], twin.classes, needs)


def twin_answers(twin: Any, rows: Any) -> Array:
    """Return what a twin says of rows in the user's form: [n, classes] scores, or [n] numbers."""
    torch = sys.modules["torch"]
    # A copy, so that a step that works in place cannot write into the rows.
    tensor = torch.tensor(float_array(rows, "the torch twin"), device=twin.device)
    with torch.no_grad():
        return np.asarray(twin(tensor).to("cpu", torch.float64).numpy())


def twin_labels(twin: Any, scores: Array) -> Array:
    """Return the labels that follow from a twin's scores, in the dtype of the original's classes."""
    known = getattr(twin.original, "classes_", None)
    labels = np.asarray(twin.classes if known is None else known)
    return np.asarray(labels[first_highest(scores)])

"""A prediction: what the model says about a row, and whether that is the target."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ssba.json_form import JsonForm
from ssba.results.numbers import Numbers
from ssba.results.text import is_value, said

if TYPE_CHECKING:
    from ssba.results.trial import Trial


@dataclass(frozen=True)
class Prediction(JsonForm):
    """What the model says about one row.

    Attributes
    ----------
    values : dict
        The row, column by column; None for a missing cell, ISO text for a date.
    prediction : label or number
        What the model says about it.
    score : float or None
        Score of the target, where the model gives one.
    reached : bool
        Whether that is the target already; false where the target is any class but the predicted one.
    target : str
        What is to be reached, in words.
    """

    values: dict[str, Any]
    prediction: Any
    score: float | None
    reached: bool
    target: str

    @property
    def sentence(self) -> str:
        """What the model says, in one sentence."""
        return f"The model predicts {says(self)}."

    def __repr__(self) -> str:
        return self.sentence


def says(one: "Prediction | Trial") -> str:
    """Say what the model predicts for a row, with its score, and whether that reaches the target."""
    numbers = Numbers.of(one.target, [one.prediction, one.score])
    predicted = said(one.prediction, numbers, one.reached)
    shown = one.score is not None and not is_value(one.prediction, one.score)
    score = f" (score {numbers.write(one.score, one.reached)})" if shown else ""
    outcome = "which reaches" if one.reached else "which does not reach"
    return f"{predicted}{score}, {outcome} {one.target}"

"""A prediction: what the model says about a row, and whether that is the target."""

from dataclasses import dataclass
from typing import Any

from ssba.json_form import JsonForm
from ssba.results.text import is_value, show


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
        said = self.score is None or is_value(self.prediction, self.score)
        score = "" if said else f" (score {self.score:.4g})"
        outcome = "which reaches" if self.reached else "which does not reach"
        return f"The model predicts {show(self.prediction)}{score}, {outcome} {self.target}."

    def __repr__(self) -> str:
        return self.sentence

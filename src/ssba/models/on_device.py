"""Models that are asked about rows where these lie, such as on a GPU: nothing crosses to the host."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from ssba.arrays import Array

Height = Callable[[Array], Array]
"""From raw answers of a model to one number for each."""


@final
@dataclass(frozen=True)
class OnDevice:
    """How a model is asked about arrays on its own device.

    Attributes
    ----------
    place
        Tells where rows have to lie now, and in which dtype: the user may move the model.
    bring
        Puts rows of the host there; with `wide`, in 64 bits.
    answer
        From rows on the device to raw answers there: one number a row, or a column a class.
    steady
        The same, with answers to a row that do not depend on the others.
    slopes
        From rows, and from what makes a number of each raw answer, to these numbers, and how they rise with
        each cell. Raises where the model does not tell.
    label
        From raw answers to the numbers of classes, in the order of `Model.classes`; None for regressors.
    score
        From raw answers to the scores of classes, in 64 bits; None for regressors.
    """

    place: Callable[[], tuple[str, str]]
    bring: Callable[[Any, bool], Array]
    answer: Callable[[Array], Array]
    steady: Callable[[Array], Array]
    slopes: Callable[[Array, Height], tuple[Array, Array]]
    label: Callable[[Array], Array] | None = None
    score: Callable[[Array], Array] | None = None

    @property
    def is_apart(self) -> bool:
        """Whether the device has a memory of its own, so that rows have to be brought there."""
        return self.place()[0] != "cpu"


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a device had no room left, without importing its library."""
    return type(error).__name__ == "OutOfMemoryError"

"""Rows as the later steps of a model get them, made without those before."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray


@final
@dataclass(frozen=True)
class Prepared:
    """Rows for the last step of a model, bit for bit what its first steps would have made of them.

    Attributes
    ----------
    steps, last
        The steps that they still have to go through, mostly none, and the last one, as the user fitted them.
    inputs
        What the first of these gets: [rows, inputs], an array or a sparse matrix.
    given
        Writes the same rows in the user's own form, for messages.
    """

    steps: Sequence[Any]
    last: Any
    inputs: Any
    given: Callable[[], Any]

    def __len__(self) -> int:
        return int(self.inputs.shape[0])

    def answer(self, method: str) -> Any:
        """Return what a method of the last step says about the rows."""
        inputs = self.inputs
        for step in self.steps:
            inputs = inputs if step is None or isinstance(step, str) else step.transform(inputs)
        return getattr(self.last, method)(inputs)


ShortWay = Callable[[NDArray[np.float64]], Prepared | None]
"""From encoded rows to prepared ones; None for rows that have to go through all steps."""


def asking(model: Any, method: str) -> Callable[[Any], Any]:
    """Return a method of a model; prepared rows go to the same method of its last step."""
    ask = getattr(model, method)

    def answer(rows: Any) -> Any:
        return rows.answer(method) if isinstance(rows, Prepared) else ask(rows)

    return answer

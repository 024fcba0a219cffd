"""From encoded rows to what a model's last step sees, where every input depends on one column.

No transformer is computed anew here. The types of the steps tell what kind of map they are together
(`structure.py`), and the map itself is read off by asking them about rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ssba.columns.space import Space
from ssba.models.tensors import float_array
from ssba.whitebox.check_reading import column_rows, complete_row, probed_values, sent_through, the_users_code

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Integers = NDArray[np.int64]

# More levels do not fit in the 64 bits that a set of them is kept in.
MOST_LEVELS = 63


@final
@dataclass(frozen=True)
class Inputs:
    """What the last step of a model sees of encoded rows.

    `source` names for each input the encoded column it depends on, -1 for a constant; `tables` holds for each
    column of levels what the inputs are at each of its codes; `base` is one row of inputs.
    """

    ask: Callable[[Matrix], Matrix]
    source: Integers
    tables: dict[int, Matrix]
    base: Vector


def read_inputs(steps: Sequence[Any], space: Space, background: Matrix) -> Inputs | None:
    """Find out which input depends on which column, or return None where one depends on several.

    None also where an input falls while its column of numbers rises.
    """

    def ask(Z: Matrix) -> Matrix:
        with the_users_code():
            return _dense(sent_through(steps, space.decode(Z)))

    base = complete_row(background)
    answer = ask(base[None, :])[0]
    source = np.full(len(answer), -1, dtype=np.int64)
    tables: dict[int, Matrix] = {}
    for j, feature in enumerate(space.features):
        if feature.has_levels and len(feature.levels) > MOST_LEVELS:
            return None
        seen = ask(column_rows(base, j, probed_values(space, background, j)))
        varies = (seen != answer).any(axis=0)
        if (varies & (source >= 0)).any():
            return None
        source[varies] = j
        if feature.has_levels:
            tables[j] = seen
        elif (np.diff(seen, axis=0) < 0).any():
            return None
    return Inputs(ask, source, tables, answer)


def _dense(rows: Any) -> Matrix:
    if hasattr(rows, "toarray"):
        rows = rows.toarray()
    return np.asarray(float_array(rows, "the model"), dtype=np.float64)

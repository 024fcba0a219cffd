"""The one check that every row passes on its way to the model: each cell is one that its column can hold."""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from ssba.columns.features import Feature
from ssba.errors import InternalError

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]

_LARGEST = float(np.finfo(np.float64).max)


@final
@dataclass(frozen=True)
class RowCheck:
    """What cells a model may be asked about: finite numbers that the column holds, codes of its levels.

    Examples
    --------
    >>> check = RowCheck((Feature("age", "integer"), Feature("sex", "boolean", ("f", "m"))))
    >>> check.check(np.array([[54.0, 1.0]]))
    >>> check.check(np.array([[54.0, 2.0]]))
    Traceback (most recent call last):
    ...
    ssba.errors.InternalError: ssba was about to ask the model about 2.0 in column 'sex', ...
    """

    features: tuple[Feature, ...]

    def check(self, rows: Matrix, missing: Mask | None = None) -> None:
        """Raise InternalError if a cell is none that its column can hold.

        `missing` marks the cells that may be missing, of every row or of each; none where it is not given.
        """
        low, high = self._ends
        fine = (rows >= low) & (rows <= high)
        whole = self._whole
        if whole.size:
            fine[:, whole] &= rows[:, whole] == np.rint(rows[:, whole])
        if fine.all():
            return
        if missing is not None:
            fine |= np.isnan(rows) & missing
        if not fine.all():
            self._refuse(rows, fine)

    @cached_property
    def _ends(self) -> tuple[Matrix, Matrix]:
        ends = [_ends(one) for one in self.features]
        return np.array([low for low, _ in ends]), np.array([high for _, high in ends])

    @cached_property
    def _whole(self) -> NDArray[np.int64]:
        return np.flatnonzero([one.has_levels or one.kind == "integer" for one in self.features])

    def _refuse(self, rows: Matrix, fine: Mask) -> None:
        row, column = np.argwhere(~fine)[0]
        feature, value = self.features[column], float(rows[row, column])
        raise InternalError(
            f"ssba was about to ask the model about {value!r} in column {feature.name!r}, "
            f"which {_allowed(feature)}; this is a fault of ssba, not of your data or model: please report "
            "it with the query, its constraints and the versions in `explanation.versions`"
        )


def _ends(feature: Feature) -> tuple[float, float]:
    if feature.levels:
        return 0.0, len(feature.levels) - 1.0
    low, high = feature.storable
    return max(low, -_LARGEST), min(high, _LARGEST)


def _allowed(feature: Feature) -> str:
    low, high = _ends(feature)
    if feature.levels:
        return f"has the codes 0 to {high:g}"
    kind = "whole numbers" if feature.kind == "integer" else "finite numbers"
    return f"holds {kind} from {low:g} to {high:g}"

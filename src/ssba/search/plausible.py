"""Where the data live: how far rows are from background rows, and how far is still near."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssba.columns.distance import Metric
from ssba.columns.nearest import flat

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

QUANTILE = 0.95
"""A row is plausible if it is no further from the data than this share of the data are from each other."""


@dataclass(frozen=True)
class Neighbourhood:
    """Different background rows, and how far other rows are from the nearest of them.

    Distances are the metric's own. Trees of neighbours measure plain L1 or L2, so that columns are scaled
    first, and a category becomes one column a level, so that two levels are as far apart as the metric says.
    """

    rows: Matrix
    metric: Metric

    def distance(self, Z: Matrix) -> Vector:
        """Return the distance of each row to the nearest background row; infinite without any."""
        return self._nearest(Z, 1)

    @cached_property
    def usual(self) -> float:
        """The 95% quantile of the background rows' distances to their nearest neighbours."""
        if len(self.rows) < 2:
            return 0.0
        return float(np.quantile(self._nearest(self.rows, 2), QUANTILE))

    def _nearest(self, Z: Matrix, rank: int) -> Vector:
        """Return the distance to the nearest background row, or to the next one after it."""
        if len(self.rows) < rank:
            return np.full(len(Z), np.inf)
        found = np.empty(len(Z))
        missing = np.isnan(Z).any(axis=1) | self._has_missing
        for i in np.flatnonzero(missing):
            found[i] = np.partition(self.metric.distance(self.rows, Z[i]), rank - 1)[rank - 1]
        if not missing.all():
            nearest = self._tree.query(self._flat(Z[~missing]), k=[rank], p=1 + (self.metric.norm == "l2"))[0]
            found[~missing] = nearest[:, 0]
        return found

    @cached_property
    def _has_missing(self) -> bool:
        return bool(np.isnan(self.rows).any())

    @cached_property
    def _tree(self) -> Any:
        from scipy.spatial import KDTree

        return KDTree(self._flat(self.rows))

    def _flat(self, Z: Matrix) -> Matrix:
        """Return rows in which plain L1 or L2 is the metric."""
        return flat(self.metric, Z, self.rows)

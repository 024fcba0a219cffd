"""Boundary points kept, in memory or on disk, and found again."""

from ssba.index.boundary_set import BoundarySet, Neighbours
from ssba.index.verify_index import Verified

__all__ = ["BoundarySet", "Neighbours", "Verified"]

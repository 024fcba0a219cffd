"""Boundary points kept, in memory or on disk, and found again."""

"""Boundary points found once, kept in memory or on disk, grown, checked and looked up again."""

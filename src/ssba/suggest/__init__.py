"""Constraints that data suggest."""

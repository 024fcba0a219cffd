"""Packaged data, for the demo, the documentation and first steps."""

from ssba.datasets.heart import Column, Heart, load_heart

__all__ = ["Column", "Heart", "load_heart"]

"""Constraints that data suggest."""

from ssba.suggest.suggestions import Suggestions, suggest_constraints

__all__ = ["Suggestions", "suggest_constraints"]

"""Looser constraints of the same kind."""

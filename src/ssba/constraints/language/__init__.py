"""Constraints as text and as a tree, and what they say about one query."""

"""Explanations as documents that anybody can check."""

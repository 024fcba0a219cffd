"""The path of queries through the rooms: compile, search, verify, answer. All queries side by side.

A query's outcome depends on nothing but the query, its constraints and the explainer, so it is the
same alone or among others.
"""

from ssba.pipeline.answer import answer_queries
from ssba.pipeline.case import Case, Limits, Request, limits_from_now

__all__ = ["Case", "Limits", "Request", "answer_queries", "limits_from_now"]

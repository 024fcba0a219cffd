"""Which constraints a query breaks as it is."""

from functools import lru_cache
from typing import TYPE_CHECKING

from ssba.constraints.constraint import Constraint, holds
from ssba.constraints.language.parser import constraint
from ssba.constraints.language.tree import columns
from ssba.errors import ConstraintError

if TYPE_CHECKING:
    from ssba.results.explanation import Explanation


def broken_by_query(explanation: "Explanation") -> tuple[str, ...]:
    """Return the constraints that the query does not meet, of those whose columns the result describes."""
    features = {one.name: one.feature for one in explanation.columns}
    query = explanation.query
    read = [(text, _read(text)) for text in explanation.constraints]
    known = [(text, one) for text, one in read if one and columns(one) <= features.keys() & query.keys()]
    return tuple(text for text, one in known if not holds(one, query, query, features))


# The queries of a batch mostly have their constraints in common.
@lru_cache(maxsize=256)
def _read(text: str) -> Constraint | None:
    """Read a constraint; None for what is none, in a result that was put together by hand."""
    try:
        return constraint(text)
    except ConstraintError:
        return None

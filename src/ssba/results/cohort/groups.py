"""Which group each query of a cohort belongs to."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ssba.arguments import is_number, listed
from ssba.columns.features import is_missing, unknown_columns
from ssba.errors import ArgumentError
from ssba.results.words import cell

MISSING = "missing"

# Numbers with more different values than this are cut into groups.
_MOST_VALUES = 8
_GROUPS = 4


def group_labels(queries: Sequence[Mapping[str, Any]], by: Any) -> tuple[list[str] | None, str | None]:
    """Return one label for each query, and what they are called; (None, None) where no groups are wanted.

    Examples
    --------
    >>> group_labels([{"sex": "male"}, {"sex": None}], "sex")
    (['male', 'missing'], 'sex')
    >>> group_labels([{"age": years} for years in range(20, 60, 4)], "age")[0][::3]
    ['20 to 28', '32 to 36', '40 to 44', '48 to 56']
    """
    if by is None:
        return None, None
    if isinstance(by, str):
        return _labels(_column(queries, by)), by
    wanted = "give the name of a column of the queries, or a list with one label for each query"
    given = listed("by", by, wanted)
    if len(given) != len(queries):
        raise ArgumentError(f"by holds {len(given)} labels for {len(queries)} queries; {wanted}")
    return _labels(given), str(getattr(by, "name", None) or "group")


def in_order(labels: Sequence[str]) -> list[str]:
    """Return the distinct labels: numbers by size, then texts, and what is missing last.

    >>> in_order(["missing", "10", "9 to 9.5", "b", "a", "10"])
    ['9 to 9.5', '10', 'a', 'b', 'missing']
    """
    return sorted(set(labels), key=_rank)


def _rank(label: str) -> tuple[int, float, str]:
    if label == MISSING:
        return 2, 0.0, label
    try:
        return 0, float(label.split(" to ")[0]), label
    except ValueError:
        return 1, 0.0, label


def _column(queries: Sequence[Mapping[str, Any]], name: str) -> list[Any]:
    known = list(dict.fromkeys(column for query in queries for column in query))
    if queries and any(name not in query for query in queries):
        raise ArgumentError(f"{unknown_columns([name], known, 'by')}; or give one label for each query")
    return [query[name] for query in queries]


def _labels(values: Sequence[Any]) -> list[str]:
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    numbers = [value for value in plain if _is_number(value)]
    if len(set(numbers)) <= _MOST_VALUES or len(numbers) < sum(not is_missing(one) for one in plain):
        return [MISSING if is_missing(value) else cell(value) for value in plain]
    return _cut(plain, np.array(numbers, dtype=np.float64))


def _cut(values: Sequence[Any], numbers: Any) -> list[str]:
    """Name each number by the smallest and largest of its quarter."""
    edges = np.unique(np.quantile(numbers, np.arange(1, _GROUPS) / _GROUPS))
    quarter = np.searchsorted(edges, numbers, side="left")
    named = {
        int(
            one
        ): f"{cell(float(numbers[quarter == one].min()))} to {cell(float(numbers[quarter == one].max()))}"
        for one in np.unique(quarter)
    }
    return [
        named[int(np.searchsorted(edges, value, side="left"))] if _is_number(value) else MISSING
        for value in values
    ]


def _is_number(value: Any) -> bool:
    return is_number(value) and not is_missing(value)

"""What users give to `ssba.Client`, as the server takes it: rows, constraints and targets as plain JSON."""

from collections.abc import Mapping, Sequence
from math import inf, isfinite
from typing import Any

import numpy as np

from ssba.columns.features import Feature, is_missing
from ssba.columns.frames import column_names, is_frame, only_row, read_frame
from ssba.constraints.lists import constraint_list
from ssba.errors import ArgumentError, SchemaError
from ssba.json_form import to_plain
from ssba.models.targets import Probability, ValueBetween, ValueChange

_FORMS = ("label:", "probability:", "value:", "change:")


def query_of(row: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the part of a request that says which row is meant: a number of the data, or values.

    >>> query_of(17, ["age"]), query_of([54], ["age"])
    ({'row': 17}, {'values': {'age': 54}})
    """
    if isinstance(row, int | np.integer) and not isinstance(row, bool):
        return {"row": int(row)}
    return {"values": {name: _cell(name, value) for name, value in _named(row, names).items()}}


def queries_of(rows: Any, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return one query a row: of a frame, a 2-D array, a list of dicts, or numbers of rows of the data."""
    if is_frame(rows):
        columns, frame = column_names(rows), read_frame(rows)
        return [query_of(dict(zip(columns, one, strict=True)), names) for one in frame.iter_rows()]
    if isinstance(rows, Mapping | str) or not hasattr(rows, "__iter__"):
        raise ArgumentError(
            f"rows is {rows!r:.80}; give a frame, a 2-D array, a list of dicts, or numbers of the data's rows"
        )
    return [query_of(one, names) for one in rows]


def _named(row: Any, names: Sequence[str]) -> dict[str, Any]:
    if isinstance(row, Mapping):
        return {str(name): value for name, value in row.items()}
    if is_frame(row):
        return only_row(row)
    if hasattr(row, "index") and hasattr(row, "to_dict"):
        return {str(name): value for name, value in row.to_dict().items()}
    cells = row.ravel().tolist() if isinstance(row, np.ndarray) else row
    if not isinstance(cells, list | tuple) or len(cells) != len(names):
        raise SchemaError(
            f"the query {row!r:.80} does not fit; give the number of a row of the data, or a dict, a Series, "
            f"a one-row frame or a 1-D array with the {len(names)} columns {', '.join(names)}"
        )
    return dict(zip(names, cells, strict=True))


def _cell(name: str, value: Any) -> Any:
    if is_missing(value):
        return None
    if isinstance(value, float) and not isfinite(value):
        raise SchemaError(f"column {name!r}: {value} is not a number that can be sent; give a finite one")
    return to_plain(value)


def constraint_texts(given: Any, features: Mapping[str, Feature]) -> list[str]:
    """Return constraints as text, after the checks that the library makes itself."""
    return [one.text for one in constraint_list(given, features)]


def target_text(target: Any) -> Any:
    """Return a target as a request has it.

    >>> from ssba import probability, value_between, value_change
    >>> target_text(None), target_text("no disease"), target_text("other"), target_text(1)
    ('other', 'no disease', 'label:other', 1)
    >>> target_text(probability("ill", at_most=0.2)), target_text(value_between(high=3.5))
    ('probability:ill<=0.2', 'value:..3.5')
    >>> target_text(value_change(at_least=10)), target_text(value_change(percent=5))
    ('change:>=10.0', 'change:5%')
    >>> target_text(probability("ill", at_least=0.2, at_most=0.4))
    'probability:ill=0.2..0.4'
    """
    match target:
        case None:
            return "other"
        case str():
            return f"label:{target}" if target == "other" or target.startswith(_FORMS) else target
        case Probability(label, at_least, at_most):
            low, high = at_least if at_least > 0 else -inf, at_most if at_most < 1 else inf
            return f"probability:{label}{_interval(low, high, '=')}"
        case ValueBetween(low, high):
            return f"value:{_end(low)}..{_end(high)}"
        case ValueChange(at_least, at_most, None):
            return f"change:{_interval(at_least, at_most)}"
        case ValueChange(_, _, percent):
            return f"change:{percent!r}%"
    return to_plain(target)


def _interval(low: float, high: float, lead: str = "") -> str:
    """Write an interval: one end as a comparison, both as a range."""
    if isfinite(low) and isfinite(high):
        return f"{lead}{_end(low)}..{_end(high)}"
    return f">={_end(low)}" if isfinite(low) else f"<={_end(high)}"


def _end(value: float) -> str:
    return repr(float(value)) if isfinite(value) else ""

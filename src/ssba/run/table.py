"""Explanations as rows of a table whose columns and types are the same for every chunk."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ssba.columns.frames import is_frame, native_column, native_of
from ssba.columns.layout import Layout
from ssba.json_form import plain_or_text
from ssba.results import Counterfactual, Explanation, Status
from ssba.results.plan import change_words
from ssba.results.tables import own_name

if TYPE_CHECKING:
    import pyarrow as pa

ERROR = "error"
"""The status of a row that could not be read or scored."""

Outcome = Explanation | str
"""What came of a row: its explanation, or why there is none."""


@dataclass(frozen=True)
class Asked:
    """A row of the input, and what came of it."""

    number: int
    id: str | None
    outcome: Outcome


@dataclass(frozen=True)
class TableForm:
    """The columns of the output, and how explanations become its rows.

    Attributes
    ----------
    types
        The model's columns, and the types of their cells.
    layout
        The form of the user's rows.
    classes
        What the model tells apart; None for a model of numbers.
    with_id, with_json
        Whether each row has what names it, and each query its whole explanation as JSON.
    told
        What results are called by whoever reads them: some have names for classes.
    """

    types: Mapping[str, "pa.DataType"]
    layout: Layout | None
    classes: Sequence[Any] | None
    with_id: bool = False
    with_json: bool = False
    told: Callable[[Explanation], Explanation] = lambda found: found
    worded: Callable[[str], str] = str

    def table(self, asked: Sequence[Asked]) -> "pa.Table":
        """Return the rows of some queries, a row for each answer; for a query without one, a row, too."""
        import pyarrow as pa

        rows = [row for one in asked for row in self._rows(one)]
        columns = [
            pa.array(self._cells(field, [row.get(field.name) for row in rows]), field.type)
            for field in self.schema
        ]
        return pa.Table.from_arrays(columns, schema=self.schema)

    @cached_property
    def schema(self) -> "pa.Schema":
        """The columns and their types."""
        import pyarrow as pa

        label = _label_type(self.classes)
        own: dict[str, Any] = {"row": pa.int64()}
        own |= {"id": pa.string()} if self.with_id else {}
        own |= {"status": pa.string(), "prediction": label, "score": pa.float64()}
        own |= {"answer": pa.int64(), "reached": pa.bool_(), "distance": pa.float64()}
        own |= {"new_prediction": label, "new_score": pa.float64()}
        told: dict[str, Any] = {"changes": pa.string(), "sentence": pa.string()}
        told |= {"explanation": pa.string()} if self.with_json else {}
        fields = [(self.own(name), kind) for name, kind in own.items()]
        fields += list(self.types.items())
        fields += [(self.own(name), kind) for name, kind in told.items()]
        return pa.schema(fields)

    def own(self, name: str) -> str:
        """Return our name for a column, marked where the model has one of that name."""
        return own_name(name, self.types)

    def _cells(self, field: "pa.Field", cells: list[Any]) -> list[Any]:
        """Return cells as Arrow takes them: results have dates as text, and classes may be of many types."""
        if field.type == "string":
            return [one if one is None or isinstance(one, str) else str(one) for one in cells]
        if field.name not in self.types or self.layout is None:
            return cells
        return self.layout.dtypes[list(self.types).index(field.name)].cells(cells)

    def _rows(self, asked: Asked) -> Iterator[dict[str, Any]]:
        front: dict[str, Any] = {"row": asked.number, "id": asked.id}
        if isinstance(asked.outcome, str):
            yield self._named({**front, "status": ERROR, "sentence": asked.outcome})
            return
        found = asked.outcome
        front |= {
            "status": found.status.value,
            "prediction": plain_or_text(found.prediction),
            "score": found.score,
            "reached": found.status in (Status.FOUND, Status.ALREADY_THERE),
            "sentence": self.worded(self.told(found).sentence),
        }
        answers = [self._answer(found, one) for one in found.answers] or [{}]
        for number, answer in enumerate(answers, start=1):
            counted = {"answer": number} if found.counterfactuals else {}
            # The whole stands beside the first of its answers alone.
            whole = {"explanation": _json(found)} if number == 1 and self.with_json else {}
            values = answer.pop("values", {})
            yield {**self._named({**front, **answer, **counted, **whole}), **values}

    def _answer(self, found: Explanation, answer: Counterfactual) -> dict[str, Any]:
        told = {}
        if found.counterfactuals:
            alone = replace(found, counterfactuals=(answer,))
            told = {"sentence": self.worded(self.told(alone).sentence)}
        return {
            "distance": answer.distance,
            "new_prediction": plain_or_text(answer.prediction),
            "new_score": answer.score,
            "changes": change_words(answer.changes, found.units) if answer.changes else "",
            "values": answer.values,
            **told,
        }

    def _named(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return {self.own(name): value for name, value in row.items()}


def _json(explanation: Explanation) -> str:
    # How long it took differs from run to run, and the file shall not.
    return replace(explanation, seconds=0.0, row_label=None).to_json()


def _label_type(classes: Sequence[Any] | None) -> "pa.DataType":
    """Return the type of predictions: numbers where there are no classes, else what the classes are."""
    import pyarrow as pa

    if classes is None:
        return pa.float64()
    kinds: list[tuple[type, Callable[[], pa.DataType]]] = [
        (bool, pa.bool_),
        (int, pa.int64),
        (float, pa.float64),
    ]
    return next((make() for kind, make in kinds if all(type(one) is kind for one in classes)), pa.string())


def cell_types(rows: Any, names: Sequence[str]) -> dict[str, "pa.DataType"]:
    """Return the types of the cells of a frame, or of an array whose columns are called by names."""
    if not is_frame(rows):
        return {name: _cell_type(rows[:, i]) for i, name in enumerate(names)}
    native = native_of(rows)
    return {name: _cell_type(native_column(native, i)) for i, name in enumerate(names)}


def _cell_type(column: Any) -> "pa.DataType":
    """Return the type of a column's cells, as the data have them; levels as what they are."""
    import pyarrow as pa

    try:
        known = column.to_arrow() if hasattr(column, "to_arrow") else column
        kind = known.type if isinstance(known, pa.ChunkedArray | pa.Array) else _array_type(known)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        # Cells of several types have none in common but text.
        return pa.string()
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_text = pa.types.is_large_string(kind) or pa.types.is_string_view(kind) or pa.types.is_null(kind)
    return pa.string() if is_text else kind


def _array_type(column: Any) -> "pa.DataType":
    import pyarrow as pa

    return pa.array(column, from_pandas=True).type

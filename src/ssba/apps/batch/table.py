"""Explanations as rows of a table whose columns and types are the same for every chunk."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ssba.apps.service import Service
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


class TableForm:
    """The columns of the output, and how explanations become its rows.

    Parameters
    ----------
    service : Service
        What the rows are asked of.
    with_json : bool
        Whether each query has its whole explanation as JSON.
    """

    def __init__(self, service: Service, with_json: bool) -> None:
        self._service = service
        self._with_json = with_json
        self._layout = service.columns.layout
        self._names = [one.name for one in service.columns]
        self.schema = self._schema()

    def table(self, asked: Sequence[Asked]) -> "pa.Table":
        """Return the rows of some queries, a row for each answer; for a query without one, a row, too."""
        import pyarrow as pa

        rows = [row for one in asked for row in self._rows(one)]
        columns = [
            pa.array(self._cells(field, [row.get(field.name) for row in rows]), field.type)
            for field in self.schema
        ]
        return pa.Table.from_arrays(columns, schema=self.schema)

    def _schema(self) -> "pa.Schema":
        import pyarrow as pa

        label = _label_type(self._service.describe().classes)
        rows = self._service.project.rows
        own: dict[str, Any] = {"row": pa.int64()}
        own |= {"id": pa.string()} if self._service.project.settings.id else {}
        own |= {"status": pa.string(), "prediction": label, "score": pa.float64()}
        own |= {"answer": pa.int64(), "reached": pa.bool_(), "distance": pa.float64()}
        own |= {"new_prediction": label, "new_score": pa.float64()}
        told: dict[str, Any] = {"changes": pa.string(), "sentence": pa.string()}
        told |= {"explanation": pa.string()} if self._with_json else {}
        fields = [(self.own(name), kind) for name, kind in own.items()]
        fields += [(name, _cell_type(rows[name])) for name in self._names]
        fields += [(self.own(name), kind) for name, kind in told.items()]
        return pa.schema(fields)

    def own(self, name: str) -> str:
        """Return our name for a column, marked where the model has one of that name."""
        return own_name(name, self._names)

    def _cells(self, field: "pa.Field", cells: list[Any]) -> list[Any]:
        """Return cells as Arrow takes them: results have dates as text, and classes may be of many types."""
        if field.type == "string":
            return [one if one is None or isinstance(one, str) else str(one) for one in cells]
        if field.name not in self._names or self._layout is None:
            return cells
        return self._layout.dtypes[self._names.index(field.name)].cells(cells)

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
            "sentence": self._service.names.told(found).sentence,
        }
        answers = [self._answer(found, one) for one in found.answers] or [{}]
        for number, answer in enumerate(answers, start=1):
            counted = {"answer": number} if found.counterfactuals else {}
            # The whole stands beside the first of its answers alone.
            whole = {"explanation": _json(found)} if number == 1 and self._with_json else {}
            values = answer.pop("values", {})
            yield {**self._named({**front, **answer, **counted, **whole}), **values}

    def _answer(self, found: Explanation, answer: Counterfactual) -> dict[str, Any]:
        told = {}
        if found.counterfactuals:
            alone = replace(found, counterfactuals=(answer,))
            told = {"sentence": self._service.names.told(alone).sentence}
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


def _cell_type(column: Any) -> "pa.DataType":
    """Return the type of a column's cells, as the project's data have them; levels as what they are."""
    import pyarrow as pa

    try:
        kind = pa.array(column, from_pandas=True).type
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        # Cells of several types have none in common but text.
        return pa.string()
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_text = pa.types.is_large_string(kind) or pa.types.is_string_view(kind) or pa.types.is_null(kind)
    return pa.string() if is_text else kind

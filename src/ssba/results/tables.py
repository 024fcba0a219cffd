"""Results as frames of whatever library is at hand."""

from collections.abc import Callable, Container, Mapping, Sequence
from importlib.util import find_spec
from os import PathLike
from typing import TYPE_CHECKING, Any

from ssba.arguments import file_to_write
from ssba.columns.layout import Layout, library_named
from ssba.extras import require

if TYPE_CHECKING:
    from ssba.results.explanation import Explanation

_BACKENDS = ("pandas", "polars", "pyarrow")


def explanation_rows(explanation: "Explanation", only_changes: bool) -> list[dict[str, Any]]:
    """Return the query and its answers as rows; without answers, the query alone."""
    answers = explanation.counterfactuals or ((explanation.bounded,) if explanation.bounded else ())
    label = "counterfactual" if explanation.counterfactuals else "bounded"
    changed = {name for answer in answers for name in answer.changes}
    names = [name for name in explanation.query if not only_changes or not answers or name in changed]
    rows = [_row("query", explanation.query, names, explanation.prediction, explanation.score, 0.0)]
    rows += [_row(label, one.values, names, one.prediction, one.score, one.distance) for one in answers]
    return rows


def explanations_rows(explanations: Sequence["Explanation"], only_changes: bool) -> list[dict[str, Any]]:
    """Return the rows of many explanations, with the number of the query and its status in front."""
    rows = []
    for number, one in enumerate(explanations):
        front = {
            own_name("query", one.query): number,
            own_name("status", one.query): one.status.value,
        }
        rows += [{**front, **row} for row in explanation_rows(one, only_changes=False)]
    if only_changes:
        changed = {name for one in explanations for answer in one.counterfactuals for name in answer.changes}
        changed |= {name for one in explanations if one.bounded for name in one.bounded.changes}
        unchanged = {name for one in explanations for name in one.query} - changed
        rows = [{name: value for name, value in row.items() if name not in unchanged} for row in rows]
    return rows


def _row(
    label: str,
    values: Mapping[str, Any],
    names: Sequence[str],
    prediction: Any,
    score: float | None,
    distance: float,
) -> dict[str, Any]:
    own = {"row": label, "prediction": prediction, "score": score, "distance": distance}
    kept = {name: values[name] for name in names}
    named = {own_name(name, values): fact for name, fact in own.items()}
    front = own_name("row", values)
    return {front: label, **kept, **{name: fact for name, fact in named.items() if name != front}}


def own_name(name: str, taken: Container[str]) -> str:
    """Return our name for a column, marked where the user has a column of that name."""
    return f"ssba_{name}" if name in taken else name


def write_parquet(table: Callable[[], Any], file: str | PathLike[str]) -> None:
    """Write an Arrow table, which is made once pyarrow is known to be there, to a Parquet file."""
    require("pyarrow", "arrow", "to_parquet()")
    import pyarrow.parquet as pq

    path = file_to_write("to_parquet(file)", file)
    pq.write_table(table(), path)


def to_frame(rows: Sequence[Mapping[str, Any]], backend: str | None, layout: Layout | None = None) -> Any:
    """Build a frame of the desired library; else of the user's own, or of the first one that is installed."""
    import narwhals as nw

    if backend is None and layout is not None and layout.library != "numpy":
        backend = layout.library
    if backend is None:
        backend = next((name for name in _BACKENDS if find_spec(name)), "pandas")
    library: Any = library_named(backend)
    names = list(rows[0]) if rows else []
    return nw.from_dict({name: [row[name] for row in rows] for name in names}, backend=library).to_native()

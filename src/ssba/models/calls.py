"""One guarded way of asking the user's model: whatever goes wrong becomes a `ModelError` that helps."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from ssba.errors import ModelError
from ssba.models.answers import Array, plain

_CELLS_SHOWN = 12


@final
@dataclass(frozen=True)
class Call:
    """A function of the user's, the words for it in messages, and a check that it answers every row."""

    who: str
    function: Callable[[Any], Any]

    def __call__(self, rows: Any) -> Array:
        try:
            answer = as_array(self.function(rows))
        except ModelError:
            raise
        except Exception as error:
            came = f"raised {type(error).__name__}: {str(error).rstrip('.')}"
            raise self.error(rows, came, "one answer a row", _fix_for(error)) from error
        if answer.ndim == 0 or len(answer) != len(rows):
            came = f"gave {_what_came(answer)}"
            fix = "return an array with as many entries as there are rows, also for a single row"
            raise self.error(rows, came, "one answer a row", fix)
        return answer

    def error(self, rows: Any, came: str, expected: str, fix: str, *, position: int = 0) -> ModelError:
        """Word a failure of this call, with the batch and one of its rows."""
        batch = f"a batch of {len(rows)} {'row' if len(rows) == 1 else 'rows'}"
        return ModelError(
            f"{self.who}, asked about {batch}, {came}; expected {expected}. "
            f"Example (row {position} of the batch): {example_row(rows, position)}. Likely fix: {fix}."
        )


def as_array(answer: Any) -> Array:
    """Turn lists, series, frames and tensors into a NumPy array."""
    if hasattr(answer, "detach"):
        answer = answer.detach().cpu()
    return np.asarray(answer)


def as_labels(call: Call, answer: Array, rows: Any) -> Array:
    """Check that there is one label a row; a single column is unwrapped."""
    labels = one_column(answer)
    if labels.ndim != 1:
        came = f"gave {_what_came(answer)}"
        fix = "explain one output at a time, for example with a function that returns one column"
        raise call.error(rows, came, "one label a row (multi-output models are not supported)", fix)
    if labels.dtype.kind == "f":
        check_finite(call, labels, rows, "labels without NaN or infinity")
    return labels


def as_scores(call: Call, answer: Array, rows: Any) -> Array:
    """Check that scores are finite floats, [n] or [n, c]."""
    scores = _as_floats(call, answer, rows, "finite scores, one column per class")
    if scores.ndim > 2:
        fix = "return one score per row and class"
        raise call.error(rows, f"gave {_what_came(answer)}", "scores of shape [n] or [n, c]", fix)
    return scores


def as_numbers(call: Call, answer: Array, rows: Any) -> Array:
    """Check that there is one finite number a row; a single column is unwrapped."""
    numbers = _as_floats(call, one_column(answer), rows, "one finite number a row")
    if numbers.ndim != 1:
        fix = "explain one output at a time, for example with a function that returns one column"
        raise call.error(rows, f"gave {_what_came(answer)}", "one finite number a row", fix)
    return numbers


def check_finite(call: Call, answer: Array, rows: Any, expected: str) -> None:
    """Refuse NaN and infinity, and show the first row that got one."""
    finite = np.isfinite(answer)
    if finite.all():
        return
    position = int(np.argwhere(~finite)[0][0])
    came = f"gave {answer[position].tolist()} for row {position}"
    fix = "check that row: a missing cell or an extreme value the model was not trained for"
    raise call.error(rows, came, expected, fix, position=position)


def one_column(answer: Array) -> Array:
    """[n, 1] as [n]; anything else as it is."""
    return answer[:, 0] if answer.ndim == 2 and answer.shape[1] == 1 else answer


def example_row(rows: Any, position: int) -> dict[str, Any]:
    """One row of an array or of any frame as a dict, cut to its first cells."""
    names, cells = _names_and_cells(rows, position)
    shown = {name: plain(cell) for name, cell in zip(names, cells, strict=True)}
    cut = dict(list(shown.items())[:_CELLS_SHOWN])
    if len(shown) > len(cut):
        cut["..."] = f"{len(shown) - len(cut)} more columns"
    return cut


def _names_and_cells(rows: Any, position: int) -> tuple[list[str], list[Any]]:
    import narwhals as nw

    frame = nw.from_native(rows, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return list(frame.columns), list(frame.row(position))
    cells = np.atleast_1d(np.asarray(rows)[position]).tolist()
    return [f"x{i}" for i in range(len(cells))], cells


def _as_floats(call: Call, answer: Array, rows: Any, expected: str) -> Array:
    # An array of Python objects is read again from its items, so that text never passes as a number.
    plain = np.array(answer.tolist()) if answer.dtype.kind == "O" else answer
    if plain.dtype.kind not in "fiu":
        fix = "give value_between only to models of numbers; for a classifier name a class as the target"
        raise call.error(rows, f"gave {_what_came(answer)}", expected, fix)
    floats = plain.astype(np.float64, copy=False)
    check_finite(call, floats, rows, expected)
    return floats


def _what_came(answer: Array) -> str:
    if answer.ndim == 0:
        return f"a single {type(answer.item()).__name__} ({answer.item()!r})"
    first = (
        f", first {answer[0].tolist() if hasattr(answer[0], 'tolist') else answer[0]!r}"
        if len(answer)
        else ""
    )
    if answer.ndim == 1:
        return f"{len(answer)} answers of type {answer.dtype}{first}"
    return f"an array of shape {answer.shape} and type {answer.dtype}{first}"


def _fix_for(error: Exception) -> str:
    names = [kind.__name__ for kind in type(error).__mro__]
    if "NotFittedError" in names or "no trained model" in str(error):
        return "fit the model before explaining it; ssba never fits it"
    return "call the model yourself on the rows you gave as data: it gets the same columns, order and dtypes"

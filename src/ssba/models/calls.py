"""One guarded way of asking the user's model, and models that are nothing but one such call.

Whatever goes wrong becomes a `ModelError` that helps. The answer to the sample rows tells whether a model of
one call gives labels, scores or numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn, final

import numpy as np

from ssba.arrays import namespace, sigmoid, softmax
from ssba.columns.features import is_missing
from ssba.errors import ModelError
from ssba.models.answers import Array, Model, Output, fingerprint, first_highest, in_64_bits, plain
from ssba.models.on_device import OnDevice
from ssba.models.prepared import Prepared

_CELLS_SHOWN = 12
_CHECK_ROW = "check that row: a missing cell or an extreme value the model was not trained for"

Beyond = Literal["refused", "numbers", "logits"]
"""What one column of floats outside [0, 1] means where the user did not ask for numbers."""


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


def as_labels(call: Call, answer: Array, rows: Any, classes: tuple[Any, ...] = (None,)) -> Array:
    """Check that there is one label a row; a single column is unwrapped.

    None is a label only where it is one of the classes, as for a model that answered so to sample rows.
    """
    labels = one_column(answer)
    if labels.ndim != 1:
        came = f"gave {_what_came(answer)}"
        fix = "explain one output at a time, for example with a function that returns one column"
        raise call.error(rows, came, "one label a row (multi-output models are not supported)", fix)
    if labels.dtype.kind == "f":
        check_finite(call, labels, rows, "labels without NaN or infinity")
    _check_given(call, labels, rows, "one label a row", or_none=None in classes)
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
    raise call.error(rows, came, expected, _CHECK_ROW, position=position)


def _check_given(call: Call, answer: Array, rows: Any, expected: str, *, or_none: bool = False) -> None:
    """Refuse answers that are missing, such as null, and show the first row that got one."""
    # Most objects are labels of text; to look at each of these by itself takes long.
    if answer.dtype.kind != "O" or set(map(type, answer.flat)) == {str}:
        return
    missing = (i for i, cell in enumerate(answer.flat) if is_missing(cell) and not (or_none and cell is None))
    if (place := next(missing, None)) is None:
        return
    position = place * len(answer) // answer.size
    raise call.error(rows, f"gave no answer for row {position}", expected, _CHECK_ROW, position=position)


def one_column(answer: Array) -> Array:
    """[n, 1] as [n]; anything else as it is."""
    return answer[:, 0] if answer.ndim == 2 and answer.shape[1] == 1 else answer


def example_row(rows: Any, position: int) -> dict[str, Any]:
    """One row of an array or of any frame as a dict, cut to its first cells."""
    given = rows.given() if isinstance(rows, Prepared) else rows
    names, cells = _names_and_cells(given, position)
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
    _check_given(call, answer, rows, expected)
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


@final
@dataclass(frozen=True)
class Needs:
    """What the target will be judged by, where that is not the labels."""

    numbers: bool = False
    probabilities: bool = False


@final
@dataclass(frozen=True)
class Trial:
    """A call and what it answered to the sample rows."""

    name: str
    call: Call
    rows: Any
    answer: Array
    on_device: OnDevice | None = None


def try_out(name: str, call: Call, rows: Any, on_device: OnDevice | None = None) -> Trial:
    """Ask about the sample rows once; everything that is decided about a model is decided from this."""
    return Trial(name, call, rows, one_column(call(rows)), on_device)


def model_of_answers(trial: Trial, needs: Needs, beyond: Beyond = "refused") -> Model:
    """Adapt a model of one call by the dtype, shape and range of its answer."""
    answer = trial.answer
    if needs.numbers:
        return numbers_model(trial)
    if answer.dtype.kind != "f":
        return labels_model(trial, seen_classes(as_labels(trial.call, answer, trial.rows)))
    as_scores(trial.call, answer, trial.rows)
    if answer.ndim == 2:
        return _scores_model(trial, _columns(answer, beyond))
    if beyond != "logits" and _only_zero_and_one(answer):
        return _zero_one_model(trial)
    if answer.min() >= 0 and answer.max() <= 1:
        return _scores_model(trial, _PROBABILITY)
    if beyond == "logits":
        return _scores_model(trial, _LOGIT)
    if beyond == "numbers":
        return numbers_model(trial)
    raise trial.call.error(
        trial.rows,
        f"gave floats from {answer.min():.6g} to {answer.max():.6g}",
        "labels (text, integers, booleans), the probability of class 1 within [0, 1], or [n, c] class scores",
        "for a model of numbers give target=ssba.value_between(low, high); for a classifier return labels",
    )


def numbers_model(trial: Trial) -> Model:
    """Adapt a regressor: one number a row and no classes."""
    call = trial.call

    def values(rows: Any) -> Output:
        return Output(values=as_numbers(call, call(rows), rows))

    seen = Output(values=as_numbers(call, trial.answer, trial.rows))
    mark = fingerprint(trial.name, None, seen)
    return Model(trial.name, None, False, False, mark, seen, values, values, values, trial.on_device)


def labels_model(trial: Trial, classes: tuple[Any, ...]) -> Model:
    """Adapt a classifier that gives hard labels and nothing else."""
    call = trial.call

    def labels(rows: Any) -> Output:
        return Output(labels=as_labels(call, call(rows), rows, classes))

    seen = Output(labels=trial.answer)
    mark = fingerprint(trial.name, classes, seen)
    return Model(trial.name, classes, False, False, mark, seen, labels, labels, labels)


def seen_classes(labels: Array) -> tuple[Any, ...]:
    """The distinct labels as Python scalars, sorted where they can be."""
    distinct = set(labels.tolist())
    try:
        return tuple(sorted(distinct))
    except TypeError:
        return tuple(sorted(distinct, key=lambda label: (type(label).__name__, repr(label))))


def are_probabilities(scores: Array) -> bool:
    """Whether every row of [n, c] is a distribution over the classes."""
    return bool((scores >= 0).all() and np.allclose(scores.sum(axis=1), 1.0, rtol=0.0, atol=1e-4))


@final
@dataclass(frozen=True)
class _Reading:
    """How an array of floats tells labels and scores.

    Labels are read from the raw floats: a logit of 1e-20 is class 1, though its probability rounds to 0.5.
    """

    classes: tuple[Any, ...]
    label: Callable[[Array], Array]
    score: Callable[[Array], Array]
    probabilities: bool
    within_unit: bool = False


def _above(raw: Array, threshold: float) -> Array:
    xp = namespace(raw)
    # Both NumPy and torch keep a truth value as a byte, 0 or 1: nothing has to be copied.
    numbers: Array = (raw > threshold).view(xp.uint8)
    return numbers


_PROBABILITY = _Reading(
    classes=(0, 1),
    label=lambda raw: _above(raw, 0.5),
    score=lambda raw: namespace(raw).stack([1.0 - raw, raw], axis=1),
    probabilities=True,
    within_unit=True,
)


_LOGIT = _Reading(
    classes=(0, 1),
    label=lambda raw: _above(raw, 0.0),
    score=lambda raw: namespace(raw).stack([sigmoid(-raw), sigmoid(raw)], axis=1),
    probabilities=True,
)


def _columns(answer: Array, beyond: Beyond) -> _Reading:
    classes = tuple(range(answer.shape[1]))
    if beyond == "logits" and not are_probabilities(answer):
        return _Reading(classes, first_highest, softmax, probabilities=True)
    return _Reading(classes, first_highest, lambda raw: raw, probabilities=are_probabilities(answer))


def _scores_model(trial: Trial, reading: _Reading) -> Model:
    call, width = trial.call, trial.answer.shape[1:]

    def floats(answer: Array, rows: Any) -> Array:
        raw = one_column(as_scores(call, answer, rows))
        if raw.shape[1:] != width or (reading.within_unit and (raw.min() < 0 or raw.max() > 1)):
            _refuse_other_form(call, raw, rows, width)
        return raw

    def labels(rows: Any) -> Output:
        return Output(labels=reading.label(floats(call(rows), rows)))

    def read(raw: Array) -> Output:
        return Output(labels=reading.label(raw), scores=reading.score(raw))

    def both(rows: Any) -> Output:
        return read(floats(call(rows), rows))

    seen = read(floats(trial.answer, trial.rows))
    mark = fingerprint(trial.name, reading.classes, seen)
    found = Model(trial.name, reading.classes, True, reading.probabilities, mark, seen, labels, both, both)
    return replace(found, on_device=_read_by(trial.on_device, reading))


def _read_by(device: OnDevice | None, reading: _Reading) -> OnDevice | None:
    """Return the way to ask on the device; labels and scores are read from floats as on the host."""
    if device is None:
        return None
    return replace(
        device,
        label=lambda raw: reading.label(one_column(raw)),
        score=lambda raw: reading.score(in_64_bits(one_column(raw))),
    )


def _refuse_other_form(call: Call, raw: Array, rows: Any, width: tuple[int, ...]) -> NoReturn:
    came = f"gave floats of shape {raw.shape} from {raw.min():.6g} to {raw.max():.6g}"
    expected = f"{width[0]} columns" if width else "the probability of class 1 within [0, 1]"
    fix = "answer every batch in one form (end a network with a sigmoid); for numbers use ssba.value_between"
    raise call.error(rows, came, f"{expected}, as for the sample rows", fix)


def _zero_one_model(trial: Trial) -> Model:
    call = trial.call

    def labels(rows: Any) -> Output:
        answer = as_labels(call, call(rows), rows)
        if not _only_zero_and_one(answer):
            came = f"gave {answer[~_is_zero_or_one(answer)][0]!s}"
            fix = "return integers or text for labels; if these are probabilities, give more background rows"
            raise call.error(rows, came, "only 0.0 and 1.0, as for the sample rows", fix)
        return Output(labels=answer)

    classes = (0.0, 1.0)
    seen = Output(labels=trial.answer)
    mark = fingerprint(trial.name, classes, seen)
    return Model(trial.name, classes, False, False, mark, seen, labels, labels, labels)


def _is_zero_or_one(answer: Array) -> Array:
    return np.asarray((answer == 0) | (answer == 1))


def _only_zero_and_one(answer: Array) -> bool:
    return bool(_is_zero_or_one(answer).all())

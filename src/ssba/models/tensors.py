"""Models that want tensors: torch modules, ONNX sessions and XGBoost's own booster.

None of these libraries is imported here: whoever holds such a model has imported its library already.
"""

import itertools
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np

from ssba.errors import ModelError
from ssba.models.answers import Array, Model
from ssba.models.calls import Call, Needs, Trial, as_labels, model_of_answers, seen_classes, try_out
from ssba.models.kinds import classifier
from ssba.models.on_device import Height, OnDevice

# What a call gets: enough rows to outweigh its fixed cost, few enough that one row more hardly shows. On a
# processor more than so many are shared among threads, whose number then matters.
_ROWS_ON_CPU, _ROWS_ON_DEVICE = 64, 8192


def is_torch_module(model: Any) -> bool:
    """Whether the model is a `torch.nn.Module`, without importing torch."""
    return _descends_from(model, "torch.nn.modules", "Module")


def is_onnx_session(model: Any) -> bool:
    """Whether the model is an `onnxruntime.InferenceSession`, without importing onnxruntime."""
    return _descends_from(model, "onnxruntime", "InferenceSession")


def is_xgboost_booster(model: Any) -> bool:
    """Whether the model is an `xgboost.Booster`, without importing xgboost."""
    return _descends_from(model, "xgboost", "Booster")


def torch_model(module: Any, name: str, rows: Any, needs: Needs) -> Model:
    """Adapt a torch module; it is asked in the dtype and on the device of its parameters."""
    _refuse_training_mode(module, name)
    torch = sys.modules["torch"]

    def like() -> Any:
        # Looked up for each call: the user may move the module to another device in between.
        tensors = itertools.chain(module.parameters(), module.buffers())
        found = next((tensor for tensor in tensors if tensor.is_floating_point()), None)
        return torch.empty(0) if found is None else found

    def tensors_of(rows: Any) -> Any:
        answer = module(rows)
        if not isinstance(answer, torch.Tensor):
            raise TypeError(f"forward returned a {type(answer).__name__}, where one tensor was expected")
        return answer

    def ask(rows: Any) -> Any:
        with torch.no_grad():
            return tensors_of(rows)

    def ask_one_by_one(rows: Any) -> Any:
        with torch.no_grad():
            return torch.cat([tensors_of(row) for row in rows.split(1)])

    def forward(rows: Any, alone: bool = False) -> Array:
        to = like()
        # A copy, so that a layer that works in place cannot write into the rows.
        given = torch.tensor(float_array(rows, name), dtype=to.dtype, device=to.device)
        if alone:
            answer = ask_one_by_one(given)
        else:
            answer = ask(given) if to.dtype == torch.float64 else _in_equal_batches(torch, ask, given)
        # NumPy has no bfloat16, and float64 holds every smaller float exactly.
        wide = answer.cpu().to(torch.float64) if answer.is_floating_point() else answer.cpu()
        return np.asarray(wide.numpy())

    on_device = torch_on_device(like, lambda rows: tensors_of(rows.to(like().dtype)))
    call = Call(f"torch module {name}", forward)
    trial = try_out(name, call, rows, on_device)
    one_by_one = replace(trial, call=replace(call, function=lambda rows: forward(rows, alone=True)))
    alone = model_of_answers(one_by_one, needs, beyond="logits").verdict
    return replace(model_of_answers(trial, needs, beyond="logits"), alone=alone)


def torch_on_device(
    like: Callable[[], Any],
    forward: Callable[[Any], Any],
    label: Callable[[Any], Any] | None = None,
    score: Callable[[Any], Any] | None = None,
) -> OnDevice:
    """Return how torch is asked about rows on the device of `like()`, and in its dtype."""
    torch = sys.modules["torch"]
    ask = torch.no_grad()(forward)

    def place() -> tuple[str, str]:
        to = like()
        return str(to.device), str(to.dtype).removeprefix("torch.")

    def bring(rows: Any, wide: bool) -> Any:
        to = like()
        dtype = torch.float64 if wide else to.dtype
        return torch.as_tensor(np.ascontiguousarray(rows), device=to.device).to(dtype)

    def steady(rows: Any) -> Any:
        # The rows are asked about again: a layer that works in place gets a copy.
        mine = rows.clone()
        return ask(mine) if like().dtype == torch.float64 else _in_equal_batches(torch, ask, mine)

    def slopes(rows: Any, height: Height) -> Any:
        with torch.enable_grad():
            leaf = rows.detach().requires_grad_()
            # Steps from here to there keep the last bits, which those of margins do not: 64 bits do not help.
            heights = _in_equal_batches(torch, lambda rows: height(forward(rows.clone())), leaf)
            (slopes,) = torch.autograd.grad(heights.sum(), leaf)
        return heights.detach(), slopes

    return OnDevice(place, bring, ask, steady, slopes, label, score)


def _in_equal_batches(torch: Any, ask: Callable[[Any], Any], rows: Any) -> Any:
    """Ask about rows in batches of one size, the last one filled up.

    In 32 bits and less, the sums of a layer come out differently in batches of different sizes, by so much
    that a search would take another way. In batches of one size a row's answer is always the same.
    """
    size = _ROWS_ON_CPU if rows.device.type == "cpu" else _ROWS_ON_DEVICE
    short = -len(rows) % size
    full = torch.cat([rows, rows[-1:].expand(short, *rows.shape[1:])]) if short else rows
    answers = [ask(part) for part in full.split(size)]
    if any(not one.ndim or len(one) != size for one in answers):
        # Not one answer a row, which is for whoever asked to see.
        return ask(rows)
    return torch.cat(answers)[: len(rows)]


def booster_model(booster: Any, name: str, rows: Any, needs: Needs) -> Model:
    """Adapt XGBoost's native booster, whose `predict` would want its own matrix type."""
    call = Call(f"xgboost {name}.inplace_predict", booster.inplace_predict)
    return model_of_answers(try_out(name, call, rows), needs, beyond="numbers")


def onnx_model(session: Any, name: str, rows: Any, needs: Needs) -> Model:
    """Adapt an ONNX session: labels with or without scores, or one output of floats."""
    feed = _feed(session.get_inputs(), name)
    outputs = session.get_outputs()
    label = next((out.name for out in outputs if out.type in ("tensor(int64)", "tensor(string)")), None)
    floats = [out for out in outputs if out.type in _FLOATS or out.type.startswith("seq(map(")]

    def asking(output: str) -> Call:
        return Call(f"ONNX session, output {output!r}", lambda rows: session.run([output], feed(rows))[0])

    if label is None:
        return model_of_answers(try_out(name, asking(_only_output(floats, name)), rows), needs)
    trial = try_out(name, asking(label), rows)
    # Several float outputs beside the label could mean anything; the labels alone are enough.
    if len(floats) != 1:
        return model_of_answers(trial, needs)
    return _onnx_classifier(trial, asking(floats[0].name), needs)


def float_array(rows: Any, name: str) -> Array:
    """Rows as one array of floats; a column that is not made of numbers is refused by name."""
    if isinstance(rows, np.ndarray) and rows.dtype.kind in "fiub":
        return rows
    frame = _frame(rows)
    if frame is None:
        raise ModelError(f"{name} wants numbers, but the rows are an array of {np.asarray(rows).dtype}")
    for column, dtype in frame.schema.items():
        if not (dtype.is_numeric() or dtype == nw.Boolean):
            raise ModelError(
                f"{name} wants numbers, but column {column!r} is {dtype}; "
                "give a function that encodes the column and calls the model"
            )
    return frame.select(nw.all().cast(nw.Float64)).to_numpy()


_FLOATS = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}
_DTYPES: dict[str, Any] = {
    **_FLOATS,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.object_,
}


def _descends_from(model: Any, package: str, name: str) -> bool:
    return any(
        base.__name__ == name and (base.__module__ == package or base.__module__.startswith(f"{package}."))
        for base in type(model).__mro__
    )


def _refuse_training_mode(module: Any, name: str) -> None:
    for part in module.modules():
        kind = type(part).__name__
        drops = isinstance(getattr(part, "dropout", None), float) and part.dropout > 0
        if part.training and (drops or "Dropout" in kind or "BatchNorm" in kind):
            raise ModelError(
                f"torch module {name} is in training mode and contains {kind}, so its answers would depend "
                "on chance or on the rest of the batch; call model.eval() first: ssba never changes a model"
            )


def _only_output(floats: Sequence[Any], name: str) -> str:
    if len(floats) != 1:
        names = [out.name for out in floats]
        raise ModelError(
            f"ONNX model {name} has the float outputs {names} and no label output; expected labels or one "
            "output of floats; give a function that runs the session and returns the output you mean"
        )
    return str(floats[0].name)


def _onnx_classifier(trial: Trial, ask_scores: Call, needs: Needs) -> Model:
    as_labels(trial.call, trial.answer, trial.rows)
    answer = ask_scores.function(trial.rows)
    if isinstance(answer, list):
        classes = tuple(answer[0])
        columns = Call(ask_scores.who, _from_maps(ask_scores.function, classes))
        return classifier(trial, [columns], classes, needs)
    classes, width = seen_classes(trial.answer), answer.shape[-1]
    if len(classes) < width and set(classes) <= set(range(width)):
        classes = tuple(range(width))
    return classifier(trial, [ask_scores], classes, needs)


def _from_maps(run: Callable[[Any], Any], classes: tuple[Any, ...]) -> Callable[[Any], Array]:
    return lambda rows: np.array([[scores[label] for label in classes] for scores in run(rows)])


def _feed(inputs: Sequence[Any], name: str) -> Callable[[Any], dict[str, Array]]:
    unknown = [slot.type for slot in inputs if slot.type not in _DTYPES]
    if unknown:
        raise ModelError(f"ONNX model {name} has inputs of type {unknown}; supported: {sorted(_DTYPES)}")
    if len(inputs) == 1:
        return lambda rows: {inputs[0].name: _whole(rows, inputs[0], name)}
    return lambda rows: _by_column(rows, inputs, name)


def _whole(rows: Any, slot: Any, name: str) -> Array:
    if slot.type == "tensor(string)":
        frame = _frame(rows)
        return np.asarray(rows if frame is None else frame.to_numpy(), dtype=object)
    return float_array(rows, name).astype(_DTYPES[slot.type], copy=False)


def _by_column(rows: Any, inputs: Sequence[Any], name: str) -> dict[str, Array]:
    wanted = [slot.name for slot in inputs]
    frame = _frame(rows)
    if frame is not None:
        columns = {column: frame.get_column(column).to_numpy() for column in frame.columns}
    else:
        columns = dict(zip(wanted, np.asarray(rows).T, strict=False))
    missing = [column for column in wanted if column not in columns]
    if missing:
        raise ModelError(
            f"ONNX model {name} has an input for each column, {wanted}, but the rows have no {missing}, only "
            f"{list(columns)}; rename the columns or give a function that calls the session"
        )
    return {slot.name: _cells(columns[slot.name], slot) for slot in inputs}


def _cells(column: Array, slot: Any) -> Array:
    cells = column.astype(_DTYPES[slot.type])
    return cells if len(slot.shape) == 1 else cells.reshape(-1, 1)


def _frame(rows: Any) -> nw.DataFrame[Any] | None:
    frame = nw.from_native(rows, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None

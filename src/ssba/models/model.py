"""Adapting models: whatever the user trained becomes a `Model`, and is never fitted or changed."""

import pickle
from functools import partial
from typing import Any

from ssba.errors import ModelError
from ssba.models.answers import Model, Output
from ssba.models.calls import Call, Needs, model_of_answers, try_out
from ssba.models.kinds import model_with_predict
from ssba.models.tensors import (
    booster_model,
    is_onnx_session,
    is_torch_module,
    is_xgboost_booster,
    onnx_model,
    torch_model,
)
from ssba.models.twin import is_twin, twin_model

__all__ = ["Model", "Output", "adapt", "refuse_unpicklable"]


def adapt(
    model: Any, sample_rows: Any, *, wants_numbers: bool = False, wants_probabilities: bool = False
) -> Model:
    """Find out how to ask a model, from its type and from its answers to the sample rows.

    Parameters
    ----------
    model
        Anything with ``predict``, a torch module, an ONNX session, an XGBoost booster, or a function of rows.
        A twin of `ssba.to_torch` is asked itself, but `Model.verdict` asks its original.
    sample_rows
        Rows as the user would give them to the model. A model that does not list its classes is taken to
        know those that it predicts here.
    wants_numbers
        The target is an interval of numbers, so floats are numbers and not probabilities.
    wants_probabilities
        The target is a probability, so `Model.output` gives probabilities where the model has them, also
        where its labels do not follow the highest one (its labels are then None).

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.2], [0.9]])
    >>> def risk(rows):
    ...     return rows[:, 0]
    >>> model = adapt(risk, rows)
    >>> model.classes, model.labels(rows).labels.tolist()
    ((0, 1), [0, 1])
    >>> adapt(risk, rows, wants_numbers=True).labels(rows).values.tolist()
    [0.2, 0.9]
    """
    needs = Needs(numbers=wants_numbers, probabilities=wants_probabilities)
    name = getattr(model, "__name__", None) or type(model).__name__
    if isinstance(model, type):
        raise ModelError(f"{name} is a class, not a model: give a fitted {name} object")
    if is_twin(model):
        # A twin that tells classes apart gives no numbers, also where the answers of its original could be
        # read as such.
        numbers = wants_numbers and model.classes is None
        return twin_model(model, sample_rows, needs, partial(adapt, wants_numbers=numbers))
    if is_torch_module(model):
        return torch_model(model, name, sample_rows, needs)
    if is_onnx_session(model):
        return onnx_model(model, name, sample_rows, needs)
    if is_xgboost_booster(model):
        return booster_model(model, name, sample_rows, needs)
    if hasattr(model, "predict"):
        return model_with_predict(model, name, sample_rows, needs)
    if callable(model):
        who = f"function {name}" if hasattr(model, "__name__") else name
        return model_of_answers(try_out(name, Call(who, model), sample_rows), needs)
    raise ModelError(
        f"{model!r} ({name}) has no predict method and is not callable; give a fitted model with predict, "
        "a torch.nn.Module, an onnxruntime.InferenceSession, or a function from rows to labels or numbers"
    )


def refuse_unpicklable(model: Any, name: str) -> None:
    """Refuse to pickle what is built around a model that has no pickle of its own."""
    try:
        pickle.dumps(model)
    except Exception as error:
        raise ModelError(
            f"the model {name} cannot be pickled, and so neither can its explainer ({type(error).__name__}: "
            f"{error}); give a function that is defined by name at the top of a module, instead of a lambda "
            "or a function inside another one, or a model that can be pickled"
        ) from error

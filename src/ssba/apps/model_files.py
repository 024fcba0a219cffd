"""Reads trained models, each told by the end of its file's name.

A model file may be a program in disguise: unpickling one runs whatever its author put in. So skops files are
read with known types only, torch files as weights only, ONNX, XGBoost and LightGBM files hold no code, and
pickles need the user's word. All are read by the libraries' own parsers, which a file can still crash.
"""

import json
import sys
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ssba.apps.lightgbm_text import broken_tree
from ssba.apps.loading import by_ending, must_exist, one_line_errors
from ssba.errors import MissingExtra, ModelError
from ssba.extras import require


@dataclass(frozen=True)
class Trust:
    """What the user vouches for: pickles as a whole, or single types inside of a skops file."""

    pickle: bool = False
    types: tuple[str, ...] = ()


NO_TRUST = Trust()


@dataclass(frozen=True)
class ModelFile:
    """A file of a model, where its name comes from, and for torch the module that it holds the weights of."""

    path: Path
    called: str = "--model"
    module: str | None = None

    def __str__(self) -> str:
        """Name the file as messages do."""
        return f"{self.called} {self.path}"


def load_model(file: ModelFile, trust: Trust = NO_TRUST) -> Any:
    """Load a trained model in a form that `ssba.Explainer` takes."""
    load = by_ending(file.path, _MODELS, file.called)
    must_exist(file.path, file.called)
    with one_line_errors(f"{file} cannot be loaded", ModelError):
        return load(file, trust)


# skops asks about dtypes, too, which every encoder of categories holds; they are read from an array's header.
_HARMLESS = ("numpy.dtype",)


def _load_skops(file: ModelFile, trust: Trust) -> Any:
    require("skops", "skops", "reading a skops file")
    from skops import io

    trusted = [*_HARMLESS, *trust.types]
    try:
        unknown = sorted(set(io.get_untrusted_types(file=file.path)) - set(trusted))
    except zipfile.BadZipFile:
        raise ModelError(f"{file} is not a skops file (it is no zip archive)") from None
    if unknown:
        options = " ".join(f"--trust-type {name}" for name in unknown)
        line = f"trust_types = {json.dumps([*trust.types, *unknown])}"
        raise ModelError(
            f"{file} holds types that skops does not know to be harmless: {', '.join(unknown)}; if you trust "
            f"whoever wrote the file, add {options}, or write into the project file: {line}"
        )
    return io.load(file.path, trusted=trusted)


def _load_onnx(file: ModelFile, trust: Trust) -> Any:
    require("onnxruntime", "onnx", "running an ONNX model")
    import onnxruntime

    # The CPU gives the same numbers on every machine, so that an index fits its model everywhere.
    return onnxruntime.InferenceSession(file.path, providers=["CPUExecutionProvider"])


def _load_pickle(file: ModelFile, trust: Trust) -> Any:
    if not trust.pickle:
        raise ModelError(
            f"{file} is a pickle, and loading one runs any code that its author put in; give a "
            ".skops or .onnx file instead, or add --trust-pickle if you made the file or trust whoever did"
        )
    sys.stderr.write(
        f"ssba: warning: {file.path} is a pickle: loading it runs any code that its author put in\n"
    )
    import joblib

    return joblib.load(file.path)  # also reads what `pickle` wrote


def _load_xgboost(file: ModelFile, trust: Trust) -> Any:
    if find_spec("xgboost") is None:
        raise MissingExtra("reading an XGBoost model needs xgboost: pip install xgboost")
    import xgboost

    return xgboost.Booster(model_file=file.path)


def _load_lightgbm(file: ModelFile, trust: Trust) -> Any:
    if find_spec("lightgbm") is None:
        raise MissingExtra("reading a LightGBM model needs lightgbm: pip install lightgbm")
    import lightgbm

    with file.path.open("rb") as content:
        # Looked at here, because LightGBM writes its own complaints to the terminal.
        if content.readline().strip() != b"tree":
            raise ModelError(f"{file} is not a LightGBM model as text (its first line is not 'tree')")
    if problem := broken_tree(file.path):
        raise ModelError(f"{file} is damaged: {problem}; write it again with booster.save_model")
    return lightgbm.Booster(model_file=file.path)


def _load_torch(file: ModelFile, trust: Trust) -> Any:
    require("torch", "torch", "running a torch module")
    import torch

    module = _make_module(file)
    weights = torch.load(file.path, map_location="cpu", weights_only=True)
    if not isinstance(weights, dict):
        raise ModelError(
            f"{file} holds a {type(weights).__name__}, not weights; write them with "
            "torch.save(module.state_dict(), FILE)"
        )
    try:
        module.load_state_dict(weights)
    except RuntimeError as error:
        # Its first line says nothing but that there is an error.
        said = " ".join(str(error).split()[:60])
        raise ModelError(f"{file} does not fit the module {file.module}: {said}") from None
    return module.eval()


def _make_module(file: ModelFile) -> Any:
    """Make the module without its weights."""
    import torch

    package, colon, name = (file.module or "").partition(":")
    if not (package and colon and name):
        raise ModelError(
            f"{file} holds weights only, and module is {file.module!r}; name the class that they belong to "
            'in the project file: module = "package.module:Class"'
        )
    make = getattr(import_module(package), name, None)
    if not callable(make):
        raise ModelError(f"{file}: module is {file.module!r}, but {package} has no class {name}")
    module = make()
    if not isinstance(module, torch.nn.Module):
        raise ModelError(f"{file}: {file.module} makes a {type(module).__name__}, not a torch.nn.Module")
    return module


ModelReader = Callable[[ModelFile, Trust], Any]

_MODELS: dict[str, ModelReader] = {
    ".skops": _load_skops,
    ".onnx": _load_onnx,
    ".ubj": _load_xgboost,
    ".json": _load_xgboost,
    ".txt": _load_lightgbm,
    ".lgb": _load_lightgbm,
    ".pt": _load_torch,
    ".pth": _load_torch,
    ".pkl": _load_pickle,
    ".pickle": _load_pickle,
    ".joblib": _load_pickle,
}

MODEL_SUFFIXES: Sequence[str] = tuple(_MODELS)

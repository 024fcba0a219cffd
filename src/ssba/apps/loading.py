"""Reads what the command line is given: tables of rows and models, each told by the end of its file's name.

A model file may be a program in disguise: unpickling one runs whatever its author put in. So skops files are
read with known types only, ONNX and XGBoost files hold no code, and pickles need the user's word.
"""

import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ssba.errors import ArgumentError, MissingExtra, ModelError, SchemaError, SsbaError
from ssba.extras import require

if TYPE_CHECKING:
    import pandas as pd

Choice = TypeVar("Choice")


@dataclass(frozen=True)
class Trust:
    """What the user vouches for: pickles as a whole, or single types inside of a skops file."""

    pickle: bool = False
    types: tuple[str, ...] = ()


NO_TRUST = Trust()


def read_table(path: Path) -> "pd.DataFrame":
    """Read a CSV or Parquet file as pandas does by itself, which is how most models met their data.

    In a CSV file a column of whole numbers is int64, other numbers float64, true and false boolean,
    everything else text; an empty cell, and a few words such as ``NA``, are missing. Parquet keeps the
    dtypes it was written with, categories and their order among them.
    """
    read = by_ending(path, _TABLES)
    _must_exist(path, "--data")
    with _told_in_one_line(f"--data {path} cannot be read", SchemaError):
        table = read(path)
    if not len(table):
        raise SchemaError(f"--data {path} holds no rows")
    return table


def load_model(path: Path, trust: Trust = NO_TRUST) -> Any:
    """Load a trained model in a form that `ssba.Explainer` takes."""
    load = by_ending(path, _MODELS)
    _must_exist(path, "--model")
    with _told_in_one_line(f"--model {path} cannot be loaded", ModelError):
        return load(path, trust)


@contextmanager
def _told_in_one_line(what: str, kind: type[SsbaError]) -> Iterator[None]:
    """Turn whatever a library raises about a file from elsewhere into one line of ours."""
    try:
        yield
    except (SsbaError, MemoryError):
        raise
    except ModuleNotFoundError as error:
        fix = f"install {error.name}, or name the folder of {error.name}.py in PYTHONPATH"
        raise kind(f"{what}: it needs the module {error.name}; {fix}") from error
    except Exception as error:
        # Libraries add traces and whole documents below their first line.
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise kind(f"{what}: {lines[0] if lines else type(error).__name__}") from error


def by_ending(path: Path, choices: Mapping[str, Choice]) -> Choice:
    """Choose by the end of a file's name, or refuse the name.

    >>> by_ending(Path("rows.CSV"), {".csv": "text", ".parquet": "columns"})
    'text'
    """
    name = path.name.lower()
    known = [suffix for suffix in choices if name.endswith(suffix)]
    if not known:
        raise ArgumentError(f"{path}: the name must end in one of {', '.join(choices)}")
    return choices[known[0]]


def _must_exist(path: Path, option: str) -> None:
    if not path.is_file():
        raise ArgumentError(f"{option} {path}: there is no such file")


def _read_csv(path: Path) -> "pd.DataFrame":
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            # Left alone, pandas takes a first cell beyond the header for the row's name, which shifts all
            # columns, and a column's dtype may depend on which rows were read together.
            return pd.read_csv(path, index_col=False, low_memory=False)
        except pd.errors.ParserWarning:
            raise SchemaError(f"--data {path}: the rows have more cells than the header has names") from None


def _read_parquet(path: Path) -> "pd.DataFrame":
    require("pyarrow", "arrow", "reading a Parquet file")
    import pandas as pd

    return pd.read_parquet(path)


# skops asks about dtypes, too, which every encoder of categories holds; they are read from an array's header.
_HARMLESS = ("numpy.dtype",)


def _load_skops(path: Path, trust: Trust) -> Any:
    require("skops", "skops", "reading a skops file")
    from skops import io

    trusted = [*_HARMLESS, *trust.types]
    try:
        unknown = sorted(set(io.get_untrusted_types(file=path)) - set(trusted))
    except zipfile.BadZipFile:
        raise ModelError(f"--model {path} is not a skops file (it is no zip archive)") from None
    if unknown:
        options = " ".join(f"--trust-type {name}" for name in unknown)
        raise ModelError(
            f"--model {path} holds types that skops does not know to be harmless: {', '.join(unknown)}; if "
            f"you trust whoever wrote the file, add {options}"
        )
    return io.load(path, trusted=trusted)


def _load_onnx(path: Path, trust: Trust) -> Any:
    require("onnxruntime", "onnx", "running an ONNX model")
    import onnxruntime

    # The CPU gives the same numbers on every machine, so that an index fits its model everywhere.
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def _load_pickle(path: Path, trust: Trust) -> Any:
    if not trust.pickle:
        raise ModelError(
            f"--model {path} is a pickle, and loading one runs any code that its author put in; give a "
            ".skops or .onnx file instead, or add --trust-pickle if you made the file or trust whoever did"
        )
    sys.stderr.write(f"ssba: warning: {path} is a pickle: loading it runs any code that its author put in\n")
    import joblib

    return joblib.load(path)  # also reads what `pickle` wrote


def _load_xgboost(path: Path, trust: Trust) -> Any:
    if find_spec("xgboost") is None:
        raise MissingExtra("reading an XGBoost model needs xgboost: pip install xgboost")
    import xgboost

    return xgboost.Booster(model_file=path)


TableReader = Callable[[Path], "pd.DataFrame"]
ModelReader = Callable[[Path, Trust], Any]

_TABLES: dict[str, TableReader] = {
    ".csv": _read_csv,
    ".csv.gz": _read_csv,
    ".parquet": _read_parquet,
}

_MODELS: dict[str, ModelReader] = {
    ".skops": _load_skops,
    ".onnx": _load_onnx,
    ".ubj": _load_xgboost,
    ".json": _load_xgboost,
    ".pkl": _load_pickle,
    ".pickle": _load_pickle,
    ".joblib": _load_pickle,
}

TABLE_SUFFIXES: Sequence[str] = tuple(_TABLES)
MODEL_SUFFIXES: Sequence[str] = tuple(_MODELS)

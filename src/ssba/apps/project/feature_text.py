"""What is said about a column on the command line: `age=integer:low=18`."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ssba.apps.project.settings import FeatureSettings, Label
from ssba.apps.project.target import label_readings
from ssba.errors import ArgumentError

if TYPE_CHECKING:
    import pandas as pd

FEATURE_FORMS = (
    "NAME=integer, NAME=categorical, NAME=boolean, NAME=ordinal:low,middle,high or "
    "NAME=numeric:step=0.1,low=0"
)

_FEATURE = re.compile(r"(?P<name>.+?)=(?P<kind>numeric|integer|ordinal|categorical|boolean)(:(?P<more>.*))?")
_SETTINGS = {"numeric": ("step", "low", "high", "unit"), "integer": ("low", "high", "unit")}


def read_features(texts: Sequence[str], table: "pd.DataFrame") -> dict[str, FeatureSettings]:
    """Read what the user says about columns of a table.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [40, 50], "pain": ["some", "none"]})
    >>> said = read_features(["age=integer:low=18", "pain=ordinal:none,some,much"], table)
    >>> said["age"].low, said["pain"].levels
    (18.0, ('none', 'some', 'much'))
    """
    return dict(_read(text, table) for text in texts)


def _read(text: str, table: "pd.DataFrame") -> tuple[str, FeatureSettings]:
    from ssba.apps.project.opened import require_column

    found = _FEATURE.fullmatch(text)
    if found is None:
        raise ArgumentError(f"--feature {text!r} is not understood; give {FEATURE_FORMS}")
    name, kind, more = found["name"], found["kind"], found["more"] or ""
    require_column(table, name, "--feature")
    try:
        return name, FeatureSettings.model_validate({"kind": kind, **_said(kind, more, table[name])})
    except ValueError as error:
        raise ArgumentError(f"--feature {text!r}: {error}") from error


def _said(kind: str, more: str, column: "pd.Series[Any]") -> Mapping[str, Any]:
    if kind == "boolean" and more:
        raise ValueError("boolean takes nothing behind it")
    if kind in _SETTINGS:
        return dict(_setting(kind, part) for part in more.split(",") if part)
    return {"levels": [_level(one.strip(), column) for one in more.split(",")]} if more else {}


def _setting(kind: str, text: str) -> tuple[str, Any]:
    key, sign, value = (piece.strip() for piece in text.partition("="))
    if not sign or key not in _SETTINGS[kind]:
        raise ValueError(f"{text!r} is none of {', '.join(f'{one}=' for one in _SETTINGS[kind])}")
    if key == "unit":
        return key, value
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{key}={value} is not a number")
    if key == "step" and number <= 0:
        raise ValueError(f"step={value} is not above 0")
    return key, number


def _level(text: str, column: "pd.Series[Any]") -> Label:
    """A level as the column holds it: its value of that spelling, else a number or text as the dtype says."""
    import pandas as pd

    spelled = {str(value): value for value in column.dropna().unique().tolist()}
    level: Label = spelled.get(text, text)
    if text not in spelled and pd.api.types.is_numeric_dtype(column):
        level = label_readings(text)[0]
    return level

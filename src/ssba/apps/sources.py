"""The options that every command about a model shares, and the `Explainer` that they describe."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

import ssba
from ssba.apps.loading import MODEL_SUFFIXES, TABLE_SUFFIXES, Trust, load_model, read_table
from ssba.columns.features import Declaration, unknown_columns
from ssba.errors import ArgumentError, SchemaError, TargetError

if TYPE_CHECKING:
    import pandas as pd

TARGET_FORMS = "LABEL, probability:LABEL>=0.7 or value:LOW..HIGH"
FEATURE_FORMS = (
    "NAME=integer, NAME=categorical, NAME=boolean, NAME=ordinal:low,middle,high or "
    "NAME=numeric:step=0.1,low=0"
)


@dataclass(frozen=True)
class Sources:
    """Which model, which rows, and what is asked for: the options, as they were given."""

    data: Annotated[Path, typer.Option(metavar="FILE", help=f"Background rows: {', '.join(TABLE_SUFFIXES)}.")]
    model: Annotated[
        Path, typer.Option(metavar="FILE", help=f"The trained model: {', '.join(MODEL_SUFFIXES)}.")
    ]
    target: Annotated[
        str | None,
        typer.Option(metavar="TARGET", help=f"{TARGET_FORMS}; without it: any class but the predicted one."),
    ] = None
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of true labels: taken out, and only correctly predicted rows are paired.",
        ),
    ] = None
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column that the model does not take; may be repeated."),
    ] = None
    feature: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=KIND",
            help=f"Kind of a column, where the file does not tell: {FEATURE_FORMS}; may be repeated.",
        ),
    ] = None
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Which pairs of rows come first.")] = 0
    trust_pickle: Annotated[
        bool, typer.Option("--trust-pickle", help="Load a pickle, although that runs any code in it.")
    ] = False
    trust_type: Annotated[
        list[str] | None,
        typer.Option(metavar="TYPE", help="Further type that a .skops file may hold; may be repeated."),
    ] = None


@dataclass(frozen=True)
class Opened:
    """What the options stand for: the explainer, and the true labels of its background rows, if given."""

    explainer: ssba.Explainer
    labels: Any


def with_sources(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command, whose first parameter is a `Sources`, one option for each of its fields."""
    hints = get_type_hints(Sources, include_extras=True)
    shared = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(Sources)
    ]
    _, *own = inspect.signature(command, eval_str=True).parameters.values()
    own = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]

    @wraps(command)
    def run(**given: Any) -> None:
        sources = Sources(**{one.name: given.pop(one.name) for one in shared})
        command(sources, **given)

    # typer reads the options off the signature and the annotations.
    vars(run)["__signature__"] = inspect.Signature([*own, *shared])
    run.__annotations__ = {one.name: one.annotation for one in (*own, *shared)}
    return run


def open_sources(sources: Sources) -> Opened:
    """Read data and model, and put an explainer around them."""
    table = read_table(sources.data)
    labels = None if sources.labels is None else _column(table, sources.labels, "--labels")
    unused = [*(sources.ignore or []), *([] if sources.labels is None else [sources.labels])]
    rows = without_columns(table, unused)
    kinds = declared_kinds(sources.feature or [], rows)
    model = load_model(sources.model, Trust(sources.trust_pickle, tuple(sources.trust_type or ())))
    return Opened(_explainer(model, rows, sources, kinds), labels)


def _explainer(
    model: Any, rows: "pd.DataFrame", sources: Sources, kinds: Mapping[str, Declaration]
) -> ssba.Explainer:
    """Build the explainer with the first reading of the target that is an outcome of the model."""
    refused: list[TargetError] = []
    for target in target_readings(sources.target):
        try:
            return ssba.Explainer(model, rows, target, features=kinds, seed=sources.seed)
        except TargetError as error:
            refused.append(error)
    raise TargetError(f"{refused[0]}; on the command line: --target {TARGET_FORMS}") from refused[0]


def without_columns(table: "pd.DataFrame", names: Sequence[str]) -> "pd.DataFrame":
    """Return the table without some columns, each of which must be there."""
    for name in names:
        _column(table, name, "--ignore")
    left = table.drop(columns=list(names))
    if not len(left.columns):
        raise SchemaError("--ignore and --labels leave no column for the model")
    return left


def _column(table: "pd.DataFrame", name: str, option: str) -> "pd.Series[Any]":
    if name not in table.columns:
        raise SchemaError(unknown_columns([name], [str(one) for one in table.columns], option))
    return table[name]


def target_readings(text: str | None) -> list[Any]:
    """All that a target on the command line may mean, the likeliest first: ``1`` is a number or a text.

    >>> target_readings("no disease"), target_readings("1")
    (['no disease'], [1, '1'])
    >>> target_readings("probability:no disease>=0.7")
    [Probability(label='no disease', at_least=0.7, at_most=1.0)]
    >>> target_readings("value:..120")
    [ValueBetween(low=-inf, high=120.0)]
    >>> target_readings("label:value:3")
    ['value:3']
    """
    if text is None:
        return [None]
    form, colon, rest = text.partition(":")
    if colon and form == "label":
        return _label_readings(rest)
    if colon and form == "probability":
        label, sign, least = rest.rpartition(">=")
        if not sign:
            raise _not_a_target(text)
        return [ssba.probability(one, at_least=_target_number(least, text)) for one in _label_readings(label)]
    if colon and form == "value":
        low, dots, high = rest.partition("..")
        if not dots:
            raise _not_a_target(text)
        ends = {"low": low, "high": high}
        return [
            ssba.value_between(**{end: _target_number(one, text) for end, one in ends.items() if one.strip()})
        ]
    return _label_readings(text)


def _label_readings(text: str) -> list[Any]:
    if text in ("True", "False"):
        return [text == "True", text]
    for read in (int, float):
        try:
            return [read(text), text]
        except ValueError:
            continue
    return [text]


def _target_number(text: str, target: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise _not_a_target(target) from None


def _not_a_target(text: str) -> ArgumentError:
    return ArgumentError(
        f"--target {text!r} is not understood; give {TARGET_FORMS} (label:{text} if that is a class's name)"
    )


_FEATURE = re.compile(r"(?P<name>.+?)=(?P<kind>numeric|integer|ordinal|categorical|boolean)(:(?P<more>.*))?")
_SETTINGS = {"numeric": ("step", "low", "high", "unit"), "integer": ("low", "high", "unit")}


def declared_kinds(texts: Sequence[str], rows: "pd.DataFrame") -> dict[str, Declaration]:
    """Read what the user says about columns.

    >>> import pandas as pd
    >>> rows = pd.DataFrame({"age": [40, 50], "pain": ["some", "none"]})
    >>> kinds = declared_kinds(["age=integer:low=18", "pain=ordinal:none,some,much"], rows)
    >>> kinds["age"].low, kinds["pain"].levels
    (18.0, ('none', 'some', 'much'))
    """
    return dict(_declared(text, rows) for text in texts)


def _declared(text: str, rows: "pd.DataFrame") -> tuple[str, Declaration]:
    found = _FEATURE.fullmatch(text)
    if found is None:
        raise ArgumentError(f"--feature {text!r} is not understood; give {FEATURE_FORMS}")
    name, kind, more = found["name"], found["kind"], found["more"] or ""
    column = _column(rows, name, "--feature")
    try:
        return name, _declaration(kind, more, column)
    except ValueError as error:
        raise ArgumentError(f"--feature {text!r}: {error}") from error


def _declaration(kind: str, more: str, column: "pd.Series[Any]") -> Declaration:
    if kind == "boolean":
        if more:
            raise ValueError("boolean takes nothing behind it")
        return ssba.boolean()
    if kind in _SETTINGS:
        make: Callable[..., Declaration] = ssba.numeric if kind == "numeric" else ssba.integer
        return make(**_settings(kind, more))
    levels = [_level(one.strip(), column) for one in more.split(",")] if more else None
    return ssba.ordinal(levels or []) if kind == "ordinal" else ssba.categorical(levels)


def _settings(kind: str, more: str) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for part in filter(None, more.split(",")):
        key, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign or key not in _SETTINGS[kind]:
            raise ValueError(f"{part!r} is none of {', '.join(f'{one}=' for one in _SETTINGS[kind])}")
        given[key] = value if key == "unit" else _number(key, value)
    return given


def _number(key: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{key}={text} is not a number") from None


def _level(text: str, column: "pd.Series[Any]") -> Any:
    """A level as the column holds it: its value of that spelling, else a number or text as the dtype says."""
    import pandas as pd

    spelled = {str(value): value for value in column.dropna().unique().tolist()}
    if text in spelled:
        return spelled[text]
    return _label_readings(text)[0] if pd.api.types.is_numeric_dtype(column) else text

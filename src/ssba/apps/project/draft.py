"""A first draft of a project: what a model and its data tell about each other."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import ssba
from ssba.apps.project.model_columns import columns_taken
from ssba.apps.project.opened import OpenedProject, require_column
from ssba.apps.project.settings import as_label
from ssba.columns.features import unknown_columns
from ssba.errors import ModelError, SchemaError, TargetError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Draft:
    """A project that can be asked, and why some of its settings are as they are."""

    project: OpenedProject
    explainer: ssba.Explainer
    notes: dict[str, str] = field(default_factory=dict)


def draft_project(given: OpenedProject) -> Draft:
    """Fill in which columns of the data are labels, names of rows, or of no use to the model.

    What the settings say already is left as it is; the target is written as the model has it.
    """
    for name in given.settings.unused:
        require_column(given.table, name, "the data")
    taken = columns_taken(given.model, [str(one) for one in given.table.columns])
    guessed, notes = (given, {}) if taken is None else _with_guesses(given, taken)
    try:
        explainer = guessed.explainer()
    except ModelError as error:
        if taken is not None:
            raise
        raise ModelError(
            f"{error}; the model does not name its columns: name those that it does not take with --labels, "
            "--id and --ignore"
        ) from error
    classes = explainer.classes or ()
    if classes:
        notes["target"] = f"classes: {', '.join(as_label(one) for one in classes)}"
    target = next(
        (one for one in classes if as_label(one) == str(guessed.settings.target)), guessed.settings.target
    )
    settings = guessed.settings.model_copy(update={"target": target})
    return Draft(replace(guessed, settings=settings), explainer, notes)


def _with_guesses(given: OpenedProject, taken: Sequence[str]) -> tuple[OpenedProject, dict[str, str]]:
    known = [str(one) for one in given.table.columns]
    if missing := [name for name in taken if name not in known]:
        raise SchemaError(unknown_columns(missing, known, "the model takes"))
    settings = given.settings
    said = set(settings.unused)
    if wrongly := sorted(said & set(taken)):
        raise SchemaError(f"the model takes column {wrongly[0]!r}, so it cannot be left out")
    left = [name for name in known if name not in taken and name not in said]
    found: dict[str, Any] = {}
    notes: dict[str, str] = {}
    if settings.labels is None and (labels := _labels_among(given, left, taken)) is not None:
        found["labels"] = labels
        notes["labels"] = "a guess: it holds the model's classes"
    if settings.id is None and (name := _id_among(given.table, left, found.get("labels"))) is not None:
        found["id"] = name
        notes["id"] = "a guess: its values are all different"
    if rest := [name for name in left if name not in found.values()]:
        found["ignore"] = (*settings.ignore, *rest)
        notes["ignore"] = "the model does not take them"
    return replace(given, settings=settings.model_copy(update=found)), notes


def _labels_among(given: OpenedProject, names: Sequence[str], taken: Sequence[str]) -> str | None:
    """Return the one column that holds the classes of the model and nothing else."""
    try:
        classes = ssba.Explainer(given.model, given.table[list(taken)], background_rows=200).classes
    except (ModelError, TargetError):
        # Whoever makes the explainer of the whole project is told more.
        return None
    wanted = {as_label(one) for one in classes or ()}
    fitting = [name for name in names if _labels_in(given.table[name]) == wanted]
    return fitting[0] if wanted and len(fitting) == 1 else None


def _labels_in(column: "pd.Series[Any]") -> set[str]:
    return {as_label(one) for one in column.dropna().unique().tolist()}


def _id_among(table: "pd.DataFrame", names: Sequence[str], labels: str | None) -> str | None:
    """Return the first column that has another value in every row, measurements left aside."""
    import pandas as pd

    return next(
        (
            name
            for name in names
            if name != labels and table[name].is_unique and not pd.api.types.is_float_dtype(table[name])
        ),
        None,
    )

"""Whether the columns that a project names fit its data, and those that are left fit the model."""

import json
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssba.apps.project.locations import Key, Locations
from ssba.apps.project.settings import ProjectSettings
from ssba.arguments import closest, listing
from ssba.columns.features import unknown_columns

Named = tuple[Key, str]


def unused_columns(settings: ProjectSettings) -> list[Named]:
    """Return the columns that the model does not take, each with the setting that says so."""
    single: list[tuple[Key, str | None]] = [(("id",), settings.id), (("labels",), settings.labels)]
    named = [(key, name) for key, name in single if name is not None]
    return named + [(("ignore", number), name) for number, name in enumerate(settings.ignore)]


def _described_columns(settings: ProjectSettings) -> list[Named]:
    """Return the columns about which something is said, which have to be the model's."""
    scale = settings.scale if isinstance(settings.scale, dict) else {}
    said = {"features": list(settings.features), "weights": list(settings.weights), "scale": list(scale)}
    return [((setting, name), name) for setting, names in said.items() for name in names]


def misspelled_columns(settings: ProjectSettings, known: Sequence[str], where: Locations) -> Iterator[str]:
    """Say which columns that a project names are not there."""
    unused = unused_columns(settings)
    left = [name for name in known if name not in settings.unused]
    # Where nothing is left to the model, that is the problem.
    described = _described_columns(settings) if left else []
    for names, among in ((unused, known), (described, left)):
        for key, name in names:
            if name not in among:
                yield unknown_columns([name], among, where(*key))


def unfit_columns(
    settings: ProjectSettings, known: Sequence[str], model: Any, where: Locations
) -> Iterator[str]:
    """Say which columns a model misses or was not trained on, where it knows its columns."""
    taken = columns_taken(model, known)
    if taken is None:
        return
    for key, name in unused_columns(settings):
        if name in taken:
            yield f"{where(*key)}: the model takes column {name!r}, so it cannot be left out; remove it here"
    others = [name for name in known if name not in taken]
    if missing := [name for name in taken if name not in known]:
        yield (
            f"{where('data')}: the model takes {_columns(missing)}, which the data do not have; their "
            f"columns are {listing(known)}{_meant_to_be(missing[0], others)}"
        )
    strange = [name for name in others if name not in settings.unused]
    if strange and _transformer(model) is None:
        options = " ".join(f"--ignore {shlex.quote(name)}" for name in strange)
        line = f"ignore = {json.dumps([*settings.ignore, *strange], ensure_ascii=False)}"
        yield (
            f"{where('model')}: the model was not trained on {_columns(strange)} of the data; leave out what "
            f"it does not take: {options}, or in the project file {line}"
        )


def _meant_to_be(missing: str, others: Sequence[str]) -> str:
    near = closest(missing, others)
    return "" if near is None else f"; is {near!r} meant to be {missing!r}?"


def _columns(names: Sequence[str]) -> str:
    return f"{'column' if len(names) == 1 else 'columns'} {listing(names)}"


def columns_taken(model: Any, known: Sequence[str] = ()) -> list[str] | None:
    """Return the names of the columns that a model was trained on; None where it does not know them.

    `known` are the columns of the data: LightGBM stores a name with spaces as one with underscores.
    """
    found = _names_of(model)
    if not isinstance(found, Sequence) or not found:
        return None
    names = [str(one) for one in found]
    # LightGBM and CatBoost make such names where they were given none.
    if any(names == [f"{made}{number}" for number in range(len(names))] for made in ("Column_", "")):
        return None
    stored = {"_".join(name.split(" ")): name for name in known}
    return [name if name in known else stored.get(name, name) for name in names]


def _names_of(model: Any) -> Any:
    if (transformer := _transformer(model)) is not None:
        return _used_by(transformer)
    try:
        found = getattr(model, "feature_names_in_", None)
    except Exception:
        # A pipeline asks its first step, whatever that is.
        found = None
    if found is not None:
        return list(found)
    # In classes from elsewhere such attributes may mean anything.
    made_by = type(model).__module__.partition(".")[0]
    if made_by == "lightgbm":
        return model.feature_name() if callable(getattr(model, "feature_name", None)) else None
    attribute = {"xgboost": "feature_names", "catboost": "feature_names_"}.get(made_by)
    return getattr(model, attribute, None) if attribute else None


def _transformer(model: Any) -> Any:
    """Return what a model picks its columns with, by name; None where it takes the rows as they are."""
    steps = getattr(model, "steps", None)
    first = steps[0][-1] if isinstance(steps, list) and steps else model
    return first if hasattr(first, "transformers_") else None


def _used_by(transformer: Any) -> list[str] | None:
    """Return the columns that a `ColumnTransformer` does not drop; None where it knows no names."""
    names = np.asarray(getattr(transformer, "feature_names_in_", ()), dtype=object)
    kept = [picked for _, step, picked in transformer.transformers_ if not _is_dropping(step)]
    try:
        used = {name for picked in kept for name in _names_among(names, picked)}
    except (IndexError, TypeError):
        return None
    return [name for name in names if name in used] or None


def _is_dropping(step: Any) -> bool:
    return isinstance(step, str) and step == "drop"


def _names_among(names: NDArray[Any], picked: Any) -> list[str]:
    """Return the columns that are picked by a name, names, numbers, a mask or a slice."""
    if isinstance(picked, str):
        return [picked]
    if isinstance(picked, slice):
        return list(names[picked])
    found = np.asarray(list(picked))
    return list(names[found] if found.dtype.kind in "bi" else found)

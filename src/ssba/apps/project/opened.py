"""A project with its model and data loaded, from which explainers are made."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ssba
from ssba.apps.project.locations import NOWHERE, Locations, told_at
from ssba.apps.project.model_columns import misspelled_columns, unfit_columns
from ssba.apps.project.problems import all_of, tell
from ssba.apps.project.settings import FeatureSettings, ProjectSettings, as_label
from ssba.apps.project.target import first_possible
from ssba.columns.features import Declaration, Kind, unknown_columns
from ssba.columns.frames import RawColumn, read_columns
from ssba.columns.inference import infer_feature, is_mostly_numbers, stray_text
from ssba.errors import ArgumentError, ModelError, SchemaError, TargetError
from ssba.index import BoundarySet

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class OpenedProject:
    """A project's settings, its whole table, and its model.

    Attributes
    ----------
    settings
        What the project file says.
    folder
        The folder of that file, to which its paths are relative.
    table
        Every column of the data, those that the model does not take among them; rows are counted from 0.
    model
        The loaded model.
    where
        Names places in the project file, for error messages.
    example_row
        A row that shows well what the project is about, where somebody asks without naming one.
    """

    settings: ProjectSettings
    folder: Path
    table: "pd.DataFrame"
    model: Any
    where: Locations = NOWHERE
    example_row: int | None = None

    @cached_property
    def rows(self) -> "pd.DataFrame":
        """The columns that the model takes."""
        known = [str(one) for one in self.table.columns]
        tell([SchemaError(one) for one in misspelled_columns(self.settings, known, self.where)])
        left = self.table.drop(columns=list(self.settings.unused))
        if not len(left.columns):
            raise SchemaError("id, labels and ignore leave no column for the model")
        tell([SchemaError(one) for one in unfit_columns(self.settings, known, self.model, self.where)])
        return left

    @property
    def labels(self) -> Any:
        """The true labels of the rows, where the project names their column."""
        return None if self.settings.labels is None else self.table[self.settings.labels]

    @cached_property
    def declarations(self) -> dict[str, Declaration]:
        """What the project says about columns, as the library takes it."""
        said = self.settings.features
        told = {name: one for name, one in said.items() if one != FeatureSettings(meaning=one.meaning)}
        raw = {one.name: one for one in read_columns(self.rows[list(told)])} if told else {}
        steps = [partial(self._declaration, one, raw[name]) for name, one in told.items()]
        return dict(zip(told, all_of(steps), strict=True))

    def _declaration(self, said: FeatureSettings, column: RawColumn) -> Declaration:
        """Return what is said about a column, which has to fit what it holds."""
        with told_at(self.where("features", column.name), ArgumentError, SchemaError):
            declaration = _declaration(said, column)
            infer_feature(column, declaration)
        return declaration

    def explainer(self) -> ssba.Explainer:
        """Make an explainer; each belongs to one thread."""
        settings = self.settings

        def make(target: Any) -> ssba.Explainer:
            return ssba.Explainer(
                self.model,
                self.rows,
                target,
                features=self.declarations,
                distance=ssba.Distance(settings.distance, settings.scale, settings.weights),
                background_rows=settings.background_rows,
                seed=settings.seed,
            )

        where = self.where
        at_target, at_model = told_at(where("target"), TargetError), told_at(where("model"), ModelError)
        with at_target, at_model, self._naming_stray_cells():
            made = first_possible(make, settings.target, settings.classes)
        self._refuse_unknown_classes(made.classes)
        return made

    @contextmanager
    def _naming_stray_cells(self) -> Iterator[None]:
        """Name the cell that made text of a column of numbers, where the model cannot take the data."""
        try:
            yield
        except ModelError:
            strays = [stray_text(one) for one in read_columns(self.rows) if is_mostly_numbers(one)]
            tell([SchemaError(f"{self.where('data')}: {stray}") for stray in strays if stray])
            raise

    def _refuse_unknown_classes(self, classes: Sequence[Any] | None) -> None:
        """Refuse names for classes that the model does not have."""
        labels = [as_label(one) for one in classes or ()]
        there = f"its classes are {', '.join(labels)}" if labels else "it gives numbers, and has no classes"
        strangers = [one for one in self.settings.classes if one not in labels]
        tell(
            [
                ArgumentError(f"{self.where('classes', one)}: no class of the model; {there}")
                for one in strangers
            ]
        )

    def boundary(self, explainer: ssba.Explainer) -> BoundarySet | None:
        """Open the index of boundary points, where the project has one."""
        if self.settings.index is None:
            return None
        return explainer.open_boundary(self.folder / self.settings.index)


def require_column(table: "pd.DataFrame", name: str, where: str) -> None:
    """Refuse the name of a column that is not there."""
    if name not in table.columns:
        raise SchemaError(unknown_columns([name], [str(one) for one in table.columns], where))


_TAKES: Mapping[Kind, tuple[str, ...]] = {
    "numeric": ("step", "low", "high", "unit"),
    "integer": ("low", "high", "unit"),
    "ordinal": ("levels",),
    "categorical": ("levels",),
    "boolean": (),
    "date": (),
}


def _declaration(said: FeatureSettings, column: RawColumn) -> Declaration:
    """Return what is said about a column; kind, step and levels that are left out come from the data."""
    shown = infer_feature(column, None)
    kind = said.kind or shown.kind
    given = said.model_dump(include={"levels", "low", "high", "step", "unit"}, exclude_none=True)
    if strangers := [key for key in given if key not in _TAKES[kind]]:
        if said.kind is None and (stray := stray_text(column)) is not None:
            raise SchemaError(f"{strangers[0]} is said of numbers, but {stray}")
        takes = ", ".join(_TAKES[kind]) or "nothing but a meaning"
        raise ArgumentError(f"{strangers[0]} says nothing about a column of kind {kind}, which takes {takes}")
    if kind == shown.kind:
        inferred = {"levels": shown.levels or None, "step": shown.step}
        given = {key: value for key, value in inferred.items() if value and key in _TAKES[kind]} | given
    return _make(kind, given)


def _make(kind: Kind, given: Mapping[str, Any]) -> Declaration:
    if kind == "numeric":
        return ssba.numeric(**given)
    if kind == "integer":
        return ssba.integer(**given)
    if kind == "ordinal":
        return ssba.ordinal(given.get("levels", ()))
    if kind == "categorical":
        return ssba.categorical(given.get("levels"))
    return Declaration(kind)

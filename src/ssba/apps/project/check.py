"""Whether a project is sound: everything that it names is there, and fits together."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import ssba
from ssba.apps.project.locations import told_at
from ssba.apps.project.model_columns import columns_taken, unused_columns
from ssba.apps.project.opened import OpenedProject
from ssba.apps.project.problems import all_of
from ssba.arguments import listing
from ssba.constraints.constraint import constraint
from ssba.constraints.language.tree import columns
from ssba.errors import BoundaryFileError, ConstraintError, SsbaError
from ssba.results.column_table import ColumnTable

_ROWS = 50
"""Rows, evenly over the data, for which the constraints are looked at."""

_ENDS = ("low", "high")


@dataclass(frozen=True)
class RowsUnderConstraints:
    """How rows of the data stand to the constraints as they are.

    Attributes
    ----------
    asked
        How many rows were looked at.
    broken
        Those that do not meet all constraints: answers have to mend them.
    clashing
        Those for which no row at all can meet the constraints.
    """

    asked: int
    broken: int
    clashing: int


@dataclass(frozen=True)
class ProjectCheck:
    """What was found about a sound project.

    Attributes
    ----------
    rows
        How many rows its data have.
    columns
        What the model takes.
    target
        The desired outcome, in words.
    classes
        What the model tells apart; None for numbers.
    reached
        For how many of the rows the model gives the target already; None where any other class is one.
    constraints
        How many constraints the project has.
    looked_at
        How rows stand to the constraints.
    points
        Boundary points that the project starts from; None without an index.
    not_taken
        Columns that count as the model's, though it does not look at them.
    """

    rows: int
    columns: ColumnTable
    target: str
    classes: tuple[Any, ...] | None
    reached: int | None
    constraints: int
    looked_at: RowsUnderConstraints
    points: int | None
    not_taken: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """Say in one line what is there."""
        looked_at = self.looked_at
        parts = [
            f"{self.rows:,} rows with {len(self.columns)} columns",
            "1 constraint" if self.constraints == 1 else f"{self.constraints} constraints",
        ]
        if self.reached is not None:
            parts.insert(1, f"{self.reached:,} rows reach {self.target} already")
        if looked_at.broken:
            parts.append(
                f"{looked_at.broken} of {looked_at.asked} rows looked at do not meet them as they are"
            )
        if looked_at.clashing:
            parts.append(f"for {looked_at.clashing} of {looked_at.asked} they contradict each other")
        if self.points is not None:
            parts.append(f"{self.points:,} boundary points")
        return f"The project is sound: {'; '.join(parts)}.{self._about_not_taken()}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dicts, lists, text and numbers."""
        return {
            "sentence": self.sentence,
            "rows": self.rows,
            "columns": self.columns.to_dict(),
            "target": self.target,
            "classes": None if self.classes is None else list(self.classes),
            "reached": self.reached,
            "constraints": self.constraints,
            "looked_at": vars(self.looked_at),
            "points": self.points,
            "not_taken": list(self.not_taken),
        }

    def _about_not_taken(self) -> str:
        if not self.not_taken:
            return ""
        them = "it" if len(self.not_taken) == 1 else "them"
        return (
            f" But the model does not look at {listing(self.not_taken)}: name {them} in labels, id or ignore."
        )


def check_project(project: OpenedProject) -> ProjectCheck:
    """Check everything that a project says; what is wrong is raised with the line that says it."""
    explainer = project.explainer()
    predicted = explainer.predict_many(project.rows)
    any_other = project.settings.target in (None, "other")
    return ProjectCheck(
        rows=len(project.table),
        columns=explainer.columns,
        target=explainer.target,
        classes=explainer.classes,
        reached=None if any_other else sum(one.reached for one in predicted),
        constraints=len(project.settings.constraints),
        looked_at=_check_constraints(project, explainer),
        points=_points(project, explainer),
        not_taken=_not_taken(project),
    )


def _not_taken(project: OpenedProject) -> tuple[str, ...]:
    names = [str(one) for one in project.rows.columns]
    taken = columns_taken(project.model, names)
    return () if taken is None else tuple(name for name in names if name not in taken)


def _check_constraints(project: OpenedProject, explainer: ssba.Explainer) -> RowsUnderConstraints:
    texts = project.settings.constraints
    count = len(project.rows)
    numbers = np.unique(np.linspace(0, count - 1, min(count, _ROWS)).astype(int))
    rows = [project.rows.iloc[number] for number in numbers]

    def read(number: int) -> None:
        with told_at(project.where("constraints", number), SsbaError):
            _refuse_unused(project, texts[number])
            explainer.check_constraints(rows[0], [texts[number]])

    all_of([partial(read, number) for number in range(len(texts))])
    found = [explainer.check_constraints(row, texts) for row in rows]
    clashing = [one for one in found if one.clash]
    if len(clashing) == len(found):
        said, bounds = clashing[0].sentence.removesuffix("."), _declared_bounds(project, clashing[0].clash)
        raise ConstraintError(f"{project.where('constraints')}: {said}{bounds}.")
    return RowsUnderConstraints(len(found), sum(bool(one.broken) for one in found), len(clashing))


def _refuse_unused(project: OpenedProject, text: str) -> None:
    """Refuse a constraint about a column that the project, or an option, takes from the model."""
    named = columns(constraint(text))
    for key, name in unused_columns(project.settings):
        if name in named:
            raise ConstraintError(
                f"{text!r} is about column {name!r}, which {project.where(*key)} takes from the model; leave "
                "out one of them"
            )


def _declared_bounds(project: OpenedProject, clash: Sequence[str]) -> str:
    """Name the declared bounds of the columns of a clash, which may be what nothing can be found for."""
    named = {name for text in clash for name in columns(constraint(text))}
    said = [
        (name, end, getattr(one, end)) for name, one in project.settings.features.items() for end in _ENDS
    ]
    told = [
        f"{project.where('features', name)} has {end} = {bound:.9g}"
        for name, end, bound in said
        if name in named and bound is not None
    ]
    return "".join(f"; {one}" for one in told)


def _points(project: OpenedProject, explainer: ssba.Explainer) -> int | None:
    with told_at(project.where("index"), BoundaryFileError):
        boundary = project.boundary(explainer)
    return None if boundary is None else len(boundary)

"""Where rows lie beside each other: over two columns, or in a projection of all of them."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np

import ssba
from ssba.apps.names import ClassNames
from ssba.apps.page_requests import AxisReply, MapReply, MapRequest, Place, SidesReply, SpotReply
from ssba.apps.population import groups_of
from ssba.arrays import Matrix
from ssba.columns.features import unknown_columns
from ssba.errors import ArgumentError, SsbaError, StoppedError
from ssba.index import BoundarySet
from ssba.json_form import plain_or_text
from ssba.results import Column, ColumnTable, Prediction

Row = Mapping[str, Any]
Predict = Callable[[Sequence[Row]], Sequence[Prediction]]

_PAIRS = 300
_ACROSS = 28
"""Places along a number at which the model is asked about its side."""
_NAMED = 3
"""Columns that a direction of the projection is called by."""


def boundary_rows(explainer: ssba.Explainer, known: BoundarySet | None) -> list[dict[str, Any]]:
    """Return some points of the model's boundary: stored ones, or some that are found now."""
    try:
        if known is None:
            with warnings.catch_warnings():
                # That there are fewer pairs than asked for is no news here.
                warnings.simplefilter("ignore")
                known = explainer.sample_boundary(_PAIRS, progress=False)
        points = known.points
    except StoppedError:
        raise
    except SsbaError:
        # A model that says the same about all rows has no boundary between them.
        return []
    chosen = points.iloc[:: max(1, len(points) // _PAIRS)]
    return [dict(zip(map(str, chosen.columns), row, strict=True)) for row in chosen.itertuples(index=False)]


class Landscape:
    """Rows of the data and points of the boundary, to be drawn around a query.

    Parameters
    ----------
    columns : ColumnTable
        The columns of the model.
    numbers : mapping
        Some rows of the data, by number, and what each is named.
    said
        What the model says about each of them.
    boundary
        Points of the model's boundary.
    names : ClassNames
        What the classes are called.
    """

    def __init__(
        self,
        columns: ColumnTable,
        numbers: Mapping[int, str | None],
        said: Sequence[Prediction],
        boundary: Sequence[Row],
        names: ClassNames,
    ) -> None:
        self._columns, self._numbers = columns, numbers
        self._groups = groups_of(said, names)[1]
        self._rows = self._codes([one.values for one in said])
        self._boundary = self._codes(boundary)

    def place(self, request: MapRequest, row: Row, predict: Predict) -> MapReply:
        """Say where a query, further points and what surrounds them lie."""
        points = self._codes([row, *({**row, **one} for one in request.points)])
        around = [self._rows, self._boundary] if request.surroundings else [self._rows[:0]] * 2
        put: Callable[[Matrix], Matrix]
        if request.columns is None:
            axes, put, sides = self._mixed_axes, self._projected, None
        else:
            chosen = self._index(request.columns[0]), self._index(request.columns[1])
            axes = (self._axis(chosen[0], points), self._axis(chosen[1], points))
            put = itemgetter((slice(None), chosen))
            sides = self._sides(row, chosen, axes, predict) if len(set(chosen)) == 2 else None
        rows, boundary = (_places(put(one)) for one in around)
        at = _places(put(points))
        # Without surroundings there are no places.
        spots = zip(self._numbers.items(), rows, self._groups, strict=False)
        return MapReply(
            axes=axes,
            query=at[0],
            points=tuple(at[1:]),
            rows=tuple(
                SpotReply(row=number, id=name, at=spot, group=group)
                for (number, name), spot, group in spots
                if spot
            ),
            boundary=tuple(one for one in boundary if one),
            sides=sides,
        )

    def _codes(self, rows: Sequence[Row]) -> Matrix:
        """Return rows as numbers: levels by their place, dates in days."""
        cells = [[column.feature.code(row[column.name]) for column in self._columns] for row in rows]
        return np.array(cells).reshape(len(rows), len(self._columns))

    def _index(self, name: str) -> int:
        names = [one.name for one in self._columns]
        if name not in names:
            raise ArgumentError(unknown_columns([name], names, "columns"))
        return names.index(name)

    def _axis(self, index: int, points: Matrix) -> AxisReply:
        column = self._columns[index]
        known = np.concatenate([self._rows[:, index], points[:, index]])
        known = known[~np.isnan(known)]
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
        if column.levels:
            low, high = -0.5, len(column.levels) - 0.5
        levels = tuple(plain_or_text(one) for one in column.levels)
        return AxisReply(columns=(column.name,), levels=levels, low=low, high=high if low < high else low + 1)

    def _sides(
        self, row: Row, columns: tuple[int, int], axes: tuple[AxisReply, AxisReply], predict: Predict
    ) -> SidesReply:
        """Ask the model about the query with other values in the two columns."""
        across, up = (self._stops(index, axis) for index, axis in zip(columns, axes, strict=True))
        first, second = (self._columns[index] for index in columns)
        asked = [
            {**row, first.name: first.feature.value(x), second.name: second.feature.value(y)}
            for y in up
            for x in across
        ]
        reached = np.array([one.reached for one in predict(asked)]).reshape(len(up), len(across))
        return SidesReply(across=tuple(across), up=tuple(up), reached=tuple(map(tuple, reached.tolist())))

    def _stops(self, index: int, axis: AxisReply) -> list[float]:
        column = self._columns[index]
        if column.levels:
            return [float(code) for code in range(len(column.levels))]
        evenly = np.linspace(axis.low, axis.high, _ACROSS)
        step = column.step or (1.0 if column.kind == "integer" else None)
        # Steps count from zero, and no value but theirs may be asked about.
        legal = evenly if step is None else np.round(evenly / step) * step
        return sorted({float(f"{one:.12g}") for one in legal})

    def _projected(self, codes: Matrix) -> Matrix:
        center, directions = self._directions
        spread = self._spread(codes)
        return (np.where(np.isnan(spread), center, spread) - center) @ directions.T

    def _spread(self, codes: Matrix) -> Matrix:
        """Return rows as the metric sees them: numbers in their scale, a column of 0 and 1 for each level."""
        parts = [_spread(column, codes[:, place]) for place, column in enumerate(self._columns)]
        return np.concatenate(parts, axis=1)

    @cached_property
    def _directions(self) -> tuple[Matrix, Matrix]:
        """The two directions in which the rows of the data differ most (their principal components)."""
        spread = self._spread(self._rows)
        # A column whose cells are all missing tells nothing.
        center = np.array([0.0 if np.isnan(one).all() else float(np.nanmean(one)) for one in spread.T])
        centered = np.where(np.isnan(spread), center, spread) - center
        found = np.linalg.svd(centered, full_matrices=False)[2][:2]
        return center, np.vstack([found, np.zeros((2 - len(found), len(center)))])

    @cached_property
    def _mixed_axes(self) -> tuple[AxisReply, AxisReply]:
        owners = np.repeat(np.arange(len(self._columns)), [max(1, len(_own(c))) for c in self._columns])
        placed = self._projected(self._rows)
        made = []
        for place, direction in enumerate(self._directions[1]):
            part = np.bincount(owners, np.abs(direction), len(self._columns))
            named = tuple(self._columns[int(one)].name for one in np.argsort(-part)[:_NAMED])
            low, high = float(placed[:, place].min()), float(placed[:, place].max())
            made.append(AxisReply(columns=named, levels=(), low=low, high=high if low < high else low + 1))
        return made[0], made[1]


def _own(column: Column) -> Sequence[Any]:
    """Return the levels that have a column each in a projection; none for a number or an order."""
    return column.levels if column.feature.is_discrete else ()


def _spread(column: Column, codes: Matrix) -> Matrix:
    if not column.feature.is_discrete:
        return codes[:, None] / column.scale * column.weight
    spread = (codes[:, None] == np.arange(len(column.levels))[None, :]).astype(float)
    spread[np.isnan(codes)] = np.nan
    # Two levels differ in two columns, and shall count once.
    weighted: Matrix = spread * (column.weight / np.sqrt(2))
    return weighted


def _places(points: Matrix) -> list[Place]:
    return [None if np.isnan(one).any() else (float(one[0]), float(one[1])) for one in points]

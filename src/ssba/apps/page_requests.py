"""What the page asks for to draw the data, beside the questions that everybody asks."""

from typing import Annotated

from pydantic import Field

from ssba.apps.requests import Cell, Cells, Query, Reply


class MapRequest(Query):
    """Asks where a row lies among others: over two columns, or in a projection of all."""

    columns: Annotated[
        tuple[str, str] | None, Field(description="The two columns; null: the projection of all columns.")
    ] = None
    points: Annotated[
        tuple[Cells, ...], Field(max_length=50, description="Further rows to place, such as answers.")
    ] = ()
    surroundings: Annotated[
        bool, Field(description="Whether to return rows of the data and boundary points, too.")
    ] = True


class GroupReply(Reply):
    """Rows that the model says the same about."""

    name: Annotated[str, Field(description="What it says about them, as people call it.")]
    reached: Annotated[bool | None, Field(description="Whether that is the target; null: it depends.")]


class StripReply(Reply):
    """How the values of a column are spread over the rows of the data."""

    name: str
    low: Annotated[float | None, Field(description="Where the first bin begins; null for levels.")]
    high: Annotated[float | None, Field(description="Where the last bin ends; dates are in days.")]
    counts: Annotated[
        tuple[tuple[int, ...], ...], Field(description="For each group: rows in each bin, or of each level.")
    ]
    typical: Annotated[Cell, Field(description="The median, or the level that most rows have.")]


class RuleReply(Reply):
    """A constraint of the project, and what it is about."""

    text: str
    columns: tuple[str, ...]


class PopulationReply(Reply):
    """The rows of the data as pictures show them."""

    rows: Annotated[int, Field(description="How many rows were looked at.")]
    groups: tuple[GroupReply, ...]
    strips: tuple[StripReply, ...]
    rules: Annotated[tuple[RuleReply, ...], Field(description="The project's constraints.")]
    example: Annotated[int, Field(description="A row to begin with, which needs a change if any does.")]


Place = Annotated[
    tuple[float, float] | None, Field(description="Across and up; null where a cell is missing.")
]


class AxisReply(Reply):
    """One direction of a map: a column, or a mix of those that are named first."""

    columns: tuple[str, ...]
    levels: Annotated[tuple[Cell, ...], Field(description="Levels by place: the first is at 0.")]
    low: float
    high: float


class SpotReply(Reply):
    """A row of the data on the map."""

    row: int
    id: Annotated[str | None, Field(description="What it is named, where a column names the rows.")]
    at: Place
    group: Annotated[int, Field(description="Which of the groups of /api/population.")]


class SidesReply(Reply):
    """What the model says if only the two columns change."""

    across: tuple[float, ...]
    up: tuple[float, ...]
    reached: Annotated[tuple[tuple[bool, ...], ...], Field(description="A row of cells for each place up.")]


class MapReply(Reply):
    """Where rows lie."""

    axes: tuple[AxisReply, AxisReply]
    query: Place
    points: tuple[Place, ...]
    rows: tuple[SpotReply, ...]
    boundary: tuple[Place, ...]
    sides: SidesReply | None

"""Pictures of answers. They draw what they are given and never call a model; matplotlib loads on use."""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ssba.arguments import instance
from ssba.errors import ArgumentError
from ssba.views.charts.style import as_written, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Point = tuple[float, float]


def _no_points() -> NDArray[np.float64]:
    return np.empty((0, 2))


def _no_moves() -> NDArray[np.float64]:
    return np.empty((0, 2, 2))


@dataclass(frozen=True, eq=False)
class Axis:
    """One of the two columns of a map.

    Attributes
    ----------
    label : str
        What the column means, for a person.
    values : array
        Where the model was asked along this column, ascending; they span the picture.
    unit : str, optional
        Shown behind the label.
    allowed : (low, high), optional
        What the constraints leave of the column; None where they leave all of it.
    """

    label: str
    values: NDArray[Any]
    unit: str | None = None
    allowed: Point | None = None

    def __post_init__(self) -> None:
        steps = np.diff(self.values)
        if np.ndim(self.values) != 1 or len(steps) < 1 or not (steps > 0).all():
            raise ArgumentError(
                f"Axis({self.label!r}): values must be two or more numbers in ascending order"
            )

    @property
    def title(self) -> str:
        """The label with its unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    @property
    def span(self) -> Point:
        """The lowest and the highest value drawn."""
        return float(self.values[0]), float(self.values[-1])


@dataclass(frozen=True, eq=False)
class DecisionMap:
    """What `decision_map` draws: a model's decision over two columns, all other cells of a query held.

    Attributes
    ----------
    x, y : Axis
        The two columns.
    reached : bool array of shape (len(y.values), len(x.values))
        Where the model gives the desired outcome.
    query : (x, y)
        The query itself.
    outcomes : (now, desired)
        What the model says where `reached` is false, and where it is true.
    answer : (x, y), optional
        The counterfactual, or the bounded move.
    answer_reaches : bool
        Whether `answer` has the desired outcome; False for a bounded move.
    boundary, population : arrays of shape (n, 2)
        Points on the model's decision boundary in this plane, and other rows of the data.
    toward : (x, y), optional
        For a bounded move: the boundary point that it is nearest to; a dotted line shows what is left.
    others : dict
        Answers from elsewhere to compare with, by name: arrays of shape (n, 2).
    moves : array of shape (n, 2, 2)
        Other queries, each with its nearest answer or boundary point: lines show how far each of them is.
    title : str
        Above the picture.
    """

    x: Axis
    y: Axis
    reached: NDArray[np.bool_]
    query: Point
    outcomes: tuple[str, str]
    answer: Point | None = None
    answer_reaches: bool = True
    boundary: NDArray[Any] = field(default_factory=_no_points)
    population: NDArray[Any] = field(default_factory=_no_points)
    toward: Point | None = None
    others: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    moves: NDArray[Any] = field(default_factory=_no_moves)
    title: str = ""

    def __post_init__(self) -> None:
        grid = (len(self.y.values), len(self.x.values))
        if np.shape(self.reached) != grid:
            raise ArgumentError(
                f"DecisionMap: reached has shape {np.shape(self.reached)}; give one answer for each pair of "
                f"grid values, y first: {grid}"
            )
        named = {"boundary": self.boundary, "population": self.population}
        named |= {f"others[{name!r}]": points for name, points in self.others.items()}
        for name, points in named.items():
            if np.ndim(points) != 2 or np.shape(points)[1] != 2:
                raise ArgumentError(
                    f"DecisionMap: {name} has shape {np.shape(points)}; give one (x, y) a row: (n, 2)"
                )
        if np.ndim(self.moves) != 3 or np.shape(self.moves)[1:] != (2, 2):
            raise ArgumentError(
                f"DecisionMap: moves has shape {np.shape(self.moves)}; give two (x, y) a row: (n, 2, 2)"
            )


# Okabe and Ito's palette, which people with any kind of colour vision can tell apart; markers differ as well.
_SIDES = ("#f7dcc9", "#d3e5f2")
_NOW, _WISHED, _SHORT, _INK, _FAINT = "#b84a00", "#0072b2", "#e69f00", "#222222", "#777777"
_OTHERS = (("#8a5a9e", "^"), ("#007a5a", "s"), ("#c2185b", "P"), ("#555555", "X"))


def decision_map(drawn: DecisionMap, ax: "Axes | None" = None) -> "Axes":
    """Draw a model's decision over two columns, with the query and its answer.

    Parameters
    ----------
    drawn : DecisionMap
        What to draw; the caller has asked the model already.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Examples
    --------
    >>> import numpy as np
    >>> from ssba.views.charts.decision_map import Axis, DecisionMap, decision_map
    >>> values = np.linspace(0, 1, 50)
    >>> x, y = Axis("dose", values, "mg"), Axis("age", values)
    >>> reached = values[None, :] + values[:, None] > 1
    >>> ax = decision_map(DecisionMap(x, y, reached, (0.2, 0.3), ("no", "yes"), answer=(0.45, 0.56)))
    >>> ax.get_xlabel()
    'dose (mg)'
    """
    instance("drawn", drawn, DecisionMap, "give ssba.charts.DecisionMap(x, y, reached, query, outcomes)")
    ax = new_axes(8.0, 6.4) if ax is None else ax
    _draw_sides(drawn, ax)
    _draw_points(drawn, ax)
    _draw_allowed(drawn, ax)
    _draw_moves(drawn, ax)
    _draw_move(drawn, ax)
    _draw_others(drawn, ax)
    _label(drawn, ax)
    return as_written(ax)


def _draw_sides(drawn: DecisionMap, ax: "Axes") -> None:
    from matplotlib.colors import ListedColormap

    ax.pcolormesh(
        drawn.x.values,
        drawn.y.values,
        np.asarray(drawn.reached, dtype=float),
        cmap=ListedColormap(list(_SIDES)),
        vmin=0,
        vmax=1,
        shading="nearest",
        rasterized=True,
        zorder=0,
    )
    for reached, outcome, colour in zip((False, True), drawn.outcomes, _SIDES, strict=True):
        if reached not in drawn.reached:
            continue
        # Drawn nowhere: a coloured square for the legend.
        ax.scatter([], [], s=130, marker="s", color=colour, edgecolor=_FAINT, label=f"model says {outcome}")


def _draw_points(drawn: DecisionMap, ax: "Axes") -> None:
    for label, points, size, colour, alpha in (
        ("rows of the data", drawn.population, 14, _FAINT, 0.4),
        ("boundary points", drawn.boundary, 9, _INK, 1.0),
    ):
        if len(points):
            x, y = np.transpose(points)
            ax.scatter(x, y, s=size, color=colour, alpha=alpha, linewidth=0, label=label)


def _draw_allowed(drawn: DecisionMap, ax: "Axes") -> None:
    if drawn.x.allowed is None and drawn.y.allowed is None:
        return
    from matplotlib.patches import Rectangle

    (left, right), (bottom, top) = _shown(drawn.x), _shown(drawn.y)
    ax.add_patch(
        Rectangle(
            (left, bottom),
            right - left,
            top - bottom,
            facecolor=(1, 1, 1, 0.5),
            edgecolor=_INK,
            linewidth=1.5,
            linestyle="--",
            label="allowed by the constraints",
            zorder=0.5,
        )
    )


def _shown(axis: Axis) -> Point:
    """The allowed part of an axis, as far as the picture goes."""
    low, high = np.clip(axis.allowed or axis.span, *axis.span).tolist()
    return low, high


def _draw_moves(drawn: DecisionMap, ax: "Axes") -> None:
    for number, move in enumerate(np.asarray(drawn.moves, dtype=float)):
        x, y = move.T
        label = "distance of other queries" if number == 0 else "_"
        ax.plot(
            x, y, color=_INK, linewidth=0.8, marker="o", markevery=[0], markersize=3, label=label, zorder=2
        )


def _draw_others(drawn: DecisionMap, ax: "Axes") -> None:
    for number, (name, points) in enumerate(drawn.others.items()):
        colour, marker = _OTHERS[number % len(_OTHERS)]
        for place, point in enumerate(np.asarray(points, dtype=float).tolist()):
            _mark(ax, (point[0], point[1]), marker, 90, colour, name if place == 0 else "_")


def _draw_move(drawn: DecisionMap, ax: "Axes") -> None:
    if drawn.toward is not None and drawn.answer is not None:
        x, y = zip(drawn.answer, drawn.toward, strict=True)
        ax.plot(x, y, color=_INK, linestyle=":", linewidth=1.8, label="left to the boundary", zorder=3)
    # A bounded move may be to stay.
    if drawn.answer is not None and drawn.answer != drawn.query:
        ax.annotate(
            "",
            xy=drawn.answer,
            xytext=drawn.query,
            arrowprops={"arrowstyle": "->", "color": _INK, "linewidth": 1.6, "shrinkA": 7, "shrinkB": 8},
            zorder=3,
        )
    _mark(ax, drawn.query, "o", 110, _NOW, "query")
    if drawn.answer is not None and drawn.answer_reaches:
        _mark(ax, drawn.answer, "*", 300, _WISHED, "counterfactual")
    elif drawn.answer is not None:
        _mark(ax, drawn.answer, "D", 90, _SHORT, "bounded move")


def _mark(ax: "Axes", at: Point, marker: str, size: float, colour: str, label: str) -> None:
    ax.scatter(
        [at[0]],
        [at[1]],
        s=size,
        marker=marker,
        color=colour,
        edgecolor="white",
        linewidth=1.2,
        label=label,
        zorder=4,
        # A point at the edge of the data is drawn whole.
        clip_on=False,
    )


def _label(drawn: DecisionMap, ax: "Axes") -> None:
    ax.set_xlim(_with_margin(drawn.x))
    ax.set_ylim(_with_margin(drawn.y))
    ax.set_xlabel(drawn.x.title, fontsize=12)
    # The side is shorter than the bottom.
    ax.set_ylabel(textwrap.fill(drawn.y.title, 45), fontsize=12)
    ax.tick_params(labelsize=11)
    ax.set_title(drawn.title, fontsize=13, loc="left")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3, fontsize=11, frameon=False)


def _with_margin(axis: Axis) -> Point:
    """Half a cell more on each side, where the outermost cells end."""
    low, high = axis.span
    return low - float(axis.values[1] - low) / 2, high + float(high - axis.values[-2]) / 2

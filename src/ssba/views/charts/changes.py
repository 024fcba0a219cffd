"""The change chart: from the value now to the proposed one, against the data. matplotlib loads on use."""

import textwrap
from typing import TYPE_CHECKING

from ssba.views.charts import style
from ssba.views.charts.tracks import DataContext, Track, tracks_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ssba.results.explanation import Explanation

_ROOM_ABOVE = 0.55


def change_chart(
    explanation: "Explanation",
    data: DataContext | None = None,
    *,
    answer: int = 0,
    only_changes: bool = False,
    title: str = "",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw each column from its value now to the proposed one, against the data.

    A line a column, from the lowest value of the data to the highest: the data's distribution in grey, what
    the constraints allow in green, the query as a ring, the proposed value as a diamond. Columns that a
    constraint holds are marked as fixed.

    Parameters
    ----------
    explanation : Explanation
        The result; its bounded move is drawn where there is no counterfactual.
    data : DataContext, optional
        The data, the allowed ranges and the meanings of the columns, as far as they are known.
    answer : int
        Which of several counterfactuals.
    only_changes : bool
        Leave out the columns that stay.
    title : str
        Above the picture.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Examples
    --------
    >>> from ssba.results import Counterfactual, Explanation, Status
    >>> from ssba.views.charts import DataContext, change_chart
    >>> row = Counterfactual({"chol": 240, "sex": "male"}, {"chol": (286, 240)}, 1.0, "well")
    >>> found = Explanation(Status.FOUND, {"chol": 286, "sex": "male"}, "ill", None, "'well'",
    ...                          constraints=("sex == x.sex",), counterfactuals=(row,))
    >>> data = {"chol": [180, 210, 260, 300], "sex": ["male", "female", "male", "male"]}
    >>> ax = change_chart(found, DataContext(data, allowed={"chol": (200, 286)}))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['chol', 'sex']
    """
    tracks = tracks_of(explanation, data, answer, only_changes)
    ax = style.new_axes(8.5, 1.4 + 0.62 * len(tracks)) if ax is None else ax
    reaches = bool(explanation.counterfactuals)
    for row, track in enumerate(tracks):
        _draw_track(ax, track, -row, reaches)
    _finish(ax, tracks, title)
    _name_marks(ax, tracks, reaches)
    return style.as_written(ax)


def _draw_track(ax: "Axes", track: Track, y: float, reaches: bool) -> None:
    _draw_background(ax, track, y)
    ax.plot([0, 1], [y, y], color=style.RULE, linewidth=1, zorder=1.5, solid_capstyle="butt")
    _draw_names(ax, track, y)
    _draw_move(ax, track, y, reaches)
    colour = style.INK if track.is_changed else style.FAINT
    weight = "bold" if track.is_changed else "normal"
    ax.text(1.04, y + 0.1, track.caption, va="center", fontsize=style.TEXT, color=colour, fontweight=weight)


def _draw_background(ax: "Axes", track: Track, y: float) -> None:
    if track.allowed is not None and not track.is_fixed:
        low, high = track.allowed
        # A bar of no width is still seen.
        ax.fill_between(
            [low, max(high, low + 0.004)],
            y - 0.06,
            y + _ROOM_ABOVE,
            color=style.ALLOWED,
            linewidth=0,
            zorder=1.2,
            alpha=0.6,
        )
    if not track.shape:
        return
    places, heights = zip(*track.shape, strict=True)
    if track.is_counted:
        tops = [_ROOM_ABOVE * height for height in heights]
        ax.bar(places, tops, width=0.022, bottom=y, color=style.POPULATION, zorder=1)
    else:
        tops = [y + _ROOM_ABOVE * height for height in heights]
        ax.fill_between(places, y, tops, color=style.POPULATION, linewidth=0, zorder=1)


def _draw_names(ax: "Axes", track: Track, y: float) -> None:
    """Write what lies where: the two ends of a number, the levels of a category."""
    named = track.levels or ((0.0, track.ends[0]), (1.0, track.ends[1]))
    width = max(8, 88 // max(1, len(named)) - 2)
    allowed = track.permitted
    for place, name in named:
        permitted = allowed is not None and place in allowed and not track.is_fixed
        ax.text(
            place,
            y - 0.13,
            style.cut(name, width),
            ha="center",
            va="top",
            fontsize=style.SMALL,
            color="#006644" if permitted else style.FAINT,
        )


def _draw_move(ax: "Axes", track: Track, y: float, reaches: bool) -> None:
    if track.before is not None:
        marker = "s" if track.is_fixed else "o"
        ax.scatter(
            [track.before],
            [y],
            s=62,
            marker=marker,
            facecolor="white",
            edgecolor=style.NOW if not track.is_fixed else style.FAINT,
            linewidth=2,
            zorder=4,
        )
    if not track.is_changed or track.after is None:
        return
    if track.before is not None:
        ax.annotate(
            "",
            xy=(track.after, y),
            xytext=(track.before, y),
            arrowprops={
                "arrowstyle": "-|>",
                "color": style.INK,
                "linewidth": 1.6,
                "shrinkA": 5,
                "shrinkB": 5,
            },
            zorder=3,
        )
    colour = style.WISHED if reaches else style.SHORT
    ax.scatter([track.after], [y], s=75, marker="D", color=colour, edgecolor="white", zorder=5)


def _finish(ax: "Axes", tracks: tuple[Track, ...], title: str) -> None:
    style.plain(ax, title)
    ax.set_xlim(-0.03, 1.03)
    ax.set_ylim(0.5 - len(tracks), 0.85)
    ax.set_xticks([])
    ax.set_yticks([-row + 0.1 for row in range(len(tracks))])
    ax.set_yticklabels([textwrap.fill(track.label, 26) for track in tracks], fontsize=style.TEXT)
    ax.tick_params(length=0)


def _name_marks(ax: "Axes", tracks: tuple[Track, ...], reaches: bool) -> None:
    proposed = "proposed" if reaches else "bounded move"
    free = [track for track in tracks if not track.is_fixed]
    named = [("now", "o", "white", style.NOW)]
    named.append((proposed, "D", style.WISHED if reaches else style.SHORT, "white"))
    if len(free) < len(tracks):
        named.append(("fixed", "s", "white", style.FAINT))
    if any(track.allowed or track.permitted for track in free):
        named.append(("allowed by the constraints", "s", style.ALLOWED, style.ALLOWED))
    if any(track.shape for track in tracks):
        named.append(("the data", "s", style.POPULATION, style.POPULATION))
    for label, marker, face, edge in named:
        # Drawn nowhere: marks for the legend.
        ax.scatter([], [], s=62, marker=marker, facecolor=face, edgecolor=edge, linewidth=2, label=label)
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        ncols=len(named),
        fontsize=style.TEXT,
        frameon=False,
        handletextpad=0.3,
        columnspacing=1.4,
    )

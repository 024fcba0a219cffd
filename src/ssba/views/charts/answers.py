"""Several answers side by side, as parallel coordinates. matplotlib loads on use."""

import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ssba.errors import ArgumentError
from ssba.results.explanation import Counterfactual, Explanation, refuse_no_explanation
from ssba.views.charts import style
from ssba.views.charts.tracks import Track, data_context, make_track, move_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# With the query these are as many values as the scale of a category holds.
_MOST_ANSWERS = 7
# Lines lie a little apart, so that none hides another where their values are the same.
_APART = 0.016
_COLOURS = tuple(colour for colour in style.SERIES if colour != style.NOW)
_NOW = {"color": style.NOW, "marker": "o", "linestyle": "--", "linewidth": 1.5, "fillstyle": "none"}


def parallel_chart(
    explanation: Explanation,
    data: Any = None,
    *,
    title: str = "",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw several answers side by side: one vertical axis for each column, one line for each answer.

    Only columns that some answer changes are drawn. Each axis goes from the lowest value of the query and the
    answers to the highest, so that small differences are seen: the values stand beside it.

    Parameters
    ----------
    explanation : Explanation
        A result with one or more answers; the first seven are drawn.
    data : DataContext, optional
        The meanings of the columns; a frame has none, and changes nothing here.
    title : str
        Above the picture.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Examples
    --------
    >>> import ssba
    >>> from ssba.views.charts import parallel_chart
    >>> rows = [ssba.results.Counterfactual({"dose": to}, {"dose": (28, to)}, 1.0, "well") for to in (24, 23)]
    >>> found = ssba.results.Explanation(ssba.results.Status.FOUND, {"dose": 28}, "ill", None, "'well'",
    ...                          counterfactuals=tuple(rows))
    >>> [line.get_text() for line in parallel_chart(found).get_legend().get_texts()]
    ['answer 1', 'answer 2', 'query']
    """
    refuse_no_explanation(explanation)
    known = data_context(data)
    answers = _answers(explanation)
    changed = {
        name: now for name, now in explanation.query.items() if any(name in one.changes for one in answers)
    }
    if not changed:
        raise ArgumentError(
            f"parallel_chart: the result is {explanation.status.value!r} and changes nothing; "
            "give one with answers"
        )
    # Every scale goes from the lowest of the values that are drawn to the highest.
    drawn = {name: [now, *(one.values[name] for one in answers)] for name, now in changed.items()}
    around = replace(known, population=drawn)
    units = explanation.units
    # Of an ordinal column, too, only levels that are drawn, the lowest at the bottom.
    orders = {
        name: [one for one in order if one in drawn.get(name, ())]
        for name, order in explanation.orders.items()
    }

    def scale(name: str, proposed: Any) -> Track:
        order = orders.get(name, ())
        return make_track(name, changed[name], proposed, around, units.get(name), order=order)

    scales = [scale(name, now) for name, now in changed.items()]
    ax = style.new_axes(max(6.5, 1.9 * len(changed) + 1.5), 4.6) if ax is None else ax
    _draw_scales(ax, scales)
    for number, one in enumerate(answers):
        places = [scale(name, one.values[name]).after for name in changed]
        label = f"answer {number + 1}" if explanation.counterfactuals else "bounded move"
        aside = _APART * (number - (len(answers) - 1) / 2)
        _draw_line(ax, places, label, aside, _look(number))
    _draw_line(ax, [scale.before for scale in scales], "query", 0.0, {**_NOW, "markersize": 11, "zorder": 5})
    _finish(ax, scales, title)
    return style.as_written(ax)


def _answers(explanation: Explanation) -> tuple[Counterfactual, ...]:
    """The counterfactuals to draw; where there are none, the bounded move."""
    move = move_of(explanation)
    return explanation.counterfactuals[:_MOST_ANSWERS] or (() if move is None else (move,))


def _look(number: int) -> dict[str, Any]:
    which = number % len(_COLOURS)
    return {"color": _COLOURS[which], "marker": style.MARKERS[1 + which], "linewidth": 2, "zorder": 3}


def _draw_scales(ax: "Axes", scales: list[Track]) -> None:
    for x, scale in enumerate(scales):
        ax.plot([x, x], [0, 1], color=style.RULE, linewidth=1.2, zorder=1)
        for place, name in _apart(scale.levels or scale.marks):
            # In a box of its own, so that no line runs through it.
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.85}
            ax.text(
                x - 0.06,
                place,
                name,
                fontsize=style.SMALL,
                color=style.INK,
                va="center",
                ha="right",
                bbox=box,
                zorder=4,
            )


def _apart(marks: tuple[tuple[float, str], ...]) -> list[tuple[float, str]]:
    """Leave out what would be written over something else; both ends stay."""
    kept = [marks[0], marks[-1]] if len(marks) > 1 else list(marks)
    for mark in marks[1:-1]:
        if all(abs(mark[0] - other[0]) > 0.06 for other in kept):
            kept.append(mark)
    return kept


def _draw_line(
    ax: "Axes", places: list[float | None], label: str, aside: float, look: dict[str, Any]
) -> None:
    drawn = [float("nan") if place is None else place + aside for place in places]
    ax.plot(range(len(drawn)), drawn, label=label, clip_on=False, **{"markersize": 7, **look})


def _finish(ax: "Axes", scales: list[Track], title: str) -> None:
    style.plain(ax, title)
    ax.set_xlim(-0.5, len(scales) - 0.7)
    ax.set_ylim(-0.05, 1.05)
    ax.set_yticks([])
    titles = [f"{scale.label} ({scale.unit})" if scale.unit else scale.label for scale in scales]
    ax.set_xticks(range(len(scales)), [textwrap.fill(one, 22) for one in titles], fontsize=style.TEXT)
    ax.tick_params(length=0)
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=style.TEXT, frameon=False)

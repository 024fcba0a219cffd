"""The score on the straight line between two rows. matplotlib loads on use."""

from itertools import pairwise
from typing import TYPE_CHECKING

from ssba.arguments import instance
from ssba.results.line_scan import LineScan, both_sides
from ssba.views.charts import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def line_chart(way: LineScan, *, title: str = "", ax: "Axes | None" = None) -> "Axes":
    """Draw the score on the straight line between two rows, and where the decision changes.

    Parameters
    ----------
    way : LineScan
        From `Explainer.scan_line`; without scores only the crossings are drawn.
    title : str
        Above the picture.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    """
    instance("way", way, LineScan, "give what explainer.scan_line(x, y) returned")
    ax = style.new_axes(7.5, 4.2) if ax is None else ax
    percents = [100 * share for share in way.shares]
    scores = [score for score in way.scores if score is not None]
    if len(scores) == len(percents):
        name = "predicted value" if way.gives_values else f"score of {way.target}"
        ax.plot(percents, scores, color=style.INK, linewidth=1.8, label=name, zorder=2)
        ax.set_ylabel(name, fontsize=style.TEXT)
    else:
        ax.set_yticks([])
    _shade_reached(ax, way, percents)
    for turn in way.crossings:
        ax.axvline(100 * turn.share, color=style.WISHED, linestyle="--", linewidth=1.4, zorder=3)
        ax.text(
            100 * turn.share,
            0.98,
            " → ".join(both_sides(turn, way)),
            transform=ax.get_xaxis_transform(),
            ha="center",
            va="top",
            fontsize=style.TEXT,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 2.0, "alpha": 0.9},
            zorder=4,
        )
    style.plain(ax, title, "left", "bottom")
    ax.set_xlim(0, 100)
    ax.set_xlabel("share of the way, in percent", fontsize=style.TEXT)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize=style.TEXT, frameon=False)
    return style.as_written(ax)


def _shade_reached(ax: "Axes", way: LineScan, percents: list[float]) -> None:
    """Colour the parts of the way, from turn to turn, that reach the target."""
    edges = [0.0, *(100 * turn.share for turn in way.crossings), percents[-1]]
    sides = [way.reached[0], *(turn.reached for turn in way.crossings)]
    label = "target reached"
    for (start, end), reached in zip(pairwise(edges), sides, strict=True):
        if reached:
            ax.axvspan(start, end, color=style.ALLOWED, alpha=0.6, linewidth=0, label=label, zorder=0)
            label = "_"

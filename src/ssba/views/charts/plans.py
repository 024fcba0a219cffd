"""Scores on a way: of a plan, step by step, and between two rows. matplotlib loads on use."""

import textwrap
from itertools import pairwise
from typing import TYPE_CHECKING

from ssba.errors import ArgumentError
from ssba.results import text
from ssba.views.charts import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ssba.results.line_scan import LineScan
    from ssba.results.plan import Plan

_MOST_LABELLED = 8


def plan_chart(plan: "Plan", *, title: str = "", ax: "Axes | None" = None) -> "Axes":
    r"""Draw the score of the target step by step, each step named, and where the decision flips.

    Parameters
    ----------
    plan : Plan
        From `Explanation.plan`; the model must give scores.
    title : str
        Above the picture.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Examples
    --------
    >>> from ssba.results.plan import Plan, Step
    >>> from ssba.views.charts.plans import plan_chart
    >>> step = Step(("chol",), {"chol": (286, 240)}, {"chol": 240}, "well", 0.31, 0.53, 0.22, 1.0, True, 1.0)
    >>> ax = plan_chart(Plan({"chol": 286}, "ill", 0.31, "'well'", (step,), True))
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['now', 'chol\n286 to 240']
    """
    scores = [plan.score, *(step.score_after for step in plan.steps)]
    known = [score for score in scores if score is not None]
    if len(known) < len(scores) or not plan.steps:
        raise ArgumentError(
            "plan_chart: "
            + ("the model gives no scores" if plan.steps else "the plan has no steps")
            + "; print the plan instead"
        )
    ax = style.new_axes(max(6.0, 1.5 * len(scores) + 1.5), 4.4) if ax is None else ax
    _draw_stair(ax, known)
    _draw_places(ax, plan, known)
    style.plain(ax, title, "left", "bottom")
    ax.set_xticks(range(len(known)), _labels(plan), fontsize=style.TEXT)
    ax.set_ylabel(f"score of {plan.target}", fontsize=style.TEXT)
    ax.margins(x=0.08, y=0.25)
    ax.legend(fontsize=style.TEXT, frameon=False, loc="upper left")
    return style.as_written(ax)


def _draw_stair(ax: "Axes", scores: list[float]) -> None:
    ax.step(range(len(scores)), scores, where="post", color=style.RULE, linewidth=1.4, zorder=1)
    for number, (before, after) in enumerate(pairwise(scores), start=1):
        if after == before:
            continue
        arrow = {"arrowstyle": "-|>", "color": style.INK, "linewidth": 1.6, "shrinkA": 0, "shrinkB": 6}
        ax.annotate("", xy=(number, after), xytext=(number, before), arrowprops=arrow, zorder=2)


def _draw_places(ax: "Axes", plan: "Plan", scores: list[float]) -> None:
    reached = [plan.reached and not plan.steps, *(step.reached for step in plan.steps)]
    for there, label, marker, face, edge in (
        (False, "target not reached", "o", "white", style.NOW),
        (True, "target reached", "D", style.WISHED, "white"),
    ):
        chosen = [number for number, one in enumerate(reached) if one == there]
        if chosen:
            heights = [scores[number] for number in chosen]
            ax.scatter(
                chosen,
                heights,
                s=80,
                marker=marker,
                facecolor=face,
                edgecolor=edge,
                linewidth=2,
                label=label,
                zorder=3,
            )
    for number, score in enumerate(scores):
        gain = "" if number == 0 or (step := plan.steps[number - 1]).gain is None else f"{step.gain:+.3g}\n"
        ax.annotate(
            f"{gain}{score:.4g}",
            (number, score),
            xytext=(0, 9),
            textcoords="offset points",
            fontsize=style.TEXT,
            ha="center",
            va="bottom",
            linespacing=1.1,
        )


def _labels(plan: "Plan") -> list[str]:
    if len(plan.steps) > _MOST_LABELLED:
        return ["now", *(str(number) for number in range(1, len(plan.steps) + 1))]
    return ["now", *("\n".join(_changes(plan, number)) for number in range(len(plan.steps)))]


def _changes(plan: "Plan", number: int) -> list[str]:
    lines = []
    for name, (before, after) in plan.steps[number].changes.items():
        lines.append(name)
        lines += textwrap.wrap(f"{text.cell(before)} to {text.cell(after, plan.units.get(name))}", 20)
    return lines


def line_chart(way: "LineScan", *, title: str = "", ax: "Axes | None" = None) -> "Axes":
    """Draw the score on the straight way between two rows, and where the decision crossings.

    Parameters
    ----------
    way : LineScan
        From `Explainer.path`; without scores only the crossings are drawn.
    title : str
        Above the picture.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    """
    ax = style.new_axes(7.5, 4.2) if ax is None else ax
    percents = [100 * share for share in way.shares]
    scores = [score for score in way.scores if score is not None]
    if len(scores) == len(percents):
        ax.plot(percents, scores, color=style.INK, linewidth=1.8, label=f"score of {way.target}", zorder=2)
        ax.set_ylabel(f"score of {way.target}", fontsize=style.TEXT)
    else:
        ax.set_yticks([])
    _shade_reached(ax, way, percents)
    for turn in way.crossings:
        ax.axvline(100 * turn.share, color=style.WISHED, linestyle="--", linewidth=1.4, zorder=3)
        ax.text(
            100 * turn.share,
            0.98,
            f"{text.show(turn.before)} → {text.show(turn.after)}",
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


def _shade_reached(ax: "Axes", way: "LineScan", percents: list[float]) -> None:
    """Colour the parts of the way, from turn to turn, that reach the target."""
    edges = [0.0, *(100 * turn.share for turn in way.crossings), percents[-1]]
    sides = [way.reached[0], *(turn.reached for turn in way.crossings)]
    label = "target reached"
    for (start, end), reached in zip(pairwise(edges), sides, strict=True):
        if reached:
            ax.axvspan(start, end, color=style.ALLOWED, alpha=0.6, linewidth=0, label=label, zorder=0)
            label = "_"

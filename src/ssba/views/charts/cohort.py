"""Charts of many results: which columns change, and how far the boundary is. matplotlib loads on use."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from ssba.arguments import one_of
from ssba.errors import ArgumentError
from ssba.results import text
from ssba.views.charts import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ssba.results.cohort.summary import Cohort
    from ssba.results.explanation import Explanation

Kind = Literal["ecdf", "histogram"]


def frequency_chart(
    cohort: "Cohort",
    *,
    meanings: Mapping[str, str] | None = None,
    title: str = "",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw in which share of the answers each column changes, and which way.

    Parameters
    ----------
    cohort : Cohort
        What many answers have in common; `Explanations.cohort` makes it.
    meanings : mapping, optional
        Column to what it means, for a person.
    title : str
        Above the picture.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    """
    used = [one for one in cohort.columns if one.changed]
    if not used:
        raise ArgumentError("frequency_chart: no query of the cohort has a counterfactual; nothing changes")
    ax = style.new_axes(8.0, 1.3 + 0.45 * len(used)) if ax is None else ax
    # Answers that change nothing count for no column.
    total = sum(bool(one.changes) for one in cohort.members)
    rows = np.arange(len(used))[::-1]
    left = np.zeros(len(used))
    for label, colour, hatch, counts in (
        ("raised", style.SERIES[0], "", [one.up for one in used]),
        ("lowered", style.SERIES[4], "", [one.down for one in used]),
        ("changed to another level", style.FAINT, "//", [one.changed - one.up - one.down for one in used]),
    ):
        shares = 100 * np.array(counts) / total
        if shares.any():
            ax.barh(
                rows,
                shares,
                left=left,
                color=colour,
                hatch=hatch,
                edgecolor="white",
                label=label,
                height=0.66,
            )
        left += shares
    for row, one in zip(rows, used, strict=True):
        ax.text(
            100 * one.changed / total + 1, row, f"{one.changed} of {total}", va="center", fontsize=style.TEXT
        )
    style.plain(ax, title, "bottom")
    ax.set_yticks(rows, [_named(one.column, meanings or {}) for one in used], fontsize=style.TEXT)
    ax.tick_params(axis="y", length=0)
    ax.set_xlim(0, 115)
    ax.set_xticks([0, 25, 50, 75, 100])
    ax.set_xlabel("share of the answers, in percent", fontsize=style.TEXT)
    # The shortest bars are at the bottom, so there is room.
    ax.legend(loc="lower right", fontsize=style.TEXT, frameon=False)
    return style.as_written(ax)


def _named(column: str, meanings: Mapping[str, str]) -> str:
    return textwrap.fill(meanings.get(column, column), 30)


def distances_by_prediction(explanations: Sequence["Explanation"]) -> dict[str, list[float]]:
    """Return the distances of the counterfactuals found, by what the model says about the queries.

    As the nearest counterfactual lies just past the boundary, these are the queries' distances to it.
    """
    found: dict[str, list[float]] = {}
    for one in explanations:
        if one.best is not None:
            found.setdefault(text.show(one.prediction), []).append(one.best.distance)
    return found


def distance_chart(
    distances: Mapping[str, Sequence[float]],
    *,
    kind: Kind = "ecdf",
    unit: str = "",
    title: str = "",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw how far rows of a data set are from the boundary, by group.

    Parameters
    ----------
    distances : mapping from a group's label to its distances
        For instance from `distances_by_prediction`, or of ``BoundarySet.nearest`` by group.
    kind : {"ecdf", "histogram"}
        The share of rows that lie within each distance, or how many lie at which.
    unit : str
        What the distance is measured in, behind the word.
    title : str
        Above the picture.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Examples
    --------
    >>> from ssba.views.charts.cohort import distance_chart
    >>> ax = distance_chart({"disease": [0.2, 1.4, 2.0], "no disease": [0.7, 0.9]}, kind="histogram")
    >>> ax.get_xlabel()
    'distance to the boundary'
    """
    one_of("kind", kind, get_args(Kind))
    groups = {label: _distances(label, given) for label, given in distances.items()}
    groups = {label: values for label, values in groups.items() if len(values)}
    if not groups:
        raise ArgumentError(
            "distance_chart: there is no distance to draw; give a mapping from groups to distances"
        )
    ax = style.new_axes(8.0, 4.6) if ax is None else ax
    draw = _draw_ecdfs if kind == "ecdf" else _draw_histograms
    draw(ax, groups)
    style.plain(ax, title, "left", "bottom")
    ax.set_xlim(left=0)
    ax.set_xlabel(f"distance to the boundary{f' ({unit})' if unit else ''}", fontsize=style.TEXT)
    ax.legend(fontsize=style.TEXT, frameon=False, loc="lower right" if kind == "ecdf" else "upper right")
    return style.as_written(ax)


def _distances(label: str, given: Any) -> Any:
    values = np.asarray(given, dtype=float)
    if values.ndim != 1 or not np.isfinite(values).all() or (values < 0).any():
        raise ArgumentError(
            f"distances[{label!r}] must be finite numbers, 0 or more; leave out what was not found"
        )
    return np.sort(values)


def _draw_ecdfs(ax: "Axes", groups: Mapping[str, Any]) -> None:
    farthest = max(values[-1] for values in groups.values())
    for number, (label, values) in enumerate(groups.items()):
        shares = 100 * np.arange(1, len(values) + 1) / len(values)
        ax.step(
            [0, *values, farthest],
            [0, *shares, 100],
            where="post",
            color=style.SERIES[number % len(style.SERIES)],
            linestyle=("-", "--", "-.", ":")[number % 4],
            linewidth=2,
            label=f"{label} ({len(values)} rows)",
        )
    ax.set_ylim(0, 102)
    ax.set_ylabel("rows within that distance, in percent", fontsize=style.TEXT)
    ax.grid(axis="y", color="#e8e8e8")


def _draw_histograms(ax: "Axes", groups: Mapping[str, Any]) -> None:
    seen = np.concatenate(list(groups.values()))
    bins = min(40, max(6, len(np.histogram_bin_edges(seen, bins="auto"))))
    edges = np.linspace(0, float(seen.max()) or 1.0, bins).tolist()
    for number, (label, values) in enumerate(groups.items()):
        colour = style.SERIES[number % len(style.SERIES)]
        named = f"{label} ({len(values)} rows)"
        ax.hist(values, edges, histtype="stepfilled", color=colour, alpha=0.35, label=named)
        ax.hist(values, edges, histtype="step", color=colour, linewidth=1.6)
    ax.set_ylabel("rows", fontsize=style.TEXT)

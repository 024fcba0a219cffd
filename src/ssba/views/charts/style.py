"""How matplotlib's charts look: colours, sizes, axes. matplotlib loads on use."""

from typing import TYPE_CHECKING

from ssba.extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette, which people with any kind of colour vision can tell apart.
NOW, WISHED, INK, FAINT = "#b84a00", "#0072b2", "#222222", "#777777"
ALLOWED, RULE = "#cfe6d8", "#bbbbbb"
SERIES = ("#0072b2", "#b84a00", "#007a5a", "#8a5a9e", "#e69f00", "#555555")
MARKERS = ("o", "s", "D", "^", "v", "P")
SMALL, TEXT, TITLE = 9.0, 10.5, 12.5


def new_axes(width: float, height: float) -> "Axes":
    """Return the axes of a new figure."""
    require("matplotlib", "plot", "this chart")
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    return ax


def plain(ax: "Axes", title: str = "", *kept: str) -> None:
    """Leave out the frame but for some sides, and set the title."""
    for side, spine in ax.spines.items():
        spine.set_visible(side in kept)
        spine.set_color(FAINT)
    ax.tick_params(labelsize=TEXT, color=FAINT)
    if title:
        ax.set_title(title, fontsize=TITLE, loc="left")


def as_written(ax: "Axes") -> "Axes":
    """Show every text of a finished chart as it is: what stands between two dollars is no formula."""
    from matplotlib.text import Text

    for one in ax.findobj(Text):
        if isinstance(one, Text):
            one.set_parse_math(False)
    return ax

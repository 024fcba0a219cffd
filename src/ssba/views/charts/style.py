"""How all charts look: colours, sizes, axes. matplotlib loads on use."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette, which people with any kind of colour vision can tell apart.
NOW, WISHED, SHORT, INK, FAINT = "#b84a00", "#0072b2", "#e69f00", "#222222", "#777777"
POPULATION, ALLOWED, RULE = "#d9d9d9", "#cfe6d8", "#bbbbbb"
SERIES = ("#0072b2", "#b84a00", "#007a5a", "#8a5a9e", "#e69f00", "#555555")
MARKERS = ("o", "s", "D", "^", "v", "P")
SMALL, TEXT, TITLE = 9.0, 10.5, 12.5


def new_axes(width: float = 8.0, height: float = 4.5) -> "Axes":
    """Return the axes of a new figure."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'ssba[plot]'") from error
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


def cut(words: str, room: int) -> str:
    """Return a text in at most so many letters.

    >>> cut("left ventricular hypertrophy", 12), cut("normal", 12)
    ('left ventri…', 'normal')
    """
    return words if len(words) <= room else f"{words[: max(1, room - 1)]}…"

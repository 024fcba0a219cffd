"""A straight line between two rows, and where the model's decision changes on it."""

from dataclasses import dataclass
from typing import Any

from ssba.json_form import JsonForm
from ssba.results.numbers import Numbers
from ssba.results.text import is_value, said
from ssba.results.words import columns, show


@dataclass(frozen=True)
class Crossing:
    """A place where the decision changes.

    Attributes
    ----------
    share : float
        The share of the line at which the new decision was first seen; it is found to one part in 10^9.
    before, after
        What the model predicts just before it, and there.
    reached : bool
        Whether the row at the crossing reaches the target.
    values : dict
        The row at the crossing, which the model was asked about.
    score : float or None
        The score of that row.
    """

    share: float
    before: Any
    after: Any
    reached: bool
    values: dict[str, Any]
    score: float | None = None


@dataclass(frozen=True)
class LineScan(JsonForm):
    """What the model says on the straight line from one row to another.

    Numbers move evenly, rounded to their column's step; categories, and cells that are missing at one end,
    change half way. Constraints play no part.

    Attributes
    ----------
    start, end : dict
        The two rows.
    shares : tuple of float
        The shares of the line that were asked about, from 0 to 1.
    predictions, scores, reached : tuples
        What the model says there; scores are None where the model gives none.
    crossings : tuple of Crossing
        Where the decision changes, in order. Two crossings between neighbouring shares may be missed.
    target : str
        What is to be reached, in words.
    """

    start: dict[str, Any]
    end: dict[str, Any]
    shares: tuple[float, ...]
    predictions: tuple[Any, ...]
    scores: tuple[float | None, ...]
    reached: tuple[bool, ...]
    crossings: tuple[Crossing, ...]
    target: str = ""

    @property
    def sentence(self) -> str:
        """Where the decision changes, in one plain sentence."""
        asked = f"({len(self.shares):,} rows asked)"
        if not self.crossings and self.gives_values:
            share = "all" if self.reached[0] else "none"
            return f"The predicted value reaches {self.target} at {share} of the rows along the line {asked}."
        if not self.crossings:
            return f"The decision does not change along the line {asked}."
        places = "; ".join(_words(one, self) for one in self.crossings)
        times = "once" if len(self.crossings) == 1 else f"{len(self.crossings)} times"
        what = "The predicted value crosses a limit" if self.gives_values else "The decision changes"
        return f"{what} {times} along the line: {places}."

    @property
    def gives_values(self) -> bool:
        """Whether the scores are the predicted numbers, as for a regressor."""
        return is_value(self.predictions[0], self.scores[0])

    def __repr__(self) -> str:
        if not self.crossings:
            return self.sentence
        lines = [("share", "before", "after", "reaches the target")]
        for one in self.crossings:
            reaches = "yes" if one.reached else "no"
            lines.append((f"{one.share:.2%}", *both_sides(one, self), reaches))
        return f"{self.sentence}\n\n{columns(lines)}"


def _words(crossing: Crossing, scan: LineScan) -> str:
    before, after = show(crossing.before), show(crossing.after)
    where = f"after {crossing.share:.2%}"
    if before != after and not scan.gives_values:
        return f"from {before} to {after} {where}"
    return f"{scan.target} is {'reached' if crossing.reached else 'left'} {where}"


def both_sides(crossing: Crossing, scan: LineScan) -> tuple[str, str]:
    """Return what the model predicts before and after a crossing, so that the two look different."""
    numbers = Numbers.of(scan.target, [crossing.before, crossing.after])
    reached = crossing.reached
    return said(crossing.before, numbers, not reached), said(crossing.after, numbers, reached)

"""A straight way between two rows, and where the model's decision turns on it."""

from dataclasses import asdict, dataclass
from typing import Any

from ssba.results.advice import ADVICE_VERSION
from ssba.results.plan import listed
from ssba.results.text import columns, show


@dataclass(frozen=True)
class Turn:
    """A place where the decision turns.

    Attributes
    ----------
    share : float
        The share of the way at which the new decision was first seen; it is found to one part in 10^9.
    before, after
        What the model predicts just before it, and there.
    reached : bool
        Whether the row at the turn reaches the target.
    values : dict
        The row at the turn, which the model was asked about.
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
class Way:
    """What the model says on the straight way from one row to another.

    Numbers move evenly, rounded to their column's step; categories, and cells that are missing at one end,
    change over half way. Constraints play no part.

    Attributes
    ----------
    start, end : dict
        The two rows.
    shares : tuple of float
        The shares of the way that were asked about, from 0 to 1.
    predictions, scores, reached : tuples
        What the model says there; scores are None where the model gives none.
    turns : tuple of Turn
        Where the decision turns, in order. Two turns that lie between neighbouring shares may be missed.
    target : str
        What is to be reached, in words.
    """

    start: dict[str, Any]
    end: dict[str, Any]
    shares: tuple[float, ...]
    predictions: tuple[Any, ...]
    scores: tuple[float | None, ...]
    reached: tuple[bool, ...]
    turns: tuple[Turn, ...]
    target: str = ""

    @property
    def sentence(self) -> str:
        """Where the decision turns, in one plain sentence."""
        if not self.turns:
            return f"The decision does not turn on the way, as {len(self.shares):,} rows of it show."
        told = "; ".join(_turn_words(turn, self.target) for turn in self.turns)
        times = "once" if len(self.turns) == 1 else f"{len(self.turns)} times"
        return f"The decision turns {times} on the way: {told}."

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dicts, lists, text and numbers."""
        plain: dict[str, Any] = listed(asdict(self))
        return {"schema": ADVICE_VERSION, **plain, "sentence": self.sentence}

    def __repr__(self) -> str:
        if not self.turns:
            return self.sentence
        lines = [("way", "before", "after", "reaches the target")]
        for turn in self.turns:
            lines.append(
                (f"{turn.share:.2%}", show(turn.before), show(turn.after), "yes" if turn.reached else "no")
            )
        return f"{self.sentence}\n\n{columns(lines)}"


def _turn_words(turn: Turn, target: str) -> str:
    before, after = show(turn.before), show(turn.after)
    where = f"after {turn.share:.2%} of it"
    if before != after:
        return f"from {before} to {after} {where}"
    return f"{target} is {'reached' if turn.reached else 'left'} {where}"

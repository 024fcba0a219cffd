"""A check of constraints: what they leave of a row, before any search."""

from dataclasses import dataclass
from typing import Any

from ssba.json_form import JsonForm
from ssba.results.text import clash_words
from ssba.results.words import join


@dataclass(frozen=True)
class Allowed:
    """What a column may become: the same value only, an interval, or some levels.

    Attributes
    ----------
    column : str
        Its name.
    now : Any
        The query's value.
    low, high : Any
        The ends of the interval for a number or a date; None for levels. Relations between columns may allow
        less of it.
    levels : tuple
        The levels for a column that has some.
    """

    column: str
    now: Any
    low: Any = None
    high: Any = None
    levels: tuple[Any, ...] = ()


@dataclass(frozen=True, repr=False)
class ConstraintCheck(JsonForm):
    """What constraints mean for one row; the model was not asked.

    Attributes
    ----------
    constraints : tuple of str
        The constraints as they were read.
    broken : tuple of str
        Those that the row itself does not meet: an answer has to mend them.
    clash : tuple of str
        Those that contradict each other, none of which can be left out; empty where they do not.
    settled : bool
        False where it took too many cases to tell whether any row meets all constraints.
    may_change : tuple of Allowed
        The columns that may change, and to what; of several ways to meet the constraints, all together.
    """

    constraints: tuple[str, ...]
    broken: tuple[str, ...]
    clash: tuple[str, ...]
    settled: bool
    may_change: tuple[Allowed, ...]

    @property
    def sentence(self) -> str:
        """What the check found, in a few plain sentences."""
        if self.clash:
            return f"{clash_words(self.clash)}."
        if not self.settled:
            return "It was not settled whether any row meets all constraints; use fewer if-then rules."
        free = f"{_changeable(self)} may change." if self.may_change else "No column may change."
        mend = f" The row itself breaks {_quoted(self.broken)}." if self.broken else ""
        return f"{free}{mend}"

    def __repr__(self) -> str:
        return self.sentence


def _quoted(texts: tuple[str, ...]) -> str:
    return join(f'"{text}"' for text in texts)


def _changeable(check: ConstraintCheck) -> str:
    return join(one.column for one in check.may_change)

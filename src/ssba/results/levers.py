"""Levers: which columns, alone or together, can flip a decision."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ssba.arguments import counted
from ssba.json_form import JsonForm
from ssba.results.words import columns, join, show

LeverStatus = Literal["found", "not_found", "unreachable"]
_MOST_TOLD = 5
_WHY = {
    "unreachable": "proved from the model's inside",
    "exhausted": "every legal row was asked",
    "infeasible": "the constraints leave no row",
}


@dataclass(frozen=True)
class Lever:
    """A set of columns, and whether changing them alone can flip the decision under the constraints.

    Attributes
    ----------
    columns : tuple of str
        What may change; everything else stays as it is.
    status : {"found", "not_found", "unreachable"}
        ``"found"``: it flips. ``"not_found"``: the search found nothing, which is no proof.
        ``"unreachable"``: it was shown that nothing can be found.
    distance : float or None
        How far the nearest counterfactual found is.
    changes, values : dict
        What changes in it, column -> (before, after), and the whole row, as the model scored it.
    prediction, score
        What the model says about it.
    rows_asked : int
        How hard it was tried: the model rows of its search.
    proof : str or None
        For what was found: ``"optimal"`` or ``"exhausted"`` where no nearer row with these columns reaches.
        For what cannot: ``"unreachable"`` (from the inside of a linear model or of
        trees), ``"exhausted"`` (every legal row was asked) or ``"infeasible"`` (the constraints
        leave no row).
    """

    columns: tuple[str, ...]
    status: LeverStatus
    distance: float | None = None
    changes: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    prediction: Any = None
    score: float | None = None
    rows_asked: int = 0
    proof: str | None = None

    @property
    def sentence(self) -> str:
        """What this lever does, in one sentence."""
        named = join(self.columns)
        if self.status == "found":
            return f"Changing {named} reaches the target at a distance of {show(self.distance)}."
        if self.status == "unreachable":
            why = f" ({_WHY[self.proof]})" if self.proof in _WHY else ""
            return f"Changing {named} alone cannot reach the target{why}."
        asked = counted(self.rows_asked, "row")
        return f"No change of {named} alone was found to reach the target ({asked} asked)."


@dataclass(frozen=True)
class LeverTable(JsonForm):
    """Which single columns, pairs and triples can flip a decision under the constraints.

    Attributes
    ----------
    status : str
        How the query ends with all columns free, as in `Explanation`.
    target : str
        What is to be reached, in words.
    levers : tuple of Lever
        Those that flip, nearest first. A set that contains a smaller one that flips is here only if it is at
        least 10% nearer.
    unable : tuple of Lever
        Those for which nothing was found, or that were proved not to be enough.
    max_columns : int
        How many columns a set holds at most.
    sets_tried, sets_untried : int
        How many sets were searched, and how many of all there are were not.
    rows_used : int
        Model rows that all this took.
    """

    status: str
    target: str
    levers: tuple[Lever, ...] = ()
    unable: tuple[Lever, ...] = ()
    max_columns: int = 3
    sets_tried: int = 0
    sets_untried: int = 0
    rows_used: int = 0

    @property
    def sentence(self) -> str:
        """What can be pulled, and what cannot, in one paragraph."""
        return " ".join(_sentences(self))

    def __repr__(self) -> str:
        rows = (*self.levers, *self.unable)
        return f"{self.sentence}\n\n{_lines(rows)}" if rows else self.sentence


def _sentences(table: LeverTable) -> Iterator[str]:
    if table.status == "already_there":
        yield f"The query already reaches {table.target}: no lever is needed."
        return
    if table.status == "infeasible":
        yield "No row meets all constraints, so that no column can be changed."
        return
    if table.levers:
        shown = "; ".join(
            f"{join(one.columns)} (distance {show(one.distance)})" for one in table.levers[:_MOST_TOLD]
        )
        yield f"Columns that can reach {table.target}, nearest first: {shown}."
    else:
        yield f"No set of up to {table.max_columns} columns was found that reaches {table.target}."
    yield from _about_unable(table.unable)
    if table.sets_untried:
        yield f"{table.sets_tried:,} sets of columns were tried, {table.sets_untried:,} were not."


def _about_unable(unable: Sequence[Lever]) -> Iterator[str]:
    """Tell about single columns, or about the sets where there are only larger ones."""
    singles = [one for one in unable if len(one.columns) == 1]
    proved = [one.columns[0] for one in singles if one.status == "unreachable"]
    missed = [one for one in singles if one.status == "not_found"]
    if proved:
        yield f"Proved not to be enough alone: {join(proved)}."
    if missed:
        rows = sum(one.rows_asked for one in missed)
        named = join(one.columns[0] for one in missed)
        yield f"Not found to be enough alone: {named} ({counted(rows, 'row')} asked)."


def _lines(levers: Sequence[Lever]) -> str:
    lines = [("columns", "status", "distance", "rows", "proof")]
    for one in levers:
        distance = "" if one.distance is None else show(one.distance)
        status = one.status.replace("_", " ")
        lines.append((join(one.columns), status, distance, f"{one.rows_asked:,}", one.proof or ""))
    return columns(lines)

"""Why there is no answer, and what to relax: plain data, and its words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ssba.json_form import JsonForm
from ssba.results.plan import change_words
from ssba.results.text import clash_words
from ssba.results.words import capital, columns, join, quoted, show

DATA_RANGE = " (the range of the data)"
"""Ends the name of a limit that no constraint sets, but the lowest or highest value in the data."""

_MOST_TOLD = 3


@dataclass(frozen=True)
class Binding:
    """A constraint or limit that holds the query back.

    Attributes
    ----------
    constraint : str
        Its text; for a limit, the option as it was given, such as ``max_changes=2``.
    flips : bool
        Whether relaxing it alone is enough to reach the target.
    distance_to_boundary : float or None
        What the bounded move without it leaves to the nearest boundary point known; None where it flips.
    score : float or None
        The score of the counterfactual then. Where it does not flip: the best score found among rows like the
        bounded move that break this constraint, and no other; None where none of them is better.
    """

    constraint: str
    flips: bool
    distance_to_boundary: float | None = None
    score: float | None = None


@dataclass(frozen=True)
class Relaxation:
    """One or two constraints, loosened just as far as needed, and the outcome when this was tried.

    Attributes
    ----------
    constraints : tuple of str
        What is relaxed, as it was asked for.
    relaxed : tuple of (str or None)
        What to ask for instead: texts that ``ssba.constraint`` reads, or for limits the option. None: leave
        it out.
    words : tuple of str
        The same in words: "let trestbps move by up to 24% instead of 20%".
    size : float or None
        How large the relaxation is, relative to what was asked for: 0.2 for 24% instead of 20%, 1 for one
        more level; of two constraints the larger one. None where one is left out altogether.
    flips : bool
        Whether a counterfactual was found with it. Where not, it only makes contradicting constraints
        possible to meet.
    is_tight : bool
        Whether each of its bounds alone, one step tighter (5% less loosened where there are no steps), was
        explained anew and did not flip. Not so where the budget ended before; as sure as the search.
    is_proved : bool
        Whether it is proved that none of these flips.
    changes, values, distance, prediction, score
        The counterfactual that was found, checked as every answer is; the bounded move where none was. Empty
        where the query reaches the target as it is.
    """

    constraints: tuple[str, ...]
    relaxed: tuple[str | None, ...]
    words: tuple[str, ...]
    size: float | None
    flips: bool
    is_tight: bool = True
    is_proved: bool = False
    changes: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    distance: float | None = None
    prediction: Any = None
    score: float | None = None

    derived: ClassVar[tuple[str, ...]] = ("facts", "is_beyond_data")

    @property
    def is_single(self) -> bool:
        """Whether one constraint alone is relaxed."""
        return len(self.constraints) == 1

    @property
    def facts(self) -> tuple[str, ...]:
        """The columns that were said to stay as they are, and may change with it.

        Examples
        --------
        >>> Relaxation(("sex == x.sex", "chol <= 200"), (None, "chol <= 210"), ("", ""), None, True).facts
        ('sex',)
        """
        sides = [text.partition(" == ") for text in self.constraints]
        return tuple(left for left, _, right in sides if right == f"x.{left}")

    @property
    def is_beyond_data(self) -> bool:
        """Whether it leads to values that no row of the data has."""
        return any(text.endswith(DATA_RANGE) for text in self.constraints)

    @property
    def claim(self) -> str:
        """What it is, in words, and no more than was shown."""
        if not self.is_tight:
            return "A relaxation that is enough, perhaps more than is needed"
        tighter = "with a bound a step or a twentieth tighter"
        if self.is_proved:
            return f"A relaxation that is just enough (proved: {tighter} it is not)"
        return f"A relaxation that is enough ({tighter}, no answer was found)"

    @property
    def sentence(self) -> str:
        """What to relax, and what that gives."""
        what = capital(join(self.words))
        if not self.flips:
            missed = ", but no row was found that reaches the target" if self.values else ""
            return f"{what}: then the constraints can be met{missed}."
        distance = "" if self.distance is None else f", at a distance of {show(self.distance)}"
        return f"{what}: then changing {change_words(self.changes, {})} reaches the target{distance}."


@dataclass(frozen=True)
class WhyNot(JsonForm):
    """Which constraints stand in the way of an answer, and small relaxations that let one through.

    Attributes
    ----------
    status : str
        How the query ended: ``"bounded"``, ``"infeasible"``, ``"out_of_budget"``; there is nothing to relax
        for ``"found"`` and ``"already_there"``.
    target : str
        What was to be reached, in words.
    clash : tuple of str
        Constraints that contradict each other.
    bindings : tuple of Binding
        What holds the query back; those first that are enough to relax alone, then those of pairs that are,
        then those beyond which the score gets better.
    relaxations : tuple of Relaxation
        Those that flip first; of these one constraint before two, what a person said is fixed and the data's
        own range last, then by `size`, then by distance. For each constraint, and each pair of which neither
        alone is enough, at most one that flips.
    is_there : bool
        Whether the query reaches the target as it is, so that there is nothing to flip but a contradiction.
    pairs_tried, pairs_untried : int
        How many pairs of constraints were left out together, and how many the budget did not allow.
    rows_used : int
        Model rows that all this took.
    ran_out : bool
        Whether the budget ended before everything was tried.
    """

    status: str
    target: str
    clash: tuple[str, ...] = ()
    bindings: tuple[Binding, ...] = ()
    relaxations: tuple[Relaxation, ...] = ()
    is_there: bool = False
    pairs_tried: int = 0
    pairs_untried: int = 0
    rows_used: int = 0
    ran_out: bool = False

    @property
    def best(self) -> Relaxation | None:
        """The first relaxation that flips; None where none was found."""
        return next((one for one in self.relaxations if one.flips), None)

    @property
    def sentence(self) -> str:
        """Why not, and what to relax, in one paragraph."""
        if self.status in ("found", "already_there"):
            return f"Nothing stands in the way of {self.target}: there is nothing to relax."
        return " ".join(_sentences(self))

    def __repr__(self) -> str:
        return f"{self.sentence}\n\n{_table(self.relaxations)}" if self.relaxations else self.sentence


def _sentences(why: WhyNot) -> Iterator[str]:
    yield _obstacle(why)
    flipping = [one for one in why.relaxations if one.flips]
    if flipping:
        yield f"{flipping[0].claim}: {_told(flipping[0])}."
        if len(flipping) > 1:
            yield f"Or: {'; or '.join(_told(one) for one in flipping[1:_MOST_TOLD])}."
    else:
        yield _nothing_flips(why)
    if why.pairs_untried:
        pairs = "pair of constraints was" if why.pairs_untried == 1 else "pairs of constraints were"
        yield f"{why.pairs_untried:,} {pairs} not tried."
    if why.ran_out:
        yield f"The budget ended after {why.rows_used:,} model rows; more may show smaller relaxations."


def _obstacle(why: WhyNot) -> str:
    if why.status == "infeasible":
        return f"{clash_words(why.clash)}."
    if not why.bindings:
        return f"No feasible row was found that reaches {why.target}, and no constraint alone holds it back."
    verb = "holds" if len(why.bindings) == 1 else "hold"
    named = quoted([one.constraint for one in why.bindings])
    return f"No feasible row was found that reaches {why.target}; {named} {verb} it back."


def _nothing_flips(why: WhyNot) -> str:
    if why.relaxations:
        least = join(why.relaxations[0].words)
        then = (
            f"the query reaches {why.target} as it is"
            if why.is_there
            else "none of them was found to reach it"
        )
        return f"A relaxation that leaves feasible rows: {least}; {then}."
    pairs = f", nor any of {why.pairs_tried:,} pairs," if why.pairs_tried else ""
    return f"No single constraint{pairs} was found to be enough to relax."


def _told(one: Relaxation) -> str:
    distance = "" if one.distance is None else f" (distance {show(one.distance)})"
    return f"{join(one.words)}{distance}"


def _table(relaxations: Sequence[Relaxation]) -> str:
    lines = [("relax", "looser by", "enough", "distance", "ask for")]
    for one in relaxations:
        size = "all of it" if one.size is None else f"{one.size:.0%}"
        instead = join(text or "leave it out" for text in one.relaxed)
        distance = "" if one.distance is None else show(one.distance)
        lines.append((join(one.words), size, "yes" if one.flips else "no", distance, instead))
    return columns(lines)

"""What can be relaxed about a query, and the least that has to be, by bisection side by side."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ssba.advice.context import Context
from ssba.advice.probing import Find
from ssba.constraints.constraint import holds
from ssba.constraints.language.tree import Comparison, Constraint, MayFill, New, Number, Operator, columns
from ssba.constraints.regions.compile import compile_regions
from ssba.constraints.relaxing.ladder import tidy
from ssba.constraints.relaxing.looser import Ladder, ladders, left_out, needed
from ssba.options import Ball, Options
from ssba.pipeline.max_changes import allow_few
from ssba.results.why_not import DATA_RANGE

# A bracket is halved so often at most; it is narrow long before.
_MOST_ROUNDS = 40
# A move within this share of a range from its end stands at the end.
_NEAR_END = 0.02
# A margin gets less in steps of this share, down to one of them.
_LESS_MARGIN = 0.01

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Terms:
    """All that a query has to obey: constraints, some of them left out, and the options."""

    constraints: tuple[Constraint | None, ...]
    options: Options

    def having(self, place: int | str, thing: Any) -> "Terms":
        """Return the terms with another constraint at a place, or another option; None: without."""
        if isinstance(place, int):
            constraints = (*self.constraints[:place], thing, *self.constraints[place + 1 :])
            return replace(self, constraints=constraints)
        field: dict[str, Any] = {place: bool(thing) if place == "plausible" else thing}
        return replace(self, options=replace(self.options, **field))

    def of(self, context: Context) -> Context:
        """Return the context under these terms."""
        kept = [one for one in self.constraints if one is not None]
        return context.with_constraints(kept, self.options)


@dataclass(frozen=True)
class Condition:
    """One thing that may be relaxed: a constraint, a limit, or the data's range of a column.

    `place` is the number of the constraint in the terms, or the name of the request's field. `ladders`
    returns the ways to loosen it, given a row that one would like to have. `columns` are those it names.
    """

    text: str
    place: int | str
    ladders: Callable[[Row | None], list[Ladder]]
    columns: tuple[str, ...] = ()
    is_range: bool = False

    def widest(self, terms: Terms) -> Terms:
        """Return the terms without it; a range of the data goes as far as its ladder."""
        if not self.is_range:
            return terms.having(self.place, None)
        (ladder,) = self.ladders(None)
        return terms.having(self.place, ladder.at(ladder.most))

    def text_of(self, thing: Any) -> str | None:
        """Write what is asked for instead; None where it is left out."""
        if thing is None or isinstance(thing, Constraint):
            return None if thing is None else thing.text
        return f"{self.place}={thing if isinstance(thing, int) else thing.text}"


def conditions_of(context: Context, move: Row | None) -> tuple[Terms, list[Condition]]:
    """Return the terms of a query and what may be relaxed about them.

    The range of the data counts where the bounded move stands near its end and no constraint speaks about it.
    """
    found = [
        Condition(one.text, number, _ladders_of(context, one), tuple(sorted(columns(one))))
        for number, one in enumerate(context.constraints)
        if not isinstance(one.clauses[0], MayFill)
    ]
    ranges = _ranges_of(context, move)
    constraints = (*context.constraints, *[None for _ in ranges])
    return Terms(constraints, context.options), [*found, *ranges, *_wishes_of(context)]


def _ladders_of(
    context: Context, constraint: Constraint, most: float = math.inf
) -> Callable[[Row | None], list[Ladder]]:
    """Return what gives the ladders of a constraint, none of them longer than `most`."""

    def ladders_of(wanted: Row | None) -> list[Ladder]:
        found = ladders(constraint, context.query, context.engine.space.by_name, wanted)
        return [replace(one, most=min(one.most, most)) for one in found]

    return ladders_of


def _ranges_of(context: Context, move: Row | None) -> list[Condition]:
    if move is None or not context.regions:
        return []
    z = context.encode(move)
    lower = np.min([region.lower for region in context.regions], axis=0)
    upper = np.max([region.upper for region in context.regions], axis=0)
    found: list[Condition] = []
    for j, feature in enumerate(context.engine.space.features):
        ends: list[tuple[float, float, Operator]] = [
            (lower[j], feature.data_low, ">="),
            (upper[j], feature.data_high, "<="),
        ]
        for end, known, operator in ends:
            near = abs(z[j] - end) <= _NEAR_END * (upper[j] - lower[j])
            if near and end == known and lower[j] < upper[j] and not feature.levels:
                bound = Constraint((Comparison((New(feature.name), Number(known)), (operator,)),))
                place = len(context.constraints) + len(found)
                text = f"{bound.text}{DATA_RANGE}"
                # What was never negative is taken for a size, which cannot be.
                most = known if operator == ">=" and known >= 0 else math.inf
                if most > 0:
                    ladders_of = _ladders_of(context, bound, most)
                    found.append(Condition(text, place, ladders_of, (feature.name,), is_range=True))
    return found


def _wishes_of(context: Context) -> list[Condition]:
    request, found = context.options, []
    if request.max_changes is not None:
        more = _more_changes(request.max_changes, len(context.x))
        found.append(Condition(f"max_changes={request.max_changes}", "max_changes", lambda wanted: more))
    if request.plausible:
        found.append(Condition("plausible=True", "plausible", lambda wanted: []))
    if request.margin is not None:
        less = _less_margin(request.margin)
        found.append(Condition(f"margin={request.margin.text}", "margin", lambda wanted: [less]))
    return found


def _more_changes(most: int, width: int) -> list[Ladder]:
    if width <= most:
        return []
    return [
        Ladder(
            at=lambda amount: most + round(amount),
            says=lambda amount: f"let {most + round(amount)} columns change instead of {most}",
            most=float(width - most),
            scale=float(most),
            step=1.0,
        )
    ]


def _less_margin(margin: Any) -> Ladder:
    kind = type(margin)
    size = margin.radius if isinstance(margin, Ball) else margin.amount

    def at(amount: float) -> Any:
        return kind(tidy(size - amount))

    return Ladder(
        at,
        lambda amount: f"ask for margin={at(amount).text} instead of {margin.text}",
        most=tidy((1 - _LESS_MARGIN) * size),
        scale=size,
        step=tidy(_LESS_MARGIN * size),
        base=size,
        sign=-1.0,
    )


@dataclass(frozen=True)
class Attempt:
    """Some conditions on their ladders: amounts that were not enough, and amounts that were.

    `outcome` is what was found at the higher amounts. `is_tight` tells that a little less of any of them
    was tried, too, and was not enough; `is_proved` that it cannot be.
    """

    conditions: tuple[Condition, ...]
    ladders: tuple[Ladder, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    outcome: Find | None = None
    is_tight: bool = True
    is_proved: bool = False

    @property
    def size(self) -> float:
        """How large the relaxation is, relative to what was asked for: that of the largest one."""
        return max(ladder.size(high) for high, ladder in zip(self.high, self.ladders, strict=True))

    @property
    def flips(self) -> bool:
        """Whether a counterfactual was found at the higher amounts."""
        return self.outcome is not None and self.outcome.best is not None

    @property
    def distance(self) -> float:
        """The distance of that counterfactual."""
        best = None if self.outcome is None else self.outcome.best
        return math.inf if best is None else best.distance

    @property
    def middle(self) -> tuple[float, ...]:
        """Amounts between the two; the higher one where nothing lies between."""
        both = zip(self.ladders, self.low, self.high, strict=True)
        return tuple(
            high if ladder.is_narrow(low, high) else ladder.between(low, high) for ladder, low, high in both
        )

    @property
    def just_below(self) -> tuple[float, ...]:
        """The next smaller amounts that matter; the higher ones where nothing lies between."""
        both = zip(self.ladders, self.low, self.high, strict=True)
        return tuple(
            high if ladder.is_narrow(low, high) else max(low, ladder.below(high))
            for ladder, low, high in both
        )

    def at(self, amounts: Sequence[float], terms: Terms) -> Terms:
        """Return the terms with the conditions relaxed by these amounts; 0 leaves one as it was."""
        for condition, ladder, amount in zip(self.conditions, self.ladders, amounts, strict=True):
            terms = terms.having(condition.place, ladder.at(amount)) if amount else terms
        return terms


@dataclass(frozen=True)
class Verdict:
    """Whether some terms are enough, and what was found under them."""

    is_enough: bool
    outcome: Find | None = None

    @property
    def is_proved(self) -> bool:
        """Whether it is certain that they are not enough."""
        return not self.is_enough and self.outcome is not None and self.outcome.proof is not None


Asks = Callable[[list[Terms]], list[Verdict | None]]


def narrowed(
    attempts: Sequence[Attempt],
    terms: Terms,
    asks: Asks,
    tighten: Callable[[Attempt], Attempt] = lambda attempt: attempt,
) -> list[Attempt]:
    """Bring the amounts of all attempts down as far as they are still enough, side by side.

    `asks` returns a verdict on each terms; None where the budget is spent, which ends that attempt. `tighten`
    brings what was enough down to what was found with it, which is often the least already: so the next
    smaller amounts are asked about together with those in the middle.
    """
    done, going = [], list(attempts)
    for _ in range(_MOST_ROUNDS):
        done += [one for one in going if one.middle == one.high]
        going = [one for one in going if one.middle != one.high]
        if not going:
            break
        verdicts = asks([one.at(amounts, terms) for one in going for amounts in (one.just_below, one.middle)])
        both = list(zip(going, verdicts[::2], verdicts[1::2], strict=True))
        done += [
            replace(one, is_tight=False) for one, below, middle in both if below is None or middle is None
        ]
        going = [
            tighten(_halved(one, below, middle))
            for one, below, middle in both
            if below is not None and middle is not None
        ]
    return done + [replace(one, is_tight=False) for one in going]


def _halved(attempt: Attempt, below: Verdict, middle: Verdict) -> Attempt:
    """Narrow the amounts of an attempt by what is known of those just below and those in the middle."""
    if not below.is_enough:
        return replace(attempt, low=attempt.just_below)
    if middle.is_enough:
        return replace(attempt, high=attempt.middle, outcome=middle.outcome)
    return replace(attempt, low=attempt.middle, high=attempt.just_below, outcome=below.outcome)


def is_feasible(context: Context, terms: Terms) -> bool:
    """Tell whether any row is known to meet the constraints; no model is asked."""
    kept, engine = [one for one in terms.constraints if one is not None], context.engine
    regions, most = compile_regions(engine.space, engine.metric, context.x, kept), terms.options.max_changes
    return bool(regions) if most is None else allow_few(regions, most, engine.metric)


def attempts_alone(context: Context, condition: Condition, wanted: Row | None) -> list[Attempt]:
    """Return the attempts for one condition: far enough for a wanted row, or as far as a ladder goes."""
    found = []
    for ladder in condition.ladders(wanted):
        enough = None if wanted is None else amount_for(context, condition, ladder, wanted)
        high = ladder.above(enough) if enough else ladder.most
        found.append(Attempt((condition,), (ladder,), (0.0,), (high,)))
    return found


def attempt_together(context: Context, conditions: tuple[Condition, ...], wanted: Row) -> Attempt | None:
    """Return the attempt for several conditions that is just enough for a wanted row.

    A condition that the row meets as it is has no part in it. None where one that it does not meet has
    no ladder that leads there, and cannot be left out.
    """
    chosen = [(one, _smallest(context, one, wanted)) for one in conditions]
    parts = [(one, *rung) for one, rung in chosen if rung is not None and rung[1] > 0]
    if not parts or any(rung is None for _, rung in chosen):
        return None
    owners, ladders, amounts = zip(*parts, strict=True)
    high = tuple(ladder.above(amount) for ladder, amount in zip(ladders, amounts, strict=True))
    return Attempt(owners, ladders, (0.0,) * len(owners), high)


def without(conditions: tuple[Condition, ...], outcome: Find, is_tight: bool) -> Attempt:
    """Return the attempt that leaves conditions out, where that is known to be enough."""
    ladders = tuple(left_out(f'leave out "{one.text}"') for one in conditions)
    ones = (1.0,) * len(conditions)
    return Attempt(conditions, ladders, (0.0,) * len(conditions), ones, outcome, is_tight)


def _smallest(context: Context, condition: Condition, wanted: Row) -> tuple[Ladder, float] | None:
    """Return the ladder with the smallest amount that allows a row; leaving out where there is none."""
    amounts = [
        (ladder, amount_for(context, condition, ladder, wanted)) for ladder in condition.ladders(wanted)
    ]
    options = [(ladder, amount) for ladder, amount in amounts if amount is not None]
    if not options and condition.is_range:
        return None
    fallback = (left_out(f'leave out "{condition.text}"'), 1.0)
    return min(options, key=lambda one: one[0].size(one[1]), default=fallback)


def amount_for(context: Context, condition: Condition, ladder: Ladder, wanted: Row) -> float | None:
    """Return the least amount that allows a wanted row; None where the row alone does not tell."""
    features = context.engine.space.by_name
    if isinstance(condition.place, int) and ladder.at(ladder.most) is None:
        # A constraint that is left out allows every row, but only one that breaks it needs that.
        own = context.constraints[condition.place : condition.place + 1]
        return 0.0 if own and holds(own[0], context.query, wanted, features) else ladder.most
    if isinstance(condition.place, int):
        return needed(ladder, context.query, wanted, features)
    if condition.place != "max_changes":
        return None
    query = context.query
    changed = sum(wanted[name] != query[name] for name in query)
    return max(0.0, float(changed - (context.options.max_changes or 0)))

"""Why there is no answer, and small relaxations of constraints and limits that let one through.

Everything said to flip was explained anew under the relaxed constraints, or under slightly looser ones, and
what was found meets the relaxed ones. A relaxation is called tight where each of its bounds alone, one step
tighter (or 5% less loosened), was explained anew, too, and was not enough: proved where the model can be
opened, else as far as the search could tell.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ssba.advice.binding import Beyond, best_beyond
from ssba.advice.context import Context
from ssba.advice.probing import SEARCH_ROWS, Find, Prober, find_of
from ssba.advice.relaxations import (
    Attempt,
    Condition,
    Terms,
    Verdict,
    attempt_together,
    attempts_alone,
    conditions_of,
    is_feasible,
    narrowed,
    without,
)
from ssba.advice.tightening import checked, narrowed_each, tightened, to_nearest
from ssba.arguments import whole
from ssba.constraints.constraint import Constraint, fixed
from ssba.progress import unwatched
from ssba.results.explanation import Explanation, Status
from ssba.results.why_not import Binding, Relaxation, WhyNot

# Pairs that are left out together, the most promising first, and those of them that are narrowed down.
_MOST_PAIRS, _PAIRS_NARROWED = 100, 8

Conditions = tuple[Condition, ...]


def why_not(
    context: Context,
    explanation: Explanation | None = None,
    most_rows: int = 100_000,
    done: Callable[[], object] = unwatched,
) -> WhyNot:
    """Find out which constraints and limits stand in the way, and the least that has to be relaxed.

    Parameters
    ----------
    context : Context
        The query, with its constraints and limits.
    explanation : Explanation, optional
        How it ended, where that is known already.
    most_rows : int
        How many model rows to spend at most.
    done : function
        Called as each search under other constraints ends.
    """
    most_rows = whole("most_rows", most_rows, at_least=1)
    options = replace(context.options, k=1, sparsity="none", prove=False)
    context = context.with_constraints(_each_once(context.constraints), options)
    outcome = explanation or context.explain()
    rows_used = outcome.rows_used if explanation is None else 0
    if outcome.status in (Status.FOUND, Status.ALREADY_THERE):
        return WhyNot(outcome.status.value, outcome.target, rows_used=rows_used)
    prober = Prober(context.goal, most_rows, rows_used, done=done)
    move = outcome.bounded
    terms, conditions = conditions_of(context, None if move is None else move.values)
    return _answer(_Inquiry(context, outcome, prober, terms, conditions))


def _each_once(constraints: Sequence[Constraint]) -> list[Constraint]:
    """Leave out what was said before: a constraint that was given twice is relaxed once."""
    return list({one.text: one for one in constraints}.values())


@dataclass(frozen=True)
class _Inquiry:
    """A query without an answer, how it ended, and what may be relaxed about it."""

    context: Context
    outcome: Explanation
    prober: Prober
    terms: Terms
    conditions: list[Condition]

    @property
    def is_infeasible(self) -> bool:
        return self.outcome.status is Status.INFEASIBLE

    def left_out(self, sets: Sequence[Conditions]) -> list[Find | None]:
        """Look for answers without each set of conditions; on pairs half of what is left may be spent."""
        if not sets:
            return []
        contexts = [self._widest(one) for one in sets]
        if len(sets[0]) > 1:
            return self._looks(contexts, reserve=self.prober.rows_left // 2)
        return self.prober.moves_instead(contexts, self._looks(contexts))

    def searched_without(self, sets: Sequence[Conditions]) -> list[Find | None]:
        """Search for answers without each set, as `explain` does: they may need less of it than a look's."""
        if self.context.options.radius is not None:
            return [None] * len(sets)
        return self.prober.first_finds([self._widest(one) for one in sets])

    def _widest(self, conditions: Conditions) -> Context:
        terms = self.terms
        for one in conditions:
            terms = one.widest(terms)
        return terms.of(self.context)

    def flips(self, terms: Sequence[Terms]) -> list[Verdict | None]:
        """Tell under which terms a counterfactual is found; None where the budget is spent."""
        outcome = self._looks([one.of(self.context) for one in terms])
        return [None if one is None else Verdict(one.best is not None, one) for one in outcome]

    def _looks(self, contexts: Sequence[Context], reserve: int = 0) -> list[Find | None]:
        """Look for any counterfactual of each context; one with room around it takes a whole search."""
        if self.context.options.radius is not None:
            return self.prober.search(contexts, SEARCH_ROWS, reserve)
        return self.prober.looks(contexts, reserve)

    def _finds(self, contexts: Sequence[Context], rows: int = SEARCH_ROWS) -> list[Find | None]:
        """Search for a counterfactual of each context, as `explain` does, to the first that is found."""
        has_ball = self.context.options.radius is not None
        return (self.prober.search if has_ball else self.prober.first_finds)(contexts, rows)

    def nearest(self, terms: Sequence[Terms]) -> list[Find | None]:
        """Return the nearest counterfactual under each of some terms under which `explain` finds one.

        More is asked at once, as where calls are dear: few searches go side by side here, and each of their
        calls takes longer than what is asked in it. So what is found may be a little nearer, or farther, than
        what `explain` finds.
        """
        contexts = [one.of(self.context) for one in terms]
        first = self._finds(contexts)
        found = [one is not None and one.best is not None for one in first]
        few = [replace(one, options=replace(one.options, calls="few")) for one in contexts]
        closer = iter(self.prober.search([one for one, is_found in zip(few, found, strict=True) if is_found]))
        return [
            _nearer(one, next(closer)) if is_found else one
            for one, is_found in zip(first, found, strict=True)
        ]

    def explained(self, attempts: Sequence[Attempt]) -> list[Attempt]:
        """Search for the nearest counterfactual under the terms of attempts for which just one was found.

        Most were only looked at: an attempt under which the search finds nothing is dropped, and so is one
        for which no budget is left to ask.
        """
        first = [one for one in attempts if one.outcome is not None and not one.outcome.is_nearest]
        found = [one for one in attempts if one.outcome is None or one.outcome.is_nearest]
        nearest = self.nearest([one.at(one.high, self.terms) for one in first])
        for one, other in zip(first, nearest, strict=True):
            if other is not None and other.best is not None:
                found.append(replace(one, outcome=_nearer(one.outcome, other)))
        return found

    def flips_as_explained(self, terms: Sequence[Terms]) -> list[Verdict | None]:
        """Tell the same with the budget that `explain` has; the query as it is was explained already."""
        others = [one.of(self.context) for one in terms if one != self.terms]
        # Most searches end long before their budget does; those that do not are made anew with all of it.
        self._finds(others)
        found = iter(self._finds(others, self.context.rows))
        own = find_of(self.outcome)
        answers = [own if one == self.terms else next(found) for one in terms]
        return [None if one is None else Verdict(one.best is not None, one) for one in answers]

    def feasible(self, terms: Sequence[Terms]) -> list[Verdict | None]:
        """Tell which terms some row meets; no model is asked."""
        return [Verdict(is_feasible(self.context, one)) for one in terms]


def _answer(inquiry: _Inquiry) -> WhyNot:
    outcome = inquiry.outcome
    singles: list[Conditions] = [
        (one,) for one in inquiry.conditions if not inquiry.is_infeasible or one.text in outcome.clash
    ]
    alone = inquiry.left_out(singles)
    found = _relaxed(inquiry, singles, alone)
    pairs = _promising_pairs(inquiry, singles, alone, found)
    together = inquiry.left_out(pairs[:_MOST_PAIRS])
    nearest = _nearest(list(zip(pairs, together, strict=False)))
    found += _relaxed(inquiry, [pair for pair, _ in nearest], [one for _, one in nearest])
    found = _checked(inquiry, found or _relaxed_beyond_the_data(inquiry, singles))
    tried = sum(one is not None for one in together)
    relaxations = tuple(_relaxation(one) for one in _in_order(_smallest_each(found)))
    return WhyNot(
        status=outcome.status.value,
        target=outcome.target,
        clash=outcome.clash,
        bindings=_bindings(inquiry, _by_text(singles, alone), relaxations),
        relaxations=relaxations,
        is_there=inquiry.prober.is_there(inquiry.context),
        pairs_tried=tried,
        pairs_untried=len(pairs) - tried,
        rows_used=inquiry.prober.rows_used,
        ran_out=inquiry.prober.ran_out,
    )


def _nearer(one: Find | None, other: Find | None) -> Find | None:
    """Return the find whose counterfactual is nearer; either may have none."""
    known = [find for find in (one, other) if find is not None and find.best is not None]
    return min(known, key=lambda find: find.best.distance if find.best else math.inf, default=one)


def _checked(inquiry: _Inquiry, attempts: Sequence[Attempt]) -> list[Attempt]:
    """Bring relaxations that flip down as far as each of their bounds goes alone, and check that."""
    flipping = [one for one in attempts if one.flips]
    others = [one for one in attempts if not one.flips]
    each = narrowed_each(inquiry.context, flipping, inquiry.terms, inquiry.flips)
    found = checked(inquiry.context, _in_order(each), inquiry.terms, inquiry.flips_as_explained)
    return _smallest_each([*_brought_down(inquiry, inquiry.explained(found)), *others])


def _brought_down(inquiry: _Inquiry, attempts: Sequence[Attempt]) -> list[Attempt]:
    """Bring attempts down to what their nearest counterfactuals need.

    A counterfactual that needs less is an answer there, too, whether or not a search finds it again. What
    came down far is checked once more: nobody knows yet whether a little less is enough.
    """
    lower = [to_nearest(inquiry.context, one) for one in attempts]
    changed = [i for i, one in enumerate(lower) if one.high != attempts[i].high]
    terms = [lower[i].at(lower[i].high, inquiry.terms) for i in changed]
    found = list(lower)
    for i, nearest in zip(changed, inquiry.nearest(terms), strict=True):
        found[i] = replace(lower[i], outcome=_nearer(lower[i].outcome, nearest))
    far = {i for i in changed if attempts[i].is_tight and not found[i].is_tight}
    again = [found[i] for i in sorted(far)]
    near = [one for i, one in enumerate(found) if i not in far]
    done = [*near, *checked(inquiry.context, again, inquiry.terms, inquiry.flips_as_explained)]
    # The searches made last may have found counterfactuals that need less still.
    return [to_nearest(inquiry.context, one) for one in done]


def _relaxed(inquiry: _Inquiry, sets: Sequence[Conditions], left_out: Sequence[Find | None]) -> list[Attempt]:
    """Return a small relaxation of each set without which the query has an answer, or feasible rows."""
    known = [(one, outcome) for one, outcome in zip(sets, left_out, strict=True) if outcome is not None]
    flipping = [(one, outcome) for one, outcome in known if outcome.best is not None]
    again = zip(flipping, inquiry.searched_without([one for one, _ in flipping]), strict=True)
    wanted = [*flipping, *((one, other) for (one, _), other in again if other is not None and other.best)]
    found = _narrowed_to_flips(
        inquiry, [attempt for one, outcome in wanted for attempt in _attempts(inquiry, one, outcome)]
    )
    # Where no ladder leads to an answer, or the search missed it there, leaving out is what is known to do.
    done = [set(one.conditions) for one in found]
    left = [(one, outcome) for one, outcome in flipping if not any(relaxed <= set(one) for relaxed in done)]
    all_tried = not inquiry.prober.ran_out
    found += [
        without(one, outcome, all_tried) for one, outcome in left if not any(each.is_range for each in one)
    ]
    if inquiry.is_infeasible:
        met = [(one, outcome) for one, outcome in known if outcome.is_feasible]
        found += _narrowed_to_feasible(
            inquiry, [attempt for one, outcome in met for attempt in _attempts(inquiry, one, outcome)]
        )
    return _smallest_each(found)


def _by_text(singles: Sequence[Conditions], alone: Sequence[Find | None]) -> dict[str, Find]:
    return {one.text: outcome for (one,), outcome in zip(singles, alone, strict=True) if outcome is not None}


def _attempts(inquiry: _Inquiry, conditions: Conditions, outcome: Find) -> list[Attempt]:
    """Return attempts that are just enough for what was found without the conditions."""
    move = outcome.move
    wanted = None if move is None else move.values
    if len(conditions) == 1:
        return attempts_alone(inquiry.context, conditions[0], wanted)
    together = None if wanted is None else attempt_together(inquiry.context, conditions, wanted)
    return [] if together is None else [together]


def _narrowed_to_flips(inquiry: _Inquiry, attempts: Sequence[Attempt]) -> list[Attempt]:
    """Verify attempts, at the end of their ladders where they fail, and narrow down those that hold."""
    attempts = list({one.at(one.high, inquiry.terms): one for one in attempts}.values())
    failed, holding = _verified(inquiry, attempts)
    wider = [replace(one, high=tuple(ladder.most for ladder in one.ladders)) for one in failed]
    _, again = _verified(
        inquiry, [one for one, old in zip(wider, failed, strict=True) if one.high != old.high]
    )
    tighten = partial(tightened, inquiry.context)
    return narrowed([tighten(one) for one in (*holding, *again)], inquiry.terms, inquiry.flips, tighten)


def _verified(inquiry: _Inquiry, attempts: Sequence[Attempt]) -> tuple[list[Attempt], list[Attempt]]:
    """Return the attempts at whose higher amounts no counterfactual is found, and those where one is."""
    verdicts = inquiry.flips([one.at(one.high, inquiry.terms) for one in attempts])
    asked = [(one, verdict) for one, verdict in zip(attempts, verdicts, strict=True) if verdict is not None]
    holding = [replace(one, outcome=verdict.outcome) for one, verdict in asked if verdict.is_enough]
    return [one for one, verdict in asked if not verdict.is_enough], holding


def _narrowed_to_feasible(inquiry: _Inquiry, attempts: Sequence[Attempt]) -> list[Attempt]:
    """Return the least that makes contradicting constraints possible to meet, and how the query then ends."""
    enough = [one for one in attempts if is_feasible(inquiry.context, one.at(one.high, inquiry.terms))]
    least = narrowed(enough, inquiry.terms, inquiry.feasible)
    least = narrowed_each(inquiry.context, least, inquiry.terms, inquiry.feasible)
    outcome = inquiry.prober.search_or_move(
        [one.at(one.high, inquiry.terms).of(inquiry.context) for one in least]
    )
    return [
        replace(one, outcome=found) for one, found in zip(least, outcome, strict=True) if found is not None
    ]


def _relaxed_beyond_the_data(inquiry: _Inquiry, singles: Sequence[Conditions]) -> list[Attempt]:
    """Loosen single conditions to the end of their ladders.

    That may allow more than leaving them out, which brings the default back: the range of the data.
    """
    attempts = [one for (condition,) in singles for one in attempts_alone(inquiry.context, condition, None)]
    return _smallest_each(_narrowed_to_flips(inquiry, [one for one in attempts if one.ladders[0].beyond]))


def _smallest_each(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Keep for each set of conditions the smallest that flips, and the smallest of all where that is less."""
    kept: dict[tuple[Conditions, bool], Attempt] = {}
    for one in sorted(attempts, key=lambda one: (one.size, one.distance)):
        kept.setdefault((one.conditions, one.flips), one)
    return [
        one
        for (conditions, flips), one in kept.items()
        if flips or (conditions, True) not in kept or one.size < kept[conditions, True].size
    ]


def _promising_pairs(
    inquiry: _Inquiry,
    singles: Sequence[Conditions],
    alone: Sequence[Find | None],
    found: Sequence[Attempt],
) -> list[Conditions]:
    """Return the pairs of which neither alone is enough, those first that come nearest to the boundary alone.

    Contradictions that one relaxation resolves need no pairs.
    """
    if inquiry.is_infeasible and found:
        return []
    enough = {condition.place for one in found for condition in one.conditions}
    left = {
        one.place: outcome.to_go
        for (one,), outcome in zip(singles, alone, strict=True)
        if outcome is not None
    }
    open_ones = [one for one in inquiry.conditions if one.place not in enough]
    pairs = [
        pair
        for pair in itertools.combinations(open_ones, 2)
        if not inquiry.is_infeasible or pair[0].place in left or pair[1].place in left
    ]
    return sorted(pairs, key=lambda pair: sum(left.get(one.place, math.inf) for one in pair))


def _nearest(pairs: Sequence[tuple[Conditions, Find | None]]) -> list[tuple[Conditions, Find]]:
    """Return the pairs without which the query has an answer, or feasible rows, the nearest ones."""
    known = [(pair, outcome) for pair, outcome in pairs if outcome is not None and outcome.is_feasible]
    useful = [(pair, outcome) for pair, outcome in known if outcome.best is not None] or known

    def distance(one: tuple[Conditions, Find]) -> float:
        best = one[1].best
        return math.inf if best is None else best.distance

    return sorted(useful, key=distance)[:_PAIRS_NARROWED]


def _bindings(
    inquiry: _Inquiry, alone: Mapping[str, Find], relaxations: Sequence[Relaxation]
) -> tuple[Binding, ...]:
    """Return what is enough to relax alone, then what is with another, then what helps a little.

    The latter is seen in scores: of rows like the bounded move that break one condition and nothing else.
    """
    flipping = [one for one in relaxations if one.flips]
    alone_enough = [(one.constraints[0], one.score) for one in flipping if one.is_single]
    found = {text: Binding(text, True, None, score) for text, score in alone_enough}
    beyond = _beyond(inquiry)
    for text in (*(text for one in flipping for text in one.constraints), *beyond):
        if text not in found:
            left = alone[text].to_go if text in alone else math.inf
            score = beyond[text].score if text in beyond else None
            found[text] = Binding(text, False, left if math.isfinite(left) else None, score)
    return tuple(found.values())


def _beyond(inquiry: _Inquiry) -> dict[str, Beyond]:
    """Return the conditions beyond which the score is better than the bounded move's, the best first."""
    move = inquiry.outcome.bounded
    if move is None:
        return {}
    z, left = inquiry.context.encode(move.values), inquiry.prober.rows_left
    found, rows = best_beyond(inquiry.context, inquiry.terms, inquiry.conditions, z, left)
    inquiry.prober.rows_used += rows
    named = [
        (one.text, best) for one, best in zip(inquiry.conditions, found, strict=True) if best is not None
    ]
    return dict(sorted(named, key=lambda one: -one[1].gain))


def _relaxation(attempt: Attempt) -> Relaxation:
    outcome = attempt.outcome
    move = None if outcome is None else outcome.move
    steps = list(zip(attempt.conditions, attempt.ladders, attempt.high, strict=True))
    return Relaxation(
        constraints=tuple(condition.text for condition, _, _ in steps),
        relaxed=tuple(condition.text_of(ladder.at(amount)) for condition, ladder, amount in steps),
        words=tuple(ladder.says(amount) for _, ladder, amount in steps),
        size=None if math.isinf(attempt.size) else attempt.size,
        flips=attempt.flips,
        is_tight=attempt.is_tight,
        is_proved=attempt.is_proved,
        changes={} if move is None else move.changes,
        values={} if move is None else move.values,
        distance=None if move is None else move.distance,
        prediction=None if move is None else move.prediction,
        score=None if move is None else move.score,
    )


def _in_order(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Put what flips first, one constraint before two, then by size, then by distance.

    What a person said cannot change, and rows beyond all data, come after what can be argued about.
    """

    def rank(one: Attempt) -> tuple[bool, int, bool, float, float]:
        given = any(_is_given(condition) for condition in one.conditions)
        return not one.flips, len(one.conditions), given, one.size, one.distance

    return sorted(attempts, key=rank)


def _is_given(condition: Condition) -> bool:
    """Whether it holds a column as it is, or is the data's own range."""
    return condition.is_range or any(condition.text == fixed(name).text for name in condition.columns)

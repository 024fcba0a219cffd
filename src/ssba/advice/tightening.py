"""Relaxations brought down bound by bound, and the check that none of them can be a step smaller."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from ssba.advice.context import Context
from ssba.advice.relaxations import Asks, Attempt, Terms, Verdict, amount_for, narrowed

# A check that finds less to be enough is followed by another one, so often at most.
_MOST_CHECKS = 4


def tightened(context: Context, attempt: Attempt) -> Attempt:
    """Return an attempt with each bound no looser than its own counterfactual needs.

    A condition that the counterfactual meets as it is has no part in it.
    """
    best = None if attempt.outcome is None else attempt.outcome.best
    if best is None:
        return attempt
    parts = []
    for condition, ladder, low, high in zip(
        attempt.conditions, attempt.ladders, attempt.low, attempt.high, strict=True
    ):
        amount = amount_for(context, condition, ladder, best.values)
        if amount == 0:
            continue
        high = high if amount is None else min(high, ladder.above(amount))
        parts.append((condition, ladder, min(low, high), high))
    if not parts:
        return attempt
    conditions, ladders, lows, highs = zip(*parts, strict=True)
    return replace(attempt, conditions=conditions, ladders=ladders, low=lows, high=highs)


def to_nearest(context: Context, attempt: Attempt) -> Attempt:
    """Bring a checked attempt down to what the nearest counterfactual under its terms needs.

    The check still holds where the bounds stay above what was found not to be enough: whatever is allowed by
    less than that is allowed there, too.
    """
    lower = tightened(context, attempt)
    both = zip(attempt.ladders, attempt.high, lower.high, strict=False)
    if lower.conditions == attempt.conditions and all(new > one.below(old) for one, old, new in both):
        return lower
    return replace(lower, is_tight=False, is_proved=False)


def narrowed_each(context: Context, attempts: Sequence[Attempt], terms: Terms, asks: Asks) -> list[Attempt]:
    """Narrow attempts that relax several conditions once more, one condition at a time."""
    found = list(attempts)
    for place in range(max((len(one.conditions) for one in found), default=0)):
        several = [one for one in found if place < len(one.conditions) > 1]
        rest = [one for one in found if not place < len(one.conditions) > 1]
        found = rest + narrowed(
            [_only_at(one, place) for one in several], terms, asks, partial(tightened, context)
        )
    return found


def _only_at(attempt: Attempt, place: int) -> Attempt:
    """Return an attempt of which only one amount is still open."""
    return replace(attempt, low=tuple(0.0 if i == place else one for i, one in enumerate(attempt.high)))


def checked(context: Context, attempts: Sequence[Attempt], terms: Terms, asks: Asks) -> list[Attempt]:
    """Try each bound of each attempt one step tighter than it is; what is still enough is taken.

    An attempt counts as tight only where none of that is enough, and as proved where it cannot be.
    """
    done, going = [], list(attempts)
    for _ in range(_MOST_CHECKS):
        if not going:
            break
        tries = [[_amounts_below(one, place) for place in range(len(one.high))] for one in going]
        verdicts = iter(
            asks([one.at(amounts, terms) for one, own in zip(going, tries, strict=True) for amounts in own])
        )
        again = []
        for one, own in zip(going, tries, strict=True):
            answers = [(amounts, next(verdicts)) for amounts in own]
            enough = next(((amounts, verdict) for amounts, verdict in answers if _flips(verdict)), None)
            if enough is not None:
                amounts, verdict = enough
                lower = replace(one, high=amounts, outcome=verdict.outcome if verdict else None)
                again.append(tightened(context, _without_unrelaxed(lower)))
                continue
            known = [verdict for _, verdict in answers if verdict is not None]
            is_tight = len(known) == len(answers) and not _skips_a_ladder(one)
            is_proved = is_tight and all(verdict.is_proved for verdict in known)
            done.append(replace(one, is_tight=is_tight, is_proved=is_proved))
        going = narrowed_each(context, again, terms, asks)
    return done + [replace(one, is_tight=False) for one in going]


def _skips_a_ladder(attempt: Attempt) -> bool:
    """Tell whether a condition is left out altogether that could be loosened instead."""
    pairs = zip(attempt.conditions, attempt.ladders, strict=True)
    return any(math.isinf(ladder.scale) and condition.ladders(None) for condition, ladder in pairs)


def _flips(verdict: Verdict | None) -> bool:
    return verdict is not None and verdict.is_enough


def _amounts_below(attempt: Attempt, place: int) -> tuple[float, ...]:
    below = attempt.ladders[place].below(attempt.high[place])
    return (*attempt.high[:place], below, *attempt.high[place + 1 :])


def _without_unrelaxed(attempt: Attempt) -> Attempt:
    """Return an attempt without the conditions that need not be relaxed at all."""
    kept = [i for i, amount in enumerate(attempt.high) if amount]
    if len(kept) in (0, len(attempt.high)):
        return attempt
    return replace(
        attempt,
        conditions=tuple(attempt.conditions[i] for i in kept),
        ladders=tuple(attempt.ladders[i] for i in kept),
        low=tuple(0.0 for _ in kept),
        high=tuple(attempt.high[i] for i in kept),
    )

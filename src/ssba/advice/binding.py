"""Which constraints hold a query back: beyond which of them, alone, the model's score gets better."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ssba.advice.context import Context
from ssba.advice.relaxations import Condition, Terms
from ssba.columns.space import Matrix
from ssba.models.model import Output
from ssba.pipeline.asking import goal_reply, predictions_and_scores, verdicts

Vector = NDArray[np.float64]

# How far a column is moved from where the bounded move has it, as shares of the way to its ends.
_SHARES = (0.05, 0.25, 0.5, 1.0)
# Levels of one column that are tried.
_MOST_LEVELS = 20
# What scores differ by without meaning anything, as a share of the largest.
_NOTHING = 1e-6


@dataclass(frozen=True)
class Beyond:
    """The best row that breaks one condition: how much the score's margin gains, and the score itself."""

    gain: float
    score: float | None


def best_beyond(
    context: Context, terms: Terms, conditions: Sequence[Condition], z: Matrix, most_rows: int
) -> tuple[list[Beyond | None], int]:
    """Return for each condition the best row beyond it, and how many model rows that took.

    Only its own columns are moved, one at a time, from the bounded move `z`; rows are written and checked
    against all other constraints. None where nothing is gained, or the model gives no scores.
    """
    rows = [_crossing(context, terms, one, z) for one in conditions]
    asked = np.concatenate([z[None, :], *rows])
    if len(asked) > most_rows:
        return [None] * len(conditions), 0
    answers = verdicts(context.engine.judging, asked, context.x)
    margins = goal_reply(context.state, answers).margin
    ends = itertools.accumulate((len(own) for own in rows), initial=1)
    return [_best(context, answers, margins, *ends_of) for ends_of in itertools.pairwise(ends)], len(asked)


def _best(context: Context, answers: Output, margins: Vector | None, begin: int, end: int) -> Beyond | None:
    if margins is None or begin == end:
        return None
    best = begin + int(np.argmax(margins[begin:end]))
    gain = float(margins[best] - margins[0])
    if gain <= _NOTHING * context.engine.judging.score_size:
        return None
    ((_, score),) = predictions_and_scores(
        context.engine.judging, context.goal, answers.take(slice(best, best + 1))
    )
    return Beyond(gain, score)


def _crossing(context: Context, terms: Terms, condition: Condition, z: Matrix) -> Matrix:
    """Return rows that break a condition and nothing else, with one of its columns moved."""
    wide = condition.widest(terms).of(context)
    if not wide.regions:
        return np.empty((0, len(z)))
    moved = [_moved(wide, z, context.engine.space.index(name)) for name in condition.columns]
    rows = context.written(np.concatenate([np.empty((0, len(z))), *moved]))
    return np.asarray(rows[wide.is_feasible(rows) & ~context.is_feasible(rows)])


def _moved(context: Context, z: Matrix, column: int) -> Matrix:
    """Return the row with one column moved toward the ends of its range, or to each of its levels."""
    feature = context.engine.space.features[column]
    if feature.levels:
        values = np.arange(min(len(feature.levels), _MOST_LEVELS), dtype=float)
    else:
        ends = np.array([[one.lower[column], one.upper[column]] for one in context.regions])
        low, high = ends[:, 0].min(), ends[:, 1].max()
        values = np.array([z[column] + share * (end - z[column]) for end in (low, high) for share in _SHARES])
    values = values[np.isfinite(values)]
    rows = np.repeat(z[None, :], len(values), axis=0)
    rows[:, column] = values
    return np.asarray(context.engine.space.grid.snap(rows))

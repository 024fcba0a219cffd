"""Ways: the straight line between two rows, and every turn of the model's decision on it.

The way is asked about at even shares first. Wherever two neighbours differ the piece between them is
bisected, all pieces side by side; where a third decision shows up inside a piece, what is left of it is
bisected again.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ssba.arguments import whole
from ssba.boundary.bisection import Path
from ssba.columns.space import Matrix
from ssba.engine import Engine
from ssba.errors import ArgumentError
from ssba.models.targets import Goal, Leave, Reach, describe, resolve
from ssba.pipeline.asking import predictions_and_scores, shown_answers, verdicts
from ssba.results.line_scan import Crossing, LineScan

_MOST_POINTS = 100_000
# Halvings of a piece; it is narrower than 1e-9 of the way then, however few pieces there are.
_HALVINGS = 30
# Further decisions that may show up inside a piece.
_MOST_DECISIONS = 8


@dataclass(frozen=True)
class _Seen:
    """What the model says at one share of the line; `decision` is what a turn is a change of."""

    share: float
    row: Matrix
    prediction: Any
    score: float | None
    reached: bool
    decision: Any


Asker = Callable[[list[float]], list[_Seen]]


def scan_line(engine: Engine, x: Matrix, y: Matrix, n_points: int = 101) -> LineScan:
    """Return what the model says on the straight way between two encoded rows, and where it crossings.

    Parameters
    ----------
    engine : Engine
        The model, its columns and its target; without a target, to leave the class of `x`.
    x, y : array
        The rows at both ends, encoded.
    n_points : int
        How many rows on the way to ask about, both ends among them. Two crossings that lie between
        neighbours may be missed.
    """
    count = whole("n_points", n_points, at_least=2)
    if count > _MOST_POINTS:
        raise ArgumentError(f"n_points is {count:,}; give {_MOST_POINTS:,} or fewer")
    goal = resolve(engine.target, shown_answers(verdicts(engine.judging, x[None, :], x))[0])
    ask = _asker(engine, goal, x, y)
    seen = ask([float(share) for share in np.linspace(0.0, 1.0, count)])
    crossings = _crossings(engine, ask, seen)
    return LineScan(
        start=engine.space.row_values(x),
        end=engine.space.row_values(y),
        shares=tuple(one.share for one in seen),
        predictions=tuple(one.prediction for one in seen),
        scores=tuple(one.score for one in seen),
        reached=tuple(one.reached for one in seen),
        crossings=tuple(crossings),
        target=describe(goal),
    )


def _asker(engine: Engine, goal: Goal, x: Matrix, y: Matrix) -> Asker:
    """Return the function from shares of the line to what the model says there."""
    path = Path(engine.metric.discrete, engine.space.grid.snap, plain=False)
    between = path.between(x[None, :], y[None, :])
    either = np.where(np.isnan(y), y, x)

    def ask(shares: list[float]) -> list[_Seen]:
        rows = np.array(between(np.array(shares)))
        # The ends are the rows themselves, also where these are on no grid.
        rows[[share == 0 for share in shares]] = x
        rows[[share == 1 for share in shares]] = y
        output = verdicts(engine.judging, rows, either)
        told = predictions_and_scores(engine.judging, goal, output)
        reached = engine.judging.reply(goal, output).reached.tolist()
        by_class = isinstance(goal, Reach | Leave)
        return [
            _Seen(share, row, prediction, score, hit, prediction if by_class else hit)
            for share, row, (prediction, score), hit in zip(shares, rows, told, reached, strict=True)
        ]

    return ask


def _crossings(engine: Engine, ask: Asker, seen: list[_Seen]) -> list[Crossing]:
    pieces = [(one, other) for one, other in itertools.pairwise(seen) if one.decision != other.decision]
    crossings: list[Crossing] = []
    for _ in range(_MOST_DECISIONS):
        if not pieces:
            break
        found = _bisected(ask, pieces)
        crossings += [_crossing(engine, before, after) for before, after in found]
        pieces = [
            (after, end)
            for (_, after), (_, end) in zip(found, pieces, strict=True)
            if after.decision != end.decision
        ]
    return sorted(crossings, key=lambda one: one.share)


def _bisected(ask: Asker, pieces: list[tuple[_Seen, _Seen]]) -> list[tuple[_Seen, _Seen]]:
    """Return, for pieces whose ends differ, neighbours that do: the first keeps the decision of the start."""
    for _ in range(_HALVINGS):
        middles = ask([(low.share + high.share) / 2 for low, high in pieces])
        pieces = [
            (middle, high) if middle.decision == low.decision else (low, middle)
            for (low, high), middle in zip(pieces, middles, strict=True)
        ]
    return pieces


def _crossing(engine: Engine, before: _Seen, after: _Seen) -> Crossing:
    return Crossing(
        share=after.share,
        before=before.prediction,
        after=after.prediction,
        reached=after.reached,
        values=engine.space.row_values(after.row),
        score=after.score,
    )

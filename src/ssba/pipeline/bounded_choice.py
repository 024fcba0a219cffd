"""Which of the feasible rows near the boundary is the bounded move: asked for all queries at once."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from ssba.columns.space import Matrix
from ssba.models.model import Output
from ssba.models.targets import Probability, ValueBetween
from ssba.pipeline.asking import goal_reply, verdicts
from ssba.pipeline.few_digits import readable_forms
from ssba.pipeline.state import QueryState, Vector
from ssba.pipeline.verify import are_feasible, passes
from ssba.search.bounded import Approach

# Rows among which the move is chosen.
_MOST_CHECKED = 32
# A ball around each takes a hundred rows, whatever the budget.
_CHECKED_WITH_BALLS = 3
# What scores differ by without meaning anything, as a share of the largest.
_NOTHING = 1e-9


@dataclass(frozen=True)
class Offer:
    """A feasible row that may be the move, what it leaves to the nearest boundary point, and that point."""

    row: Vector
    to_go: float | None = None
    point: Vector | None = None

    @classmethod
    def near(cls, state: QueryState, row: Vector, points: Matrix | None) -> Self:
        """Return a row with the boundary point nearest to it, of those known."""
        if points is None:
            return cls(row)
        distances = state.engine.metric.distance(points, row)
        nearest = int(np.argmin(distances))
        return cls(row, float(distances[nearest]), points[nearest])


@dataclass(frozen=True)
class Move:
    """A feasible row as written, what the model says about it, and by how much it misses the goal.

    `lacks_room` tells that it reaches the goal; how much room it has is not known.
    """

    row: Vector
    output: Output
    margin: float | None
    lacks_room: bool
    distance: float
    to_go: float | None
    point: Vector | None

    def gain(self, other: "Move") -> float:
        """Return by how much the score is better than that of another row."""
        assert self.margin is not None
        assert other.margin is not None
        return self.margin - other.margin

    def rank(self, *, by_score: bool) -> tuple[float, float, float]:
        """Return what orders moves, the best first; of equal ones the nearest to the query."""
        to_go = math.inf if self.to_go is None else float(f"{self.to_go:.9g}")
        short = 0.0 if self.margin is None else -self.margin
        if self.lacks_room:
            # Before all others, those with the best scores first.
            return (-math.inf, short, self.distance)
        return (short, to_go, self.distance) if by_score else (to_go, short, self.distance)


@dataclass
class Choice:
    """The rows that the move of one query is chosen from, and those of them that were asked about.

    Attributes
    ----------
    offers
        Rows that were not looked at yet, the best first.
    most
        How many moves there shall be to choose from.
    moves
        Those that do not reach the target.
    passed_over
        Those that proved to reach it.
    own
        The query itself, where it can be compared with the moves by score.
    """

    state: QueryState
    offers: list[Offer]
    most: int
    moves: list[Move] = field(default_factory=list)
    passed_over: list[Move] = field(default_factory=list)
    own: Move | None = None

    @property
    def wanted(self) -> int:
        """How many of the offers to look at now.

        By labels the first move is as good as any behind it.
        """
        if self.state.engine.judging.gives_margins:
            return self.most - len(self.moves) - len(self.passed_over)
        return 0 if self.moves or len(self.passed_over) >= self.most else 1

    def take(self) -> list[Offer]:
        """Return the offers to look at now, and look at them no more."""
        taken = self.offers[: self.wanted]
        del self.offers[: self.wanted]
        return taken

    @property
    def offer_of_own(self) -> Offer:
        """The query itself, with the nearest of the boundary points that its moves are near."""
        points = [one.point for one in self.moves if one.point is not None]
        return Offer.near(self.state, self.state.x, np.stack(points) if points else None)

    @property
    def best(self) -> Move | None:
        """The move to propose: by score where the target asks for so much of it, else the nearest.

        A move that is not better than the query is none: then it is the query itself, where that is feasible.
        """
        state, own = self.state, self.own
        if own is None:
            return next(iter(self.moves), None)
        better = [one for one in self.moves if one.gain(own) > _NOTHING * state.engine.judging.score_size]
        if not better and are_feasible([state], np.zeros(1, dtype=np.int64), state.x[None, :]).all():
            return own
        by_score = isinstance(state.query.goal, Probability | ValueBetween)
        return min(better or self.moves, key=lambda one: one.rank(by_score=by_score))


def choice_of(state: QueryState, approaches: Sequence[Approach], most: int | None = None) -> Choice:
    """Line up rows to choose the move from: near boundary points, climbed to, missed by least, the start.

    Where room is asked for, rows that reach without it come first.
    """
    near = [
        Offer(row, float(distance), point)
        for one in approaches
        for distance, row, point in zip(one.distances, one.rows, one.points, strict=True)
    ]
    near.sort(key=lambda offer: offer.to_go or 0.0)
    misses = [archive.miss for archive in state.bounded_archives if archive.miss is not None]
    starts = [archive.region.start for archive in state.bounded_archives]
    points = np.concatenate([one.points for one in approaches]) if near else None
    scored = [Offer.near(state, row, points) for row in (*state.found.climbed, *misses)]
    offers = [
        *_deepest(state),
        *near[:1],
        *scored,
        *near[1:],
        *(Offer.near(state, row, points) for row in starts),
    ]
    usual = _MOST_CHECKED if state.options.radius is None else _CHECKED_WITH_BALLS
    return Choice(state, offers, usual if most is None else most)


def _deepest(state: QueryState) -> list[Offer]:
    """Return, where room is asked for, rows that reach without it: those with the best scores.

    By labels those that are farthest from known boundary points, and from the nearest row that reaches.
    """
    if state.options.radius is None or not state.found.has_hits or state.limits.is_over():
        return []
    own = state.engine.background.own_boundary(state.query.goal, state.limits.is_over)
    rows = np.unique(state.found.hits, axis=0)
    points = np.concatenate([own, state.found.nearest_row[None, :]])
    depth = np.min([state.engine.metric.distance(rows, point) for point in points], axis=0)
    rows = rows[np.argsort(-depth, kind="stable")[:_MOST_CHECKED]]
    margins = goal_reply(state, verdicts(state.engine.judging, rows, state.x)).margin
    state.spent.verified_rows += len(rows)
    if margins is not None:
        rows = rows[np.argsort(-margins, kind="stable")]
    return [Offer(row) for row in rows[:_CHECKED_WITH_BALLS]]


def chosen_from(choices: Sequence[Choice]) -> Sequence[Choice]:
    """Ask about the rows of all choices, all at once, as long as one of them wants more and has more."""
    while taken := [(choice, offer) for choice in choices for offer in choice.take()]:
        written = _written([(choice.state, offer) for choice, offer in taken])
        kept = [(choice, offer) for (choice, _), offer in zip(taken, written, strict=True) if offer]
        moves = moves_of([(choice.state, offer) for choice, offer in kept])
        for (choice, _), move in zip(kept, moves, strict=True):
            reaches = passes(choice.state, move.row, move.output)
            (choice.passed_over if reaches else choice.moves).append(move)
    compared = [one for one in choices if one.moves and one.moves[0].margin is not None]
    owns = moves_of([(one.state, one.offer_of_own) for one in compared])
    for choice, own in zip(compared, owns, strict=True):
        choice.own = own
    return choices


def _written(offered: Sequence[tuple[QueryState, Offer]]) -> list[Offer | None]:
    """Return offers as they will be written, in few digits where such a row is feasible; None if none is."""
    states, offers = [state for state, _ in offered], [offer for _, offer in offered]
    engine, x = states[0].engine, np.array([state.x for state in states])
    forms = readable_forms(engine, np.array([offer.row for offer in offers]), x)
    rows = engine.space.encode(engine.space.decode(forms.rows))
    feasible = are_feasible(states, forms.of, rows)
    ends = np.searchsorted(forms.of, np.arange(len(offers) + 1)).tolist()
    first = [
        next((i for i in range(begin, end) if feasible[i]), None) for begin, end in itertools.pairwise(ends)
    ]
    return [
        None if i is None else Offer(rows[i], offer.to_go, offer.point)
        for i, offer in zip(first, offers, strict=True)
    ]


def moves_of(offered: Sequence[tuple[QueryState, Offer]]) -> list[Move]:
    """Ask the model about offers of some queries."""
    if not offered:
        return []
    engine = offered[0][0].engine
    rows, x = np.array([offer.row for _, offer in offered]), np.array([state.x for state, _ in offered])
    output = verdicts(engine.judging, rows, x)
    far = np.asarray(engine.metric.distance(rows, x)).tolist()
    moves = []
    for i, (state, offer) in enumerate(offered):
        state.spent.verified_rows += 1
        own, row, point = output.take(slice(i, i + 1)), offer.row, offer.point
        to_go = None if point is None else float(engine.metric.distance(row[None, :], point)[0])
        moves.append(Move(row, own, *_miss(state, own), far[i], to_go, point))
    return moves


def _miss(state: QueryState, output: Output) -> tuple[float | None, bool]:
    """Return by how much a row misses or reaches, rounded so that it is the same in every batch.

    And whether it reaches, though perhaps without the room that was asked for.
    """
    reply, step = goal_reply(state, output), state.engine.judging.margin_step
    margin = None if reply.margin is None else float(step * np.round(reply.margin[0] / step))
    return margin, state.options.radius is not None and bool(reply.reached[0])

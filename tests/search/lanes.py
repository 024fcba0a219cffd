"""A search by hand: a ledger over some queries, for a model that is a plain function of rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.support import Matrix, Setting, labels_only, scored

from ssba.constraints.constraint import constraint
from ssba.constraints.regions.region import Region
from ssba.models.targets import Reply
from ssba.search.lanes import Draws
from ssba.search.ledger import Door, Ledger
from ssba.search.nearest import search_all
from ssba.search.regions import Numbers, Regions
from ssba.search.starts import Pool, Pools
from ssba.search.stored import Stored

Judge = Callable[[Any], Reply]
REPLIES = ["scores", "labels"]
DRAWS = Draws((0,))


def judge_of(margin: Callable[[Any], Any], reply: str) -> Judge:
    """Return a model that gives scores, or labels only."""
    return scored(margin) if reply == "scores" else labels_only(lambda Z: margin(Z) >= 0)


def weighted(Z: Any, weights: Any) -> Any:
    """Return the weighted sum of each row, the same whatever other rows there are.

    A matrix product is not: how it adds up depends on how many rows it is given.
    """
    return (np.ascontiguousarray(Z) * np.asarray(weights)).sum(axis=1)


@dataclass(frozen=True)
class Lanes:
    """A ledger over the regions of some queries, with every model call that it made."""

    where: Setting
    judge: Judge
    ledger: Ledger
    calls: list[tuple[Matrix, Numbers]]

    @property
    def regions(self) -> Regions:
        return self.ledger.regions

    @property
    def region(self) -> Region:
        """The only region."""
        (one,) = self.regions.parts
        return one

    @property
    def at(self) -> Numbers:
        return np.arange(self.regions.count)

    @property
    def asked(self) -> Matrix:
        """All rows that the model was asked about, in order."""
        return np.concatenate([self.regions.start[:0], *(rows for rows, _ in self.calls)])

    def asked_of(self, query: int) -> Matrix:
        """The rows that the model was asked about for one query, in order."""
        mine = [rows[of == query] for rows, of in self.calls]
        return np.concatenate([self.regions.start[:0], *mine])

    @property
    def distance(self) -> float:
        """The distance of the best row of the only query."""
        (one,) = self.ledger.best_of_query()
        return float(one)

    @property
    def found(self) -> Matrix:
        """All rows that reached, whichever region they belong to."""
        return np.concatenate([self.regions.start[:0], *(rows for rows, _, _ in self.ledger.hits)])

    @property
    def start_margin(self) -> NDArray[np.float64] | None:
        margin = self.judge(self.regions.start).margin
        return None if margin is None else np.asarray(margin)

    def knows(self, rows: Any) -> "Lanes":
        """Take in rows of the only region that reach the target; nothing is asked."""
        rows = np.array(rows, dtype=float, ndmin=2)
        self.ledger.add_known(rows, np.zeros(len(rows), dtype=np.int64))
        return self

    def pools(self, rows: Matrix | None = None) -> Pools:
        """Return the background rows that reach the target, or others, as the pool of all regions."""
        rows = self.where.Z[np.asarray(self.judge(self.where.Z).reached)] if rows is None else rows
        return Pools(self.ledger, [Pool(rows)], np.zeros(self.regions.count, dtype=np.int64))

    def search(self, seed: int = 0, stored: Sequence[Stored | None] | None = None) -> "Lanes":
        """Run the whole search, from the background rows that reach the target."""
        search_all(self.ledger, self.pools(), seed, stored)
        return self


def lanes(
    where: Setting, queries: Sequence[Any], judge: Judge, *texts: str, most: float | Sequence[float] = np.inf
) -> Lanes:
    """Return a ledger for queries under the same constraints, given as text, with at most so many rows each.

    Queries are rows as users write them. All regions that the constraints leave of a query are lanes.
    """
    rules = [constraint(text) for text in texts]
    found = [where.regions(where.space.encode_row(query), rules) for query in queries]
    return lanes_in(where, found, judge, most=most)


def lane(where: Setting, query: Any, judge: Judge, *texts: str, most: float = np.inf) -> Lanes:
    """Return a ledger for one query."""
    return lanes(where, [query], judge, *texts, most=most)


def lanes_in(
    where: Setting, regions: Sequence[Sequence[Region]], judge: Judge, most: float | Sequence[float] = np.inf
) -> Lanes:
    """Return a ledger for the regions of queries."""
    calls: list[tuple[Matrix, Numbers]] = []

    def ask(Z: Matrix, query: Numbers) -> Reply:
        calls.append((Z.copy(), query.copy()))
        return judge(Z)

    parts = tuple(part for mine in regions for part in mine)
    query = np.repeat(np.arange(len(regions)), [len(mine) for mine in regions])
    has_scores = judge(where.Z[:1]).margin is not None
    door = Door(ask, has_scores, np.broadcast_to(np.asarray(most, dtype=float), len(regions)).copy())
    return Lanes(where, judge, Ledger(Regions(parts, query), where.metric, door), calls)

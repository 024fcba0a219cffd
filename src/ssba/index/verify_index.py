"""Asking the model again about stored points, and keeping those that still hold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ssba.columns.space import Matrix
from ssba.engine import Engine
from ssba.index.files.store import Identity
from ssba.index.point_store import Block, MemoryBlock, PointStore
from ssba.models.targets import Goal, describe

Watch = Callable[[int], object]


@dataclass(frozen=True)
class Verified:
    """How many of `points` points the model was asked about again, and how many still reach the target."""

    points: int
    asked: int
    held: int

    @property
    def broken(self) -> int:
        """How many no longer reach the target."""
        return self.asked - self.held

    def __str__(self) -> str:
        """Say it in a sentence.

        >>> str(Verified(points=1000, asked=100, held=99))
        '99 of 100 points asked about (of 1,000) still reach the target, 1 does not'
        """
        among = "" if self.asked == self.points else f" (of {self.points:,})"
        verb = "does" if self.broken == 1 else "do"
        rest = f", {self.broken:,} {verb} not" if self.broken else ""
        return f"{self.held:,} of {self.asked:,} points asked about{among} still reach the target{rest}"


def verify_points(engine: Engine, blocks: Sequence[Block], n: int | None, watch: Watch) -> Verified:
    """Ask about all points, or about `n` of them drawn by the engine's seed."""
    points = sum(block.rows for block in blocks)
    drawn = None if n is None or n >= points else _drawn(points, n, engine.seed)
    held = asked = begin = 0
    for block in blocks:
        rows = block.load()
        if drawn is not None:
            mine = drawn[(drawn >= begin) & (drawn < begin + block.rows)] - begin
            rows = rows[mine]
        begin += block.rows
        if len(rows):
            held += int(holds(engine, str(block.about.get("goal", "")), rows).sum())
            asked += len(rows)
            watch(len(rows))
    return Verified(points, asked, held)


def _drawn(points: int, n: int, seed: int) -> NDArray[np.int64]:
    return np.sort(np.random.default_rng(seed).choice(points, size=n, replace=False))


def holds(engine: Engine, goal: str, rows: Matrix) -> NDArray[np.bool_]:
    """Tell which rows reach the goal; none does if the model does not know such a goal any more."""
    known = goals_by_text(engine)
    if goal not in known:
        return np.zeros(len(rows), dtype=bool)
    # Points around a query with missing cells have these missing, too.
    ask = engine.judging.asker(known[goal], engine.judging.oracle(), np.array(engine.space.nullable))
    return np.asarray(ask(np.ascontiguousarray(rows)).reached, dtype=bool)


def goals_by_text(engine: Engine) -> dict[str, Goal]:
    """Return the goals whose boundaries make up the target's, under their words."""
    return {describe(goal): goal for goal in engine.background.goals}


def keep_what_holds(
    engine: Engine, store: PointStore, identity: Identity, adopted: bool, watch: Watch
) -> None:
    """Drop the points that no longer reach the target.

    Points `adopted` from another model do not stand for pairs of this model's sides: these are bisected
    when the set grows.
    """

    def change(block: Block) -> MemoryBlock | None:
        goal = str(block.about.get("goal", ""))
        rows = block.load()
        kept = holds(engine, goal, rows)
        watch(block.rows)
        about = {"kind": "kept", "goal": goal} if adopted else block.about
        if kept.all() and about == block.about:
            return None
        return MemoryBlock(np.asfortranarray(rows[kept]), about)

    store.rewrite(identity, change, of_any=adopted)

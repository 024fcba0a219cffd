"""Background rows and what the model says about them, which is asked block by block, as it is needed."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssba.columns.space import Matrix
from ssba.models.answers import Output, joined
from ssba.models.targets import Goal, judge

Vector = NDArray[np.float64]
Numbers = NDArray[np.int64]

# What blocks say about so many goals is kept.
_MOST_GOALS = 64


class AskedRows:
    """Rows in blocks. The answers to the first block are known; each other one is asked about when needed.

    Blocks never change, and each is asked about in a call of its own. So what is known about a row does not
    depend on who asked before, and those who ask the same get the same.
    """

    def __init__(
        self,
        rows: Matrix,
        ends: Sequence[int],
        first: Output,
        ask: Callable[[Matrix], Output],
        classes: tuple[Any, ...] | None,
    ) -> None:
        self.rows = rows
        self._blocks = [slice(begin, end) for begin, end in pairwise((0, *ends))]
        self._answers: list[Output | None] = [first] + [None] * (len(self._blocks) - 1)
        self._ask = ask
        self._classes = classes
        self._known: dict[Goal, dict[int, Numbers]] = {}

    @property
    def has_more(self) -> bool:
        """Whether there is more than the first block."""
        return len(self._blocks) > 1

    def first_reaching(self, goal: Goal) -> Numbers:
        """Return the numbers of the first block's rows that reach a goal; all who ask share one array."""
        return self._reaching(goal, 0)

    def nearest_reaching(
        self, goal: Goal, distance: Vector, wanted: Callable[[float, Sequence[Numbers]], bool]
    ) -> Numbers:
        """Return the numbers of rows that reach a goal: of the first block, and of the nearest others.

        `distance` is that of each row. `wanted` is told the distance at which the next block begins, and what
        was found so far, and says whether to go on.
        """
        found = [self._reaching(goal, 0)]
        begins = [float(distance[block].min()) for block in self._blocks[1:]]
        for i in np.argsort(begins, kind="stable").tolist():
            if not wanted(begins[i], found):
                break
            found.append(self._reaching(goal, i + 1))
        return np.concatenate(found)

    @property
    def unasked(self) -> list[int]:
        """The numbers of the blocks that were not asked about yet."""
        return [i for i, answer in enumerate(self._answers) if answer is None]

    def block(self, i: int) -> Matrix:
        """Return the rows of a block."""
        return self.rows[self._blocks[i]]

    def reaching_so_far(self, goal: Goal) -> Matrix:
        """Return the rows that reach a goal, of the blocks that were asked about."""
        asked = [i for i, answer in enumerate(self._answers) if answer is not None]
        return np.asarray(self.rows[np.concatenate([self._reaching(goal, i) for i in asked])])

    def reaching_in(self, goal: Goal, i: int) -> Matrix:
        """Return the rows of a block that reach a goal; it is asked about if it was not yet."""
        return self.rows[self._reaching(goal, i)]

    def reached(self, goal: Goal) -> NDArray[np.bool_]:
        """Tell for all rows whether they reach a goal."""
        reached = np.zeros(len(self.rows), dtype=bool)
        for i in range(len(self._blocks)):
            reached[self._reaching(goal, i)] = True
        return reached

    @property
    def labels(self) -> NDArray[Any]:
        """The labels of all rows, of a model that gives labels."""
        parts = [self._answer(i).labels for i in range(len(self._blocks))]
        return np.concatenate([part for part in parts if part is not None])

    def answers(self, numbers: Numbers) -> Output:
        """Return what the model said about rows that `nearest_reaching` returned."""
        block = np.searchsorted([one.stop for one in self._blocks], numbers, side="right")
        order = np.argsort(block, kind="stable")
        parts = [
            self._answer(i).take(numbers[block == i] - self._blocks[i].start)
            for i in np.unique(block).tolist()
        ]
        answers = joined(parts) if parts else self._answer(0)
        return answers.take(np.argsort(order, kind="stable"))

    def _reaching(self, goal: Goal, i: int) -> Numbers:
        """Return the numbers of a block's rows that reach a goal."""
        if goal not in self._known:
            if len(self._known) >= _MOST_GOALS:
                self._known.pop(next(iter(self._known)))
            self._known[goal] = {}
        known = self._known[goal]
        if i not in known:
            reached = np.asarray(judge(goal, self._answer(i), self._classes).reached)
            known[i] = np.flatnonzero(reached) + self._blocks[i].start
        return known[i]

    def _answer(self, i: int) -> Output:
        answer = self._answers[i]
        if answer is None:
            answer = self._answers[i] = self._ask(self.rows[self._blocks[i]])
        return answer

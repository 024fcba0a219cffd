"""Asking the adapted model, and what its answers mean: predictions, replies, the size of scores.

Which background rows a model is asked about, and in which blocks, is the same for every model and seed; it
is asked block by block, as they are needed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import Array
from ssba.boundary.pairs import shuffle
from ssba.columns.distance import Metric
from ssba.columns.space import Matrix, Space
from ssba.models.answers import Output, joined
from ssba.models.model import Model
from ssba.models.oracle import Oracle, RowCheck
from ssba.models.prepared import ShortWay
from ssba.models.targets import Goal, Probability, Reply, judge
from ssba.whitebox.additive import Additive
from ssba.whitebox.forest import Trees
from ssba.whitebox.read_model import (
    Closed,
    Opened,
    is_quickly_read,
    open_linear_model,
    open_model,
    open_slopes,
)
from ssba.whitebox.smooth import Smooth

# A model shows its classes and whether its scores can be trusted on this many background rows.
_SAMPLE_ROWS = 1024

# Rows of a block: few enough to ask only about the surroundings of a query, enough to make a call pay.
_BLOCK_ROWS = 128

Vector = NDArray[np.float64]
Numbers = NDArray[np.int64]

# What blocks say about so many goals is kept.
_MOST_GOALS = 64


@dataclass(frozen=True)
class Choice:
    """Background rows by number, and where their blocks end; the first block is the sample.

    The model is tried out on the sample, so that its answers are known from the start. The other blocks hold
    neighbours, so that a query can ask about its surroundings first.
    """

    numbers: NDArray[np.int64]
    ends: tuple[int, ...]

    @property
    def sample(self) -> NDArray[np.int64]:
        """The numbers of the rows that the model is tried out on."""
        return self.numbers[: self.ends[0]]


def choose_rows(rows: Matrix, metric: Metric, most: int) -> Choice:
    """Choose at most so many rows, and arrange them in blocks."""
    numbers = shuffle(len(rows), seed=0, salt=5)[:most]
    sample, others = numbers[:_SAMPLE_ROWS], numbers[_SAMPLE_ROWS:]
    scaled = np.nan_to_num(rows[others] / metric.scale * metric.weight)
    blocks = [sample, *(others[block] for block in _neighbours(scaled))]
    return Choice(np.concatenate(blocks), tuple(np.cumsum([len(block) for block in blocks]).tolist()))


def _neighbours(scaled: Matrix) -> list[NDArray[np.int64]]:
    """Halve rows at the median of the column that differs most among them, until the parts are small."""
    blocks, waiting = [], [np.arange(len(scaled))] if len(scaled) else []
    while waiting:
        numbers = waiting.pop()
        if len(numbers) <= _BLOCK_ROWS:
            blocks.append(numbers)
            continue
        widest = int(np.argmax(scaled[numbers].std(axis=0)))
        ordered = numbers[np.argsort(scaled[numbers, widest], kind="stable")]
        waiting += [ordered[len(ordered) // 2 :], ordered[: len(ordered) // 2]]
    return blocks


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


@dataclass(frozen=True)
class Judging:
    """The model, as it is asked about encoded rows, and what it says about the background rows.

    `source` is the user's model as it was given, for those who can look inside. `choice` tells which
    background rows queries ask about. `short_way` leads a search past the steps before the model's last one,
    where there is such a way.
    """

    space: Space
    model: Model
    source: Any
    background: Matrix
    choice: Choice
    short_way: ShortWay | None = None

    def oracle(self, batch_rows: int = 65_536) -> Oracle:
        """Return a fresh counter of model rows in front of the model."""
        return Oracle(self.model, self.space.decode, self.row_check, batch_rows, self.short_way)

    @cached_property
    def row_check(self) -> RowCheck:
        """The check that every row passes on its way to the model."""
        return RowCheck(self.space.features)

    @cached_property
    def may_miss(self) -> NDArray[np.bool_]:
        """The columns in which the background rows that the model is asked about have missing cells."""
        return np.asarray(np.isnan(self.background).any(axis=0))

    @cached_property
    def opened_linear(self) -> Additive | None:
        """The model's weights, where it is a linear model that we can read."""
        return open_linear_model(self.source, self.model, self.space, self.background)

    @cached_property
    def opened(self) -> Opened | Closed:
        """The model's inside, or why we cannot read it; reading large forests takes seconds."""
        return self.opened_linear or open_model(self.source, self.model, self.space, self.background)

    @cached_property
    def opened_trees(self) -> Trees | None:
        """The model's trees, where they are few enough to be read without being asked to."""
        if not is_quickly_read(self.source):
            return None
        return self.opened if isinstance(self.opened, Trees) else None

    @cached_property
    def opened_slopes(self) -> Smooth | None:
        """The slopes of the model's scores, where it is a network or a kernel machine that we can read."""
        return open_slopes(self.source, self.model, self.space, self.background)

    @property
    def sample(self) -> Matrix:
        """The background rows that the model was tried out on."""
        return self.background[self.choice.sample]

    @cached_property
    def known(self) -> AskedRows:
        """The chosen background rows, with what the model said to the sample, and will say to the others."""

        def ask(rows: Matrix) -> Output:
            return self.oracle().output(rows, self.may_miss)

        rows = self.background[self.choice.numbers]
        return AskedRows(rows, self.choice.ends, self.model.on_sample, ask, self.model.classes)

    @cached_property
    def predicted(self) -> Output:
        """What the model says about all background rows, however many."""
        return self.oracle().output(self.background, self.may_miss)

    def reply(self, goal: Goal, output: Output) -> Reply:
        """Tell which rows reach the goal."""
        return judge(goal, output, self.model.classes)

    @property
    def gives_margins(self) -> bool:
        """Whether answers come with how far they are from a goal."""
        return self._scores(self.model.on_sample) is not None

    def asker(
        self, goal: Goal, oracle: Oracle, missing: NDArray[np.bool_] | None = None
    ) -> Callable[[Array], Reply]:
        """Return the function from encoded rows to whether they reach the goal; the oracle counts them.

        The rows lie between background rows, so that a cell is missing only where theirs are, or where
        `missing` says so: rows around a query have its missing cells.
        """
        ask = oracle.output if isinstance(goal, Probability) else oracle.labels
        classes = self.model.classes
        may_miss = self.may_miss if missing is None else self.may_miss | missing
        return lambda Z: judge(goal, ask(Z, may_miss), classes)

    @cached_property
    def margin_step(self) -> float:
        """The step that margins are rounded to before the search follows them.

        A row's score differs in its last bits with the batch it is asked in. Rounded, it does not, and a
        query takes the same way alone and among others.
        """
        return self.score_size * 2.0**-30

    @cached_property
    def batch_matters(self) -> bool:
        """Whether a row's score shifts with its batch by more than rounding absorbs (32-bit networks do)."""
        among_all = self._scores(self.model.on_sample)
        if among_all is None:
            return False
        for count in (1, 2, 3, 8):
            few = self._scores(self.oracle().output(self.sample[:count], self.may_miss))
            if few is None or np.abs(few - among_all[: len(few)]).max() > 2.0**-40 * self.score_size:
                return True
        return False

    @staticmethod
    def _scores(output: Output) -> NDArray[Any] | None:
        return output.scores if output.values is None else output.values

    @cached_property
    def score_size(self) -> float:
        """A power of two at or above the largest score or number on the sample rows."""
        scores = self._scores(self.model.on_sample)
        largest = 1.0 if scores is None or not scores.size else float(np.abs(scores).max())
        return float(2.0 ** np.ceil(np.log2(largest or 1.0)))

"""Asking the adapted model, and what its answers mean: predictions, replies, the size of scores."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssba.arrays import Array
from ssba.columns.space import Matrix, Space
from ssba.engine.asked_rows import AskedRows
from ssba.engine.choice import Choice
from ssba.models.model import Model, Output
from ssba.models.oracle import Oracle
from ssba.models.row_check import RowCheck
from ssba.models.targets import Goal, Probability, Reply, judge
from ssba.whitebox.additive import Additive
from ssba.whitebox.forest import Trees
from ssba.whitebox.read_model import Closed, Opened, is_quickly_read, open_linear_model, open_model


@dataclass(frozen=True)
class Judging:
    """The model, as it is asked about encoded rows, and what it says about the background rows.

    `source` is the user's model as it was given, for those who can look inside. `choice` tells which
    background rows queries ask about.
    """

    space: Space
    model: Model
    source: Any
    background: Matrix
    choice: Choice

    def oracle(self, batch_rows: int = 65_536) -> Oracle:
        """Return a fresh counter of model rows in front of the model."""
        return Oracle(self.model, self.space.decode, self.row_check, batch_rows)

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
        if not is_quickly_read(self.source, len(self.space.features)):
            return None
        return self.opened if isinstance(self.opened, Trees) else None

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

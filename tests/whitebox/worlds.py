"""Small worlds: an opened model, and the nearest row by asking the user's own model about every legal one."""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tests.support import Matrix, Setting

from ssba.constraints.regions.region import Region
from ssba.models.answers import Model
from ssba.models.model import adapt
from ssba.models.targets import Goal, Probability, ValueBetween, judge
from ssba.whitebox.exact import Exact, Question
from ssba.whitebox.forest import Trees
from ssba.whitebox.read_model import Closed, Opened, open_model


@dataclass(frozen=True)
class World:
    """An opened model of a small world, and how to ask the user's own."""

    setting: Setting
    model: Model
    opened: Opened

    def reached(self, goal: Goal, Z: Matrix) -> Any:
        return judge(goal, self.model.verdict(self.setting.space.decode(Z)), self.model.classes).reached

    def question(self, goal: Goal, region: Region) -> Question:
        return Question(goal, region, self.setting.metric, lambda Z: self.reached(goal, Z))

    def limit(self, goal: Goal, region: Region) -> float:
        """The distance of the nearest row that reaches, by asking about all."""
        rows = legal_rows(self.setting, region)
        rows = rows[self.reached(goal, rows)] if len(rows) else rows
        return float(self.setting.metric.distance(rows, region.x).min(initial=math.inf))


def opened_world(model: Any, data: Any, goal: Goal, made: Setting) -> World:
    """Open a model for a goal, which it must allow."""
    adapted = adapt(
        model,
        data,
        wants_numbers=isinstance(goal, ValueBetween),
        wants_probabilities=isinstance(goal, Probability),
    )
    found = open_model(model, adapted, made.space, made.Z)
    assert not isinstance(found, Closed), found
    return World(made, adapted, found)


def raw_by_leaves(trees: Trees, Z: Matrix) -> Matrix:
    """The sums of leaves whose boxes hold the rows, as the searches use them."""
    inside = np.ones((len(Z), len(trees.leaves.tree)), dtype=bool)
    for j, cuts in enumerate(trees.cuts):
        cell, asked = Z[:, [j]], trees.leaves.asked(j)
        if trees.coded[j]:
            bits = asked.codes >> np.nan_to_num(cell).astype(np.uint64)
            fits = (bits & np.uint64(1)).astype(bool)
        else:
            rank = np.searchsorted(cuts, cell)
            fits = (asked.low <= rank) & (rank <= asked.high)
        inside[:, asked.leaf] &= np.where(np.isnan(cell), asked.missing, fits)
    assert (inside.sum(axis=1) == len(np.unique(trees.leaves.tree))).all(), "one leaf of each tree"
    return np.asarray(inside @ trees.leaves.value + trees.offset)


def legal_rows(made: Setting, region: Region) -> Matrix:
    values = []
    for j, feature in enumerate(made.space.features):
        if region.held[j]:
            values.append(np.array([region.x[j]]))
            continue
        if feature.has_levels:
            legal = np.flatnonzero(region.allowed[j]).astype(float)
        else:
            step = feature.step or 1.0
            legal = (
                np.arange(math.ceil(region.lower[j] / step), math.floor(region.upper[j] / step) + 1) * step
            )
        values.append(np.union1d(legal, region.x[[j]]) if region.keeps_x[j] else legal)
    rows = np.array(list(itertools.product(*values)), dtype=float).reshape(-1, len(values))
    return rows[region.contains(rows)]


def check(answer: Exact, question: Question, limit: float) -> None:
    """No bound is above the nearest row, and what is proved is the nearest row."""
    assert answer.lower_bound <= limit * (1 + 1e-9)
    if not answer.proved:
        return
    assert question.distance(answer.row) == pytest.approx(limit, rel=1e-6)
    if answer.row is not None:
        assert question.region.contains(answer.row[None, :])[0]
        assert question.reached is not None
        assert question.reached(answer.row[None, :])[0]

"""HopSkipJump (Chen et al. 2020) from the adversarial-robustness-toolbox 1.20: labels only, L2.

Bounds are its `clip_values`, columns that are not free its `mask`. It walks in the units of the case's
metric. It starts at the nearest training row of the target class, brought into the bounds, if the model
still puts that there; else at its own random rows. It knows no whole numbers: the model sees rounded rows,
and the rounded row is its answer. Categories it does not know at all.

The toolbox returns its last step beyond the boundary, not the boundary point of the paper's algorithm; so the
row where the straight way back to the query leaves the target class is offered too.
"""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from benchmarks.nearest.cases import Case
from benchmarks.nearest.methods import (
    Answering,
    Matrix,
    NotApplicableError,
    labels_of,
    legal_kinds,
    none,
)
from benchmarks.nearest.plans import SEED

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from art.attacks.evasion import HopSkipJump  # type: ignore[import-not-found]
    from art.estimators.classification import BlackBoxClassifier  # type: ignore[import-not-found]

NEAREST_ROWS = 20
LAST_HALVINGS = 12


def about_1k(case: Case) -> Answering:
    return _attacking(case, {"max_iter": 9, "max_eval": 200, "init_eval": 50})


def about_5k(case: Case) -> Answering:
    return _attacking(case, {"max_iter": 27, "max_eval": 1000, "init_eval": 50})


def _attacking(case: Case, settings: dict[str, Any]) -> Answering:
    if case.is_category[case.free].any():
        raise NotApplicableError("it knows numbers only")
    target_rows = case.background[case.labels(case.data) == case.target]

    def answer(which: Sequence[int]) -> Iterator[Matrix]:
        for i in which:
            # the generator that the toolbox draws from
            np.random.seed(SEED)  # noqa: NPY002
            yield _attack(case, i, target_rows, settings)

    return answer


def _attack(case: Case, i: int, target_rows: Matrix, settings: dict[str, Any]) -> Matrix:
    ask, x = labels_of(case), case.X[i]

    def one_hot(Z: Matrix) -> Matrix:
        return np.asarray(np.eye(2)[ask(np.asarray(Z, dtype=np.float64) * case.scale)])

    # the toolbox refuses bounds that leave no room: what cannot move is held by the mask instead
    can_move = case.high[i] > case.low[i]
    clips = (case.low[i] / case.scale - ~can_move, case.high[i] / case.scale + ~can_move)
    model = BlackBoxClassifier(one_hot, x.shape, 2, clip_values=clips)
    attack = HopSkipJump(model, targeted=False, verbose=False, **settings)
    start = _start(case, i, target_rows)
    first = {} if start is None else {"x_adv_init": (start / case.scale)[None]}
    found = attack.generate((x / case.scale)[None], mask=can_move.astype(float)[None], **first)
    # the toolbox computes in 32 bits: cells that it may not change come back rounded
    z = np.where(can_move, legal_kinds(case, found[0].astype(np.float64) * case.scale), x)
    return none(case) if (z == x).all() else np.stack([_at_the_boundary(case, x, z), z])


def _at_the_boundary(case: Case, x: Matrix, z: Matrix) -> Matrix:
    """The last row at the target on the straight way back from an answer to the query."""
    ask, near, far = labels_of(case), 0.0, 1.0
    for _ in range(LAST_HALVINGS):
        middle = (near + far) / 2
        reached = ask((x + middle * (z - x))[None])[0] == case.target
        near, far = (near, middle) if reached else (middle, far)
    return legal_kinds(case, x + far * (z - x))


def _start(case: Case, i: int, target_rows: Matrix) -> Matrix | None:
    order = np.argsort(case.distance(case.X[i], target_rows))[:NEAREST_ROWS]
    Z = legal_kinds(case, np.clip(target_rows[order], case.low[i], case.high[i]))
    reached = np.flatnonzero(case.labels(case.rows(Z)) == case.target)
    return Z[reached[0]] if len(reached) else None

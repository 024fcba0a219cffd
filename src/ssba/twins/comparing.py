"""Holding a twin's answers against those of the model that it was made from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ssba.boundary.bisection import Path, bisect
from ssba.boundary.pairs import shuffle
from ssba.boundary.points import answered
from ssba.columns.space import Matrix, Space
from ssba.errors import ModelError
from ssba.models.answers import Model, Output
from ssba.models.targets import Reply
from ssba.models.twin import Agreement, twin_answers, twin_labels

# Segments between background rows that are halved; and how near to the boundary, as a share of a segment.
_SEGMENTS, _NEAR = 256, 2.0**-20
# Of the range of a model's scores or numbers: farther apart than this is another answer.
_APART = 1e-3


@final
@dataclass(frozen=True)
class _Compared:
    """Rows that a twin and its original were both asked about; `far` marks scores that are not the same."""

    differs: NDArray[np.bool_]
    far: NDArray[np.bool_]
    largest: float


def compare(twin: Any, original: Model, space: Space, background: Matrix) -> tuple[Agreement, float]:
    """Return how a twin agrees, and on which share of the background rows its answers are too far off."""
    on_background = _compared(twin, original, space, background)
    rows, near = _near(twin, original, space, background)
    agreement = Agreement(
        rows=len(background),
        differing=int(on_background.differs.sum()),
        near_rows=len(rows),
        near_differing=0 if near is None else int(near.differs.sum()),
        largest_difference=max(on_background.largest, 0.0 if near is None else near.largest),
        is_regressor=twin.classes is None,
    )
    # Probabilities must be right. Decisions have no unit, and where votes tie SVC's contradict its labels.
    wrong = on_background.differs
    if twin.method == "predict_proba":
        wrong = wrong | on_background.far
    return agreement, float(wrong.mean())


def _compared(twin: Any, original: Model, space: Space, rows: Matrix) -> _Compared:
    own: Output = original.verdict(space.decode(rows.copy()))
    answers = twin_answers(twin, space.decode(rows))
    known = own.values if twin.classes is None else own.scores
    if known is None:
        far, largest = np.zeros(len(rows), dtype=bool), 0.0
    else:
        apart = np.abs(answers - known).reshape(len(rows), -1).max(axis=1)
        far, largest = apart > _APART * max(float(np.ptp(known)), np.finfo(float).tiny), float(apart.max())
    differs = far if twin.classes is None else np.asarray(twin_labels(twin, answers) != own.labels)
    return _Compared(differs, far, largest)


def _near(twin: Any, original: Model, space: Space, background: Matrix) -> tuple[Matrix, _Compared | None]:
    """Compare a twin with its original beside the boundary; None where no boundary was seen."""
    rows = _near_rows(twin, space, background, space.discrete)
    if not len(rows):
        return rows, None
    try:
        return rows, _compared(twin, original, space, rows)
    except ModelError:
        # Whole numbers may be codes, of which an encoder knows those in the data and none between them.
        coded = np.array([feature.kind != "numeric" for feature in space.features], dtype=bool)
        rows = _near_rows(twin, space, background, coded)
        return rows, _compared(twin, original, space, rows)


def _near_rows(twin: Any, space: Space, background: Matrix, switching: NDArray[np.bool_]) -> Matrix:
    """Return rows at both sides of a classifier's boundary; for a regressor, rows between background rows.

    Columns that are `switching` have values of the background rows only.
    """
    first = shuffle(len(background), seed=0, salt=6)[:_SEGMENTS]
    if twin.classes is None:
        start = background[first]
        middle = np.where(switching, start, (start + np.roll(start, 1, axis=0)) / 2)
        return np.asarray(space.grid.snap(middle[~np.isnan(middle).any(axis=1)]))

    def labels(rows: Matrix) -> NDArray[Any]:
        return twin_labels(twin, twin_answers(twin, space.decode(rows)))

    seen = labels(background)
    others = _of_another_class(seen, first)
    start, end = background[first[others >= 0]], background[others[others >= 0]]
    if not len(start):
        return start
    path = Path(switching, space.grid.snap, plain=False)
    bracket = answered(bisect(start, end, path, _NEAR), _reaching(labels, seen[others[others >= 0]]))
    return np.concatenate([bracket.inside, bracket.outside])


def _reaching(labels: Callable[[Matrix], NDArray[Any]], wanted: NDArray[Any]) -> Callable[[Matrix], Reply]:
    return lambda rows: Reply(np.asarray(labels(rows) == wanted), None)


def _of_another_class(labels: NDArray[Any], first: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each of some rows one that got another label, -1 where none did; all of them in turn."""
    shuffled = shuffle(len(labels), seed=0, salt=7)
    found = np.full(len(first), -1, dtype=np.int64)
    for label in np.unique(labels):
        others = shuffled[labels[shuffled] != label]
        mine = np.flatnonzero(labels[first] == label)
        if len(others):
            found[mine] = others[np.arange(len(mine)) % len(others)]
    return found

"""From encoded rows to a pipeline's last step, past its other steps and without a frame.

What the steps make of numbers is computed by the operations that they would do (`columnwise.py`); what they
make of levels is read off by asking them. The result must have the bits of theirs, on background rows, all
levels, missing cells and numbers far out. The way ends before a step that is not known so well: that one and
all later ones are asked. If it is the first, the model is asked as a whole.
"""

import contextlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import vstack

from ssba.arrays import Integers, Matrix, Vector
from ssba.columns.frames import RawColumn, read_columns
from ssba.columns.space import Space
from ssba.models.prepared import Prepared, ShortWay
from ssba.whitebox.check_reading import (
    NotReadable,
    complete_row,
    level_rows,
    mixed_background,
    sent_through,
    the_users_code,
)
from ssba.whitebox.columnwise import OPERATIONS, Change, Column, followed, refuse_overridden
from ssba.whitebox.structure import WRAPPERS, is_a

# Background rows on which our inputs are compared with those of the steps.
_COMPARED = 512
# Where numbers are compared, from the lowest in the data (0) to the highest (1) and beyond.
_SHARES = (-1.0, -0.1, 0.0, 1 / 3, 0.5, 1.0, 1.1, 2.0)
# Inputs of rows with all levels; more take too much memory.
_MOST_CELLS = 5_000_000
# Dense inputs that sparse ones are made of at a time.
_BLOCK_CELLS = 2_000_000

Mask = NDArray[np.bool_]
Place = slice | Integers


def short_way(model: Any, space: Space, background: Matrix) -> ShortWay | None:
    """Return the short way past the first steps of a pipeline; None where there is none that is sure.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from ssba.columns.space import build_space
    >>> rows = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, 3.0], [3.0, 2.0]])
    >>> fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(rows, [0, 0, 1, 1])
    >>> way = short_way(fitted, *build_space(rows))
    >>> bool((way(rows).inputs == fitted[0].transform(rows)).all())
    True
    >>> short_way(fitted[1], *build_space(rows)) is None
    True
    """
    try:
        steps, last = _steps_and_last(model)
        inputs, others = _longest_read(steps, space, background)
    except NotReadable:
        return None

    def prepared(Z: Matrix) -> Prepared | None:
        made = inputs(Z)
        return None if made is None else Prepared(others, last, made, partial(space.decode, Z))

    return prepared


def _steps_and_last(model: Any) -> tuple[list[Any], Any]:
    """Unwrap what answers as its last step does, once the other steps have made its inputs."""
    steps = list[Any]()
    while is_a(model, "Pipeline", *WRAPPERS):
        refuse_overridden(model)
        if is_a(model, "Pipeline"):
            steps += [step for _, step in model.steps[:-1]]
            model = model.steps[-1][1]
        else:
            with the_users_code():
                model = getattr(model, WRAPPERS[type(model).__name__])
    if not steps or sys.modules["sklearn"].get_config().get("enable_metadata_routing"):
        raise NotReadable("there are no steps that could be left out")
    return steps, model


@final
@dataclass(frozen=True)
class _Numbers:
    """Inputs that the same operations make of numbers: where they lie, of which columns, what is done."""

    at: Place
    source: Place
    operations: tuple[tuple[str, tuple[Vector, ...]], ...]

    def write(self, Z: Matrix, made: Matrix) -> None:
        values = Z[:, self.source].copy() if isinstance(self.source, slice) else Z[:, self.source]
        for kind, numbers in self.operations:
            OPERATIONS[kind](values, *numbers)
        made[:, self.at] = values


@final
@dataclass(frozen=True)
class _Levels:
    """Inputs that depend on a column of levels: a row for each code, the last for a missing cell."""

    at: Place
    source: int
    table: Matrix


@final
@dataclass(frozen=True)
class _Form:
    """In which form the last step gets its inputs; a sparse one has places of a dtype of its own."""

    kind: type[Any]
    dtype: np.dtype[Any]
    order: Literal["C", "F"] = "C"
    places: np.dtype[Any] | None = None

    def of(self, made: Matrix) -> Any:
        typed = made.astype(self.dtype, order="K", copy=False)
        if self.places is None:
            return typed
        return self.placed(self.kind(typed))

    def placed(self, sparse: Any) -> Any:
        sparse.indices, sparse.indptr = sparse.indices.astype(self.places), sparse.indptr.astype(self.places)
        return sparse


@final
@dataclass(frozen=True)
class _Asked:
    """Rows, what the steps made of them, and in which form."""

    rows: Matrix
    answer: Any
    form: _Form


@final
@dataclass(frozen=True)
class _Inputs:
    """Makes what the last step gets; None for rows with missing cells where `misses` knows of none."""

    width: int
    numbers: tuple[_Numbers, ...]
    levels: tuple[_Levels, ...]
    misses: Mask
    form: _Form

    def __call__(self, Z: Matrix) -> Any:
        block = max(1, _BLOCK_CELLS // max(1, self.width))
        if self.form.places is None or len(Z) <= block:
            return self._made(Z)
        parts = [self._made(Z[i : i + block]) for i in range(0, len(Z), block)]
        return None if any(part is None for part in parts) else self.form.placed(vstack(parts, format="csr"))

    def _made(self, Z: Matrix) -> Any:
        missing = np.isnan(Z)
        any_missing = missing.any()
        if any_missing and (missing & ~self.misses).any():
            return None
        made = np.empty((len(Z), self.width), order=self.form.order)
        for one in self.numbers:
            one.write(Z, made)
        for level in self.levels:
            codes = Z[:, level.source]
            if any_missing:
                codes = np.where(missing[:, level.source], len(level.table) - 1, codes)
            made[:, level.at] = level.table.take(codes.astype(np.intp), axis=0)
        return self.form.of(made)


def _longest_read(steps: Sequence[Any], space: Space, background: Matrix) -> tuple[_Inputs, Sequence[Any]]:
    """Read as many of the steps as can be, from the first; return the others as they are."""
    for count in range(len(steps), 1, -1):
        with contextlib.suppress(NotReadable):
            return _read(steps[:count], space, background), steps[count:]
    return _read(steps[:1], space, background), steps[1:]


def _read(steps: Sequence[Any], space: Space, background: Matrix) -> _Inputs:
    def ask(Z: Matrix) -> _Asked:
        with the_users_code():
            answer = sent_through(steps, space.decode(Z.copy()))
        return _Asked(Z, answer, _form(answer))

    base = complete_row(background)
    if np.isnan(base).any():
        raise NotReadable("a column holds nothing but missing cells")
    raw = read_columns(space.decode(base[None, :].copy()))
    with the_users_code():
        columns = followed(steps, _columns(space, raw))
    _refuse_odd_numbers(columns, space, raw)
    if sum(len(feature.levels) for feature in space.features) * max(len(columns), len(base)) > _MOST_CELLS:
        raise NotReadable("there are too many levels")
    rows = _compared_rows(space, background)
    # The layout of an array of one row tells nothing.
    coded = ask(np.concatenate([level_rows(space, background), rows[:1]]))
    if coded.answer.shape[1] != len(columns):
        raise NotReadable("the steps make another number of inputs than was thought")
    asked = [coded, ask(rows), ask(rows[:1])]
    for misses in _may_miss(space, background):
        try:
            missing = [ask(one) for one in _with_misses(rows, background, misses)]
            inputs = _put_together(columns, space, coded, missing, misses)
        except NotReadable:
            continue
        if all(_are_equal(inputs(one.rows), one.answer) for one in (*asked, *missing)):
            return inputs
    raise NotReadable("what the steps make of rows is not what was thought")


def _columns(space: Space, raw: Sequence[RawColumn]) -> list[Column]:
    """Return the columns of the user's rows, before any step.

    Numbers kept as integers have no negative zero, those kept in 32 bits are rounded; to add a negative zero
    changes nothing.
    """
    any_whole = any(column.family == "integer" for column in raw)
    is_frame = space.layout.library != "numpy"
    found = []
    for j, (feature, column) in enumerate(zip(space.features, raw, strict=True)):
        changes: tuple[Change, ...] = (("single", ()),) if column.single else ()
        if any_whole:
            changes += (("plus", (0.0 if column.family == "integer" else -0.0,)),)
        name = space.layout.names[j] if is_frame else None
        found.append(Column(j, feature.has_levels, name, changes, column.single))
    return found


def _refuse_odd_numbers(columns: Sequence[Column], space: Space, raw: Sequence[RawColumn]) -> None:
    for j in {column.source for column in columns if not column.has_levels}:
        kind, family = space.features[j].kind, raw[j].family
        if (kind, family) not in (("numeric", "float"), ("integer", "float"), ("integer", "integer")):
            raise NotReadable(f"column {space.names[j]!r} is {kind}, but kept as {raw[j].dtype}")


def _form(seen: Any) -> _Form:
    if type(seen) is np.ndarray and seen.ndim == 2 and seen.dtype.kind in "fiub":
        return _Form(np.ndarray, seen.dtype, "C" if seen.flags.c_contiguous else "F")
    if type(seen).__name__ in ("csr_matrix", "csr_array") and seen.dtype.kind in "fiub":
        return _Form(type(seen), seen.dtype, places=seen.indices.dtype)
    raise NotReadable("the last step gets neither an array nor a sparse one of rows")


def _may_miss(space: Space, background: Matrix) -> list[Mask]:
    """Return in which columns cells may be missing, the most first: not all steps take all of them."""
    nullable, seen = np.array(space.nullable, dtype=bool), np.isnan(background).any(axis=0)
    number = np.array([not feature.has_levels for feature in space.features])
    return [nullable, nullable & (number | seen), nullable & seen, np.zeros_like(nullable)]


def _with_misses(rows: Matrix, background: Matrix, misses: Mask) -> list[Matrix]:
    """Return copies of the first row with one missing cell each; rows with all, and those of the data."""
    if not misses.any():
        return []
    places = np.flatnonzero(misses)
    each = np.tile(rows[0], (len(places), 1))
    each[np.arange(len(places)), places] = np.nan
    seen = np.isnan(background)
    known = background[seen.any(axis=1) & ~(seen & ~misses).any(axis=1)][:_COMPARED]
    return [each, np.concatenate([np.where(misses, np.nan, rows[:3]), known])]


def _put_together(
    columns: Sequence[Column], space: Space, coded: _Asked, missing: Sequence[_Asked], misses: Mask
) -> _Inputs:
    """Return inputs by arithmetic and by tables, of what the steps made of the codes and of missing cells."""
    of_codes, begin, at = _dense(coded.answer), 1, dict[int, list[int]]()
    of_missing = dict(zip(np.flatnonzero(misses), _dense(missing[0].answer), strict=True)) if missing else {}
    for i, column in enumerate(columns):
        if column.has_levels:
            at.setdefault(column.source, []).append(i)
    levels = []
    for j, feature in enumerate(space.features):
        end = begin + len(feature.levels)
        if j in at:
            rows = [of_codes[begin:end], *([of_missing[j][None, :]] if j in of_missing else [])]
            levels.append(_Levels(_place(at[j]), j, np.concatenate(rows)[:, at[j]]))
        begin = end
    return _Inputs(len(columns), _numbers(columns), tuple(levels), misses, coded.form)


def _numbers(columns: Sequence[Column]) -> tuple[_Numbers, ...]:
    """Return the inputs made of numbers, those by the same operations together."""

    def kinds(i: int) -> tuple[str, ...]:
        return tuple(kind for kind, _ in columns[i].changes)

    numbers = sorted((i for i, column in enumerate(columns) if not column.has_levels), key=kinds)
    found = []
    for _, group in groupby(numbers, key=kinds):
        mine = list(group)
        steps = zip(*(columns[i].changes for i in mine), strict=True)
        operations = tuple(
            (step[0][0], tuple(np.array(row) for row in zip(*(numbers for _, numbers in step), strict=True)))
            for step in steps
        )
        found.append(_Numbers(_place(mine), _place([columns[i].source for i in mine]), operations))
    return tuple(found)


def _place(numbers: Sequence[int]) -> Place:
    """Return numbers as a slice where they are one, which is quicker."""
    if list(numbers) == list(range(numbers[0], numbers[0] + len(numbers))):
        return slice(numbers[0], numbers[0] + len(numbers))
    return np.array(numbers, dtype=np.int64)


def _compared_rows(space: Space, background: Matrix) -> Matrix:
    """Return background rows, also mixed, and rows with numbers at the ends of the data and beyond."""
    base = complete_row(background)
    low, high = np.nanmin(background, axis=0), np.nanmax(background, axis=0)
    # No input depends on two columns, so that all of them may be far out at once.
    far = low + np.array(_SHARES)[:, None] * (high - low)
    is_number = np.array([not feature.has_levels for feature in space.features])
    far = np.where(is_number, space.grid.snap(np.clip(far, *space.declared_range)), base)
    rows = np.concatenate([base[None, :], background[:_COMPARED], mixed_background(background), far])
    # Missing cells are tried apart: some steps take none.
    return np.asarray(rows[~np.isnan(rows).any(axis=1)])


def _are_equal(ours: Any, theirs: Any) -> bool:
    """Whether two results have the same form and the same bits."""
    if type(ours) is not type(theirs) or ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return False
    if isinstance(ours, np.ndarray):
        return _same_layout(ours, theirs) and _same_bits(ours, theirs)
    pairs = [(getattr(ours, name), getattr(theirs, name)) for name in ("indptr", "indices", "data")]
    return all(one.dtype == other.dtype and _same_bits(one, other) for one, other in pairs)


def _same_layout(ours: NDArray[Any], theirs: NDArray[Any]) -> bool:
    return bool(
        ours.flags.c_contiguous == theirs.flags.c_contiguous
        and ours.flags.f_contiguous == theirs.flags.f_contiguous
    )


def _same_bits(ours: NDArray[Any], theirs: NDArray[Any]) -> bool:
    if ours.shape != theirs.shape:
        return False
    both_missing = (ours != ours) & (theirs != theirs)
    equal = (
        (ours == theirs) & (np.signbit(ours) == np.signbit(theirs))
        if ours.dtype.kind == "f"
        else ours == theirs
    )
    return bool((equal | both_missing).all())


def _dense(rows: Any) -> Matrix:
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)

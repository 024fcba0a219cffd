"""What a change chart draws: a track for each column, from the data's lowest value to its highest.

No drawing happens here: charts, report pages and matplotlib's parallel coordinates show the same places.
"""

import math
import numbers
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ssba.arguments import came, is_number, mapping
from ssba.columns.dates import day_number, short_date
from ssba.columns.features import is_missing
from ssba.columns.frames import is_frame
from ssba.constraints.constraint import constraint, fixed
from ssba.errors import ArgumentError, ConstraintError
from ssba.results import words
from ssba.results.explanation import Counterfactual, Explanation, refuse_no_explanation
from ssba.results.numbers import short_value

_BINS = 40
_MOST_LEVELS = 8


@dataclass(frozen=True)
class DataContext:
    """What is known about the columns besides a result: all of it optional, none of it from the model.

    Attributes
    ----------
    population : frame or mapping from columns to values, optional
        Other rows of the data; their distribution is drawn behind each change.
    allowed : dict
        Column to (low, high): what the constraints leave of a number for this query; None for an open end.
        For a category: the permitted levels.
    meanings : dict
        Column to what it means, for a person.

    Examples
    --------
    >>> around = DataContext({"chol": [180, 210, 240]}, {"chol": (160, 240)}, {"chol": "cholesterol"})
    >>> around.values("chol"), around.label("chol"), around.label("age")
    ([180, 210, 240], 'cholesterol', 'age')
    """

    population: Any = None
    allowed: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        mapping("allowed", self.allowed, '{"chol": (160, 240)}')
        mapping("meanings", self.meanings, '{"chol": "cholesterol"}')
        for name, ends in self.allowed.items():
            if isinstance(ends, str) or not isinstance(ends, Iterable):
                raise ArgumentError(
                    f"allowed[{name!r}] is {ends!r:.80}; give (low, high) for a number, the permitted levels "
                    "for a category"
                )

    def values(self, name: str) -> list[Any]:
        """The population's known values of a column."""
        if self.population is None:
            return []
        try:
            column = self.population[name]
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise ArgumentError(
                f"population has no column {name!r} ({type(error).__name__}); give a frame, or a mapping "
                "from columns to values, with all columns of the query"
            ) from None
        cells = column.to_list() if hasattr(column, "to_list") else np.asarray(column, dtype=object).tolist()
        plain = [cell.item() if isinstance(cell, np.generic) else cell for cell in cells]
        return [cell for cell in plain if not is_missing(cell) and not _is_endless(cell)]

    def label(self, name: str) -> str:
        """What a column is called in a picture."""
        return self.meanings.get(name, name)


def data_context(given: Any) -> DataContext:
    """Return what is known about the data; a frame, or columns, are the population.

    >>> data_context({"chol": [180, 210]}).values("chol"), data_context(None).population
    ([180, 210], None)
    """
    if given is None:
        return DataContext()
    if isinstance(given, DataContext):
        return given
    if not is_frame(given) and not isinstance(given, Mapping):
        raise ArgumentError(
            f"data is {came(given)}; give a frame with the columns of the query, or "
            "ssba.charts.DataContext(frame, allowed=..., meanings=...)"
        )
    return DataContext(given)


@dataclass(frozen=True)
class Track:
    """One column of a change chart; all places lie between 0, the track's left end, and 1.

    Attributes
    ----------
    name, label, unit
        The column, what it means and its unit.
    now, proposed
        The query's value and the answer's, as they are.
    before, after : float or None
        Where these lie; None for a missing value.
    ends : (str, str)
        What stands at the two ends, written; for categories the first and the last level.
    levels : tuple of (place, level)
        The levels of a category, and where they lie; empty for a number.
    values : tuple of (place, number)
        The same for a number of which the data know few values.
    shape : tuple of (place, height)
        The population's distribution, the highest place having height 1; empty where no data are given.
    is_counted : bool
        Whether each place of `shape` is one value: a level, or a number of which the data know few.
    allowed : (float, float) or None
        What the constraints leave, as far as the track goes.
    permitted : tuple of float or None
        The same for a category: the places of the permitted levels.
    is_fixed : bool
        Whether a constraint holds the column.
    """

    name: str
    label: str
    unit: str | None
    now: Any
    proposed: Any
    before: float | None
    after: float | None
    ends: tuple[str, str]
    levels: tuple[tuple[float, str], ...] = ()
    values: tuple[tuple[float, str], ...] = ()
    shape: tuple[tuple[float, float], ...] = ()
    is_counted: bool = False
    allowed: tuple[float, float] | None = None
    permitted: tuple[float, ...] | None = None
    is_fixed: bool = False

    @property
    def is_changed(self) -> bool:
        """Whether the answer differs from the query here."""
        return not _same(self.now, self.proposed)

    @property
    def marks(self) -> tuple[tuple[float, str], ...]:
        """The values of which the data know few, and where they lie; else the two ends."""
        low, high = self.ends
        return self.values or ((0.0, low), (1.0, high))

    @property
    def caption(self) -> str:
        """The change in words.

        >>> track = make_track("chol", 286.0, 240.0, DataContext(), unit="mg/dl")
        >>> track.caption
        '286 to 240 mg/dl'
        """
        if not self.is_changed:
            return f"{words.cell(self.now, self.unit)}, {'fixed' if self.is_fixed else 'unchanged'}"
        return f"{words.cell(self.now)} to {words.cell(self.proposed, self.unit)}"


def tracks_of(
    explanation: Explanation,
    data: Any = None,
    answer: int = 0,
    only_changes: bool = False,
) -> tuple[Track, ...]:
    """Return a track for each column of a result: changed ones first, then free ones, then fixed ones.

    Parameters
    ----------
    explanation : Explanation
        The result; without an answer nothing is changed.
    data : DataContext or frame, optional
        The data, the allowed ranges and the meanings of the columns.
    answer : int
        Which of several counterfactuals.
    only_changes : bool
        Leave out the columns that stay.

    Examples
    --------
    >>> from ssba.results import Counterfactual, Explanation, Status
    >>> row = Counterfactual({"chol": 240, "sex": "male"}, {"chol": (286, 240)}, 1.0, "well")
    >>> found = Explanation(Status.FOUND, {"chol": 286, "sex": "male"}, "ill", None, "'well'",
    ...                          constraints=("sex == x.sex",), counterfactuals=(row,))
    >>> [(track.label, track.caption) for track in tracks_of(found)]
    [('chol', '286 to 240'), ('sex', 'male, fixed')]
    """
    refuse_no_explanation(explanation)
    around = data_context(data)
    move = move_of(explanation, answer)
    values = explanation.query if move is None else move.values
    held, units, orders = fixed_columns(explanation), explanation.units, explanation.orders
    made = [
        make_track(name, now, values[name], around, units.get(name), name in held, orders.get(name, ()))
        for name, now in explanation.query.items()
    ]
    made.sort(key=lambda track: (not track.is_changed, track.is_fixed))
    return tuple(track for track in made if track.is_changed or not only_changes)


def move_of(explanation: Explanation, answer: int = 0) -> Counterfactual | None:
    """The answer that is shown: a counterfactual, the bounded move where there is none, or None."""
    answers = explanation.counterfactuals or ((explanation.bounded,) if explanation.bounded else ())
    if not answers and answer == 0:
        return None
    if not isinstance(answer, int) or isinstance(answer, bool) or not 0 <= answer < len(answers):
        raise ArgumentError(f"answer={answer!r} is not there; there are {len(answers)} answers, from 0 on")
    return answers[answer]


def fixed_columns(explanation: Explanation) -> frozenset[str]:
    """The columns that a constraint of the result holds at the query's value."""
    known = set()
    for one in explanation.constraints:
        try:
            known.add(constraint(one))
        except ConstraintError:
            # A result written by a later release may know constraints that we do not.
            continue
    return frozenset(name for name in explanation.query if fixed(name) in known)


def make_track(
    name: str,
    now: Any,
    proposed: Any,
    data: DataContext,
    unit: str | None = None,
    is_fixed: bool = False,
    order: Sequence[Any] = (),
) -> Track:
    """Return the track of one column, as a number or as a category.

    `order` holds the levels of an ordinal column, which are drawn in that order, the first on the left.
    """
    values = data.values(name)
    shown = [cell for cell in (now, proposed) if not is_missing(cell)]
    known = [*shown, *values, *order]
    numeric = all(is_number(cell) for cell in known) and bool(shown or values)
    dates = all(day_number(cell) is not None for cell in known) and bool(shown or values) and not order
    track = Track(name, data.label(name), unit, now, proposed, None, None, ("", ""), is_fixed=is_fixed)
    allowed = data.allowed.get(name)
    if numeric and list(order) == sorted(order):
        return _number_track(track, values, allowed)
    if dates and not numeric:
        return _date_track(track, values, allowed)
    return _level_track(track, values, allowed, order)


def _date_track(track: Track, values: Sequence[Any], allowed: Sequence[Any] | None) -> Track:
    """Return the track of dates: that of the days since the first of them, with dates written on it."""
    cells = [track.now, track.proposed, *values]
    days = [number for cell in cells if (number := day_number(cell)) is not None]
    first, whole = min(days), all(one.is_integer() for one in days)

    def since(cell: Any) -> float | None:
        number = day_number(cell)
        return None if number is None else number - first

    made = _number_track(
        replace(track, now=since(track.now), proposed=since(track.proposed)),
        [number for cell in values if (number := since(cell)) is not None],
        None if allowed is None else [since(end) for end in allowed],
        write=lambda number: short_date(first + (round(number) if whole else number)),
    )
    return replace(made, now=track.now, proposed=track.proposed)


def _number_track(
    track: Track,
    values: Sequence[float],
    allowed: Sequence[Any] | None,
    write: Callable[[float], str] = short_value,
) -> Track:
    cells = [float(cell) for cell in (track.now, track.proposed) if not is_missing(cell)]
    ends = [float(end) for end in _both_ends(track.name, allowed) if end is not None and math.isfinite(end)]
    low, high = _span([*cells, *map(float, values)] or ends, ends if not values else [])

    def place(cell: Any) -> float | None:
        return None if is_missing(cell) else (float(cell) - low) / (high - low)

    few = _few(values)
    bars = tuple(((one - low) / (high - low), few[one] / max(few.values())) for one in sorted(few))
    return replace(
        track,
        before=place(track.now),
        after=place(track.proposed),
        ends=(write(low), write(high)),
        values=tuple(((one - low) / (high - low), write(one)) for one in sorted(few)),
        shape=bars or _silhouette(values, low, high),
        is_counted=bool(few),
        allowed=_clipped(_both_ends(track.name, allowed), low, high) if allowed is not None else None,
    )


def _both_ends(name: str, allowed: Sequence[Any] | None) -> tuple[Any, Any]:
    if allowed is None:
        return None, None
    if len(allowed) != 2 or not all(end is None or is_number(end) for end in allowed):
        raise ArgumentError(
            f"allowed[{name!r}] is {allowed!r:.80}; give (low, high), with None for an open end"
        )
    return allowed[0], allowed[1]


def _span(values: Sequence[float], ends: Sequence[float]) -> tuple[float, float]:
    """Return the lowest and the highest value, a little apart where they are one."""
    low, high = min([*values, *ends], default=0.0), max([*values, *ends], default=0.0)
    room = max(1.0, abs(low)) / 2
    return (low, high) if high > low else (low - room, high + room)


def _clipped(ends: tuple[Any, Any], low: float, high: float) -> tuple[float, float]:
    first = low if ends[0] is None else min(max(float(ends[0]), low), high)
    last = high if ends[1] is None else min(max(float(ends[1]), low), high)
    return (first - low) / (high - low), (last - low) / (high - low)


def _few(values: Sequence[float]) -> Counter[float]:
    """Return how often each value occurs, where there are few of them."""
    counts = Counter(map(float, values))
    return counts if len(counts) <= _MOST_LEVELS else Counter()


def _silhouette(values: Sequence[float], low: float, high: float) -> tuple[tuple[float, float], ...]:
    """Return a smoothed histogram, so that a few rows do not look like a comb."""
    if not values:
        return ()
    counts, edges = np.histogram(np.asarray(values, dtype=float), bins=_BINS, range=(low, high))
    kernel = np.exp(-0.5 * (np.arange(-4, 5) / 1.5) ** 2)
    padded = np.pad(counts.astype(float), 4, mode="reflect")
    heights = np.convolve(padded, kernel / kernel.sum(), mode="valid")
    middles = ((edges[:-1] + edges[1:]) / 2 - low) / (high - low)
    tallest = float(heights.max()) or 1.0
    return tuple(zip(middles.tolist(), (heights / tallest).tolist(), strict=True))


def _level_track(
    track: Track, values: Sequence[Any], allowed: Sequence[Any] | None, order: Sequence[Any]
) -> Track:
    levels = _levels(track, values, [_level(cell) for cell in order])
    step = 1 / max(1, len(levels) - 1)
    places = {level: number * step if len(levels) > 1 else 0.5 for number, level in enumerate(levels)}
    counts = Counter(_level(cell) for cell in values)
    most = max((counts[level] for level in levels), default=0) or 1
    return replace(
        track,
        before=None if is_missing(track.now) else places[_level(track.now)],
        after=None if is_missing(track.proposed) else places[_level(track.proposed)],
        ends=(levels[0], levels[-1]) if levels else ("", ""),
        levels=tuple((place, level) for level, place in places.items()),
        shape=tuple((place, counts[level] / most) for level, place in places.items()) if values else (),
        is_counted=True,
        permitted=None if allowed is None else _permitted(places, allowed),
    )


def _levels(track: Track, values: Sequence[Any], order: Sequence[str]) -> list[str]:
    """Return the levels to draw: the two that matter, and the most frequent others.

    They come in the declared order where there is one, else in order of frequency.
    """
    needed = [_level(cell) for cell in (track.now, track.proposed) if not is_missing(cell)]
    frequent = [level for level, _ in Counter(_level(cell) for cell in values).most_common()]
    kept = list(dict.fromkeys([*needed, *frequent, *order]))[:_MOST_LEVELS]
    ranked = dict.fromkeys([*order, *frequent, *kept])
    return [level for level in ranked if level in kept]


def _permitted(places: Mapping[str, float], allowed: Sequence[Any]) -> tuple[float, ...]:
    permitted = {_level(level) for level in allowed}
    return tuple(place for level, place in places.items() if level in permitted)


def _level(cell: Any) -> str:
    return words.cell(cell)


def _is_endless(cell: Any) -> bool:
    return isinstance(cell, numbers.Real) and math.isinf(cell)


def _same(now: Any, proposed: Any) -> bool:
    if is_missing(now) or is_missing(proposed):
        return is_missing(now) and is_missing(proposed)
    return bool(now == proposed)

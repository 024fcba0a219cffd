"""What charts and report pages draw, as SVG; `picture.css` says how it looks, light, dark and printed."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from ssba.html import Markup, element, joined
from ssba.results.numbers import Numbers, short, signed
from ssba.views.picture import Picture

if TYPE_CHECKING:
    from ssba.results.cohort.summary import ColumnUse
    from ssba.views.charts.tracks import Track

_EDGE = 16.0
_LINE = 15.0
# About how wide a letter is: rather too wide, as nobody knows which font a reader has.
_LETTER, _SMALL_LETTER, _BOLD_LETTER, _TITLE_LETTER = 7.2, 6.6, 8.0, 9.8

Sign = tuple[str, Markup]
"""Words, and the mark whose meaning they are, drawn into a square of 14 pixels."""


def cut(words: str, room: int) -> str:
    """Return a text in at most so many letters.

    >>> cut("left ventricular hypertrophy", 12), cut("normal", 12)
    ('left ventri…', 'normal')
    """
    return words if len(words) <= room else f"{words[: max(1, room - 1)]}…"


def wrapped(words: str, room: int, most: int = 3) -> list[str]:
    """Return a text as lines of at most so many letters, and at most so many lines.

    >>> wrapped("left ventricular hypertrophy", 12, 2)
    ['left', 'ventricular…']
    """
    return textwrap.wrap(words, room, max_lines=most, placeholder="…") or [""]


def _text(x: float, y: float, words: str, look: str | None = None, side: str | None = None) -> Markup:
    return element("text", words, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=side, class_=look)


def _lines(
    x: float, y: float, lines: Sequence[str], look: str | None = None, side: str | None = None
) -> Markup:
    return joined(_text(x, y + _LINE * number, line, look, side) for number, line in enumerate(lines))


def _box(x: float, y: float, width: float, height: float, look: str) -> Markup:
    return element(
        "rect", x=f"{x:.1f}", y=f"{y:.1f}", width=f"{width:.1f}", height=f"{height:.1f}", class_=look
    )


def _path(way: str, look: str) -> Markup:
    return element("path", d=way, class_=look)


def _rule(x: float, y: float, end: float) -> Markup:
    return _path(f"M{x:g} {y:g}H{end:g}", "line")


def _ring(x: float, y: float) -> Markup:
    return element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=5, class_="query")


def _square(x: float, y: float) -> Markup:
    return _box(x - 4.5, y - 4.5, 9, 9, "held")


def _diamond(x: float, y: float, reaches: bool = True) -> Markup:
    corners = f"M{x - 6.5:.1f} {y:.1f}L{x:.1f} {y - 6.5:.1f}L{x + 6.5:.1f} {y:.1f}L{x:.1f} {y + 6.5:.1f}Z"
    return _path(corners, "answer" if reaches else "bounded")


def _moved(x: float, y: float, drawn: Markup) -> Markup:
    return element("g", drawn, transform=f"translate({x:g} {y:g})")


class _Sheet:
    """A picture that is drawn from top to bottom, under its title."""

    def __init__(self, width: float, title: str, told: str) -> None:
        lines = wrapped(title, int((width - 2 * _EDGE) / _TITLE_LETTER)) if title else []
        self.parts = [_text(_EDGE, 26 + 20 * number, line, "heading") for number, line in enumerate(lines)]
        self.name = f"{title}: {told}" if title else told
        self.width, self.height = width, 20 * len(lines) + _EDGE

    def add(self, drawn: Markup, height: float) -> None:
        self.parts.append(_moved(0, self.height, drawn))
        self.height += height

    def add_key(self, signs: Sequence[Sign]) -> None:
        """Say below what marks mean, in as many lines as it takes."""
        x, y = _EDGE, 8.0
        parts = []
        for words, mark in signs:
            shown = cut(words, int((self.width - 2 * _EDGE - 20) / _LETTER))
            room = 20 + len(shown) * _LETTER
            if x > _EDGE and x + room > self.width - _EDGE:
                x, y = _EDGE, y + 20
            parts += [_moved(x, y, mark), _text(x + 20, y + 11, shown)]
            x += room + 14
        self.add(joined(parts), y + 22)

    def finished(self) -> Picture:
        return Picture(self.name, joined(self.parts), self.width, self.height + _EDGE / 2)


# One column, from its value now to the proposed one.
_ACROSS, _END = 300.0, 14.0
_TOP, _BASE, _NAMES = 4.0, 30.0, 47.0


def track_picture(track: "Track", reaches: bool = True) -> Picture:
    """Return one column from its value now to the proposed one, against the data and what is allowed."""
    drawn, height = _track(track, reaches)
    return Picture(f"{track.label}: {track.caption}", drawn, _ACROSS, height)


def tracks_picture(tracks: "Sequence[Track]", reaches: bool, title: str = "") -> Picture:
    """Return columns below each other: what each is called, its track, and the change in words."""
    left, right = 230.0, 544.0
    sheet = _Sheet(780, title, "; ".join(f"{track.label}: {track.caption}" for track in tracks))
    for track in tracks:
        look, letter = ("strong", _BOLD_LETTER) if track.is_changed else ("", _LETTER)
        label = wrapped(track.label, int((left - _EDGE - 10) / letter))
        caption = wrapped(track.caption, int((sheet.width - right - _EDGE) / letter))
        drawn, height = _track(track, reaches)
        words = [
            _lines(left - 10, 27 - _LINE * (len(label) - 1) / 2, label, look or "ink", "end"),
            _lines(right, 27 - _LINE * (len(caption) - 1) / 2, caption, look or None),
        ]
        sheet.add(joined([_moved(left, 0, drawn), *words]), height + 8)
    sheet.add_key(track_signs(tracks, reaches))
    return sheet.finished()


def track_signs(tracks: "Sequence[Track]", reaches: bool) -> list[Sign]:
    """Return what the marks of some tracks mean."""
    free = [track for track in tracks if not track.is_fixed]
    signs = [("now", _ring(7, 7)), ("proposed" if reaches else "bounded move", _diamond(7, 7, reaches))]
    if len(free) < len(tracks):
        signs.append(("fixed", _square(7, 7)))
    if any(track.allowed or track.permitted for track in free):
        signs.append(("allowed by the constraints", _box(0, 1, 14, 12, "allowed")))
    if any(track.shape for track in tracks):
        signs.append(("how often in the data", _box(0, 1, 14, 12, "data")))
    return signs


def _track(track: "Track", reaches: bool) -> tuple[Markup, float]:
    names, below = _names(track)
    parts = [_background(track), _rule(_END, _BASE, _ACROSS - _END), names, _move(track, reaches)]
    return joined(parts), _NAMES + 4 + below


def _across(place: float) -> float:
    return round(_END + place * (_ACROSS - 2 * _END), 1)


def _background(track: "Track") -> Markup:
    parts = []
    tops = [(_across(place), (_BASE - _TOP) * height) for place, height in track.shape]
    if track.is_counted:
        parts += [_box(x - 4, _BASE - height, 8, height, "data") for x, height in tops]
    elif tops:
        outline = " ".join(f"{x},{_BASE - height:.1f}" for x, height in tops)
        corners = f"{tops[0][0]},{_BASE} {outline} {tops[-1][0]},{_BASE}"
        parts.append(element("polygon", points=corners, class_="data"))
    if track.allowed is not None and not track.is_fixed:
        low, high = map(_across, track.allowed)
        parts.append(_box(low, _TOP, max(high - low, 1.5), _BASE - _TOP, "allowed"))
    return joined(parts)


def _names(track: "Track") -> tuple[Markup, float]:
    """Return what lies where, in two lines if need be, and how much room the second one takes."""
    named = track.levels or ((0.0, track.ends[0]), (1.0, track.ends[1]))
    if len(named) > 3:
        named = tuple((place, name) for place, name in named if place in (track.before, track.after))
    permitted = track.permitted if track.permitted is not None and not track.is_fixed else ()
    # Two names fit into a line, and so three into two lines.
    room = int(_ACROSS / _SMALL_LETTER / 2)
    parts, ends = [], [0.0, 0.0]
    for place, name in named:
        words = cut(name, room)
        half = len(words) * _SMALL_LETTER / 2
        x = min(max(_across(place), half), _ACROSS - half)
        line = int(x - half < ends[0])
        ends[line] = x + half + 2
        look = "small permitted" if place in permitted else "small"
        parts.append(_text(x, _NAMES + 13 * line, words, look, "middle"))
    return joined(parts), 13.0 if ends[1] else 0.0


def _move(track: "Track", reaches: bool) -> Markup:
    before = None if track.before is None else _across(track.before)
    after = None if track.after is None or not track.is_changed else _across(track.after)
    parts = []
    if before is not None and after is not None and abs(after - before) > 14:
        way = 1 if after > before else -1
        tip, back = after - 7 * way, after - 13 * way
        parts.append(_path(f"M{before:g} {_BASE:g}H{back:g}", "arrow"))
        parts.append(_path(f"M{tip:g} {_BASE:g}L{back:g} {_BASE - 4:g}V{_BASE + 4:g}Z", "head"))
    if before is not None:
        parts.append(_square(before, _BASE) if track.is_fixed else _ring(before, _BASE))
    if after is not None:
        parts.append(_diamond(after, _BASE, reaches))
    return joined(parts)


@dataclass(frozen=True)
class Place:
    """One place of `steps_picture`: a score, what was done to get there, and whether that is enough."""

    score: float
    change: str
    reached: bool
    gain: float | None = None


_MOST_NAMED = 6


def steps_picture(places: Sequence[Place], name: str, title: str = "") -> Picture:
    """Return scores that follow each other as a stair, and what they are called; the first is the query's.

    Places where the target is reached are diamonds, the others rings. Many steps are numbered, and their
    changes listed below.
    """
    steps = len(places) - 1
    is_named = steps <= _MOST_NAMED
    gap = max(112.0, 728 / len(places)) if is_named else 660 / steps
    width = gap * len(places) + 2 * _EDGE if is_named else 760.0
    numbers = Numbers.of(name, [one.score for one in places])
    told = "; ".join(f"{one.change}: {numbers.write(one.score, one.reached)}" for one in places)
    sheet = _Sheet(width, title, f"{name}, {told}")
    left = (width - gap * steps) / 2
    drawn, base = _stair(places, left, gap, numbers)
    sheet.add(joined([_text(_EDGE, 12, cut(name, 95)), drawn]), base)
    sheet.add(_rule(_EDGE, -16, width - _EDGE), 0)
    sheet.add(*(_names_below if is_named else _list_below)(places, left, gap))
    signs = {False: ("target not reached", _ring(7, 7)), True: ("target reached", _diamond(7, 7))}
    sheet.add_key([signs[there] for there in sorted({one.reached for one in places})])
    return sheet.finished()


def _names_below(places: Sequence[Place], left: float, gap: float) -> tuple[Markup, float]:
    below = [wrapped(one.change, int((gap - 8) / _SMALL_LETTER), 7) for one in places]
    names = [_lines(left + gap * at, 0, lines, "small", "middle") for at, lines in enumerate(below)]
    return joined(names), _LINE * max(map(len, below))


def _list_below(places: Sequence[Place], left: float, gap: float) -> tuple[Markup, float]:
    numbers = [
        _text(left + gap * at, 0, str(at) if at else "now", "small", "middle")
        for at in _every(len(places), math.ceil(24 / gap))
    ]
    listed = [cut(f"{at}: {one.change}", 100) for at, one in enumerate(places)][1:]
    return joined([*numbers, _lines(_EDGE, 28, listed)]), 28 + _LINE * len(listed)


def _every(count: int, step: int) -> list[int]:
    """Return every so many numbers below a count, the last one among them, and none too near to it."""
    return [*(number for number in range(0, count - 1, step) if count - 1 - number >= step), count - 1]


def _stair(places: Sequence[Place], left: float, gap: float, numbers: Numbers) -> tuple[Markup, float]:
    top, high = 62.0, 120.0
    scores = [one.score for one in places]
    room = (max(scores) - min(scores)) or 1.0
    spots = [
        (left + gap * number, top + high * (max(scores) - one) / room) for number, one in enumerate(scores)
    ]
    way = f"M{spots[0][0]:.1f} {spots[0][1]:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in spots[1:])
    marks = [
        _diamond(*spot) if one.reached else _ring(*spot) for spot, one in zip(spots, places, strict=True)
    ]
    words, lowest = [], top + high + 12
    for number in _every(len(places), math.ceil(58 / gap)):
        (x, y), one = spots[number], places[number]
        gain = "" if one.gain is None else signed(one.gain)
        # The stair comes down to this place, so that there is room below it only.
        falls = number > 0 and y > spots[number - 1][1]
        first, second = (y + 21, y + 35) if falls else (y - 12, y - 26)
        lowest = max(lowest, second + 6)
        words += [_text(x, first, numbers.write(one.score, one.reached), "strong over", "middle")]
        words += [_text(x, second, gain, "small over", "middle")] if gain else []
    return joined([_path(way, "curve"), *marks, *words]), lowest + 34


def bars_picture(
    columns: "Sequence[ColumnUse]", total: int, meanings: Mapping[str, str], title: str = ""
) -> Picture:
    """Return how often columns change as bars, in parts for the direction."""
    left, right = 276.0, 596.0
    labels = [meanings.get(one.column, one.column) for one in columns]
    told = ", ".join(f"{label} {one.changed}" for label, one in zip(labels, columns, strict=True))
    sheet = _Sheet(740, title, f"in how many of {total} answers each column changes: {told}")
    looks = {"up": "raised", "down": "lowered", "other": "changed to another level"}
    seen = set()
    for label, one in zip(labels, columns, strict=True):
        lines = wrapped(label, int((left - _EDGE - 10) / _LETTER), 2)
        parts = [
            _lines(left - 10, 19 - _LINE * (len(lines) - 1) / 2, lines, "ink", "end"),
            _box(left, 4, right - left, 20, "whole"),
            _text(right + 10, 19, f"{one.changed} of {total} ({one.changed / total:.0%})"),
        ]
        x = left
        for look, count in zip(looks, (one.up, one.down, one.changed - one.up - one.down), strict=True):
            if count:
                seen.add(look)
                length = (right - left) * count / total
                parts.append(_box(x, 4, length, 20, look))
                x += length
        sheet.add(joined(parts), 34)
    sheet.add_key([(words, _box(0, 1, 14, 12, look)) for look, words in looks.items() if look in seen])
    return sheet.finished()


_CURVES = ("curve", "curve b", "curve c", "curve d", "curve e", "curve f")


def distances_picture(
    groups: Mapping[str, Sequence[float]], across: str, upward: str, title: str = ""
) -> Picture:
    """Return the share of rows that lie within each distance, a curve a group; the axes are named."""
    left, right, top, base = 64.0, 716.0, 30.0, 230.0
    farthest = max(max(values) for values in groups.values())
    farthest = farthest if farthest > 1e-99 else 1.0
    halves = {label: median(values) for label, values in groups.items()}
    told = "; ".join(f"{label}: half within {short(half)}" for label, half in halves.items())
    sheet = _Sheet(740, title, f"{upward}, {told}")

    def place(distance: float) -> float:
        return left + (right - left) * distance / farthest

    parts = [_text(_EDGE, 12, upward), _text((left + right) / 2, base + 40, across, None, "middle")]
    for percent in (0, 25, 50, 75, 100):
        y = base - (base - top) * percent / 100
        parts += [_rule(left, y, right), _text(left - 8, y + 4, f"{percent}%", None, "end")]
    parts += [_text(place(one), base + 20, short(one), None, "middle") for one in _ticks(farthest)]
    looks = [_CURVES[number % len(_CURVES)] for number in range(len(groups))]
    for values, look in zip(groups.values(), looks, strict=True):
        # Of rows at one pixel only the last is drawn, so that a large data set makes no large picture.
        heights = {
            f"{place(one):.1f}": base - (base - top) * (number + 1) / len(values)
            for number, one in enumerate(sorted(values))
        }
        steps = "".join(f"H{x}V{y:.1f}" for x, y in heights.items())
        parts.append(_path(f"M{left:g} {base:g}{steps}H{right:g}", look))
    sheet.add(joined(parts), base + 50)
    sheet.add_key([(label, _path("M-4 7H16", look)) for label, look in zip(groups, looks, strict=True)])
    return sheet.finished()


def _ticks(end: float) -> list[float]:
    """Return round numbers from 0 on, at most seven.

    >>> _ticks(4.2), _ticks(130)
    ([0.0, 1.0, 2.0, 3.0, 4.0], [0.0, 50.0, 100.0])
    """
    power = 10.0 ** math.floor(math.log10(end))
    step = next(power * part for part in (0.2, 0.5, 1, 2) if end / (power * part) <= 6)
    return [step * number for number in range(int(end / step) + 1)]

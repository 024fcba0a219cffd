"""Small pictures for report pages, as SVG: styled by the page, so that they follow light, dark and print."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ssba.html import Markup, element, joined
from ssba.views.charts.style import cut
from ssba.views.charts.tracks import Track

_WIDTH = 300.0
_LEFT, _RIGHT = 14.0, _WIDTH - 14.0
_TOP, _BASE, _NAMES = 4.0, 30.0, 47.0
# How wide a letter is, about, at the size that the pages use.
_LETTER = 6.2


def svg(name: str, width: float, height: float, *content: Markup) -> Markup:
    """Return a picture that screen readers call by its name."""
    return element(
        "svg",
        element("title", name),
        *content,
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_label=name,
    )


def track_picture(track: Track, reaches: bool = True) -> Markup:
    """Return one column from its value now to the proposed one, against the data and what is allowed."""
    name = f"{track.label}: {track.caption}"
    return svg(
        name,
        _WIDTH,
        50,
        _background(track),
        _rule(_LEFT, _BASE, _RIGHT, _BASE),
        _names(track),
        _move(track, reaches),
    )


def _across(place: float) -> float:
    return round(_LEFT + place * (_RIGHT - _LEFT), 1)


def _background(track: Track) -> Markup:
    parts = []
    if track.shape and track.is_counted:
        parts += [
            _box(_across(place) - 4, _BASE - (_BASE - _TOP) * height, 8, (_BASE - _TOP) * height, "data")
            for place, height in track.shape
        ]
    elif track.shape:
        tops = " ".join(
            f"{_across(place)},{_BASE - (_BASE - _TOP) * height:.1f}" for place, height in track.shape
        )
        first, last = _across(track.shape[0][0]), _across(track.shape[-1][0])
        parts.append(element("polygon", points=f"{first},{_BASE} {tops} {last},{_BASE}", class_="data"))
    if track.allowed is not None and not track.is_fixed:
        low, high = map(_across, track.allowed)
        parts.append(_box(low, _TOP, max(high - low, 1.5), _BASE - _TOP, "allowed"))
    return joined(parts)


def _names(track: Track) -> Markup:
    marked = [place for place in (track.before, track.after) if place is not None]
    named = track.levels or ((0.0, track.ends[0]), (1.0, track.ends[1]))
    if len(named) > 3:
        named = tuple((place, name) for place, name in named if place in marked)
    room = int(_WIDTH / _LETTER / max(1, len(named))) - 1
    permitted = track.permitted if track.permitted is not None and not track.is_fixed else ()
    return joined(
        _label(_across(place), _NAMES, cut(name, room), "permitted" if place in permitted else None)
        for place, name in named
    )


def _label(x: float, y: float, words: str, look: str | None = None) -> Markup:
    """Return a text above or below a place, kept inside the picture."""
    half = len(words) * _LETTER / 2
    side = "start" if x < half else "end" if x > _WIDTH - half else "middle"
    at = 0 if side == "start" else _WIDTH if side == "end" else x
    return element("text", words, x=f"{at:g}", y=f"{y:g}", text_anchor=side, class_=look)


def _move(track: Track, reaches: bool) -> Markup:
    before = None if track.before is None else _across(track.before)
    after = None if track.after is None or not track.is_changed else _across(track.after)
    parts = []
    if before is not None and after is not None and abs(after - before) > 14:
        tip = after - 7 if after > before else after + 7
        back = tip - 6 if after > before else tip + 6
        parts.append(element("path", d=f"M{before:g} {_BASE:g}H{back:g}", class_="arrow"))
        parts.append(
            element("path", d=f"M{tip:g} {_BASE:g}L{back:g} {_BASE - 4:g}V{_BASE + 4:g}Z", class_="head")
        )
    if before is not None:
        parts.append(
            _held(before) if track.is_fixed else element("circle", cx=before, cy=_BASE, r=5, class_="query")
        )
    if after is not None:
        parts.append(diamond(after, _BASE, "answer" if reaches else "bounded"))
    return joined(parts)


def _held(x: float) -> Markup:
    return _box(x - 4.5, _BASE - 4.5, 9, 9, "held")


def diamond(x: float, y: float, look: str, size: float = 6.5) -> Markup:
    """Return the mark of a proposed value."""
    path = f"M{x - size:g} {y:g}L{x:g} {y - size:g}L{x + size:g} {y:g}L{x:g} {y + size:g}Z"
    return element("path", d=path, class_=look)


def _box(x: float, y: float, width: float, height: float, look: str) -> Markup:
    return element(
        "rect", x=f"{x:.1f}", y=f"{y:.1f}", width=f"{width:.1f}", height=f"{height:.1f}", class_=look
    )


def _rule(x1: float, y1: float, x2: float, y2: float) -> Markup:
    return element("path", d=f"M{x1:g} {y1:g}L{x2:g} {y2:g}", class_="line")


def key(reaches: bool, has_data: bool, has_allowed: bool, has_fixed: bool = False) -> Markup:
    """Return what the marks of the tracks mean."""
    signs = [("now", element("circle", cx=7, cy=7, r=5, class_="query"))]
    signs.append(
        ("proposed", diamond(7, 7, "answer", 6)) if reaches else ("bounded move", diamond(7, 7, "bounded", 6))
    )
    if has_fixed:
        signs.append(("fixed", _box(2.5, 2.5, 9, 9, "held")))
    if has_allowed:
        signs.append(("allowed by the constraints", _box(0, 4, 14, 6, "allowed")))
    if has_data:
        signs.append(("how often in the data", _box(0, 2, 14, 10, "data")))
    drawn = [
        element("li", element("svg", mark, viewBox="0 0 14 14", aria_hidden="true"), words)
        for words, mark in signs
    ]
    return element("ul", *drawn, class_="key", aria_label="What the marks mean")


def steps_picture(name: str, scores: Sequence[float], reached: Sequence[bool]) -> Markup:
    """Return scores that follow each other as a stair; the first is the query's.

    Places where the target is reached are diamonds, the others rings.
    """
    width, height, left, right, top, base = 640.0, 190.0, 46.0, 610.0, 26.0, 150.0
    low, high = min(scores), max(scores)
    room = (high - low) or 1.0
    gap = (right - left) / max(1, len(scores) - 1)
    spots = [
        (left + gap * number, base - (base - top) * (one - low) / room) for number, one in enumerate(scores)
    ]
    path = f"M{spots[0][0]:.1f} {spots[0][1]:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in spots[1:])
    parts = [_rule(left - 20, base + 14, right + 20, base + 14), element("path", d=path, class_="curve")]
    # Beyond some steps the numbers would be written over each other.
    every = max(1, len(scores) // 12)
    for number, ((x, y), score, there) in enumerate(zip(spots, scores, reached, strict=True)):
        mark = (
            diamond(x, y, "answer")
            if there
            else element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=5, class_="query")
        )
        parts.append(mark)
        if number % every == 0 or number == len(scores) - 1:
            parts.append(_text(x, y - 11, f"{score:.4g}", "strong"))
            parts.append(_text(x, base + 31, "now" if number == 0 else f"step {number}"))
    return svg(name, width, height, *parts)


def _text(x: float, y: float, words: str, look: str | None = None, side: str = "middle") -> Markup:
    return element("text", words, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=side, class_=look)


@dataclass(frozen=True)
class Bar:
    """One column of `bars_picture`: how many of all answers raise it, lower it, or change it otherwise."""

    label: str
    up: int
    down: int
    other: int


def bars_picture(name: str, bars: Sequence[Bar], total: int) -> Markup:
    """Return how often columns change as bars, in parts for the direction."""
    step, left, right, width = 30.0, 250.0, 560.0, 640.0
    parts = []
    for row, bar in enumerate(bars):
        y, x = row * step + 4, left
        parts.append(_text(left - 10, y + 15, cut(bar.label, 38), "ink", "end"))
        for count, look in ((bar.up, "up"), (bar.down, "down"), (bar.other, "other")):
            length = (right - left) * count / total
            parts.append(_box(x, y, length, 20, look))
            x += length
        parts.append(_text(x + 8, y + 15, f"{bar.up + bar.down + bar.other} of {total}", None, "start"))
    return svg(name, width, step * len(bars) + 4, *parts)


def direction_key() -> Markup:
    """Return what the colours of `bars_picture` mean."""
    drawn = [
        element(
            "li", element("svg", _box(0, 2, 14, 10, look), viewBox="0 0 14 14", aria_hidden="true"), words
        )
        for words, look in (("raised", "up"), ("lowered", "down"), ("changed to another level", "other"))
    ]
    return element("ul", *drawn, class_="key", aria_label="What the colours mean")


_CURVES = ("curve", "curve second", "curve third")


def curve_key(labels: Iterable[str]) -> Markup:
    """Return which curve of `distances_picture` is whose."""
    drawn = [
        element(
            "li",
            element(
                "svg", element("path", d="M0 7H14", class_=look), viewBox="0 0 14 14", aria_hidden="true"
            ),
            label,
        )
        for label, look in zip(labels, _CURVES, strict=False)
    ]
    return element("ul", *drawn, class_="key", aria_label="What the curves are")


def distances_picture(name: str, groups: Mapping[str, Sequence[float]]) -> Markup:
    """Return the share of queries that have an answer within each distance, a curve a group (up to three)."""
    width, height, left, right, top, base = 640.0, 230.0, 52.0, 600.0, 12.0, 180.0
    farthest = max(max(values) for values in groups.values()) or 1.0

    def across(distance: float) -> float:
        return left + (right - left) * distance / farthest

    def upward(share: float) -> float:
        return base - (base - top) * share

    parts = []
    for share in (0, 0.25, 0.5, 0.75, 1):
        parts.append(_rule(left, upward(share), right, upward(share)))
        parts.append(_text(left - 8, upward(share) + 4, f"{share:.0%}", None, "end"))
    for part in (0, 0.25, 0.5, 0.75, 1):
        parts.append(_text(left + (right - left) * part, base + 18, f"{farthest * part:.3g}"))
    parts.append(_text((left + right) / 2, base + 38, "distance from the query", "ink"))
    for values, look in zip(groups.values(), _CURVES, strict=False):
        ordered = sorted(values)
        path = f"M{left:g} {upward(0):g}" + "".join(
            f"H{across(one):.1f}V{upward((number + 1) / len(ordered)):.1f}"
            for number, one in enumerate(ordered)
        )
        parts.append(element("path", d=f"{path}H{right:g}", class_=look))
    return svg(name, width, height, *parts)

"""Kinds and constraints proposed from the data and its column names, as text for a person to review.

Nothing here is applied: what a person agrees with, they pass on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ssba.arguments import counted, listed
from ssba.columns import frames
from ssba.columns.features import Declaration, Feature, Kind, integer, unknown_columns
from ssba.columns.frames import RawColumn
from ssba.columns.inference import infer_feature
from ssba.columns.space import encode_column
from ssba.constraints.constraint import fixed, increase
from ssba.errors import SchemaError
from ssba.json_form import to_plain
from ssba.suggest.headroom import room
from ssba.suggest.kinds import Flag, Reading, present_numbers, read_kind
from ssba.suggest.links import MOST_ROWS, Link, find_links, one_hot_groups, one_hot_link
from ssba.suggest.names import Meaning, meaning_of, words_of

_ADULT = 18


@dataclass(frozen=True)
class Suggestion:
    """What is proposed for one column.

    Attributes
    ----------
    column : str
        Its name.
    kind : str or None
        numeric, integer, ordinal, categorical or boolean; None where the column cannot be used as it is.
    declaration : Declaration or None
        What to declare in ``features=``; None where dtype and values say it already.
    constraints : tuple of str
        Texts that `ssba.constraint` reads.
    reasons : tuple of str
        Why, in words.
    flag : {"constant", "identifier", "unreadable"} or None
        What stands out about the column.
    """

    column: str
    kind: Kind | None
    declaration: Declaration | None
    constraints: tuple[str, ...]
    reasons: tuple[str, ...]
    flag: Flag | None = None


@dataclass(frozen=True, repr=False)
class Suggestions:
    """Proposed kinds and constraints, to be read by a person; printed, it is a text for review.

    Attributes
    ----------
    columns : tuple of Suggestion
        One for each column, in the data's order.
    links : tuple of Link
        Relations between columns that the data shows: their `columns`, `texts` and `reason`.
    rows : int
        How many rows of data they come from.
    """

    columns: tuple[Suggestion, ...]
    links: tuple[Link, ...]
    rows: int

    @property
    def texts(self) -> tuple[str, ...]:
        """All proposed constraints, to pass to `Explainer.explain` after review."""
        own = (text for one in self.columns for text in one.constraints)
        return (*own, *(text for link in self.links for text in link.texts))

    @property
    def features(self) -> dict[str, Declaration]:
        """Kinds that dtypes and values do not tell, to pass to ``Explainer(features=...)`` after review."""
        return {one.column: one.declaration for one in self.columns if one.declaration is not None}

    def without(self, *given: str) -> "Suggestions":
        """Return what is left once some constraints, or all that concerns some columns, are dropped.

        Parameters
        ----------
        *given : str
            Names of columns, or texts of proposed constraints.
        """
        known = {one.column for one in self.columns}
        if strangers := [one for one in given if one not in known and one not in self.texts]:
            raise SchemaError(unknown_columns(strangers, sorted(known), "without: no such text, and"))
        kept = tuple(_without(one, given) for one in self.columns)
        links = tuple(one for one in self.links if not set(given) & {*one.columns, *one.texts})
        return replace(self, columns=kept, links=links)

    @property
    def sentence(self) -> str:
        """What is proposed, in one sentence."""
        flagged = [f"{one.column} is {_FLAGS[one.flag]}" for one in self.columns if one.flag]
        kinds = f" and {counted(len(self.features), 'kind')}" if self.features else ""
        verb = "is" if len(self.texts) + len(self.features) == 1 else "are"
        summary = (
            f"{counted(len(self.texts), 'constraint')}{kinds} {verb} proposed for "
            f"{counted(len(self.columns), 'column')} of {counted(self.rows, 'row')}"
        )
        return f"{summary}; {', '.join(flagged)}." if flagged else f"{summary}."

    @property
    def text(self) -> str:
        """The whole proposal as a text for review."""
        parts = [
            f"{self.sentence} They are for you to review: nothing is applied.",
            "\n".join(_column_lines(self.columns)),
        ]
        if self.links:
            looked_at = "" if self.rows <= MOST_ROWS else f" (looked for in {MOST_ROWS:,} of the rows)"
            parts.append("\n".join([f"linked columns{looked_at}", *_link_lines(self.links)]))
        parts.append(
            "Pass on what you agree with: .features to Explainer(features=...), .texts to "
            "explain(constraints=...); .without(...) drops columns or texts."
        )
        return "\n\n".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dicts, lists, text and numbers."""
        return {
            "rows": self.rows,
            "columns": [to_plain(one) for one in self.columns],
            "links": [to_plain(one) for one in self.links],
            "sentence": self.sentence,
        }

    def __repr__(self) -> str:
        return self.text


def suggest_constraints(data: Any, columns: Sequence[str] | None = None) -> Suggestions:
    """Propose kinds and constraints for the columns of some data, as text for a person to review.

    Column names say what nobody can change (sex, place of birth) and what only grows (age); cells say whether
    numbers are whole, levels ordered or values unique; the spread of the data says how far a number
    moves; and what is true of all rows (a sum, one column above another) is proposed as a link. These are
    guesses, each with its reason, and nothing is applied.

    Parameters
    ----------
    data
        A pandas, polars or pyarrow frame, or a 2-D NumPy array (columns ``x0``, ``x1``, ...).
    columns : sequence of str, optional
        The columns to look at; all of them by default.

    Returns
    -------
    Suggestions
        Prints as a text; ``.texts`` are the constraints, ``.features`` the kinds.

    Examples
    --------
    >>> import ssba
    >>> heart = ssba.datasets.load_heart()
    >>> proposed = suggest_constraints(heart.frame, columns=["age", "sex", "chol", "slope"])
    >>> proposed.texts
    ('age >= x.age', 'sex == x.sex', 'chol within 20%')
    >>> proposed.features["slope"].levels
    ('downsloping', 'flat', 'upsloping')
    """
    chosen = _chosen(frames.read_columns(data), columns)
    if not chosen or not len(chosen[0].cells):
        raise SchemaError("data is empty: give rows to look at, some dozens or more")
    groups = _one_hot(chosen)
    in_group = {name for group in groups for name in group}
    readings = [_as_part(one) if one.name in in_group else read_kind(one) for one in chosen]
    youngest = _youngest(readings)
    own = tuple(_suggestion(one, one.column.name in in_group, youngest) for one in readings)
    links = [one_hot_link(group) for group in groups] + _links(readings)
    held = {one.column for one in own if any(text == fixed(one.column).text for text in one.constraints)}
    useful = tuple(link for link in links if not set(link.columns) <= held)
    return Suggestions(own, useful, len(chosen[0].cells))


def _chosen(found: Sequence[RawColumn], wanted: Any) -> list[RawColumn]:
    if wanted is None:
        return list(found)
    names = listed("columns", wanted, "give a list of column names, such as ['age', 'chol']")
    known = {one.name: one for one in found}
    if strangers := [name for name in names if name not in known]:
        raise SchemaError(unknown_columns(strangers, list(known), "columns"))
    return [known[name] for name in dict.fromkeys(names)]


def _one_hot(columns: Sequence[RawColumn]) -> list[tuple[str, ...]]:
    numbers = [one for one in columns if isinstance(one.cells, np.ndarray)]
    return one_hot_groups([one.name for one in numbers], [np.asarray(one.cells) for one in numbers])


def _as_part(column: RawColumn) -> Reading:
    """Read a column of a one-hot group: a number, since its group has a sum."""
    declaration = integer(low=0, high=1)
    return Reading(column, infer_feature(column, declaration), declaration, ("part of one category",))


def _youngest(readings: Sequence[Reading]) -> float | None:
    """Return the lowest age in the data, where a column of numbers is called so."""
    ages = [
        one.feature.data_low
        for one in readings
        if one.feature is not None and not one.feature.levels and "age" in words_of(one.column.name)
    ]
    return min(ages, default=None)


def _suggestion(reading: Reading, in_group: bool, youngest: float | None) -> Suggestion:
    name, feature = reading.column.name, reading.feature
    if feature is None:
        return Suggestion(name, None, None, (), reading.reasons, reading.flag)
    texts, why = _own_constraint(reading, feature, in_group, youngest)
    declaration = None if reading.flag else reading.declaration
    kind = infer_feature(reading.column, declaration).kind
    reasons = tuple(one for one in (why, *reading.reasons) if one)
    return Suggestion(name, kind, declaration, texts, reasons, reading.flag)


def _own_constraint(
    reading: Reading, feature: Feature, in_group: bool, youngest: float | None
) -> tuple[tuple[str, ...], str]:
    """Return the constraint of a column by what stands out, by its name, or by its spread."""
    if reading.flag is not None:
        return (fixed(feature.name).text,), ""
    meaning = meaning_of(feature.name)
    if meaning is not None and meaning.rule != "identifier":
        return _by_name(feature, meaning, youngest)
    if feature.has_levels or in_group:
        return (), ""
    return room(feature, present_numbers(reading.column))


def _by_name(feature: Feature, meaning: Meaning, youngest: float | None) -> tuple[tuple[str, ...], str]:
    rule, why = meaning.rule, f"by its name: it {meaning.why}"
    if rule == "stature" and youngest is not None and youngest < _ADULT:
        rule, why = "grows", "by its name: people under 18, of whom there are some, only get taller"
    if rule == "past" and not feature.has_levels:
        rule, why = "grows", "by its name: it counts what lies in the past"
    if rule == "grows" and (feature.counts or not feature.is_discrete):
        return (increase(feature.name).text,), why
    if rule == "grows":
        why += "; its levels have no order here, so it is held (declare it ordinal to let it grow)"
    return (fixed(feature.name).text,), why


def _links(readings: Sequence[Reading]) -> list[Link]:
    usable = [(one.feature, one.column) for one in readings if one.feature is not None and one.flag is None]
    if not usable:
        return []
    encoded = [encode_column(feature, column, True) for feature, column in usable]
    return find_links([feature for feature, _ in usable], np.stack(encoded, axis=1))


def _without(suggestion: Suggestion, given: Sequence[str]) -> Suggestion:
    if suggestion.column in given:
        return replace(suggestion, declaration=None, constraints=(), reasons=("dropped on review",))
    kept = tuple(text for text in suggestion.constraints if text not in given)
    return replace(suggestion, constraints=kept)


_FLAGS: Mapping[Flag | None, str] = {
    "constant": "constant",
    "identifier": "an identifier",
    "unreadable": "of no use as it is",
}


def _column_lines(columns: Sequence[Suggestion]) -> list[str]:
    cells = [("column", "kind", "constraint", "why")]
    for one in columns:
        texts = " and ".join(one.constraints) or "-"
        cells.append((one.column, one.kind or "-", texts, "; ".join(one.reasons) or "as its dtype says"))
    widths = [max(len(row[place]) for row in cells) for place in range(3)]
    return ["  ".join([*map(str.ljust, row[:3], widths), row[3]]).rstrip() for row in cells]


def _link_lines(links: Sequence[Link]) -> list[str]:
    width = max(len(text) for link in links for text in link.texts)
    return [
        f"{text.ljust(width)}  {link.reason if place == 0 else ''}".rstrip()
        for link in links
        for place, text in enumerate(link.texts)
    ]

"""Looser versions of a constraint: what could be asked for instead, by how much.

A `Ladder` leads from a constraint to looser ones of the same kind, by one amount: a wider ``within``, a bound
further out, one more level. Each of them is a constraint with a text of its own, so that what is
proposed can be copied into the next call. `ladders` returns the ways to loosen a constraint for a query.
"""

from collections.abc import Iterator
from dataclasses import replace

from ssba.columns.features import Feature, is_missing
from ssba.constraints.constraint import holds
from ssba.constraints.language.facts import level_code
from ssba.constraints.language.tree import (
    Clause,
    Comparison,
    Constraint,
    Membership,
    New,
    Number,
    Transition,
    Value,
    Within,
)
from ssba.constraints.relaxing.bounds import bounds_further_out
from ssba.constraints.relaxing.ladder import (
    Features,
    Ladder,
    Loosened,
    Row,
    Setting,
    choice,
    left_out,
    literal,
    step_at,
    tidy,
)

__all__ = ["Ladder", "ladders", "left_out", "needed"]

_HALVINGS = 60
# What sums may be off by, as a share of their terms.
_ROUNDING = 1e-9


def ladders(constraint: Constraint, x: Row, features: Features, wanted: Row | None = None) -> list[Ladder]:
    """Return the ways to loosen a constraint for a query; none where it can only be left out.

    Parameters
    ----------
    constraint : Constraint
        Passed by `check` for these features.
    x : Mapping
        The query, in user units.
    features : Mapping
        Feature of each column.
    wanted : Mapping, optional
        A row that the constraint refuses and that one would like to have: of the levels that could be allowed
        only its own is then added, and where a column holds numbers, its number.

    Examples
    --------
    >>> from ssba.constraints.language.parser import constraint
    >>> from ssba.columns.features import Feature
    >>> chol = {"chol": Feature("chol", "numeric", data_low=120, data_high=560)}
    >>> low, high = ladders(constraint("150 <= chol <= 240"), {"chol": 230.0}, chol)
    >>> high.at(24.0).text, high.says(24.0), high.most
    ('150 <= chol <= 264', 'let chol go up to 264 instead of 240', 320.0)
    """
    setting = Setting(x, features, wanted)
    return [
        _inside(constraint, number, ladder)
        for number, clause in enumerate(constraint.clauses)
        for ladder in _of_clause(clause, setting)
    ]


def needed(ladder: Ladder, x: Row, row: Row, features: Features) -> float | None:
    """Return the least amount at which a row is allowed, 0 if it always is; None where no amount does.

    Examples
    --------
    >>> from ssba.constraints.language.parser import constraint
    >>> from ssba.columns.features import Feature
    >>> age = {"age": Feature("age", "integer", data_low=20, data_high=90, step=1.0)}
    >>> (ladder,) = ladders(constraint("age <= 60"), {"age": 55}, age)
    >>> needed(ladder, {"age": 55}, {"age": 63}, age)
    3.0
    """

    def allows(amount: float) -> bool:
        return holds(ladder.at(amount), x, row, features)

    if allows(0.0):
        return 0.0
    if not allows(ladder.most):
        return None
    low, high = 0.0, ladder.most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2 if ladder.step is None else ladder.between(low, high)
        if not low < middle < high:
            break
        low, high = (low, middle) if allows(middle) else (middle, high)
    return high


def _inside(constraint: Constraint, number: int, ladder: Ladder) -> Ladder:
    """Return a ladder over one clause as one over its whole constraint."""
    before, after = constraint.clauses[:number], constraint.clauses[number + 1 :]
    loosened: Loosened = ladder.at

    def at(amount: float) -> Constraint:
        return replace(constraint, clauses=(*before, *loosened(amount), *after)) if amount else constraint

    return replace(ladder, at=at)


def _of_clause(clause: Clause, setting: Setting) -> Iterator[Ladder]:
    match clause:
        case Within():
            yield from _wider(clause, setting)
        case Comparison():
            yield from bounds_further_out(clause, setting)
        case Membership():
            yield from _more_members(clause, setting)
        case Transition():
            yield from _more_moves(clause, setting)


def _wider(clause: Within, setting: Setting) -> Iterator[Ladder]:
    """Let a column move further from the query's value; a percentage of zero becomes an amount."""
    column, feature = clause.column, setting.features[clause.column]
    if is_missing(setting.x[column]):
        return
    now = feature.code(setting.x[column])
    low, high = setting.range_of(column)
    by_percent = clause.percent and now != 0
    size = 0.0 if clause.percent and not by_percent else float(clause.size.value)
    most = max(now - low, high - now) / (abs(now) / 100 if by_percent else 1.0) - size

    def at(amount: float) -> tuple[Clause, ...]:
        return (Within(column, Number(tidy(size + amount)), by_percent),)

    def says(amount: float) -> str:
        then = f"{tidy(size + amount):.12g}"
        then = f"{then}%" if by_percent else setting.shown_difference(column, then)
        was = clause.size.text + ("%" if clause.percent else "")
        # Nothing is a percentage of 0, so that an amount takes its place.
        of_what = " of 0" if clause.percent and not now else ""
        return f"let {column} move by up to {then} instead of {was}{of_what}"

    yield Ladder(
        at,
        says,
        # One that refuses nothing in the data was widened on purpose: it may double.
        most=tidy(most) if most > _ROUNDING * size else size or high - low,
        scale=size or abs(now) or high - low,
        step=None if by_percent or not feature.number_step else step_at(feature.number_step, size),
        base=size,
        beyond=True,
    )


def _more_members(clause: Membership, setting: Setting) -> Iterator[Ladder]:
    """Allow one more value of a set, or take one out of what ``not in`` refuses."""
    if not isinstance(clause.cell, New):
        return
    column, feature = clause.cell.column, setting.features[clause.cell.column]
    codes = [level_code(feature, value) for value in clause.values]
    if not clause.inside:
        for place, code in enumerate(codes):
            if setting.wanted is None or code in setting.others(column, set()):
                yield from _readmitted(clause, place, feature)
        return
    for other in setting.others(column, set(codes)):
        added = literal(feature.value(other))
        looser = replace(clause, values=(*clause.values, added))
        yield choice((looser,), f"let {column} also be {added.text}")


def _readmitted(clause: Membership, place: int, feature: Feature) -> Iterator[Ladder]:
    values = clause.values[:place] + clause.values[place + 1 :]
    words = f"let {clause.cell.column} also be {clause.values[place].text}"
    if values:
        yield choice((replace(clause, values=values),), words)
    elif feature.levels:
        yield choice((Membership(clause.cell, tuple(map(literal, feature.levels))),), words)


def _more_moves(clause: Transition, setting: Setting) -> Iterator[Ladder]:
    """Permit one more change from the query's own level."""
    column, feature = clause.column, setting.features[clause.column]
    if is_missing(setting.x[column]):
        return
    now = feature.code(setting.x[column])
    permitted: dict[Value, tuple[Value, ...]] = dict(clause.moves)
    start = next((one for one in permitted if level_code(feature, one) == now), literal(feature.value(now)))
    ends = permitted.get(start, ())
    for other in setting.others(column, {now, *(level_code(feature, end) for end in ends)}):
        end = literal(feature.value(other))
        moves = {**permitted, start: (*ends, end)}
        words = f"let {column} also go from {start.text} to {end.text}"
        yield choice((Transition(column, tuple(moves.items())),), words)

"""Many answers seen together: how many were found, how far away, what changes, and for whom it is harder."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, get_args

from ssba.arguments import one_of
from ssba.columns.dates import day_number
from ssba.json_form import JsonForm
from ssba.results import tables
from ssba.results.cohort import sentences as cohort_text
from ssba.results.cohort.groups import group_labels, in_order
from ssba.results.cohort.intervals import Estimate, median_of, quantiles, share_of
from ssba.results.column import signed_step
from ssba.results.words import show

if TYPE_CHECKING:
    from ssba.results.explanation import Counterfactual, Explanation

Table = Literal["columns", "groups", "queries"]

# Level changes that are listed of a column.
_MOST_MOVES = 5


@dataclass(frozen=True)
class Move:
    """A change from one level to another, and in how many answers it stands."""

    before: Any
    after: Any
    count: int


@dataclass(frozen=True)
class ColumnUse:
    """How the answers use one column.

    Attributes
    ----------
    column : str
        Its name.
    changed, share : int, float
        In how many answers, and in which share of them, it changes.
    importance : float
        Its part in the answers: each answer is worth 1, divided evenly among the columns that it changes.
        A column that flips decisions alone counts for more than one that always moves with nine others. The
        importances of all columns add up to 1.
    up, down : int
        In how many answers a number or an ordinal level goes up, or down; both 0 for levels without order.
    median_up, median_down : float or None
        By how much, at the median, in the column's unit; for an ordinal column in levels.
    moves : tuple of Move
        For levels, and for missing cells that are filled: the changes most often made, up to five.
    unit : str or None
        The unit of the column, where it was declared.
    is_ordinal : bool
        Whether its steps are counted in levels, from one to the next.
    """

    column: str
    changed: int
    share: float
    importance: float
    up: int = 0
    down: int = 0
    median_up: float | None = None
    median_down: float | None = None
    moves: tuple[Move, ...] = ()
    unit: str | None = None
    is_ordinal: bool = False


@dataclass(frozen=True)
class Group:
    """How hard it is for one group of queries to get the desired outcome.

    Attributes
    ----------
    label : str
        Who they are.
    count, needed, found : int
        How many queries; how many of them had something to change (those that were already at the target
        had not); for how many of these a counterfactual was found.
    statuses : dict
        How many ended how, by status.
    share_found : Estimate
        `found` of `needed`, with its exact interval.
    distance : Estimate
        The median distance of the counterfactuals found.
    burden : Estimate
        The median distance of all that needed a change, where nothing found counts as farther than anything
        that was. Without a value: for half of them or more nothing was found.
    """

    label: str
    count: int
    needed: int
    found: int
    statuses: dict[str, int]
    share_found: Estimate
    distance: Estimate
    burden: Estimate


@dataclass(frozen=True)
class Member:
    """One query of a cohort: its group, its status, and what its best answer changes at what distance."""

    query: int
    group: str | None
    status: str
    distance: float | None
    changes: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Cohort(JsonForm):
    """What the answers to many queries have in common; `Explanations.cohort` makes it.

    Of each query only the best counterfactual is counted. Bounded moves are not, as they do not reach the
    target.

    Attributes
    ----------
    everyone : Group
        All queries as one group.
    groups : tuple of Group
        The groups asked for with ``by=``, in order; empty without it.
    by : str or None
        What the groups are told apart by.
    distances : dict
        Smallest, quartiles, 90% quantile and largest of the distances found; empty where none was.
    columns : tuple of ColumnUse
        Every column of the queries, the most often changed one first.
    members : tuple of Member
        The queries one by one, in their order.
    """

    everyone: Group
    groups: tuple[Group, ...] = ()
    by: str | None = None
    distances: dict[str, float] = field(default_factory=dict)
    columns: tuple[ColumnUse, ...] = ()
    members: tuple[Member, ...] = ()

    @property
    def sentence(self) -> str:
        """What came out, in a few sentences."""
        return cohort_text.sentence(self)

    def to_frame(self, table: Table = "columns", backend: str | None = None) -> Any:
        """Return one of the tables as a frame.

        Parameters
        ----------
        table : {"columns", "groups", "queries"}
            How columns are used, one row each; how groups fare, all queries first; or the queries themselves.
        backend : {"pandas", "polars", "pyarrow"}, optional
            The frame library; by default the first of them that is installed.
        """
        return tables.to_frame(self._rows(table), backend)

    def to_parquet(self, file: str | PathLike[str], table: Table = "queries") -> None:
        """Write one of the tables to a Parquet file (extra ``arrow``)."""
        tables.write_parquet(lambda: self.to_frame(table, "pyarrow"), file)

    def _rows(self, table: str) -> list[dict[str, Any]]:
        one_of("table", table, get_args(Table))
        if table == "columns":
            return [_column_row(one) for one in self.columns]
        if table == "groups":
            return [_group_row(one) for one in (self.everyone, *self.groups)]
        return [_member_row(one) for one in self.members]

    def __repr__(self) -> str:
        return cohort_text.report(self)


def cohort_of(explanations: Sequence["Explanation"], by: Any = None) -> Cohort:
    """Sum up many explanations.

    Parameters
    ----------
    explanations : sequence of Explanation
        The answers to many queries.
    by : str or sequence, optional
        What tells groups apart: the name of a column of the queries, or one label for each query. Numbers
        with more than eight different values are cut into four groups of about equal size.

    Examples
    --------
    >>> import numpy as np, ssba
    >>> data = np.random.default_rng(0).normal(size=(300, 2))
    >>> explainer = ssba.Explainer(lambda rows: rows[:, 0] > 1, data, target=True)
    >>> cohort = cohort_of(explainer.explain_many(data[:20], ["x1 == x.x1"]), by=["a", "b"] * 10)
    >>> [group.label for group in cohort.groups], cohort.columns[0].column, cohort.columns[0].importance
    (['a', 'b'], 'x0', 1.0)
    """
    items = list(explanations)
    labels, name = group_labels([one.query for one in items], by)
    members = tuple(_member(number, one, labels) for number, one in enumerate(items))
    groups = () if labels is None else tuple(_groups(members, in_order(labels)))
    return Cohort(
        everyone=_group("everyone", members),
        groups=groups,
        by=name,
        distances=quantiles([one.distance for one in members if one.distance is not None]),
        columns=tuple(_column_uses(items)),
        members=members,
    )


def _member(number: int, explanation: "Explanation", labels: Sequence[str] | None) -> Member:
    best = explanation.best
    return Member(
        query=number,
        group=None if labels is None else labels[number],
        status=explanation.status.value,
        distance=None if best is None else best.distance,
        changes=() if best is None else tuple(best.changes),
    )


def _groups(members: Sequence[Member], labels: Sequence[str]) -> Iterable[Group]:
    return (_group(label, [one for one in members if one.group == label]) for label in labels)


def _group(label: str, members: Sequence[Member]) -> Group:
    needed = [one for one in members if one.status != "already_there"]
    found = [one.distance for one in needed if one.distance is not None]
    return Group(
        label=label,
        count=len(members),
        needed=len(needed),
        found=len(found),
        statuses=dict(Counter(one.status for one in members).most_common()),
        share_found=share_of(len(found), len(needed)),
        distance=median_of(found),
        burden=median_of([math.inf if one.distance is None else one.distance for one in needed]),
    )


def _column_uses(explanations: Sequence["Explanation"]) -> list[ColumnUse]:
    answers = [one.best for one in explanations if one.best is not None and one.best.changes]
    names = dict.fromkeys(name for one in explanations for name in one.query)
    units = {name: unit for one in explanations for name, unit in one.units.items()}
    orders = {name: order for one in explanations for name, order in one.orders.items()}
    dates = {column.name for one in explanations for column in one.columns if column.kind == "date"}
    uses = [
        _column_use(
            name, answers, "days" if name in dates else units.get(name), orders.get(name, ()), name in dates
        )
        for name in names
    ]
    return sorted(uses, key=lambda one: (-one.changed, -one.importance))


def _column_use(
    name: str, answers: Sequence["Counterfactual"], unit: str | None, order: Sequence[Any], is_date: bool
) -> ColumnUse:
    using = [one for one in answers if name in one.changes]
    changes = [one.changes[name] for one in using]
    found = [
        signed_step(day_number(before), day_number(after)) if is_date else signed_step(before, after, order)
        for before, after in changes
    ]
    steps = [step for step in found if step is not None]
    levels = Counter(both for both, step in zip(changes, found, strict=True) if order or step is None)
    ups, downs = [one for one in steps if one > 0], [-one for one in steps if one < 0]
    return ColumnUse(
        column=name,
        changed=len(using),
        share=len(using) / len(answers) if answers else 0.0,
        importance=sum(1 / len(one.changes) for one in using) / len(answers) if answers else 0.0,
        up=len(ups),
        down=len(downs),
        median_up=quantiles(ups).get("median"),
        median_down=quantiles(downs).get("median"),
        moves=tuple(Move(*both, count) for both, count in levels.most_common(_MOST_MOVES)),
        unit=unit,
        is_ordinal=bool(order),
    )


def _column_row(use: ColumnUse) -> dict[str, Any]:
    row = asdict(use)
    row["moves"] = "; ".join(f"{show(one.before)} -> {show(one.after)}: {one.count}" for one in use.moves)
    return row


def _group_row(group: Group) -> dict[str, Any]:
    counts = {"group": group.label, "queries": group.count, "needed": group.needed, "found": group.found}
    estimates = {"share_found": group.share_found, "distance": group.distance, "burden": group.burden}
    for name, one in estimates.items():
        counts |= {name: one.value, f"{name}_low": one.low, f"{name}_high": one.high}
    return counts


def _member_row(member: Member) -> dict[str, Any]:
    row = asdict(member)
    columns = row.pop("changes")
    return {**row, "changed": len(columns), "columns": ", ".join(columns)}

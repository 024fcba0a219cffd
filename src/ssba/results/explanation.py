"""Result objects: what a person gets for a query, with everything needed to check it later."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from os import PathLike
from typing import Any, ClassVar, Literal, Self, overload

from ssba.arguments import instance, listed
from ssba.columns.distance import Norm
from ssba.columns.layout import Layout, RowLabel
from ssba.errors import ArgumentError
from ssba.json_form import JsonForm, build, document_of, kind_of, to_plain
from ssba.models.targets import Goal, reaches
from ssba.options import Budget, Options
from ssba.results import notebook, tables, text
from ssba.results.cohort.summary import Cohort, cohort_of
from ssba.results.column import Column

_PICK_ONE = "pick one of them, such as answers[0]"

Stopped = Literal["exact", "settled", "rows", "seconds", "calls", "interrupted"]


class Status(StrEnum):
    """How a query ended; each is also a sentence with the remedy in it (see `Explanation.sentence`)."""

    FOUND = "found"
    BOUNDED = "bounded"
    INFEASIBLE = "infeasible"
    ALREADY_THERE = "already_there"
    OUT_OF_BUDGET = "out_of_budget"


@dataclass(frozen=True)
class Counterfactual:
    """A feasible row in the user's values, as the user's model scored it after rounding.

    Attributes
    ----------
    values : dict
        The whole row, column by column; None for a missing cell, ISO text for a date.
    changes : dict
        Only what differs from the query: column -> (before, after).
    distance : float
        Distance from the query, in the explainer's metric.
    prediction : label or number
        What the model says about this row.
    score : float or None
        Score of the target for this row, where the model gives one.
    distance_to_boundary : float or None
        For a bounded move: how far the nearest known boundary point still is. None for a counterfactual.
    distance_to_data : float or None
        How far the nearest background row on the target's side is, in the same metric; of up to 5,000 such
        rows. None where there is none.
    rows_around : int or None
        Where a ball around the answer was asked for: how many rows of it were asked, all of which reached
        the target.
    """

    values: dict[str, Any]
    changes: dict[str, tuple[Any, Any]]
    distance: float
    prediction: Any
    score: float | None = None
    distance_to_boundary: float | None = None
    distance_to_data: float | None = None
    rows_around: int | None = None
    layout: Layout | None = field(default=None, repr=False, compare=False, metadata={"json": False})
    row_label: RowLabel | None = field(default=None, repr=False, compare=False, metadata={"json": False})

    @property
    def row(self) -> Any:
        """The whole row as a one-row frame, or array, of the user's own library, ready for the model.

        A pandas frame has the query's label: that of a one-row frame, or the name of a Series.
        """
        if self.layout is None:
            raise ArgumentError("this answer does not know the form of the user's rows; use values")
        return self.layout.frame([self.values], None if self.row_label is None else [self.row_label])


@dataclass(frozen=True)
class Obstacle:
    """A constraint, or a limit set by an option, between a bounded move and the boundary.

    Attributes
    ----------
    constraint : str
        Its text; for a limit the option, such as ``max_changes=2``.
    relaxed : str or None
        How far it would have to be loosened for the nearest boundary point known, in words: "let age go up to
        52 instead of 45". None where only leaving it out allows that point.
    """

    constraint: str
    relaxed: str | None = None


@dataclass(frozen=True)
class Evidence:
    """The evidence that there is no nearer answer; never more than was shown.

    Attributes
    ----------
    nearer_than : float or None
        Everything here is about feasible rows nearer to the query than this: the nearest row that the search
        found to reach the target, before its digits were shortened, which may bring it a hair nearer. None
        where none was found: then it is about all feasible rows.
    asked_nearer : int
        How often the search asked about one of them; none reached the target. A row that two parts of the
        search asked about counts twice.
    drawn : int
        How many of them were drawn at random and asked about; none reached the target.
    share : float or None
        With 95% confidence less than this share of them reaches the target, as rows are drawn
        (``1 - 0.05 ** (1 / drawn)``).
    lower_bound : float or None
        Proved: no feasible row nearer than this reaches the target. Of trees under `max_changes` that is
        about rows that change no more columns.
    proof : {"optimal", "exhausted", "unreachable"} or None
        Whether the best answer is proved to be the nearest: from the model's inside ("optimal": it is at
        most 0.1% farther than `lower_bound`, for the sake of fewer digits), or because every legal feasible
        row nearer than it was asked ("exhausted"). "unreachable": proved that no feasible row reaches.
    reading_contradicted : bool
        The model's inside was read, but a row reached the target nearer than that allows: the model is not
        what it was read as, and what was computed from its inside was dropped.
    column_searches, column_searches_left : int
        For several answers by different columns: how many searches were made with columns of known answers
        held, and how many were left when the search for them ended. Where none is left, every set of columns
        that reaches the target is among those found, contains one of them, or was missed by a search.
    unproved : str or None
        Why there is no `proof` although ``prove=True`` asked for one: the model cannot be opened, the time
        ran out, or the like. None where a proof was not asked for, with ``prove="auto"``, too.
    """

    nearer_than: float | None = None
    asked_nearer: int = 0
    drawn: int = 0
    share: float | None = None
    lower_bound: float | None = None
    proof: Literal["optimal", "exhausted", "unreachable"] | None = None
    reading_contradicted: bool = False
    column_searches: int = 0
    column_searches_left: int = 0
    unproved: str | None = None

    @property
    def sentence(self) -> str:
        """What was shown, in one sentence; empty where nothing was."""
        return text.evidence_sentence(self)


@dataclass(frozen=True, repr=False)
class Explanation(JsonForm):
    """The answer to one query: plain data, which survives pickle and JSON.

    What can be asked further about it (`Explainer.plan`, `.ranges`, `.why_not`, ...) the explainer answers.

    Attributes
    ----------
    status : Status
        found, bounded, infeasible, already_there or out_of_budget; compares equal to its text. already_there
        is about the query's prediction only: it may break constraints, and then the sentence names these.
    counterfactuals : tuple of Counterfactual
        The best first; each reaches the target and meets every constraint. The others come nearest first; by
        default those with other columns than the ones before come before further rows of the same columns.
    bounded : Counterfactual or None
        The bounded move where no feasible flip was found: it does not reach the target. Of the feasible rows
        found it has the best score where a probability or a number is asked for; else it is the nearest to
        the boundary. Where rows reach the target, but not with the margin asked for, it is one of these, with
        much room. Without changes it is the query itself: nothing better was found.
    obstacles : tuple of Obstacle
        What stops the bounded move: the constraints that the nearest boundary point known breaks.
    query, prediction, score
        The query's values, and what the model says about it.
    target, goal
        What is to be reached, in words and as data; the goal is None where the model was not asked.
    constraints, options, budget
        What was asked for, beside the target: constraints as text.
    clash : tuple of str
        Constraints, or limits set by options, that contradict each other.
    evidence : Evidence
        The evidence that there is no nearer answer.
    stopped : {"exact", "settled", "rows", "seconds", "calls", "interrupted"}
        Why the search ended: nothing was left to find, further rounds gained too little, a part of the
        budget ran out, the few calls allowed were made, or somebody pressed Ctrl-C.
    rows_used, seconds, seed, versions
        How it was found, for whoever wants to repeat it.
    columns, metric, layout, row_label
        The columns with kinds, scales and units; how changes add up; the form of the user's rows; the query's
        label in a pandas index.
    model, model_fingerprint
        The model's name, and a digest of its answers to background rows.
    """

    status: Status
    query: dict[str, Any]
    prediction: Any
    score: float | None
    target: str
    goal: Goal | None = None
    constraints: tuple[str, ...] = ()
    options: Options = field(default_factory=Options)
    budget: Budget = field(default_factory=Budget)
    counterfactuals: tuple[Counterfactual, ...] = ()
    bounded: Counterfactual | None = None
    obstacles: tuple[Obstacle, ...] = ()
    clash: tuple[str, ...] = ()
    evidence: Evidence = field(default_factory=Evidence)
    stopped: Stopped = "settled"
    rows_used: int = 0
    seconds: float = 0.0
    seed: int = 0
    columns: tuple[Column, ...] = ()
    metric: Norm = "l2"
    layout: Layout | None = None
    row_label: RowLabel | None = field(default=None, compare=False)
    model: str = ""
    model_fingerprint: str = ""
    versions: dict[str, str] = field(default_factory=dict)

    schema_version: ClassVar[int] = 2

    def __post_init__(self) -> None:
        # Each answer knows the form of the user's rows; JSON has it once.
        laid_out = tuple(self._laid_out(one) for one in self.counterfactuals)
        object.__setattr__(self, "counterfactuals", laid_out)
        if self.bounded is not None:
            object.__setattr__(self, "bounded", self._laid_out(self.bounded))

    def _laid_out(self, answer: Counterfactual) -> Counterfactual:
        if answer.layout is self.layout and answer.row_label is self.row_label:
            return answer
        return replace(answer, layout=self.layout, row_label=self.row_label)

    @property
    def best(self) -> Counterfactual | None:
        """The nearest counterfactual; None where there is none (a bounded move is not one)."""
        return self.counterfactuals[0] if self.counterfactuals else None

    @property
    def answers(self) -> tuple[Counterfactual, ...]:
        """The counterfactuals; where there are none, the bounded move."""
        return self.counterfactuals or ((self.bounded,) if self.bounded else ())

    @property
    def bounded_flips(self) -> bool:
        """Whether the bounded move reaches the target, but not with the margin or plausibility asked for."""
        move, goal = self.bounded, self.goal
        asks_more = self.options.margin is not None or self.options.plausible
        return (
            asks_more and move is not None and goal is not None and reaches(goal, move.prediction, move.score)
        )

    @property
    def units(self) -> dict[str, str]:
        """The units of the columns that have one."""
        return {one.name: one.unit for one in self.columns if one.unit}

    @property
    def orders(self) -> dict[str, tuple[Any, ...]]:
        """The levels of the ordinal columns, from low to high."""
        return {one.name: one.levels for one in self.columns if one.kind == "ordinal"}

    @property
    def sentence(self) -> str:
        """What came out, in one sentence, with the remedy where there is one."""
        return text.sentence(self)

    def to_frame(self, only_changes: bool = True, backend: str | None = None) -> Any:
        """Return the query and its answers as a frame, one row each.

        Parameters
        ----------
        only_changes : bool
            Only columns in which some answer differs from the query.
        backend : {"pandas", "polars", "pyarrow"}, optional
            The frame library; by default that of the explainer's data.
        """
        return tables.to_frame(tables.explanation_rows(self, only_changes), backend, self.layout)

    def __repr__(self) -> str:
        return text.report(self)

    def _repr_html_(self) -> str:
        return notebook.report(self)


@dataclass(frozen=True, repr=False)
class Explanations(JsonForm, Sequence[Explanation]):
    """The answers to many queries, in their order."""

    items: tuple[Explanation, ...]
    layout: Layout | None = None

    derived: ClassVar[tuple[str, ...]] = ()

    @overload
    def __getitem__(self, index: int) -> Explanation: ...
    @overload
    def __getitem__(self, index: slice) -> "Explanations": ...
    def __getitem__(self, index: int | slice) -> "Explanation | Explanations":
        """Return one explanation, or several as explanations again."""
        if not isinstance(index, slice):
            return self.items[index]
        return Explanations(self.items[index], self.layout)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Explanation]:
        return iter(self.items)

    @property
    def sentence(self) -> str:
        """How many of them ended how."""
        return f"{text.overview(self.items).strip('<>')}."

    @property
    def answered(self) -> tuple[int, ...]:
        """The positions of the queries that have a counterfactual: row i of `rows` answers `answered[i]`."""
        return tuple(i for i, one in enumerate(self.items) if one.best is not None)

    def rows(self) -> Any:
        """Return the nearest answer to each query that has one, in a frame like the user's own.

        pandas frames keep the queries' index, and its name. Other libraries have none: there, as everywhere,
        `answered` has the positions of the queries, such as ``queries[list(answers.answered)]`` in NumPy.
        """
        best = [one.best for one in self.items if one.best is not None]
        layout = self._layout
        if layout is None:
            raise ArgumentError("these explanations do not know the form of the user's rows; use to_frame()")
        known = [one.row_label for one in best if one.row_label is not None]
        labels = known if len(known) == len(best) else [RowLabel(i) for i in self.answered]
        return layout.frame([one.values for one in best], labels)

    def cohort(self, by: Any = None) -> Cohort:
        """Return what all answers together say: shares, distances, which columns change, and for whom.

        Parameters
        ----------
        by : str or sequence, optional
            A column of the queries, or a label for each of them, to compare groups by: is recourse harder
            for some?
        """
        return cohort_of(self.items, by)

    def to_parquet(self, file: str | PathLike[str], only_changes: bool = False) -> None:
        """Write what `to_frame` gives to a Parquet file (extra ``arrow``)."""
        tables.write_parquet(lambda: self.to_frame(only_changes, backend="pyarrow"), file)

    def to_frame(self, only_changes: bool = True, backend: str | None = None) -> Any:
        """Return all queries and answers as one frame; column ``query`` numbers the queries."""
        rows = tables.explanations_rows(self.items, only_changes)
        return tables.to_frame(rows, backend, self._layout)

    @property
    def _layout(self) -> Layout | None:
        """The form of the user's rows; explanations that were gathered by hand know it themselves."""
        return self.layout or next((one.layout for one in self.items), None)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data; what all explanations share stands there once."""
        items = [one.to_dict() for one in self.items]
        shared = {name: items[0][name] for name in items[0]} if items else {}
        for one in items[1:]:
            shared = {name: value for name, value in shared.items() if one[name] == value}
        own = [{name: value for name, value in one.items() if name not in shared} for one in items]
        front = {"schema": self.schema_version, "kind": kind_of(type(self))}
        return {
            **front,
            "layout": to_plain(self.layout),
            "shared": shared,
            "items": own,
            "sentence": self.sentence,
        }

    @classmethod
    def from_dict(cls, raw: Any) -> Self:
        """Read what `to_dict` returned."""
        try:
            checked = cls._checked(raw)
            shared, items = checked["shared"], listed("items", checked["items"], "give a list")
            found = tuple(Explanation.from_dict({**shared, **one}) for one in items)
            return cls(found, build(Layout | None, checked["layout"]))
        except (ArgumentError, ValueError, TypeError, KeyError) as error:
            raise ArgumentError(f"this is not the JSON of {document_of(cls)}: {error}") from None

    def __repr__(self) -> str:
        return text.overview(self.items)

    def _repr_html_(self) -> str:
        return notebook.overview(self)


def refuse_no_explanation(given: Any) -> None:
    """Refuse what is not the result of one query; of many, one is to be picked."""
    many = isinstance(given, Explanations)
    instance("explanation", given, Explanation, _PICK_ONE if many else "give what explain() returned")

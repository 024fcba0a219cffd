"""Result objects: what a person gets for a query, with everything needed to check it later."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, overload

from ssba.errors import ArgumentError
from ssba.results import notebook as html
from ssba.results import tables, text
from ssba.results.advice import Advisor

if TYPE_CHECKING:
    from ssba.results.certificate.document import Certificate
    from ssba.results.cohort.summary import Cohort
    from ssba.results.levers import Menu
    from ssba.results.plan import Plan
    from ssba.results.ranges import Ranges
    from ssba.results.trial import Trial
    from ssba.results.why_not import WhyNot

SCHEMA_VERSION = 1
"""Version of the JSON form; `explanation.schema.json` beside this file describes it."""


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
        The whole row, column by column; None for a missing cell.
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


@dataclass(frozen=True)
class Evidence:
    """What speaks for there being no nearer answer; never more than was shown.

    Attributes
    ----------
    nearer_than : float or None
        Everything here is about feasible rows nearer to the query than this: the nearest row that was
        found to reach the target. None where none was found: then it is about all feasible rows.
    asked_nearer : int
        How many of them the search asked about; none reached the target.
    drawn : int
        How many of them were drawn at random and asked about; none reached the target.
    share : float or None
        With 95% confidence less than this share of them reaches the target, as rows are drawn
        (``1 - 0.05 ** (1 / drawn)``).
    lower_bound : float or None
        Proved: no feasible row nearer than this reaches the target.
    proof : {"optimal", "exhausted", "unreachable"} or None
        Whether the best answer is proved to be the nearest: from the model's inside ("optimal": it is at
        most 0.1% farther than `lower_bound`, for the sake of fewer digits), or because every legal feasible
        row nearer than it was asked ("exhausted"). "unreachable": proved that no feasible row reaches.
    reading_contradicted : bool
        The model's inside was read, but a row reached the target nearer than that allows: the model is not
        what it was read as, and what was computed from its inside was dropped.
    """

    nearer_than: float | None = None
    asked_nearer: int = 0
    drawn: int = 0
    share: float | None = None
    lower_bound: float | None = None
    proof: Literal["optimal", "exhausted", "unreachable"] | None = None
    reading_contradicted: bool = False

    @property
    def sentence(self) -> str:
        """What was shown, in one sentence; empty where nothing was."""
        return text.evidence_sentence(self)


@dataclass(frozen=True)
class Explanation:
    """The answer to one query.

    Attributes
    ----------
    status : Status
        found, bounded, infeasible, already_there or out_of_budget; compares equal to its text.
    counterfactuals : tuple of Counterfactual
        Nearest first; each reaches the target and meets every constraint.
    bounded : Counterfactual or None
        The bounded move where no feasible flip was found: it does not reach the target.
    query, prediction, score
        The query's values, and what the model says about it.
    target, constraints, wishes, clash
        What was asked for, as text; `wishes` are further arguments that narrow the answers down, such as
        ``max_changes=2``; `clash` names constraints that contradict each other.
    evidence : Evidence
        What speaks for there being no nearer answer.
    rows_used, seconds, seed, versions, model_fingerprint
        How it was found, for whoever wants to repeat it.
    advisor : Advisor or None
        Who answers further questions, such as `plan`; None once an explanation was written and read again,
        until `Explainer.attach` gives it one.
    """

    status: Status
    query: dict[str, Any]
    prediction: Any
    score: float | None
    target: str
    constraints: tuple[str, ...] = ()
    wishes: tuple[str, ...] = ()
    counterfactuals: tuple[Counterfactual, ...] = ()
    bounded: Counterfactual | None = None
    clash: tuple[str, ...] = ()
    evidence: Evidence = field(default_factory=Evidence)
    rows_used: int = 0
    seconds: float = 0.0
    seed: int = 0
    metric: str = "l2"
    units: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    model_fingerprint: str = ""
    advisor: Advisor | None = field(default=None, repr=False, compare=False)

    @property
    def best(self) -> Counterfactual | None:
        """The nearest counterfactual; None where there is none (a bounded move is not one)."""
        return self.counterfactuals[0] if self.counterfactuals else None

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
            The frame library; by default the first of them that is installed.
        """
        return tables.to_frame(tables.explanation_rows(self, only_changes), backend)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dicts, lists, text and numbers."""
        told = {**asdict(replace(self, advisor=None)), "status": self.status.value, "sentence": self.sentence}
        del told["advisor"]
        return {"schema": SCHEMA_VERSION, **{name: _listed(value) for name, value in told.items()}}

    def to_json(self, indent: int | None = None) -> str:
        """Return the JSON form, which `from_json` reads back."""
        try:
            return json.dumps(self.to_dict(), indent=indent, allow_nan=False, default=_plain)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"{error}; give the model labels of text, numbers or booleans") from None

    @classmethod
    def from_json(cls, document: str) -> "Explanation":
        """Read what `to_json` wrote."""
        try:
            return _from_dict(json.loads(document))
        except ArgumentError:
            raise
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            what = f"{type(error).__name__}: {error}"
            raise ArgumentError(f"this is no explanation in the JSON form of to_json ({what})") from None

    def plan(
        self,
        answer: int = 0,
        *,
        effort: Mapping[str, float] | None = None,
        max_step: Mapping[str, float] | None = None,
    ) -> "Plan":
        """Return ordered, feasible steps from the query to an answer, or to the bounded move.

        Parameters
        ----------
        answer : int
            Which of the counterfactuals, counted from 0.
        effort : mapping, optional
            What a change of a column takes: ``{"chol": 2.0}`` counts twice, so that it comes later.
        max_step : mapping, optional
            How much a column may change at once: ``{"chol": 20}`` makes several visits of a long change.
        """
        return self._advised.plan(self, answer, effort, max_step)

    def ranges(self, answer: int = 0, *, samples: int = 1000) -> "Ranges":
        """Return the widest intervals around an answer that still reach the target and meet the constraints.

        Parameters
        ----------
        answer : int
            Which of the counterfactuals, counted from 0.
        samples : int
            How many rows drawn from the intervals are asked about at last.
        """
        return self._advised.ranges(self, answer, samples)

    def why_not(self) -> "WhyNot":
        """Say, where no answer was found, which constraints are in the way and what to relax."""
        return self._advised.why_not(self)

    def levers(self, most_columns: int = 3) -> "Menu":
        """Return which columns, alone, in pairs or in threes, can flip the decision, and which cannot.

        Parameters
        ----------
        most_columns : int
            How many columns may change together at most, 1 to 3.
        """
        return self._advised.levers(self, most_columns)

    def try_values(self, values: Mapping[str, Any]) -> "Trial":
        """Ask the model about the query with some values changed, and say what still lacks.

        Parameters
        ----------
        values : mapping
            The columns to change: ``{"chol": 220}``.
        """
        return self._advised.try_values(self, values)

    def certificate(self) -> "Certificate":
        """Return this result as a document of its own, which can be checked against the model later."""
        return self._advised.certificate(self)

    @property
    def _advised(self) -> Advisor:
        if self.advisor is None:
            raise ArgumentError(
                "this explanation has no model to ask, since it was read from a file or copied; "
                "explainer.attach(explanation) gives it one"
            )
        return self.advisor

    def __getstate__(self) -> dict[str, Any]:
        """Leave the advisor, and with it the model, out of pickles and copies."""
        return {**self.__dict__, "advisor": None}

    def __repr__(self) -> str:
        return text.report(self)

    def _repr_html_(self) -> str:
        return html.report(self)


@dataclass(frozen=True)
class Explanations(Sequence[Explanation]):
    """The answers to many queries, in their order."""

    items: tuple[Explanation, ...]

    @overload
    def __getitem__(self, index: int) -> Explanation: ...
    @overload
    def __getitem__(self, index: slice) -> "Explanations": ...
    def __getitem__(self, index: int | slice) -> "Explanation | Explanations":
        """Return one explanation, or several as explanations again."""
        return Explanations(self.items[index]) if isinstance(index, slice) else self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Explanation]:
        return iter(self.items)

    def cohort(self, by: Any = None) -> "Cohort":
        """Return what all answers together say: shares, distances, which columns change, and for whom.

        Parameters
        ----------
        by : str or sequence, optional
            A column of the queries, or a label for each of them, to compare groups by: is recourse harder
            for some?
        """
        from ssba.results.cohort.summary import cohort_of

        return cohort_of(self.items, by)

    def to_parquet(self, file: str | PathLike[str], only_changes: bool = False) -> None:
        """Write what `to_frame` gives to a Parquet file (extra ``arrow``)."""
        tables.write_parquet(lambda: self.to_frame(only_changes, backend="pyarrow"), file)

    def to_frame(self, only_changes: bool = True, backend: str | None = None) -> Any:
        """Return all queries and answers as one frame; column ``query`` numbers the queries."""
        return tables.to_frame(tables.explanations_rows(self.items, only_changes), backend)

    def __repr__(self) -> str:
        return text.overview(self.items)

    def _repr_html_(self) -> str:
        return html.overview(self)


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{value!r} of type {type(value).__name__} has no JSON form")


def _listed(value: Any) -> Any:
    """Return tuples as lists, all the way down, as JSON has them."""
    if isinstance(value, dict):
        return {name: _listed(inner) for name, inner in value.items()}
    return [_listed(inner) for inner in value] if isinstance(value, tuple | list) else value


def _from_dict(raw: Mapping[str, Any]) -> Explanation:
    if raw.get("schema") != SCHEMA_VERSION:
        raise ArgumentError(
            f"this JSON has schema version {raw.get('schema')!r}; this version of ssba reads {SCHEMA_VERSION}"
        )
    fields = Explanation.__dataclass_fields__.keys() - {"advisor"}
    known = {name: raw[name] for name in fields if name in raw}
    known["status"] = Status(raw["status"])
    known["constraints"], known["clash"] = tuple(raw["constraints"]), tuple(raw["clash"])
    known["wishes"] = tuple(raw.get("wishes", ()))
    known["counterfactuals"] = tuple(_counterfactual(one) for one in raw["counterfactuals"])
    known["bounded"] = None if raw["bounded"] is None else _counterfactual(raw["bounded"])
    # Documents of older releases have no wishes and no evidence.
    known["evidence"] = Evidence(**raw.get("evidence", {}))
    return Explanation(**known)


def _counterfactual(raw: Mapping[str, Any]) -> Counterfactual:
    changes = {column: (before, after) for column, (before, after) in raw["changes"].items()}
    return Counterfactual(**{**raw, "changes": changes})

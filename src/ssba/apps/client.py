"""`ssba.Client`: the questions of an `Explainer`, answered by a server (`ssba serve`)."""

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self, Unpack

from ssba.apps.client_connection import Connection
from ssba.apps.client_form import constraint_texts, queries_of, query_of, target_text
from ssba.arguments import came, file_to_write, number
from ssba.columns.features import Feature
from ssba.columns.layout import row_label, row_labels
from ssba.constraints.lists import Constraints, refuse_targets
from ssba.errors import ArgumentError
from ssba.json_form import to_plain
from ssba.models.targets import OWN_TARGET, describe_target
from ssba.options import Budget, OptionFields, Options, options_from
from ssba.results.certificate import Certificate
from ssba.results.column_table import ColumnTable
from ssba.results.constraint_check import ConstraintCheck
from ssba.results.explanation import Explanation, Explanations, refuse_no_explanation
from ssba.results.levers import LeverTable
from ssba.results.plan import Plan
from ssba.results.prediction import Prediction
from ssba.results.ranges import Ranges
from ssba.results.trial import Trial
from ssba.results.why_not import WhyNot

NEEDS_MODEL = frozenset(
    {
        "check_certificate",
        "fingerprint",
        "open_boundary",
        "read_boundary",
        "rows_used",
        "sample_boundary",
        "scan_line",
        "verify_boundary",
    }
)
"""What `Explainer` has and `Client` has not."""

_INSTEAD = "ask an ssba.Explainer, or run `ssba check-certificate` or `ssba boundary`, where the model is"


class Client:
    """Asks a server that `ssba serve` started; methods and results are those of `Explainer`.

    Missing are `scan_line`, `check_certificate` and what is about boundary points or the model itself.

    The model and the data stay on the server. A row is a dict, a Series, a one-row frame or a 1-D array, as
    for `Explainer`, or a whole number: that row of the server's data, counted from 0. The project's own
    constraints hold beside those that are given. Needs the extra ``client``.

    Parameters
    ----------
    url : str
        Where the server is, such as ``"http://127.0.0.1:8000"``.
    token : str, optional
        The server's token, if it has one.
    timeout : float
        Seconds to wait for an answer until its end.

    Examples
    --------
    >>> import ssba
    >>> with ssba.Client("http://127.0.0.1:8000") as client:  # doctest: +SKIP
    ...     client.explain(6, ["age == x.age"], k=3).best.changes
    """

    def __init__(self, url: str, token: str | None = None, timeout: float = 150.0) -> None:
        seconds = number("timeout", timeout, "a number of seconds above 0", low=0)
        self._connection = Connection(url, token, seconds)
        # What requests say of the target, and what it is in words; nothing where it is the project's own.
        self._aim: dict[str, Any] = {}
        self._target = ""

    def toward(self, target: Any) -> Self:
        """Return the client of another target than the project's; the connections are shared.

        Parameters
        ----------
        target
            The desired outcome, as `Explainer` takes it.
        """
        made = copy(self)
        made._aim, made._target = {"target": target_text(target)}, describe_target(target)
        return made

    def close(self) -> None:
        """Close the connections to the server."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    @property
    def columns(self) -> ColumnTable:
        """What the server decided about each column: kind, range, step, levels, scale, and why."""
        return self._connection.read(self.schema, "columns", ColumnTable.from_dict)

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The classes that the model tells apart; None for a model of numbers."""
        return self._connection.read(self.schema, "classes", _classes)

    @property
    def target(self) -> str:
        """The desired outcome, in words: the project's, unless this is the client of another one."""
        return self._target or self._connection.read(self.schema, "target", str)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """What the server says about its project, asked once: title, columns, constraints, caution."""
        return self._connection.get("/api/schema")

    def rows(
        self,
        search: str = "",
        *,
        where: Mapping[str, Any] | None = None,
        reached: bool | None = None,
        offset: int = 0,
        limit: int = 20,
    ) -> dict[str, Any]:
        """Return rows of the server's data: how many match in all, and a page of them.

        Parameters
        ----------
        search : str
            Words, each in some cell of a row, in any case.
        where : mapping, optional
            Values that the rows have: ``{"sex": "male"}``.
        reached : bool, optional
            Only rows that are at the target already, or only those that are not.
        offset, limit : int
            How many matching rows to leave out first, and how many to return.
        """
        asked = {"search": search, "where": to_plain(where or {}), "offset": offset, "limit": limit}
        return self._connection.post("/api/rows", {**asked, "reached": reached})

    def predict(self, row: Any) -> Prediction:
        """Return what the model says about a row, and whether that is the target already."""
        return self._predicted(self._query(row))

    def predict_many(self, rows: Any) -> tuple[Prediction, ...]:
        """Return what the model says about many rows, one request after the other.

        `rows` is a frame, a 2-D array, a list of dicts, or numbers of rows of the server's data.
        """
        return tuple(self._predicted(one) for one in queries_of(rows, list(self._features)))

    def check_constraints(
        self, row: Any, constraints: Constraints = (), *, project_constraints: bool = True
    ) -> ConstraintCheck:
        """Say what constraints leave of a row, and whether they contradict each other."""
        asked = {**self._query(row), **self._constraints(constraints, project_constraints)}
        said = self._post("check-constraints", asked)
        return self._connection.read(said, "check", ConstraintCheck.from_dict)

    def explain(
        self,
        row: Any,
        constraints: Constraints = (),
        *,
        target: Any = OWN_TARGET,
        options: Options | None = None,
        budget: Budget | None = None,
        project_constraints: bool = True,
        **fields: Unpack[OptionFields],
    ) -> Explanation:
        """Return the nearest feasible counterfactuals of one row.

        Parameters
        ----------
        row
            The query, or the number of a row of the server's data.
        constraints
            Constraint objects or texts, beside those of the project.
        target : optional
            Another desired outcome than the project's, for this call.
        options : Options, optional
            What to ask of the answers: how many, how sparse, how robust, how well proved.
        budget : Budget, optional
            How many model rows, and seconds, to spend at most; the project's by default.
        project_constraints : bool
            Whether the project's own constraints hold, too.
        **fields
            Single options by name, such as ``k=3`` or ``max_changes=2``; see `Options`.
        """
        aim = self._aim if target is OWN_TARGET else self.toward(target)._aim
        wishes = _wishes(options_from(options, fields), budget)
        asked = {**self._constraints(constraints, project_constraints), **aim, **wishes}
        found = self._explained({**self._query(row), **asked})
        return replace(found, row_label=row_label(row))

    def explain_many(
        self,
        rows: Any,
        constraints: Constraints = (),
        *,
        options: Options | None = None,
        budget: Budget | None = None,
        project_constraints: bool = True,
        **fields: Unpack[OptionFields],
    ) -> Explanations:
        """Explain many rows, one request after the other; each answer is the one that `explain` gives.

        `rows` is a frame, a 2-D array, a list of dicts, or numbers of rows of the server's data;
        `constraints` is one list for all of them.
        """
        wishes = _wishes(options_from(options, fields), budget)
        asked = {**self._constraints(constraints, project_constraints), **self._aim, **wishes}
        found = [self._explained({**one, **asked}) for one in queries_of(rows, list(self._features))]
        if (labels := row_labels(rows)) is not None:
            found = [replace(one, row_label=label) for one, label in zip(found, labels, strict=True)]
        return Explanations(tuple(found), self.columns.layout)

    def plan(
        self,
        explanation: Explanation,
        answer: int = 0,
        *,
        effort: Mapping[str, float] | None = None,
        max_step: Mapping[str, float] | None = None,
    ) -> Plan:
        """Return ordered, feasible steps from the query to an answer, or to the bounded move."""
        asked = {"answer": answer, "effort": to_plain(effort), "max_step": to_plain(max_step)}
        said = self._about("plan", explanation, asked)
        return self._connection.read(said, "plan", Plan.from_dict)

    def ranges(self, explanation: Explanation, answer: int = 0, *, n_samples: int = 1000) -> Ranges:
        """Return the widest intervals around an answer that reach the target and meet the constraints."""
        said = self._about("ranges", explanation, {"answer": answer, "n_samples": n_samples})
        return self._connection.read(said, "ranges", Ranges.from_dict)

    def why_not(self, explanation: Explanation) -> WhyNot:
        """Say, where no answer was found, which constraints are in the way and what to relax."""
        said = self._about("why-not", explanation, {})
        return self._connection.read(said, "why_not", WhyNot.from_dict)

    def levers(self, explanation: Explanation, max_columns: int = 3) -> LeverTable:
        """Return which columns, alone, in pairs or in threes, can flip the decision, and which cannot."""
        said = self._about("levers", explanation, {"max_columns": max_columns})
        return self._connection.read(said, "levers", LeverTable.from_dict)

    def try_values(self, explanation: Explanation, values: Mapping[str, Any]) -> Trial:
        """Ask the model about the query with some values changed, and say what is still missing."""
        said = self._about("try", explanation, {"try_values": to_plain(values)})
        return self._connection.read(said, "trial", Trial.from_dict)

    def certificate(self, explanation: Explanation) -> Certificate:
        """Return a result as a document with a digest; the server first checks that the result holds."""
        said = self._about("certificate", explanation, {})
        return self._connection.read(said, "certificate", Certificate.from_dict)

    def report(self, results: Explanation, file: str | PathLike[str]) -> Path:
        """Write a self-contained HTML page about one result, and return its path.

        The server makes it, with the meanings of columns and the names of classes of its project.
        """
        path = file_to_write("file", file)
        refuse_no_explanation(results)
        page = self._connection.post_for_page("/api/report", {"explanation": results.to_dict()})
        path.write_text(page, encoding="utf-8")
        return path

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Say of what only an explainer has that this is so."""
            said = f"{type(self).__name__!r} object has no attribute {name!r}"
            if name in NEEDS_MODEL:
                said = f"ssba.Client has no {name}, which needs the model itself: {_INSTEAD}"
            raise AttributeError(said, name=name, obj=self)

    def __repr__(self) -> str:
        return f"<Client of {self._connection.url}>"

    @cached_property
    def _features(self) -> dict[str, Feature]:
        return {one.name: one.feature for one in self.columns}

    def _query(self, row: Any) -> dict[str, Any]:
        return query_of(row, list(self._features))

    def _constraints(self, given: Constraints, of_project: bool) -> dict[str, Any]:
        refuse_targets(given, self.classes)
        return {"constraints": constraint_texts(given, self._features), "project_constraints": of_project}

    def _predicted(self, query: Mapping[str, Any]) -> Prediction:
        said = self._post("predict", {**query, **self._aim})
        return self._connection.read(said, "prediction", Prediction.from_dict)

    def _explained(self, asked: Mapping[str, Any]) -> Explanation:
        return self._connection.read(self._post("explain", asked), "explanation", Explanation.from_dict)

    def _about(self, path: str, explanation: Explanation, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Ask a further question about an answer."""
        refuse_no_explanation(explanation)
        return self._post(path, {"explanation": explanation.to_dict(), **asked})

    def _post(self, path: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        return self._connection.post(f"/api/{path}", asked)


def _classes(said: Any) -> tuple[Any, ...] | None:
    if said is not None and not isinstance(said, list):
        raise ArgumentError(f"it is {came(said)}, and no list")
    return None if said is None else tuple(said)


def _wishes(options: Options, budget: Budget | None) -> dict[str, Any]:
    if budget is not None and not isinstance(budget, Budget):
        raise ArgumentError(f"budget is {budget!r:.80}; give ssba.Budget(rows=..., seconds=...)")
    return {"options": options.to_dict(), "budget": to_plain(budget)}

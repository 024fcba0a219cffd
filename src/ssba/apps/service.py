"""The service: every question that can be put to a project, for the command line, HTTP and MCP alike.

It is the only part of the ways in that calls the library, so that they cannot disagree.
"""

import queue
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import ssba
from ssba.apps.cohort_files import CohortFiles
from ssba.apps.landscape import Landscape, boundary_rows
from ssba.apps.limits import Limits, Meter
from ssba.apps.names import ClassNames
from ssba.apps.page_requests import MapReply, MapRequest, PopulationReply
from ssba.apps.population import population_of
from ssba.apps.project.opened import OpenedProject, require_column
from ssba.apps.project.target import first_possible
from ssba.apps.requests import (
    AdviceRequest,
    Aimed,
    CertificateReply,
    CertificateRequest,
    CheckReply,
    CheckRequest,
    CohortReply,
    CohortRequest,
    DescribeReply,
    ExplainReply,
    ExplainRequest,
    LeversReply,
    LeversRequest,
    PlanReply,
    PlanRequest,
    PredictReply,
    PredictRequest,
    RangesReply,
    RangesRequest,
    RowReply,
    RowsReply,
    RowsRequest,
    Ruled,
    Searched,
    TryReply,
    TryRequest,
    WhyNotReply,
    WhyNotRequest,
)
from ssba.apps.rows import check_number, matching_rows, outside_data, plain_cell, row_of
from ssba.apps.words import HTTP, PYTHON, Words
from ssba.errors import ArgumentError
from ssba.index import BoundarySet
from ssba.json_form import plain_or_text
from ssba.models.oracle import watched
from ssba.results import Cohort, Explanation, Explanations, Prediction, Status

if TYPE_CHECKING:
    import pandas as pd

_CHUNK = 16
"""Rows of a cohort that are explained together, between two looks at whether to go on."""
_BLOCK = 4096
"""Rows of the data that are predicted together."""
_MOST_STRIPPED = 5_000
"""Rows of the data of which distributions are made."""
_MOST_PLACED = 800
"""Rows of the data that are drawn one by one."""
LIGHT = frozenset({"rows", "predict", "check_constraints", "population", "place"})
"""Questions that search nothing, so that nobody should wait for a search before they are answered."""
_LOOK = 0.1
"""Seconds between two looks at whether a request that waits for an explainer is still wanted."""


class Service:
    """Answers requests about one project.

    Explainers are made as they are needed, up to `workers` of them for searches and as many for what searches
    nothing, and each is used by one request at a time; which of them answers makes no difference.

    Parameters
    ----------
    project : OpenedProject
        What the requests are about.
    workers : int
        How many searches may be worked on at once, and how many other requests beside them.
    limits : Limits
        What one request may spend.
    words : Words
        What the sentences of replies call the parts of a request.
    """

    def __init__(
        self, project: OpenedProject, workers: int = 1, limits: Limits | None = None, words: Words = HTTP
    ) -> None:
        self.project = project
        self.limits = limits or Limits()
        self.words = words
        first = _Held(project)
        self._explainers = _Pool(project, [*[None] * (workers - 1), first])
        self._light = _Pool(project, [None] * workers)
        # Cohorts take long, so that they have an explainer of their own and no request waits for them.
        self._aside = _Pool(project, [None])
        self.columns = first.explainer.columns
        self._classes = first.explainer.classes
        self.names = ClassNames(project.settings.classes, self._classes or ())
        self._target = self.names.target(first.explainer.target)
        self._model = type(project.model).__name__
        self.fingerprint = first.explainer.fingerprint
        self._known: Sequence[Prediction] | None = None
        self._population: PopulationReply | None = None
        self._landscape: Landscape | None = None

    def describe(self) -> DescribeReply:
        """Say what the service is about."""
        settings = self.project.settings
        count = len(self.project.table)
        return DescribeReply(
            title=settings.title,
            sentence=f"{count:,} rows with {len(self.columns)} columns; model: {self._model}; outcome to "
            f"reach: {self._target}.",
            model=self._model,
            target=self._target,
            classes=self._classes,
            class_names=settings.classes,
            rows=count,
            id=settings.id,
            columns=self.columns.to_dict(),
            meanings=settings.meanings,
            constraints=settings.constraints,
            caution=settings.caution,
            version=ssba.__version__,
        )

    def rows(self, request: RowsRequest, meter: Meter | None = None) -> RowsReply:
        """Return a page of the rows that match."""
        matching = matching_rows(self.project, request.where, request.search)
        if request.reached is not None:
            known = self._all_predictions(meter)
            matching = [number for number in matching if known[number].reached == request.reached]
        if request.sort != "row":
            scores = [one.score or 0.0 for one in self._all_predictions(meter)]
            matching.sort(key=lambda number: scores[number], reverse=request.sort == "-score")
        page = matching[request.offset : request.offset + request.limit]
        said = self._said_about(page, meter)
        rows = tuple(self._row_reply(number, one) for number, one in zip(page, said, strict=True))
        return RowsReply(total=len(matching), offset=request.offset, rows=rows)

    def predict(self, request: PredictRequest, meter: Meter | None = None) -> PredictReply:
        """Say what the model predicts for a row."""
        with self._working(meter, self._light) as held:
            found = self._toward_target(held, request).predict(row_of(self.project, request))
        said = self._said(found)
        said["sentence"] += outside_data(self.columns, found.values)
        return PredictReply(prediction=found.to_dict(), **said)

    def check_constraints(self, request: CheckRequest, meter: Meter | None = None) -> CheckReply:
        """Say what constraints mean for a row."""
        with self._working(meter, self._light) as held:
            found = held.explainer.check_constraints(
                row_of(self.project, request), self._constraints(request)
            )
        return CheckReply(check=found.to_dict(), sentence=found.sentence)

    def explain(self, request: ExplainRequest, meter: Meter | None = None) -> ExplainReply:
        """Find the smallest feasible change."""
        with self._working(meter) as held:
            found = self._explained(held, request)
        return ExplainReply(**self._found(found), **self._said(found))

    def plan(self, request: PlanRequest, meter: Meter | None = None) -> PlanReply:
        """Put an answer in steps."""
        with self._working(meter) as held:
            found = self._asked_about(held, request)
            plan = held.explainer.plan(
                found, request.answer, effort=request.effort, max_step=request.max_step
            )
        # Where there is nothing to do, the explanation also says which constraints the row breaks.
        told = found if found.status is Status.ALREADY_THERE else plan
        return PlanReply(**self._found(found), plan=plan.to_dict(), **self._said(told))

    def why_not(self, request: WhyNotRequest, meter: Meter | None = None) -> WhyNotReply:
        """Say what is in the way, and what would be enough."""
        with self._working(meter) as held:
            found = self._asked_about(held, request)
            why = held.explainer.why_not(found, progress=False)
        return WhyNotReply(**self._found(found), why_not=why.to_dict(), **self._said(why))

    def levers(self, request: LeversRequest, meter: Meter | None = None) -> LeversReply:
        """Say which columns can flip the decision."""
        with self._working(meter) as held:
            found = self._asked_about(held, request)
            table = held.explainer.levers(found, request.max_columns, progress=False)
        return LeversReply(**self._found(found), levers=table.to_dict(), **self._said(table))

    def try_values(self, request: TryRequest, meter: Meter | None = None) -> TryReply:
        """Say what the model says about edited values."""
        with self._working(meter) as held:
            found = self._asked_about(held, request)
            trial = held.explainer.try_values(found, request.try_values)
        return TryReply(trial=trial.to_dict(), **self._said(trial))

    def ranges(self, request: RangesRequest, meter: Meter | None = None) -> RangesReply:
        """Return intervals around an answer."""
        with self._working(meter) as held:
            asked = self._asked_about(held, request)
            found = held.explainer.ranges(asked, request.answer, n_samples=request.n_samples)
        return RangesReply(ranges=found.to_dict(), **self._said(found))

    def certificate(self, request: CertificateRequest, meter: Meter | None = None) -> CertificateReply:
        """Return a document that an answer can be checked by."""
        with self._working(meter) as held:
            made = held.explainer.certificate(self._asked_about(held, request))
        return CertificateReply(certificate=made.to_dict())

    def population(self, meter: Meter | None = None) -> PopulationReply:
        """Say how the rows of the data are spread, and what the model says about them; asked once."""
        if self._population is None:
            some = self._some_rows(_MOST_STRIPPED)
            said = dict(zip(some, self._said_about(some, meter), strict=True))
            self._population = population_of(self.project, self.columns, said, self.names)
        return self._population

    def place(self, request: MapRequest, meter: Meter | None = None) -> MapReply:
        """Say where a row lies among those of the data, and on which side of the boundary."""
        if self._landscape is None:
            some = self._some_rows(_MOST_PLACED)
            said = self._said_about(some, meter)
            with self._working(meter, self._light) as held:
                points = boundary_rows(held.explainer, held.boundary)
            named = dict(zip(some, self._ids(some) or (None,) * len(some), strict=True))
            self._landscape = Landscape(self.columns, named, said, points, self.names)
        with self._working(meter, self._light) as held:
            row = held.explainer.predict(row_of(self.project, request)).values
            return self._landscape.place(request, row, held.explainer.predict_many)

    def report(self, request: ExplainRequest, meter: Meter | None = None) -> str:
        """Return a page of HTML about a row and its answers, which may have been found before."""
        with self._working(meter) as held:
            return self._written(held, self._asked_about(held, request))

    def cohort_rows(self, request: CohortRequest, meter: Meter | None = None) -> list[int]:
        """Return the rows that a cohort is about."""
        if request.rows is None:
            known = self._all_predictions(meter)
            meant = matching_rows(self.project, request.where, request.search)
            return [number for number in meant if not known[number].reached]
        if request.search or request.where:
            raise ArgumentError("search and where choose among all rows; give them, or rows, but not both")
        for number in request.rows:
            check_number(self.project.table, number)
        return list(request.rows)

    def cohort(
        self,
        request: CohortRequest,
        meter: Meter | None = None,
        done: Callable[[int, int], None] = lambda done, total: None,
    ) -> tuple[CohortReply, CohortFiles]:
        """Explain many rows, some at a time, so that other requests get their turn; tell how far it is.

        With what they say together comes what can be exported.
        """
        numbers = self.cohort_rows(request, meter)
        if request.by is not None:
            require_column(self.project.table, request.by, "by")
        found: list[Explanation] = []
        for first in range(0, len(numbers), _CHUNK):
            done(first, len(numbers))
            found += self.explain_rows(numbers[first : first + _CHUNK], request, meter)
        done(len(numbers), len(numbers))
        groups = (
            None if request.by is None else [str(one) for one in self.project.table[request.by].iloc[numbers]]
        )
        answers = Explanations(tuple(found), self.columns.layout)
        summary = answers.cohort(by=groups)
        reply = CohortReply(
            cohort=summary.to_dict(), rows=tuple(numbers), ids=self._ids(numbers), **self._said(summary)
        )
        return reply, self._files(answers, summary, numbers, meter)

    def _files(
        self, answers: Explanations, summary: Cohort, numbers: Sequence[int], meter: Meter | None
    ) -> CohortFiles:
        settings = self.project.settings
        with self._working(meter, self._aside) as held:
            page = self._written(held, answers) if answers else ""
        return CohortFiles(answers, summary, numbers, settings.meanings, page)

    def _written(self, held: "_Held", results: Explanation | Explanations) -> str:
        """Return the report about results, as a page of HTML."""
        settings = self.project.settings
        with TemporaryDirectory() as folder:
            file = Path(folder) / "report.html"
            held.explainer.report(
                results, file, meanings=settings.meanings, title=settings.title, progress=False
            )
            return file.read_text(encoding="utf-8")

    def explain_rows(
        self, numbers: Sequence[int], request: CohortRequest, meter: Meter | None = None
    ) -> Sequence[Explanation]:
        """Explain rows of the data side by side, beside the requests of others."""
        return self.explain_frame(self.project.rows.iloc[list(numbers)], request, meter)

    def explain_frame(
        self, rows: "pd.DataFrame", request: CohortRequest, meter: Meter | None = None
    ) -> Sequence[Explanation]:
        """Explain rows from elsewhere, with the model's columns, side by side."""
        with self._working(meter, self._aside) as held:
            return held.explainer.explain_many(
                rows,
                self._constraints(request),
                options=request.options,
                budget=self._budget(request),
                boundary=held.boundary,
                progress=False,
            )

    @contextmanager
    def _working(self, meter: Meter | None, pool: "_Pool | None" = None) -> Iterator["_Held"]:
        """Take an explainer for the time of a request, whose model calls are metered."""
        watcher = meter or Meter(self.limits)
        with watched(watcher), (pool or self._explainers).lent(watcher) as held:
            yield held

    def _explained(self, held: "_Held", request: ExplainRequest) -> Explanation:
        row = row_of(self.project, request)
        return self._toward_target(held, request).explain(
            row,
            self._constraints(request),
            options=request.options,
            budget=self._budget(request),
            # Stored points are about the project's own target.
            boundary=held.boundary if request.target is None else None,
        )

    def _asked_about(self, held: "_Held", request: ExplainRequest) -> Explanation:
        if not isinstance(request, AdviceRequest) or request.explanation is None:
            return self._explained(held, request)
        sent = Explanation.from_dict(request.explanation)
        self.limits.check(sent.budget)
        # It comes from elsewhere, and goes back with the reply: what it claims must be so.
        checked = held.explainer.check_certificate(held.explainer.certificate(sent))
        if not checked.passed:
            raise ArgumentError(f"the explanation that was sent does not hold: {checked.sentence}")
        return sent

    def _toward_target(self, held: "_Held", request: Aimed) -> ssba.Explainer:
        """Return the explainer of the request's target, if it has one."""
        if request.target is None:
            return held.explainer
        names = self.project.settings.classes
        return first_possible(held.explainer.toward, request.target, names)

    def _found(self, found: Explanation) -> dict[str, Any]:
        """Return an explanation, and in words what speaks for it."""
        return {"explanation": found.to_dict(), "evidence": found.evidence.sentence}

    def _said(self, result: Any) -> dict[str, Any]:
        """Return what a result says to a person, and the project's caution."""
        sentence = self.words.instead_of(PYTHON, self.names.told(result).sentence)
        return {"sentence": sentence, "caution": self.project.settings.caution}

    def _constraints(self, request: Ruled) -> tuple[str, ...]:
        own = self.project.settings.constraints if request.project_constraints else ()
        return (*own, *request.constraints)

    def _budget(self, request: Searched) -> ssba.Budget:
        """Return what a query may spend; more than a whole request may spend is refused, not cut."""
        if request.budget is not None:
            self.limits.check(request.budget)
            return request.budget
        said = self.project.settings.budget
        return ssba.Budget(said.rows, said.seconds)

    def _all_predictions(self, meter: Meter | None) -> Sequence[Prediction]:
        """Return what the model says about every row of the data, asked once."""
        if self._known is None:
            known: list[Prediction] = []
            for first in range(0, len(self.project.rows), _BLOCK):
                with self._working(meter, self._light) as held:
                    known += held.explainer.predict_many(self.project.rows.iloc[first : first + _BLOCK])
            self._known = known
        return self._known

    def _some_rows(self, most: int) -> list[int]:
        """Return the numbers of all rows, or of so many that are spread evenly over them."""
        count = len(self.project.table)
        return [number * count // min(count, most) for number in range(min(count, most))]

    def _ids(self, numbers: Sequence[int]) -> tuple[str, ...] | None:
        """Return what rows are named; None where no column names them."""
        column = self.project.settings.id
        return None if column is None else tuple(map(str, self.project.table[column].iloc[list(numbers)]))

    def _said_about(self, numbers: Sequence[int], meter: Meter | None) -> Sequence[Prediction]:
        if self._known is not None:
            return [self._known[number] for number in numbers]
        if not numbers:
            return ()
        with self._working(meter, self._light) as held:
            return held.explainer.predict_many(self.project.rows.iloc[list(numbers)])

    def _row_reply(self, number: int, said: Prediction) -> RowReply:
        cells = {str(name): cell for name, cell in self.project.table.iloc[number].items()}
        return RowReply(
            row=number,
            values={name: said.values.get(name, plain_cell(cell)) for name, cell in cells.items()},
            prediction=plain_or_text(said.prediction),
            prediction_name=plain_or_text(self.names.of(said.prediction)),
            score=said.score,
            reached=said.reached,
        )


class _Pool:
    """Explainers that are lent to one request at a time; None stands for one that is made when needed."""

    def __init__(self, project: OpenedProject, held: Sequence["_Held | None"]) -> None:
        self._project = project
        # What was used last is lent first, so that no more are made than are needed at once.
        self._free: queue.LifoQueue[_Held | None] = queue.LifoQueue()
        for one in held:
            self._free.put(one)

    @contextmanager
    def lent(self, meter: Meter) -> Iterator["_Held"]:
        """Lend an explainer, as soon as one is free; a request that is cancelled waits no longer."""
        held = self._taken(meter)
        try:
            # One that cannot be made, since the model fails, leaves its place to the next request.
            held = held or _Held(self._project)
            yield held
        finally:
            self._free.put(held)

    def _taken(self, meter: Meter) -> "_Held | None":
        while True:
            try:
                return self._free.get(timeout=_LOOK)
            except queue.Empty:
                meter(0)


class _Held:
    """An explainer, and the stored boundary points that it starts from."""

    def __init__(self, project: OpenedProject) -> None:
        self.explainer = project.explainer()
        self.boundary: BoundarySet | None = project.boundary(self.explainer)

"""What can be asked of the service and what comes back: the form of every request, whatever way it comes in.

Options and results keep the JSON that they have in Python; `ssba.results.schemas` owns their schema.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from ssba.apps.words import HTTP, PYTHON
from ssba.errors import ArgumentError
from ssba.json_form import build, hints_of, to_plain
from ssba.options import Budget, Options, options_from
from ssba.results.schemas import options_schema

Cell = str | int | float | bool | None
Label = str | int | float | bool

MOST_ROWS = 200
"""Rows on one page."""
MOST_CONSTRAINTS = 200
"""Constraints of one request, beside those of the project."""
LONGEST_CONSTRAINT = 2_000
"""Characters of one of them."""
MOST_CELLS = 10_000
"""Columns for which a request gives something."""
MOST_COHORT_ROWS = 1_000_000
"""Rows that a cohort names one by one."""


def _no_truth_value(given: Any) -> Any:
    if isinstance(given, bool):
        raise PydanticCustomError("int_type", "Input should be a whole number")
    return given


Whole = Annotated[int, BeforeValidator(_no_truth_value)]
"""A whole number; pydantic takes true for 1."""

Cells = Annotated[dict[str, Cell], Field(max_length=MOST_CELLS)]
Factors = Annotated[dict[str, float], Field(max_length=MOST_CELLS)]
Constraints = Annotated[
    tuple[Annotated[str, Field(max_length=LONGEST_CONSTRAINT)], ...], Field(max_length=MOST_CONSTRAINTS)
]
CohortRows = Annotated[tuple[Annotated[Whole, Field(ge=0)], ...], Field(max_length=MOST_COHORT_ROWS)]


def read_options(given: Any) -> Options:
    """Read options of which any may be left out."""
    if isinstance(given, Options):
        return given
    named = {
        name: value for name, value in _mapping("options", given).items() if name not in ("schema", "kind")
    }
    if "target" in named:
        raise ArgumentError("'target' is not an option; it stands beside options")
    with _in_words_of_json():
        if isinstance(named.get("margin"), Mapping):
            named["margin"] = _read_margin(named["margin"])
        return options_from(None, named)


def _read_margin(given: Mapping[str, Any]) -> Any:
    try:
        return build(hints_of(Options)["margin"], given)
    except (KeyError, TypeError, ArgumentError):
        raise ArgumentError(f"margin is {json.dumps(given):.80}; give {PYTHON.margins}") from None


def read_budget(given: Any) -> Budget | None:
    """Read a budget of which either part may be left out; None: the project's."""
    if given is None or isinstance(given, Budget):
        return given
    named = _mapping("budget", given)
    if strangers := [name for name in named if name not in ("rows", "seconds")]:
        raise ArgumentError(f"{strangers[0]!r:.40} is not part of a budget; give rows or seconds")
    with _in_words_of_json():
        return Budget(**named)


@contextmanager
def _in_words_of_json() -> Iterator[None]:
    """Word what the library refuses as requests have it."""
    try:
        yield
    except ArgumentError as error:
        raise ArgumentError(HTTP.instead_of(PYTHON, str(error))) from None


def _mapping(what: str, given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise ArgumentError(f"{what} is {given!r:.80}; give an object, such as {{}}")
    return given


OptionsField = Annotated[
    Options,
    BeforeValidator(read_options),
    PlainSerializer(to_plain),
    WithJsonSchema(options_schema()),
]
BudgetField = Annotated[
    Budget | None,
    BeforeValidator(read_budget),
    PlainSerializer(to_plain),
    WithJsonSchema(
        {
            "type": ["object", "null"],
            "properties": {
                "rows": {"type": "integer", "minimum": 1},
                "seconds": {"type": ["number", "null"], "exclusiveMinimum": 0},
            },
            "additionalProperties": False,
        }
    ),
]


class Request(BaseModel):
    """Every request: what is not known in it is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, arbitrary_types_allowed=True)


class Ruled(Request):
    """What every answer shall meet."""

    constraints: Annotated[
        Constraints, Field(description="Constraints as text, beside those of the project.")
    ] = ()
    project_constraints: Annotated[
        bool, Field(description="Whether the project's own constraints hold, too.")
    ] = True


class Searched(Ruled):
    """What is asked of the answers, and what finding them may cost."""

    options: Annotated[OptionsField, Field(description="What to ask of the answers.")] = Options()
    budget: Annotated[
        BudgetField,
        Field(description="Model rows a query and seconds to spend at most; the project's by default."),
    ] = None


class Query(Request):
    """Which row is meant: one of the data, by its number or by some of its values, or a row of one's own."""

    row: Annotated[Whole | None, Field(ge=0, description="A row of the data, counted from 0.")] = None
    where: Annotated[
        Cells | None,
        Field(description='Values that one row of the data has and no other: {"id": "p17"}.'),
    ] = None
    values: Annotated[
        Cells | None,
        Field(description="A row of one's own: a value for every column of the model, null where missing."),
    ] = None
    set: Annotated[Cells, Field(description='Values that the row shall have instead: {"chol": 233}.')] = {}

    ways: ClassVar[tuple[str, ...]] = ("row", "where", "values")
    """The fields that say which row is meant, of which one is given."""

    @model_validator(mode="after")
    def _one_row(self) -> Self:
        given = [name for name in self.ways if getattr(self, name) is not None]
        if len(given) != 1:
            what = f"{' and '.join(given)} are given" if given else "none of them is given"
            raise ArgumentError(f"say which row is meant by exactly one of {', '.join(self.ways)}; {what}")
        return self


class Aimed(Query):
    """A row and a desired outcome."""

    target: Annotated[
        Label | None,
        Field(
            description="Another desired outcome than the project's: a class, 'probability:LABEL>=0.7', "
            "'value:LOW..HIGH', 'change:>=10', or 'other' for any class but the predicted one."
        ),
    ] = None


class PredictRequest(Aimed):
    """Asks what the model says about a row."""


class CheckRequest(Ruled, Query):
    """Asks what constraints mean for a row."""


class ExplainRequest(Searched, Aimed):
    """Asks for the smallest feasible change that gives the desired outcome."""


class AdviceRequest(ExplainRequest):
    """A further question about an answer: one that came before, or one to be found first."""

    explanation: Annotated[
        dict[str, Any] | None,
        Field(description="The explanation of an earlier reply, instead of a row; it says what was asked."),
    ] = None

    ways: ClassVar[tuple[str, ...]] = ("row", "where", "values", "explanation")


class PlanRequest(AdviceRequest):
    """Asks for the steps to an answer."""

    answer: Annotated[Whole, Field(ge=0, description="Which of the answers, counted from 0.")] = 0
    effort: Annotated[
        Factors | None, Field(description="Columns that are harder (2.0) or easier to change.")
    ] = None
    max_step: Annotated[
        Factors | None, Field(description='How much a column may change in one step: {"chol": 20}.')
    ] = None


class WhyNotRequest(AdviceRequest):
    """Asks, where there is no answer, which constraints are in the way, and what would be enough."""


class RangesRequest(AdviceRequest):
    """Asks for intervals around an answer that still reach the target."""

    answer: Annotated[Whole, Field(ge=0, description="Which of the answers, counted from 0.")] = 0
    n_samples: Annotated[
        Whole, Field(ge=1, le=100_000, description="How many rows drawn from the intervals to ask about.")
    ] = 1000


class CertificateRequest(AdviceRequest):
    """Asks for a document that the answer can be checked by later."""


class ReportRequest(AdviceRequest):
    """Asks for a page of HTML."""


class LeversRequest(AdviceRequest):
    """Asks which columns can flip the decision, alone or together."""

    max_columns: Annotated[Whole, Field(ge=1, le=3, description="How many columns may change together.")] = 3


class TryRequest(AdviceRequest):
    """Asks what the model says if some values are changed, and what is missing then."""

    try_values: Annotated[Cells, Field(description='The values to try: {"chol": 220}.', min_length=1)]


class Filtered(Request):
    """Which rows of the data are meant."""

    search: Annotated[
        str, Field(max_length=200, description="Words, each in some cell of a row, in any case.")
    ] = ""
    where: Annotated[Cells, Field(description='Values that the rows have: {"sex": "male"}.')] = {}


class RowsRequest(Filtered):
    """Asks for rows of the data."""

    reached: Annotated[
        bool | None,
        Field(description="true: rows at the target already; false: rows that need a change; null: all."),
    ] = None
    sort: Annotated[
        Literal["row", "score", "-score"],
        Field(description="By number, or by the score of the target: lowest first, or highest (-score)."),
    ] = "row"
    offset: Annotated[Whole, Field(ge=0, description="How many matching rows to leave out first.")] = 0
    limit: Annotated[Whole, Field(ge=1, le=MOST_ROWS, description="How many rows to return at most.")] = 20


class CohortRequest(Searched, Filtered):
    """Asks what it would take for many rows."""

    rows: Annotated[
        CohortRows | None,
        Field(
            description="Rows of the data, counted from 0; null: all that do not reach the target, of those "
            "that `search` and `where` leave."
        ),
    ] = None
    by: Annotated[str | None, Field(description="A column of the data to compare groups by.")] = None


Json = dict[str, Any]

RESULT = "x-ssba-result"
"""Marks, in the schema of a reply, where the JSON of a result stands."""


def result(name: str) -> WithJsonSchema:
    """Say that a field of a reply holds the JSON of a result, whose schema `ssba.results.schemas` has."""
    return WithJsonSchema({"type": "object", "title": name, RESULT: name})


class Reply(BaseModel):
    """Every reply."""

    model_config = ConfigDict(frozen=True)


class Told(Reply):
    """A result, what it says to a person, and the project's caution."""

    sentence: Annotated[str, Field(description="The result in plain words, with the names of classes.")]
    caution: Annotated[str, Field(description="What to say along with it.")]


class ExplainReply(Told):
    """The smallest feasible change."""

    explanation: Annotated[Json, result("Explanation"), Field(description="The result as in Python.")]
    evidence: Annotated[str, Field(description="What speaks for there being no nearer answer, in words.")]


class PlanReply(ExplainReply):
    """The steps to an answer, or to the bounded move."""

    plan: Annotated[Json, result("Plan"), Field(description="The steps, as in Python.")]


class WhyNotReply(ExplainReply):
    """What is in the way, and what to relax."""

    why_not: Annotated[Json, result("WhyNot"), Field(description="The reasons, as in Python.")]


class RangesReply(Told):
    """Intervals around an answer."""

    ranges: Annotated[Json, result("Ranges"), Field(description="The intervals, as in Python.")]


class CertificateReply(Reply):
    """A document that an answer can be checked by."""

    certificate: Annotated[Json, result("Certificate"), Field(description="The document, as in Python.")]


class LeversReply(ExplainReply):
    """Which columns can flip the decision."""

    levers: Annotated[Json, result("LeverTable"), Field(description="The table, as in Python.")]


class TryReply(Told):
    """What the model says about edited values."""

    trial: Annotated[Json, result("Trial"), Field(description="The trial, as in Python.")]


class PredictReply(Told):
    """What the model says about a row."""

    prediction: Annotated[Json, result("Prediction"), Field(description="The result as in Python.")]


class CheckReply(Reply):
    """What constraints mean for a row."""

    sentence: str
    check: Annotated[Json, result("ConstraintCheck"), Field(description="The result as in Python.")]


class CohortReply(Told):
    """What many answers say together."""

    cohort: Annotated[Json, result("Cohort"), Field(description="The summary, as in Python.")]
    rows: Annotated[tuple[int, ...], Field(description="Which row of the data each member is.")]
    ids: Annotated[
        tuple[str, ...] | None, Field(description="What these rows are named; null without a column for it.")
    ]


class RowReply(Reply):
    """One row of the data."""

    row: Annotated[int, Field(description="Its number, counted from 0.")]
    values: Annotated[dict[str, Cell], Field(description="Its values, also in columns beside the model's.")]
    prediction: Cell
    prediction_name: Annotated[Cell, Field(description="The prediction as people call it.")]
    score: float | None
    reached: Annotated[bool, Field(description="Whether the model gives the desired outcome already.")]


class RowsReply(Reply):
    """A page of rows."""

    total: Annotated[int, Field(description="How many rows match.")]
    offset: int
    rows: tuple[RowReply, ...]


class DescribeReply(Reply):
    """What the service is about."""

    title: str
    sentence: str
    model: str
    target: Annotated[str, Field(description="The desired outcome, in words.")]
    classes: Annotated[tuple[Cell, ...] | None, Field(description="The model's classes; null for numbers.")]
    class_names: Annotated[dict[str, str], Field(description="Their names for people.")]
    rows: Annotated[int, Field(description="How many rows the data has.")]
    id: Annotated[str | None, Field(description="The column that names the rows.")]
    columns: Annotated[Json, result("ColumnTable"), Field(description="The columns of the model.")]
    meanings: Annotated[dict[str, str], Field(description="What columns mean, for people.")]
    constraints: Annotated[tuple[str, ...], Field(description="Constraints that hold by default.")]
    caution: str
    version: str

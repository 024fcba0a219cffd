"""What a project file (`ssba.toml`) may say."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict

from ssba.columns.distance import Norm, ScaleName

CAUTION = "This explains the model: it does not say what causes what."

Label = str | int | float | bool

Whole = Annotated[int, Strict()]
Number = Annotated[float, Strict()]
"""Numbers that are written as numbers: "3" is a text. A whole number is a number, too."""

Factor = Annotated[Number, Field(gt=0)]

KINDS = Literal["numeric", "integer", "ordinal", "categorical", "boolean"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class FeatureSettings(_Strict):
    """What is said about one column."""

    kind: Annotated[
        KINDS | None, Field(description="What the column holds; from its dtype and values if left out.")
    ] = None
    levels: Annotated[
        tuple[Label, ...] | None, Field(description="The levels, from low to high for an ordinal column.")
    ] = None
    low: Annotated[Number | None, Field(description="No answer goes below this.")] = None
    high: Annotated[Number | None, Field(description="No answer goes above this.")] = None
    step: Annotated[Number | None, Field(gt=0, description="The step between legal values.")] = None
    unit: Annotated[str | None, Field(description="The unit, for people.")] = None
    meaning: Annotated[str | None, Field(description="What the column means, for people.")] = None


class BudgetSettings(_Strict):
    """What one query may spend."""

    rows: Annotated[Whole, Field(ge=1, description="Model rows for the search of each query.")] = 15_000
    seconds: Annotated[Number | None, Field(gt=0, description="Seconds for the whole call.")] = 30.0


class ProjectSettings(_Strict):
    """A project file; paths are relative to it."""

    title: Annotated[str, Field(description="A heading for people.")] = ""
    model: Annotated[str, Field(min_length=1, description="File of the trained model.")]
    data: Annotated[str, Field(min_length=1, description="File of the background rows.")]
    target: Annotated[
        Label | None,
        Field(
            description="The desired outcome: a class (or its name in `classes`), "
            "'probability:LABEL>=0.7', 'value:LOW..HIGH' or 'change:>=10'; "
            "left out: any class but the predicted one."
        ),
    ] = None
    labels: Annotated[
        str | None, Field(description="Column of true labels in the data, which the model does not take.")
    ] = None
    id: Annotated[
        str | None, Field(description="Column that names the rows, which the model does not take.")
    ] = None
    ignore: Annotated[
        tuple[str, ...], Field(description="Further columns of the data that the model does not take.")
    ] = ()
    constraints: Annotated[
        tuple[str, ...], Field(description="Constraints that every answer meets, as text.")
    ] = ()
    classes: Annotated[
        dict[str, str], Field(description='Names for people of the model\'s classes: {"1" = "disease"}.')
    ] = {}
    features: Annotated[dict[str, FeatureSettings], Field(description="What columns are, by name.")] = {}
    index: Annotated[
        str | None, Field(description="Folder of boundary points (`ssba boundary build`) to start from.")
    ] = None
    caution: Annotated[str, Field(description="What every answer to a person is accompanied by.")] = CAUTION
    distance: Annotated[Norm, Field(description="How changes add up.")] = "l2"
    scale: Annotated[
        ScaleName | dict[str, Factor] | None,
        Field(description="What a number's change is divided by; left out: std, and range for gower."),
    ] = None
    weights: Annotated[
        dict[str, Factor], Field(description="Columns that are harder (above 1) or easier to change.")
    ] = {}
    background_rows: Annotated[
        Whole, Field(ge=1, description="How many rows of the data queries may ask the model about.")
    ] = 2000
    seed: Annotated[Whole, Field(ge=0, description="Same input and seed, same answer.")] = 0
    budget: Annotated[BudgetSettings, Field(description="What one query may spend.")] = BudgetSettings()
    module: Annotated[
        str | None, Field(description="For torch: where the module's class is, 'package.module:Class'.")
    ] = None
    trust_types: Annotated[
        tuple[str, ...], Field(description="Further types that a .skops file may hold.")
    ] = ()

    @property
    def unused(self) -> tuple[str, ...]:
        """Columns of the data that the model does not take."""
        named = (self.id, self.labels, *self.ignore)
        return tuple(dict.fromkeys(one for one in named if one is not None))

    @property
    def meanings(self) -> dict[str, str]:
        """What columns mean, for those of which it is said."""
        return {name: one.meaning for name, one in self.features.items() if one.meaning}


def as_label(value: Any) -> str:
    """Return a class as a project file names it.

    >>> as_label(1), as_label("ill"), as_label(True)
    ('1', 'ill', 'true')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)

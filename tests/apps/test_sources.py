"""The options about model and data: how they are read, and the explainer that comes of them."""

from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer
from sklearn.linear_model import LinearRegression, LogisticRegression
from skops import io as skops_io
from typer.testing import CliRunner

import ssba
from ssba.apps.sources import (
    Sources,
    declared_kinds,
    open_sources,
    target_readings,
    with_sources,
    without_columns,
)
from ssba.errors import ArgumentError, SchemaError, TargetError
from ssba.models.targets import Probability, ValueBetween

ROWS = pd.DataFrame(
    {
        "x": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
        "rank": [1, 2, 3, 1, 2, 3, 1, 2],
        "flag": [True, False, True, False, True, False, True, False],
        "pain": ["none", "some", "much", "none", "some", "much", "none", "some"],
    }
)


def written(folder: Path, classes: Any) -> Sources:
    """Files of a model that turns from the first of two classes to the second between x = 3 and x = 4."""
    labels = np.repeat(np.array(classes), 4)
    ROWS.assign(label=labels, id=range(8)).to_csv(folder / "rows.csv", index=False)
    skops_io.dump(LogisticRegression(C=100).fit(ROWS[["x"]], labels), folder / "model.skops")
    return Sources(folder / "rows.csv", folder / "model.skops", ignore=["rank", "flag", "pain", "id"])


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        (None, [None]),
        ("no disease", ["no disease"]),
        ("1", [1, "1"]),
        ("-1", [-1, "-1"]),
        ("0.5", [0.5, "0.5"]),
        ("True", [True, "True"]),
        ("label:1", [1, "1"]),
        ("label:value:3..4", ["value:3..4"]),
        ("a:b", ["a:b"]),
        ("probability:ill>=0.7", [Probability("ill", 0.7)]),
        ("probability:1>=.25", [Probability(1, 0.25), Probability("1", 0.25)]),
        ("probability:a>=b>=0.5", [Probability("a>=b", 0.5)]),
        ("value:120..140", [ValueBetween(120, 140)]),
        ("value:-1.5..-1e-3", [ValueBetween(-1.5, -0.001)]),
        ("value:..120", [ValueBetween(-inf, 120)]),
        ("value:120..", [ValueBetween(120, inf)]),
    ],
)
def test_target_is_read_in_every_way_that_it_may_be_meant(text: str | None, readings: list[Any]) -> None:
    got = target_readings(text)
    assert got == readings
    assert list(map(type, got)) == list(map(type, readings))


@pytest.mark.parametrize(
    "text", ["probability:ill", "probability:ill>=much", "value:120", "value:a..b", "value:1..2..3"]
)
def test_target_that_cannot_be_read_names_the_forms(text: str) -> None:
    with pytest.raises(ArgumentError, match=r"not understood; give LABEL, probability:LABEL>=0\.7 or value:"):
        target_readings(text)


@pytest.mark.parametrize(
    ("text", "told"), [("probability:ill>=7", "from 0 to 1"), ("value:3..1", "low is above high")]
)
def test_target_that_cannot_be_reached_is_refused_as_the_library_does(text: str, told: str) -> None:
    with pytest.raises(TargetError, match=told):
        target_readings(text)


@pytest.mark.parametrize(
    ("text", "declaration"),
    [
        ("x=integer", ssba.integer()),
        ("x=integer:low=0,unit=years", ssba.integer(low=0, unit="years")),
        ("x=numeric:step=0.1,high=9", ssba.numeric(step=0.1, high=9)),
        ("rank=categorical", ssba.categorical()),
        ("rank=ordinal:1,2,3,4", ssba.ordinal([1, 2, 3, 4])),
        ("pain=ordinal:none, some, much", ssba.ordinal(["none", "some", "much"])),
        ("pain=categorical:much,none,some,1", ssba.categorical(["much", "none", "some", "1"])),
        ("flag=boolean", ssba.boolean()),
        ("flag=ordinal:False,True", ssba.ordinal([False, True])),
    ],
)
def test_kind_is_declared_as_by_the_library(text: str, declaration: Any) -> None:
    (got,) = declared_kinds([text], ROWS).values()
    assert got == declaration
    assert list(map(type, got.levels)) == list(map(type, declaration.levels))


def test_column_names_may_hold_signs_of_the_grammar() -> None:
    rows = ROWS.rename(columns={"x": "a=b:c"})
    assert list(declared_kinds(["a=b:c=integer"], rows)) == ["a=b:c"]


@pytest.mark.parametrize(
    ("text", "error", "told"),
    [
        ("x", ArgumentError, "not understood; give NAME=integer"),
        ("x=colour", ArgumentError, "not understood; give NAME=integer"),
        ("pan=categorical", SchemaError, r"--feature: unknown column 'pan' \(did you mean 'pain'\?\)"),
        ("x=numeric:size=3", ArgumentError, "'size=3' is none of step=, low=, high=, unit="),
        ("x=integer:step=2", ArgumentError, "'step=2' is none of low=, high=, unit="),
        ("x=numeric:low=few", ArgumentError, "low=few is not a number"),
        ("x=integer:low=5,high=1", ArgumentError, "low must not be above high"),
        ("pain=ordinal", ArgumentError, "at least 2 levels"),
        ("pain=ordinal:a,a", ArgumentError, "each once"),
        ("flag=boolean:yes", ArgumentError, "boolean takes nothing behind it"),
    ],
)
def test_wrong_declaration_says_what_is_allowed(text: str, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        declared_kinds([text], ROWS)


def test_unknown_and_all_columns_cannot_be_left_out() -> None:
    with pytest.raises(SchemaError, match=r"--ignore: unknown column 'pian' \(did you mean 'pain'\?\)"):
        without_columns(ROWS, ["pian"])
    with pytest.raises(SchemaError, match="leave no column"):
        without_columns(ROWS, list(ROWS.columns))


def test_labels_are_taken_out_of_the_rows_and_handed_on(tmp_path: Path) -> None:
    sources = replace(written(tmp_path, ["low", "high"]), labels="label", target="high")
    opened = open_sources(sources)
    assert list(opened.labels) == ["low"] * 4 + ["high"] * 4
    assert repr(opened.explainer) == (
        "<Explainer of LogisticRegression toward 'high', 1 columns, 8 background rows>"
    )


def test_unknown_column_of_labels_is_told(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"^--labels: unknown column 'lable' \(did you mean 'label'\?\)"):
        open_sources(replace(written(tmp_path, ["low", "high"]), labels="lable"))


@pytest.mark.parametrize(
    ("classes", "target"),
    [([0, 1], "1"), (["0", "1"], "1"), ([1.0, 2.0], "2"), ([False, True], "True"), (["a", "b"], "b")],
    ids=["whole numbers", "text of digits", "numbers", "truths", "text"],
)
def test_target_becomes_a_class_of_the_model_whatever_its_type(
    tmp_path: Path, classes: list[Any], target: str
) -> None:
    sources = replace(written(tmp_path, classes), labels="label", target=target)
    best = open_sources(sources).explainer.explain({"x": 0.0}).best
    assert best is not None
    assert best.prediction == classes[1]


def test_unknown_class_names_the_classes_and_the_forms(tmp_path: Path) -> None:
    sources = replace(written(tmp_path, [0, 1]), labels="label", target="2")
    with pytest.raises(TargetError, match=r"target 2 is not a class .* classes: 0, 1; on the command line: "):
        open_sources(sources)


def test_numbers_are_a_target_of_a_regressor(tmp_path: Path) -> None:
    ROWS[["x"]].to_csv(tmp_path / "rows.csv", index=False)
    skops_io.dump(LinearRegression().fit(ROWS[["x"]], 10 * ROWS["x"]), tmp_path / "model.skops")
    sources = Sources(tmp_path / "rows.csv", tmp_path / "model.skops", target="value:50..60")
    best = open_sources(sources).explainer.explain({"x": 0.0}).best
    assert best is not None
    # The model is y = 10 x, so that x = 5 is the nearest to reach 50.
    assert best.values["x"] == pytest.approx(5.0, rel=1e-3)
    with pytest.raises(TargetError, match=r"gives numbers .* on the command line: .* value:LOW\.\.HIGH$"):
        open_sources(replace(sources, target="50"))


def test_declared_kinds_reach_the_explainer(tmp_path: Path) -> None:
    sources = replace(written(tmp_path, [0, 1]), labels="label", target="1", feature=["x=numeric:step=1"])
    best = open_sources(sources).explainer.explain({"x": 0.0}).best
    assert best is not None
    assert best.values["x"] == 4.0


def test_command_with_sources_has_its_own_options_and_one_for_each_field() -> None:
    told: list[Any] = []

    @with_sources
    def command(sources: Sources, index: Path, own: int = 3) -> None:
        """Do something."""
        told.extend([sources, index, own])

    app = typer.Typer()
    app.command()(command)
    arguments = [
        "here",
        "--data",
        "a.csv",
        "--model",
        "m.onnx",
        "--ignore",
        "b",
        "--ignore",
        "c",
        "--own",
        "4",
    ]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert told == [Sources(Path("a.csv"), Path("m.onnx"), ignore=["b", "c"]), Path("here"), 4]
    assert CliRunner().invoke(app, ["here", "--data", "a.csv"]).exit_code == 2

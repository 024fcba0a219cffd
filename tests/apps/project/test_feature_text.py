"""What is said about a column on the command line."""

import pandas as pd
import pytest

from ssba.apps.project.feature_text import read_features
from ssba.apps.project.settings import FeatureSettings
from ssba.errors import ArgumentError, SchemaError

ROWS = pd.DataFrame(
    {
        "x": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
        "rank": [1, 2, 3, 1, 2, 3, 1, 2],
        "flag": [True, False, True, False, True, False, True, False],
        "pain": ["none", "some", "much", "none", "some", "much", "none", "some"],
    }
)


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("x=integer", FeatureSettings(kind="integer")),
        ("x=integer:low=0,unit=years", FeatureSettings(kind="integer", low=0, unit="years")),
        ("x=numeric:step=0.1,high=9", FeatureSettings(kind="numeric", step=0.1, high=9)),
        ("rank=categorical", FeatureSettings(kind="categorical")),
        ("rank=ordinal:1,2,3,4", FeatureSettings(kind="ordinal", levels=(1, 2, 3, 4))),
        ("pain=ordinal:none, some, much", FeatureSettings(kind="ordinal", levels=("none", "some", "much"))),
        (
            "pain=categorical:much,none,some,1",
            FeatureSettings(kind="categorical", levels=("much", "none", "some", "1")),
        ),
        ("flag=boolean", FeatureSettings(kind="boolean")),
        ("flag=ordinal:False,True", FeatureSettings(kind="ordinal", levels=(False, True))),
    ],
)
def test_what_is_said_about_a_column_is_read(text: str, settings: FeatureSettings) -> None:
    (got,) = read_features([text], ROWS).values()
    assert got == settings
    assert list(map(type, got.levels or ())) == list(map(type, settings.levels or ()))


def test_column_names_may_hold_signs_of_the_grammar() -> None:
    rows = ROWS.rename(columns={"x": "a=b:c"})
    assert list(read_features(["a=b:c=integer"], rows)) == ["a=b:c"]


@pytest.mark.parametrize(
    ("text", "error", "told"),
    [
        ("x", ArgumentError, "not understood; give NAME=integer"),
        ("x=colour", ArgumentError, "not understood; give NAME=integer"),
        ("pan=categorical", SchemaError, r"--feature: unknown column 'pan' \(did you mean 'pain'\?\)"),
        ("x=numeric:size=3", ArgumentError, "'size=3' is none of step=, low=, high=, unit="),
        ("x=integer:step=2", ArgumentError, "'step=2' is none of low=, high=, unit="),
        ("x=numeric:low=few", ArgumentError, "low=few is not a number"),
        ("x=numeric:step=0", ArgumentError, "step=0 is not above 0"),
        ("x=numeric:low=nan", ArgumentError, "low=nan is not a number"),
        ("flag=boolean:yes", ArgumentError, "boolean takes nothing behind it"),
    ],
)
def test_wrong_declaration_says_what_is_allowed(text: str, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        read_features([text], ROWS)

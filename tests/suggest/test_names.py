"""What names tell a person, by whole words."""

import pytest

from ssba.suggest.names import is_code, is_named_above, meaning_of, unit_of, words_of


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("age", "grows"),
        ("AgeYears", "grows"),
        ("patient age", "grows"),
        ("age_at_diagnosis", "fixed"),
        ("education", "grows"),
        ("SEX", "fixed"),
        ("gender_identity", "fixed"),
        ("native-country", "fixed"),
        ("birthPlace", "fixed"),
        ("blood_type", "fixed"),
        ("family history of diabetes", "fixed"),
        ("Height (cm)", "stature"),
        ("prior_arrests", "past"),
        ("customerID", "identifier"),
        ("mortgage", None),
        ("wage", None),
        ("average", None),
        ("essex", None),
        ("trace", None),
        ("idle", None),
        ("", None),
    ],
)
def test_meaning(name: str, rule: str | None) -> None:
    found = meaning_of(name)
    assert (found and found.rule) == rule


def test_words_of_many_alphabets() -> None:
    assert words_of("Höhe_inCM2") == ("höhe", "in", "cm", "2")


def test_codes_and_units() -> None:
    assert is_code("regionCode")
    assert not is_code("decode")
    assert unit_of("dose mg") == "mg"
    assert unit_of("temp_min") is None


@pytest.mark.parametrize(
    ("above", "below"),
    [("ap_hi", "ap_lo"), ("SBP", "DBP"), ("systolic bp", "diastolic bp"), ("maxTemp", "minTemp")],
)
def test_pairs_are_known_one_way_only(above: str, below: str) -> None:
    assert is_named_above(above, below)
    assert not is_named_above(below, above)


@pytest.mark.parametrize(
    ("one", "other"),
    [("max_temp", "min_rain"), ("max", "min_temp"), ("max_hi", "min_lo"), ("a", "b"), ("a", "a")],
)
def test_other_pairs_are_not(one: str, other: str) -> None:
    assert not is_named_above(one, other)

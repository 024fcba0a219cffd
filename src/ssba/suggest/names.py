"""What a column's name tells a person: who cannot change it, or in which direction it goes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Rule = Literal["fixed", "grows", "stature", "identifier", "past"]


@dataclass(frozen=True)
class Meaning:
    """What a name says: how its column may change, and why, in words that follow the name."""

    rule: Rule
    why: str


_PERSONAL = "is a fact about a person that no one can act on"
_BIRTH = "was settled at birth"

# The first of these word sequences that stands in a name decides, so that narrower ones come first.
_MEANINGS: tuple[tuple[tuple[str, ...], Meaning], ...] = tuple(
    (tuple(words.split()), meaning)
    for meaning, phrases in (
        (Meaning("fixed", "lies in the past"), ("age at", "age of onset", "onset age")),
        (Meaning("grows", "only grows with time"), ("age", "ages", "agegroup", "tenure", "seniority")),
        (Meaning("grows", "is not unlearned"), ("experience", "education", "degree", "schooling")),
        (Meaning("grows", "counts what has happened"), ("pregnancies", "pregnancy count", "parity")),
        (Meaning("fixed", _PERSONAL), ("sex", "gender", "race", "ethnicity", "ethnic", "ancestry", "caste")),
        (Meaning("fixed", _PERSONAL), ("nationality", "native country", "skin color", "skin colour")),
        (Meaning("fixed", _BIRTH), ("birth", "birthday", "birthdate", "birthplace", "born", "dob")),
        (Meaning("fixed", _BIRTH), ("blood type", "blood group", "genotype", "haplotype", "allele")),
        (Meaning("fixed", _BIRTH), ("family history", "famhist", "pedigree", "heredity")),
        (Meaning("stature", "does not change in adults"), ("height", "stature")),
        (Meaning("past", "lies in the past"), ("prior", "priors", "previous", "past", "history")),
        (Meaning("identifier", "names a row"), ("id", "ids", "uuid", "guid", "ssn", "mrn", "index", "key")),
        (Meaning("identifier", "names a row"), ("account number", "record number", "patient number")),
    )
    for words in phrases
)

_CODES = frozenset(
    ("category", "class", "cluster", "code", "codes", "group", "kind", "postcode", "region", "sector")
).union(("segment", "status", "type", "types", "zip"))

# Of two columns whose names differ in one of these pairs only, the first is the greater one.
_GREATER_FIRST = (
    ("systolic", "diastolic"),
    ("sbp", "dbp"),
    ("max", "min"),
    ("maximum", "minimum"),
    ("high", "low"),
    ("hi", "lo"),
    ("upper", "lower"),
    ("end", "start"),
    ("last", "first"),
    ("gross", "net"),
)

_UNITS = frozenset(
    ("bpm", "cm", "days", "hours", "kg", "km", "mg", "mm", "mmhg", "mmol", "months", "usd", "weeks", "years")
)
_WORD = re.compile(r"[^\W\d_]+|\d+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def words_of(name: str) -> tuple[str, ...]:
    """Take a name apart into lower-case words.

    >>> words_of("patientAge_yrs"), words_of("mortgage"), words_of("BMI at Birth")
    (('patient', 'age', 'yrs'), ('mortgage',), ('bmi', 'at', 'birth'))
    """
    return tuple(word.casefold() for word in _WORD.findall(_HUMP.sub(" ", name)))


def meaning_of(name: str) -> Meaning | None:
    """Return what a name tells, if anything; whole words only.

    >>> meaning_of("Sex").rule, meaning_of("age_at_diagnosis").rule, meaning_of("wage")
    ('fixed', 'fixed', None)
    """
    words = words_of(name)
    return next((meaning for wanted, meaning in _MEANINGS if _stands_in(wanted, words)), None)


def is_code(name: str) -> bool:
    """Whether a name says that its numbers are codes without an order.

    >>> is_code("zip_code"), is_code("chol")
    (True, False)
    """
    return not _CODES.isdisjoint(words_of(name))


def unit_of(name: str) -> str | None:
    """Return the unit that a name of several words ends with.

    >>> unit_of("weight_kg"), unit_of("kg")
    ('kg', None)
    """
    *before, last = words_of(name) or ("",)
    return last if before and last in _UNITS else None


def is_named_above(one: str, other: str) -> bool:
    """Whether two names say that the first column is the greater one.

    >>> is_named_above("systolic_bp", "diastolic_bp"), is_named_above("temp_min", "temp_max")
    (True, False)
    """
    ours, theirs = words_of(one), words_of(other)
    if len(ours) != len(theirs):
        return False
    differing = [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]]
    return len(differing) == 1 and differing[0] in _GREATER_FIRST


def _stands_in(wanted: Sequence[str], words: Sequence[str]) -> bool:
    width = len(wanted)
    return any(tuple(words[i : i + width]) == tuple(wanted) for i in range(len(words) - width + 1))

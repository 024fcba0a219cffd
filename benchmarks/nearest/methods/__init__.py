"""The methods that are compared, each behind the same small interface.

A method is prepared once for a case, and then gives, query by query, the rows it offers: a matrix in the
case's matrix form, nearest or best first, with no rows where it has no answer. Nothing is repaired
afterwards: whatever comes back is checked as it is.
"""

import importlib
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from benchmarks.nearest.cases import Case
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

OFFERS = 4
"""How many rows a method that offers several is asked for."""


class Answering(Protocol):
    """Offers rows for each of the given queries, in their order."""

    def __call__(self, which: Sequence[int]) -> Iterator[Matrix]: ...


class NotApplicableError(Exception):
    """The method cannot be used on such a case at all, by its own documentation."""


Prepare = Callable[[Case], Answering]


@dataclass(frozen=True)
class Entry:
    """Where a method is written, which package it needs, and in which environment that is.

    `at_once` methods answer all queries side by side: their time is that of all divided by their number.
    Slow methods are asked about the first `at_most` queries of a case only.
    """

    module: str
    function: str
    package: str
    environment: str | None = None
    at_once: bool = False
    at_most: int = 1000


ENTRIES: dict[str, Entry] = {
    "ssba labels": Entry("with_ssba", "labels", "ssba", at_once=True),
    "ssba scores": Entry("with_ssba", "scores", "ssba", at_once=True),
    "ssba itself": Entry("with_ssba", "itself", "ssba", at_once=True),
    "ssba opened": Entry("with_ssba", "opened", "ssba", at_once=True),
    "ssba labels L1": Entry("with_ssba", "labels_l1", "ssba", at_once=True),
    "ssba opened L1": Entry("with_ssba", "opened_l1", "ssba", at_once=True),
    "dice random": Entry("with_dice", "random", "dice_ml", "peers", at_most=10),
    "dice genetic": Entry("with_dice", "genetic", "dice_ml", "peers", at_most=6),
    "dice kdtree": Entry("with_dice", "kdtree", "dice_ml", "peers", at_most=10),
    "hopskipjump 1k": Entry("with_hopskipjump", "about_1k", "art", "peers"),
    "hopskipjump 5k": Entry("with_hopskipjump", "about_5k", "art", "peers", at_most=10),
    "growing spheres": Entry("with_growing_spheres", "spheres", "numpy"),
    "nice": Entry("with_nice", "nearest", "nice", "peers"),
    "treecf": Entry("with_treecf", "heuristic", "treecf", "peers"),
    "treecf exact": Entry("with_treecf", "exact", "treecf", "peers", at_most=10),
    "alibi": Entry("with_alibi", "counterfactual", "alibi", "alibi", at_most=5),
}


def installed(name: str) -> bool:
    """Whether this interpreter has the package of a method."""
    return importlib.util.find_spec(ENTRIES[name].package) is not None


def prepare(name: str, case: Case) -> Answering:
    """Make a method ready for a case."""
    if not name.startswith("ssba") and (case.target is None or case.max_changes is not None):
        raise NotApplicableError("only ssba is asked for any other class, or for few changed columns")
    entry = ENTRIES[name]
    module = importlib.import_module(f"benchmarks.nearest.methods.{entry.module}")
    made: Prepare = getattr(module, entry.function)
    return made(case)


def none(case: Case) -> Matrix:
    """No rows."""
    return np.zeros((0, len(case.columns)))


def legal_kinds(case: Case, Z: Matrix) -> Matrix:
    """For methods that know real numbers only: whole numbers and categories rounded, as in any encoding."""
    return np.asarray(np.where(case.is_whole, np.round(Z), Z))


def labels_of(case: Case) -> Callable[[Matrix], NDArray[np.int64]]:
    """The model for methods that know real numbers only, over rows in matrix form."""
    return lambda Z: case.labels(case.rows(legal_kinds(case, Z)))

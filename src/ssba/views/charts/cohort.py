"""Charts of many results: which columns change, and how far the boundary is."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ssba.arguments import came, instance, listed
from ssba.errors import ArgumentError
from ssba.results import words
from ssba.results.cohort.summary import Cohort
from ssba.results.explanation import Explanation
from ssba.views.picture import Picture
from ssba.views.svg import bars_picture, distances_picture


def frequency_chart(cohort: Cohort, *, meanings: Mapping[str, str] | None = None, title: str = "") -> Picture:
    """Draw in which share of the answers each column changes, and which way.

    Parameters
    ----------
    cohort : Cohort
        What many answers have in common; `Explanations.cohort` makes it.
    meanings : mapping, optional
        Column to what it means, for a person.
    title : str
        Above the picture.
    """
    instance("cohort", cohort, Cohort, "give answers.cohort(), of what explain_many() returned")
    used = [one for one in cohort.columns if one.changed]
    if not used:
        raise ArgumentError("frequency_chart: no query of the cohort has a counterfactual; nothing changes")
    # Answers that change nothing count for no column.
    total = sum(bool(one.changes) for one in cohort.members)
    return bars_picture(used, total, meanings or {}, title)


def distances_by_prediction(explanations: Sequence[Explanation]) -> dict[str, list[float]]:
    """Return the distances of the counterfactuals found, by what the model says about the queries.

    As the nearest counterfactual lies just past the boundary, these are the queries' distances to it.
    """
    found: dict[str, list[float]] = {}
    wanted = "give what explain_many() returned, or a list of results"
    for one in listed("explanations", explanations, wanted):
        if not isinstance(one, Explanation):
            raise ArgumentError(f"explanations is {came(explanations)}; {wanted}")
        if one.best is not None:
            found.setdefault(words.show(one.prediction), []).append(one.best.distance)
    return found


def distance_chart(distances: Mapping[str, Sequence[float]], *, unit: str = "", title: str = "") -> Picture:
    """Draw how far rows of a data set are from the boundary: the share within each distance, by group.

    Parameters
    ----------
    distances : mapping from a group's label to its distances
        For instance from `distances_by_prediction`, or of ``BoundarySet.nearest`` by group.
    unit : str
        What the distance is measured in, behind the word.
    title : str
        Above the picture.

    Examples
    --------
    >>> from ssba.views.charts import distance_chart
    >>> distance_chart({"disease": [0.2, 1.4, 2.0], "no disease": [0.7, 0.9]}).title
    'rows within that distance, disease (3 rows): half within 1.4; no disease (2 rows): half within 0.8'
    """
    if not isinstance(distances, Mapping):
        raise ArgumentError(
            f"distances is {came(distances)}; give a mapping from groups to distances, such as "
            "ssba.charts.distances_by_prediction(answers)"
        )
    groups = {label: _distances(label, given) for label, given in distances.items()}
    groups = {f"{label} ({_rows(len(values))})": values for label, values in groups.items() if values}
    if not groups:
        raise ArgumentError(
            "distance_chart: there is no distance to draw; give a mapping from groups to distances"
        )
    across = f"distance to the boundary{f' ({unit})' if unit else ''}"
    return distances_picture(groups, across, "rows within that distance", title)


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _distances(label: str, given: Any) -> list[float]:
    values = np.asarray(given, dtype=float)
    if values.ndim != 1 or not np.isfinite(values).all() or (values < 0).any():
        raise ArgumentError(
            f"distances[{label!r}] must be finite numbers, 0 or more; leave out what was not found"
        )
    numbers: list[float] = values.tolist()
    return numbers

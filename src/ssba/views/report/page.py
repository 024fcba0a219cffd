"""Reports: self-contained HTML pages about one result or many.

They show what they are given and never ask a model. A page fetches nothing and runs nothing: styles and
pictures are written into it.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from ssba.arguments import file_to_write
from ssba.errors import ArgumentError
from ssba.html import Markup, element
from ssba.results import prose, text
from ssba.results.cohort.summary import Cohort, cohort_of
from ssba.views.charts.tracks import DataContext
from ssba.views.report import advice
from ssba.views.report import cohort as many
from ssba.views.report import query as one
from ssba.views.report.pieces import page, section

if TYPE_CHECKING:
    from ssba.results.explanation import Explanation, Explanations
    from ssba.results.levers import LeverTable
    from ssba.results.plan import Plan
    from ssba.results.ranges import Ranges
    from ssba.results.why_not import WhyNot

_PNG = b"\x89PNG"


@dataclass(frozen=True)
class ReportParts:
    """What a report shows beside the result; sections appear for what is given.

    Attributes
    ----------
    plan, ranges, why_not, levers : optional
        For one query: what `Explanation.plan`, `.ranges`, `.why_not` and `.levers` returned.
    cohort : Cohort, optional
        For many: what `Explanations.cohort` returned; by default it is made without groups.
    data : DataContext
        The data, the allowed ranges and the meanings of the columns.
    pictures : mapping from captions to PNG bytes
        Further pictures; the caption is also what a screen reader says.
    """

    plan: "Plan | None" = None
    ranges: "Ranges | None" = None
    why_not: "WhyNot | None" = None
    levers: "LeverTable | None" = None
    cohort: Cohort | None = None
    data: DataContext = field(default_factory=DataContext)
    pictures: Mapping[str, bytes] = field(default_factory=dict)


def write_report(
    file: str | PathLike[str],
    results: "Explanation | Explanations",
    parts: ReportParts | None = None,
    title: str = "",
) -> Path:
    """Write a self-contained HTML page about one result, or about many.

    Parameters
    ----------
    file : path
        Where to write; an existing file is replaced.
    results : Explanation or Explanations
        What to show.
    parts : ReportParts, optional
        What else is known: the plan, the data, pictures.
    title : str
        The heading of the page.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import ssba, tempfile
    >>> from ssba.views.report.page import write_report
    >>> row = ssba.results.Counterfactual({"chol": 240}, {"chol": (286, 240)}, 1.0, "well")
    >>> found = ssba.results.Explanation(ssba.results.Status.FOUND, {"chol": 286}, "ill", None, "'well'",
    ...                          counterfactuals=(row,))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(f"{folder}/report.html", found, title="Patient 7").read_text()
    >>> "<h1>Patient 7</h1>" in page, "<script" in page
    (True, False)
    """
    from ssba.results.explanation import Explanation, Explanations

    path = file_to_write("file", file)
    if isinstance(results, Explanation):
        written = query_page(results, parts, title)
    elif isinstance(results, Explanations):
        written = cohort_page(results, parts, title)
    else:
        raise ArgumentError(f"results is {results!r:.80}; give what explain() or explain_many() returned")
    path.write_text(written, encoding="utf-8")
    return path


def query_page(explanation: "Explanation", parts: ReportParts | None = None, title: str = "") -> str:
    """Return the page about one result."""
    given = parts or ReportParts()
    around = given.data
    wording = prose.wording_of(explanation, around.meanings)
    sections = [
        one.summary(explanation, around, given.why_not),
        one.changes(explanation, around),
        None if given.plan is None else advice.plan_section(given.plan, wording),
        None if given.ranges is None else advice.ranges_section(given.ranges, around),
        None if given.why_not is None else _why_not(given.why_not, explanation, wording),
        None if given.levers is None else advice.levers_section(given.levers, wording),
        one.evidence(explanation),
        _pictures(given.pictures),
        one.unchanged(explanation, around),
        one.constraints(explanation),
        one.provenance([explanation]),
    ]
    return page(title or "What would change the model's answer", "Counterfactual explanation", sections)


def _why_not(why: "WhyNot", explanation: "Explanation", wording: prose.Wording) -> Markup:
    is_value = text.is_value(explanation.prediction, explanation.score)
    return advice.why_not_section(why, wording, "predicted value" if is_value else "score")


def cohort_page(
    explanations: "Sequence[Explanation]", parts: ReportParts | None = None, title: str = ""
) -> str:
    """Return the page about many results."""
    given = parts or ReportParts()
    if not explanations:
        raise ArgumentError("results holds no explanation; there is nothing to report")
    cohort = given.cohort or cohort_of(explanations)
    if cohort.everyone.count != len(explanations):
        raise ArgumentError(
            f"cohort is about {cohort.everyone.count} queries, results about {len(explanations)}; "
            "give the cohort of these results"
        )
    shared = len({one.constraints for one in explanations}) == 1
    sections = [
        many.summary(cohort),
        many.columns(cohort, given.data),
        many.distances(cohort),
        many.groups(cohort),
        _pictures(given.pictures),
        many.queries(explanations),
        one.constraints(explanations[0]) if shared else None,
        one.provenance(explanations),
    ]
    heading = title or "What would change the model's answers"
    return page(heading, "Counterfactual explanations of many queries", sections)


def _pictures(given: Mapping[str, bytes]) -> Markup | None:
    if not given:
        return None
    return section("Pictures", *(_figure(caption, data) for caption, data in given.items()))


def _figure(caption: str, data: bytes) -> Markup:
    if not isinstance(data, bytes) or not data.startswith(_PNG):
        raise ArgumentError(
            f"pictures[{caption!r}] is not a PNG; give the bytes that figure.savefig(file, format='png') "
            "writes"
        )
    source = f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}"
    return element("figure", element("img", src=source, alt=caption), element("figcaption", caption))

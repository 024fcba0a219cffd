"""The notebook view: complete, self-contained and safe."""

from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

import ssba
from ssba.results import notebook as html

NASTY = "<script>alert('x')</script>&\""
QUERY: dict[str, Any] = {NASTY: NASTY, "chol": 286.0, "ca": None}
ANSWER = ssba.results.Counterfactual(
    values={NASTY: "plain", "chol": 240.0, "ca": None},
    changes={NASTY: (NASTY, "plain"), "chol": (286.0, 240.0)},
    distance=1.25,
    prediction="<b>well</b>",
    score=0.75,
)
FOUND = ssba.results.Explanation(
    status=ssba.results.Status.FOUND,
    query=QUERY,
    prediction=NASTY,
    score=0.25,
    target=repr(NASTY),
    constraints=(f"`{NASTY}` == '{NASTY}'",),
    counterfactuals=(ANSWER,),
    columns=(ssba.results.Column("chol", "numeric", unit="<i>mg</i>"),),
)
STATUSES = [
    FOUND,
    replace(FOUND, status=ssba.results.Status.BOUNDED, counterfactuals=(), bounded=ANSWER),
    replace(FOUND, status=ssba.results.Status.INFEASIBLE, counterfactuals=(), clash=FOUND.constraints * 2),
    replace(FOUND, status=ssba.results.Status.ALREADY_THERE, counterfactuals=()),
    replace(FOUND, status=ssba.results.Status.OUT_OF_BUDGET, counterfactuals=()),
]


class Reader(HTMLParser):
    """Collects tags, classes, attributes and text, and checks that tags close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.cells.append(data)


def read(explanation: ssba.results.Explanation) -> Reader:
    reader = Reader()
    reader.feed(explanation._repr_html_())
    reader.close()
    assert reader.open == []
    return reader


@pytest.mark.parametrize("explanation", STATUSES, ids=lambda one: one.status.value)
class TestEveryStatus:
    def test_what_the_user_wrote_never_becomes_markup(self, explanation: ssba.results.Explanation) -> None:
        known = {
            "div",
            "style",
            "p",
            "b",
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "i",
            "caption",
            "small",
        }
        assert set(read(explanation).tags) <= known
        assert "<script" not in explanation._repr_html_()

    def test_nothing_is_fetched_or_run(self, explanation: ssba.results.Explanation) -> None:
        names = {name for name, _ in read(explanation).attributes}
        assert names <= {"class", "style", "scope", "colspan"}
        page = explanation._repr_html_()
        assert "http" not in page
        assert "url(" not in page

    def test_the_sentence_and_the_status_are_there(self, explanation: ssba.results.Explanation) -> None:
        text = "".join(read(explanation).cells)
        assert explanation.status.value in text
        assert explanation.sentence in text

    def test_no_nan_and_no_none(self, explanation: ssba.results.Explanation) -> None:
        assert "None" not in explanation._repr_html_()
        assert ">nan<" not in explanation._repr_html_().lower()


class TestTable:
    def test_changed_cells_are_marked_and_others_are_not(self) -> None:
        page = FOUND._repr_html_()
        assert page.count('class="changed"') == len(ANSWER.changes)
        assert '<td class="changed">240' in page

    def test_missing_cells_units_predictions_and_scores_are_shown(self) -> None:
        cells = read(FOUND).cells
        assert "missing" in cells
        assert "240 <i>mg</i>" in cells
        assert "<b>well</b>" in cells
        assert "0.75" in cells

    def test_a_bounded_move_is_not_called_a_counterfactual(self) -> None:
        page = STATUSES[1]._repr_html_()
        assert "bounded move" in page
        assert "counterfactual" not in page

    def test_without_scores_there_is_no_row_for_them(self) -> None:
        bare = replace(FOUND, score=None, counterfactuals=(replace(ANSWER, score=None),))
        assert "score" not in read(bare).cells

    def test_table_has_a_caption_and_scoped_headings(self) -> None:
        reader = read(FOUND)
        assert "The query beside its counterfactual" in reader.cells
        scopes = [value for name, value in reader.attributes if name == "scope"]
        # Three columns; a row for each cell, the prediction, the score and the distance.
        assert scopes == ["col"] * 3 + ["row"] * (len(QUERY) + 3)

    def test_colours_leave_the_text_to_the_theme_of_the_notebook(self) -> None:
        style = FOUND._repr_html_().partition("</style>")[0]
        assert "rgba(" in style
        assert "color:#" not in style


class TestOverview:
    def test_every_result_has_a_line_with_its_sentence(self) -> None:
        many = ssba.results.Explanations(tuple(STATUSES))
        reader = Reader()
        reader.feed(html.overview(many))
        assert reader.open == []
        for one in STATUSES:
            assert one.status.value in reader.cells
            assert one.sentence in reader.cells
        assert (
            "5 explanations: 1 found, 1 bounded, 1 infeasible, 1 already_there, 1 out_of_budget"
            in reader.cells
        )

    def test_a_long_list_is_cut_and_says_so(self) -> None:
        page = html.overview(ssba.results.Explanations((FOUND,) * 1102))
        assert page.count("<tr>") == 101
        assert "1,002 more are not shown." in page

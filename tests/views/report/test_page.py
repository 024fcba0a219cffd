"""Report pages: complete, self-contained, well-formed, and safe whatever a cell or a name holds."""

import io
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from tests.views.support import (
    AROUND,
    BOUNDED,
    EVERY,
    FOUND,
    INFEASIBLE,
    LEVERS,
    MANY,
    ORDINAL,
    PLAN,
    RANGES,
    SHORT_PLAN,
    WHY_NOT,
    answer,
)

import ssba
from ssba.results.cohort.summary import cohort_of
from ssba.results.prose import CAUTION
from ssba.views.charts.tracks import DataContext
from ssba.views.report.cohort import MOST_LISTED
from ssba.views.report.page import ReportParts, cohort_page, query_page, write_report

NASTY = "<script>alert('x')</script>&\"` </style> {{"
VOID = {"meta", "link", "img"}


class Reader(HTMLParser):
    """Reads a page as a tree would: checks that tags close in order, and keeps what stands where."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.headings: list[str] = []
        self.captions: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            return
        self.words.append(data)
        if self.open and self.open[-1] in ("h1", "h2", "h3"):
            self.headings.append(data)
        if "caption" in self.open:
            self.captions.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.words)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def png() -> bytes:
    figure, file = Figure(), io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


FULL = ReportParts(
    plan=PLAN, ranges=RANGES, why_not=WHY_NOT, levers=LEVERS, data=AROUND, pictures={"A map": png()}
)
PAGES = {name: query_page(one, FULL) for name, one in EVERY.items()}
PAGES["bare"] = query_page(FOUND)
PAGES["cohort"] = cohort_page(MANY, ReportParts(cohort=cohort_of(MANY, by="sex"), data=AROUND))
PAGES["bare cohort"] = cohort_page(MANY)
PAGES["nothing found"] = cohort_page(ssba.results.Explanations((BOUNDED, INFEASIBLE)))


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
class TestEveryPage:
    def test_nothing_is_fetched_and_nothing_runs(self, page: str) -> None:
        reader = Reader(page)
        assert "script" not in {tag for tag, _ in reader.tags}
        for _, attributes in reader.tags:
            assert not [name for name in attributes if name.startswith("on")]
            for name in ("src", "href"):
                assert (attributes.get(name) or "data:").startswith("data:")
        assert "http:" not in page
        assert "https:" not in page
        assert "url(" not in page
        assert "@import" not in page

    def test_a_policy_forbids_what_is_not_in_the_page(self, page: str) -> None:
        (policy,) = [one["content"] for one in Reader(page).all("meta") if "http-equiv" in one]
        assert policy is not None
        assert policy.startswith("default-src 'none';")

    def test_language_charset_title_and_landmarks_are_there(self, page: str) -> None:
        reader = Reader(page)
        assert reader.all("html") == [{"lang": "en"}]
        assert {"charset": "utf-8"} in reader.all("meta")
        for landmark in ("header", "main", "footer", "h1"):
            assert len(reader.all(landmark)) == 1
        assert page.index("<title>") < page.index("<body>")

    def test_every_table_has_a_caption_and_scoped_headings(self, page: str) -> None:
        reader = Reader(page)
        assert len(reader.captions) == len(reader.all("table"))
        assert {one.get("scope") for one in reader.all("th")} <= {"row", "col"}

    def test_every_picture_has_a_name(self, page: str) -> None:
        reader = Reader(page)
        for one in reader.all("svg"):
            assert one.get("aria-hidden") == "true" or (one["role"] == "img" and one["aria-label"])
        assert all(one["alt"] for one in reader.all("img"))

    def test_sections_are_named_by_their_headings(self, page: str) -> None:
        reader = Reader(page)
        ids = [one["id"] for one in reader.all("h2")]
        assert [one["aria-labelledby"] for one in reader.all("section")] == ids
        assert len(set(ids)) == len(ids)

    def test_caution_is_said_once(self, page: str) -> None:
        assert page.count(CAUTION) == 1

    def test_no_nan_and_no_none(self, page: str) -> None:
        words = re.split(r"\W+", Reader(page).text)
        assert "None" not in words
        assert "nan" not in words

    def test_light_dark_and_print_have_styles(self, page: str) -> None:
        assert "@media (prefers-color-scheme: dark)" in page
        assert "@media print" in page


class TestOneQuery:
    def test_sections_appear_for_what_is_given(self) -> None:
        always = ["In short", "What would change", "How sure it is", "What stays", "Constraints"]
        assert [one for one in headings(query_page(FOUND)) if one in always] == always
        more = {"Step by step", "Ranges that hold", "Why not, and what to relax", "Levers", "Pictures"}
        assert not more & set(headings(query_page(FOUND)))
        assert more < set(headings(query_page(FOUND, FULL)))

    def test_values_are_shown_with_units_and_directions(self) -> None:
        text = Reader(query_page(FOUND, FULL)).text
        for told in ("286 mg/dl", "240.5 mg/dl", "108 beats/min", "120 beats/min", "lower", "raise"):
            assert told in text

    def test_changed_cells_of_several_answers_are_marked_and_others_are_not(self) -> None:
        page = query_page(FOUND)
        changes = sum(len(one.changes) for one in FOUND.counterfactuals)
        assert page.count('class="changed"') == changes
        assert "Several answers" not in query_page(replace(FOUND, counterfactuals=FOUND.counterfactuals[:1]))

    def test_a_bounded_move_is_not_called_an_answer(self) -> None:
        page = query_page(BOUNDED, ReportParts(plan=SHORT_PLAN))
        assert "No feasible change was found" in page
        assert "The bounded move" in page
        assert "The last one does not reach the target yet." in page
        assert "What would change" not in headings(page)

    def test_a_contradiction_is_told(self) -> None:
        text = Reader(query_page(INFEASIBLE)).text
        assert "The constraints contradict each other" in text
        assert "These contradict each other" in text

    def test_fixed_columns_are_marked(self) -> None:
        text = Reader(query_page(FOUND, FULL)).text
        assert re.search(r"sex\s+male\s+fixed", text)
        assert re.search(r"chest pain on exercise\s+pain\s+yes\s+may change", text)

    def test_permitted_levels_are_marked_and_levels_of_fixed_columns_are_not(self) -> None:
        around = replace(AROUND, allowed={"pain": ("no",), "sex": ("male", "female")})
        page = query_page(FOUND, ReportParts(data=around))
        assert re.findall(r'class="small permitted">([^<]*)<', page) == ["no"]

    def test_plan_is_drawn_only_with_scores(self) -> None:
        steps = tuple(replace(one, score_after=None, gain=None) for one in PLAN.steps)
        bare = replace(PLAN, score=None, steps=steps)
        assert "Score of the target after each step" in query_page(FOUND, ReportParts(plan=PLAN))
        assert "Score of the target after each step" not in query_page(FOUND, ReportParts(plan=bare))

    def test_early_steps_are_said_to_help_most_only_where_every_step_helps(self) -> None:
        assert "so that early steps help most" in query_page(FOUND, ReportParts(plan=PLAN))
        against = replace(PLAN, steps=(replace(PLAN.steps[0], gain=-0.1), *PLAN.steps[1:]))
        assert "help most" not in query_page(FOUND, ReportParts(plan=against))

    def test_what_a_plan_leaves_out_and_where_it_must_jump_is_told(self) -> None:
        plan = replace(PLAN, left_out={"pain": ("yes", "no")}, beyond=("rate",))
        text = Reader(query_page(FOUND, ReportParts(plan=plan))).text
        assert "does without these of the proposed changes: change pain from yes to no." in text
        assert "in between: rate" in text

    def test_ranges_and_relaxations_tell_how_they_were_checked(self) -> None:
        text = Reader(query_page(FOUND, FULL)).text
        assert "at most 242 mg/dl" in text
        assert "998 of 1,000 reached it" in text
        assert "rate within 12.5%" in text
        assert "leave it out" in text

    def test_what_holds_back_is_told_with_what_relaxing_it_would_give(self) -> None:
        text = Reader(query_page(BOUNDED, ReportParts(why_not=WHY_NOT))).text
        assert re.search(r"rate within 10%\s+the target is reached\s+0\.5083", text)
        assert re.search(r"chol within 20%\s+a better score, but not the target\s+0\.4531", text)
        assert re.search(r"sex == x\.sex\s+it takes another relaxation, too", text)

    def test_levers_that_cannot_are_told_from_those_not_found(self) -> None:
        text = Reader(query_page(FOUND, FULL)).text
        assert re.search(r"pain\s+proved not to be enough", text)
        assert re.search(r"chol\s+nothing found, which is no proof\s+640", text)

    def test_what_a_relaxation_gives_up_is_told(self) -> None:
        beyond = replace(WHY_NOT.relaxations[0], constraints=("rate <= 200 (the range of the data)",))
        why = replace(WHY_NOT, relaxations=(*WHY_NOT.relaxations, beyond))
        text = Reader(query_page(BOUNDED, ReportParts(why_not=why))).text
        assert re.search(r"leave out sex == x\.sex\s*Gives up a fact: sex was said to stay as it is\.", text)
        assert text.count("Leads to values that no row of the data has.") == 1
        assert text.count("Gives up a fact") == 1

    def test_a_long_list_of_relaxations_is_cut_and_says_so(self) -> None:
        why = replace(WHY_NOT, relaxations=WHY_NOT.relaxations[:1] * 14)
        text = Reader(query_page(BOUNDED, ReportParts(why_not=why))).text
        assert text.count("rate within 12.5%") == 12
        assert "2 more relaxations were found." in text

    def test_a_long_list_of_what_does_not_flip_is_cut_and_says_so(self) -> None:
        menu = replace(LEVERS, unable=LEVERS.unable[1:] * 15)
        text = Reader(query_page(FOUND, ReportParts(levers=menu))).text
        assert text.count("nothing found, which is no proof") == 12
        assert "3 more sets of columns for which nothing was found." in text

    def test_picture_that_is_no_png_is_refused(self) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match=r"pictures\['A map'\] is not a PNG"):
            query_page(FOUND, ReportParts(pictures={"A map": b"GIF89a"}))


class TestSafety:
    def test_what_the_user_wrote_never_becomes_markup(self) -> None:
        move = ssba.results.Counterfactual({NASTY: "b"}, {NASTY: (NASTY, "b")}, 1.0, NASTY, score=0.5)
        nasty = ssba.results.Explanation(
            ssba.results.Status.FOUND,
            {NASTY: NASTY},
            NASTY,
            0.25,
            NASTY,
            constraints=(NASTY,),
            counterfactuals=(move, move),
            columns=(ssba.results.Column(NASTY, "numeric", unit=NASTY),),
            versions={NASTY: NASTY},
            model_fingerprint=NASTY,
        )
        around = DataContext({NASTY: [NASTY, "b"]}, {NASTY: (NASTY,)}, {NASTY: NASTY})
        parts = ReportParts(data=around, pictures={NASTY: png()})
        for page in (query_page(nasty, parts, NASTY), cohort_page([nasty, nasty], parts, NASTY)):
            tags = {tag for tag, _ in Reader(page).tags}
            assert "script" not in tags
            assert "<script" not in page
            assert NASTY in Reader(page).text

    def test_numbers_of_pictures_stay_finite_for_a_column_of_one_value(self) -> None:
        one = replace(FOUND, counterfactuals=(answer({"chol": 286.5}),))
        around = DataContext({**AROUND.population, "chol": [286.0] * 9})
        page = query_page(one, ReportParts(data=around))
        places = re.findall(r' (?:x|y|d|points|width|height)="([^"]*)"', page)
        assert places
        assert not [place for place in places if "nan" in place or "inf" in place]


class TestMany:
    def test_counts_of_every_status_are_told(self) -> None:
        text = Reader(PAGES["cohort"]).text
        assert re.search(r"Queries\s+5", text)
        assert re.search(r"A change was found\s+2", text)
        assert re.search(r"Constraints contradict\s+1", text)

    def test_every_query_is_listed(self) -> None:
        listed = cohort_page(MANY).partition("One by one")[2]
        assert re.findall(r'<th scope="row">(\d+)</th>', listed) == list("01234")

    def test_groups_appear_where_the_cohort_has_them(self) -> None:
        assert "For whom it is harder" in headings(PAGES["cohort"])
        assert "For whom it is harder" not in headings(PAGES["bare cohort"])

    def test_without_answers_there_is_nothing_to_draw(self) -> None:
        assert not {"Which columns change", "How far it is"} & set(headings(PAGES["nothing found"]))

    def test_constraints_are_listed_only_where_all_share_them(self) -> None:
        assert "Constraints" not in headings(PAGES["cohort"])
        assert "Constraints" in headings(cohort_page([FOUND, BOUNDED]))

    def test_a_long_list_is_cut_and_says_so(self) -> None:
        page = cohort_page([BOUNDED] * (MOST_LISTED + 2))
        assert "2 more are counted above but not listed." in page
        assert "1,002 queries" in page

    def test_cohort_of_other_results_is_refused(self) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match="cohort is about 1 queries, results about 5"):
            cohort_page(MANY, ReportParts(cohort=cohort_of([FOUND])))

    def test_no_results_are_refused(self) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match="nothing to report"):
            cohort_page([])


class TestWriting:
    def test_file_holds_the_page_in_utf8(self, tmp_path: Path) -> None:
        file = write_report(tmp_path / "report.html", replace(FOUND, prediction="krank – ü"), title="Größe")
        assert file == tmp_path / "report.html"
        page = file.read_text(encoding="utf-8")
        assert "<h1>Größe</h1>" in page
        assert "krank – ü" in page

    def test_many_results_give_the_other_page(self, tmp_path: Path) -> None:
        page = write_report(tmp_path / "report.html", MANY).read_text(encoding="utf-8")
        assert "One by one" in headings(page)

    @pytest.mark.parametrize("what", [None, "report", 3])
    def test_anything_else_is_refused(self, tmp_path: Path, what: Any) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match=r"results is .*explain\(\) or explain_many\(\)"):
            write_report(tmp_path / "report.html", what)
        assert not (tmp_path / "report.html").exists()

    def test_same_result_gives_the_same_page(self) -> None:
        assert query_page(FOUND, FULL) == query_page(FOUND, FULL)


def headings(page: str) -> list[str]:
    return Reader(page).headings


def test_the_report_says_which_way_an_ordinal_level_goes() -> None:
    assert "raise" in Reader(query_page(ORDINAL)).words

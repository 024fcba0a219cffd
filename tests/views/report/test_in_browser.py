"""Report pages in a real browser, Debian's chromium: quiet, complete, accessible, light, dark and printed."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest
from tests.browser import LOW_CONTRAST, is_dark, needs_browser, started_browser
from tests.views.support import (
    AROUND,
    BOUNDED,
    FOUND,
    INFEASIBLE,
    LEVERS,
    MANY,
    PLAN,
    RANGES,
    SHORT_PLAN,
    WHY_NOT,
)

import ssba
from ssba.results.cohort.summary import cohort_of
from ssba.views.charts import Picture, change_chart, distance_chart, frequency_chart, plan_chart
from ssba.views.report.page import ReportParts, write_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_browser

WRITTEN: dict[str, tuple[ssba.results.Explanation | ssba.results.Explanations, ReportParts]] = {
    "found": (FOUND, ReportParts(plan=PLAN, ranges=RANGES, levers=LEVERS, data=AROUND)),
    "bounded": (BOUNDED, ReportParts(plan=SHORT_PLAN, why_not=WHY_NOT, data=AROUND)),
    "infeasible": (INFEASIBLE, ReportParts()),
    "cohort": (MANY, ReportParts(cohort=cohort_of(MANY, by="sex"), data=AROUND)),
}

PICTURES = {
    "changes": change_chart(FOUND, AROUND, title="A title that is so long that it takes two lines " * 2),
    "plan": plan_chart(PLAN),
    "long plan": plan_chart(replace(PLAN, steps=PLAN.steps * 8)),
    "frequency": frequency_chart(cohort_of(MANY), meanings={"chol": "serum cholesterol, fasting " * 3}),
    "distance": distance_chart({f"group {number}": [1.0, 2.5 + number] for number in range(8)}, unit="sd"),
}

# Texts that stick out of the picture, or are written over each other.
IN_THE_WAY = """
() => {
  const root = document.documentElement.getBoundingClientRect();
  const texts = [...document.querySelectorAll('text')]
    .map((one) => [one.textContent, one.getBoundingClientRect()]);
  const out = texts.filter(([, box]) =>
    box.left < 0 || box.top < 0 || box.right > root.right || box.bottom > root.bottom);
  const over = texts.filter(([, a], i) => texts.slice(i + 1).some(([, b]) =>
    Math.min(a.right, b.right) > Math.max(a.left, b.left) &&
    Math.min(a.bottom, b.bottom) > Math.max(a.top, b.top) + 4));
  return [...out, ...over].map(([words]) => words);
}
"""


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    with started_browser() as started:
        yield started


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    return {
        name: write_report(folder / f"{name}.html", results, parts, title=f"Report: {name}")
        for name, (results, parts) in WRITTEN.items()
    }


class Visit:
    """A page that was opened, and all that it said and asked for meanwhile."""

    def __init__(self, browser: "Browser", file: Path, width: int = 1000, **options: Any) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        self.page: Page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri(), wait_until="load")

    def __enter__(self) -> "Visit":
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()


@pytest.mark.parametrize("name", WRITTEN)
class TestEveryPage:
    def test_no_message_and_no_request_but_for_the_page(
        self, browser: "Browser", files: dict[str, Path], name: str
    ) -> None:
        with Visit(browser, files[name]) as visit:
            assert visit.said == []
            assert [url for url in visit.asked if not url.startswith("data:")] == [files[name].as_uri()]

    def test_reads_the_same_without_javascript(
        self, browser: "Browser", files: dict[str, Path], name: str
    ) -> None:
        with (
            Visit(browser, files[name]) as usual,
            Visit(browser, files[name], java_script_enabled=False) as bare,
        ):
            shown = bare.page.locator("body").inner_text()
            assert len(shown) > 200
            assert shown == usual.page.locator("body").inner_text()

    def test_landmarks_and_headings_lead_through_the_page(
        self, browser: "Browser", files: dict[str, Path], name: str
    ) -> None:
        with Visit(browser, files[name]) as visit:
            assert visit.page.title() == f"Report: {name}"
            for role in ("banner", "main", "contentinfo"):
                assert visit.page.get_by_role(role).count() == 1
            levels = visit.page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map(h => +h.tagName[1])")
            assert levels[0] == 1
            assert levels.count(1) == 1
            assert max(deeper - before for before, deeper in pairwise(levels)) <= 1

    def test_tables_pictures_and_regions_have_names(
        self, browser: "Browser", files: dict[str, Path], name: str
    ) -> None:
        with Visit(browser, files[name]) as visit:
            tree = visit.page.locator("body").aria_snapshot()
            roles = re.findall(r"^\s*- (table|img|region|group|note)\b(.*)$", tree, re.MULTILINE)
            assert {role for role, _ in roles} >= {"region", "note"}
            assert [role for role, told in roles if not re.match(r' ".+"', told)] == []

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_every_text_can_be_read(
        self, browser: "Browser", files: dict[str, Path], name: str, scheme: Literal["light", "dark"]
    ) -> None:
        with Visit(browser, files[name], color_scheme=scheme) as visit:
            assert visit.page.evaluate(LOW_CONTRAST) == []
            assert is_dark(visit.page) == (scheme == "dark")

    def test_prints_dark_on_white_whatever_the_screen_is(
        self, browser: "Browser", files: dict[str, Path], name: str
    ) -> None:
        with Visit(browser, files[name], color_scheme="dark") as visit:
            visit.page.emulate_media(media="print")
            assert not is_dark(visit.page)
            assert visit.page.evaluate(LOW_CONTRAST) == []
            assert visit.page.pdf(format="A4").startswith(b"%PDF")

    def test_fits_a_phone_without_scrolling_sideways(
        self, browser: "Browser", files: dict[str, Path], name: str
    ) -> None:
        with Visit(browser, files[name], width=360) as visit:
            assert visit.page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("name", WRITTEN)
def test_all_of_a_table_can_be_seen_on_a_phone(browser: "Browser", files: dict[str, Path], name: str) -> None:
    with Visit(browser, files[name], width=360) as visit:
        cut = visit.page.evaluate(
            """() => [...document.querySelectorAll('.scroll:has(> table)')]
              .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.ariaLabel)"""
        )
        assert cut == []
        bare = visit.page.evaluate(
            """() => [...document.querySelectorAll('tbody td')].filter((one) =>
              !getComputedStyle(one, '::before').content.includes(one.dataset.head)).length"""
        )
        assert bare == 0


def test_wide_table_is_reached_by_keyboard(browser: "Browser", files: dict[str, Path]) -> None:
    with Visit(browser, files["found"], width=360) as visit:
        visit.page.keyboard.press("Tab")
        focused = visit.page.evaluate("document.activeElement.getAttribute('aria-label')")
        assert focused == "Values that change, now and proposed"


def test_contrast_check_sees_faint_text(browser: "Browser", tmp_path: Path) -> None:
    file = tmp_path / "faint.html"
    file.write_text("<body><p style='color:#999'>faint</p><p style='color:#555'>clear</p></body>", "utf-8")
    with Visit(browser, file) as visit:
        assert visit.page.evaluate(LOW_CONTRAST) == ["2.85: faint"]


@pytest.mark.parametrize("picture", PICTURES.values(), ids=PICTURES)
def test_texts_of_a_picture_lie_inside_and_apart(
    browser: "Browser", tmp_path: Path, picture: Picture
) -> None:
    with Visit(browser, picture.save(tmp_path / "picture.svg")) as visit:
        assert visit.said == []
        assert visit.page.evaluate(IN_THE_WAY) == []


def test_notebook_view_can_be_read_on_light_and_dark(browser: "Browser", tmp_path: Path) -> None:
    for background, ink in (("#ffffff", "#000000"), ("#111111", "#e0e0e0")):
        file = tmp_path / "cell.html"
        body = f"<body style='background:{background};color:{ink}'>{FOUND._repr_html_()}</body>"
        file.write_text(body, encoding="utf-8")
        with Visit(browser, file) as visit:
            assert visit.said == []
            assert visit.page.evaluate(LOW_CONTRAST) == []
            assert visit.page.get_by_role("table", name="The query beside its counterfactuals").count() == 1

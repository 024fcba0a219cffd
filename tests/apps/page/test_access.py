"""The page for everybody: nothing serious by axe, texts can be read, wide, narrow, light, dark, printed."""

from typing import TYPE_CHECKING, Any, Literal

import pytest
from tests.apps.http.served import Served
from tests.apps.page.axe import RUN, axe
from tests.apps.page.workbench import Workbench, opened
from tests.apps.projects import PATIENT
from tests.browser import LOW_CONTRAST, is_dark, needs_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_browser

STATES: dict[str, dict[str, Any]] = {
    "found": {"row": PATIENT, "set": {"chol": 300}},
    "contradiction": {"row": PATIENT, "free": "chol >= 300"},
    "already there": {"row": 0},
    "many people": {"row": PATIENT, "tab": "cohort"},
}


_LETTERS = "(one) => parseFloat(getComputedStyle(one).fontSize)"
# How large the letters of the map are on the screen, whatever the units of the picture.
_MAP_LETTERS = """
(drawn) => {
  const scale = drawn.getBoundingClientRect().width / drawn.viewBox.baseVal.width;
  return [...drawn.querySelectorAll("text")].map((one) => parseFloat(getComputedStyle(one).fontSize) * scale);
}
"""
# Controls that are too low for a finger; a box is ticked by its label, too.
_LOW = """
() => [...document.querySelectorAll("main button, nav button, main select, main summary, main input")]
  .filter((one) => one.getClientRects().length && one.type !== "range")
  .map((one) => (one.type === "checkbox" ? one.closest("label") : one))
  .filter((one) => one.getBoundingClientRect().height < (one.matches("label, .link") ? 32 : 44))
  .map((one) => one.outerHTML.slice(0, 80))
"""


def settle(bench: Workbench, state: dict[str, Any]) -> None:
    """Open a state, and wait for all that comes later in it."""
    bench.open(**state)
    if state.get("tab") == "cohort":
        return
    bench.page.locator("svg.map .query").wait_for()
    if state.get("set"):
        bench.page.locator(".changes thead").get_by_text("Holds for").wait_for(state="attached")


@pytest.mark.parametrize("name", STATES)
def test_axe_finds_nothing_serious(browser: "Browser", served: Served, name: str) -> None:
    with opened(browser, served, bypass_csp=True) as bench:
        settle(bench, STATES[name])
        if name == "found":
            bench.page.get_by_text("Find a person").click()
            bench.page.locator(".rows .row").first.wait_for()
            bench.page.get_by_text("The project's rules (13)").click()
            bench.page.get_by_text("Show features that stay, too").click()
        bench.page.add_script_tag(content=axe())
        assert bench.page.evaluate(RUN) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_and_paper_is_white(
    browser: "Browser", served: Served, scheme: Literal["light", "dark"]
) -> None:
    with opened(browser, served, color_scheme=scheme) as bench:
        settle(bench, STATES["found"])
        assert is_dark(bench.page) == (scheme == "dark")
        assert bench.page.evaluate(LOW_CONTRAST) == []
        bench.page.emulate_media(media="print")
        assert not is_dark(bench.page)
        assert bench.page.evaluate(LOW_CONTRAST) == []
        assert bench.page.get_by_role("button", name="Undo").is_hidden()
        for part in (".sentence", ".key-list"):
            assert bench.page.locator(part).is_visible()
        sizes = [bench.page.locator(part).first.evaluate(_LETTERS) for part in ("body", ".small")]
        assert sizes == sorted(sizes, reverse=True), "what is less important is not printed larger"
        assert bench.page.pdf(format="A4").startswith(b"%PDF")


@pytest.mark.parametrize("width", [380, 1440])
def test_nothing_sticks_out_sideways(browser: "Browser", served: Served, width: int) -> None:
    with opened(browser, served, width=width) as bench:
        for state in (STATES["found"], STATES["many people"]):
            settle(bench, state)
            assert bench.page.evaluate("document.documentElement.scrollWidth") <= width
            is_person = state.get("tab") != "cohort"
            assert bench.page.locator("#glance").is_visible() == (width == 380 and is_person)


def test_a_narrow_screen_has_letters_to_read_and_room_for_fingers(browser: "Browser", served: Served) -> None:
    with opened(browser, served, width=380) as bench:
        settle(bench, STATES["found"])
        drawn = bench.page.locator("svg.map")
        assert min(drawn.evaluate(_MAP_LETTERS)) >= 10
        assert bench.page.evaluate(_LOW) == []
        bench.page.set_viewport_size({"width": 1440, "height": 900})
        bench.until(lambda: drawn.get_attribute("viewBox") == "0 0 720 418")


def test_while_the_project_is_loaded_nothing_empty_is_shown(browser: "Browser", served: Served) -> None:
    with opened(browser, served) as bench:
        bench.page.route("**/api/schema", lambda route: None)
        bench.page.goto(f"{served.url}/")
        bench.page.get_by_text("Loading the model and its data").wait_for()
        for part in ("main", "nav", "#caution", "#glance"):
            assert bench.page.locator(part).is_hidden()


def test_headings_and_landmarks_lead_through_the_page(bench: Workbench) -> None:
    bench.open(row=PATIENT)
    for role in ("banner", "main", "navigation"):
        assert bench.page.get_by_role(role).count() == 1
    names = bench.page.get_by_role("region").evaluate_all(
        "all => all.map((one) => document.getElementById(one.getAttribute('aria-labelledby'))?.textContent)"
    )
    assert {"The answer", "The map"} <= set(names)
    levels = bench.page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map((one) => +one.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1

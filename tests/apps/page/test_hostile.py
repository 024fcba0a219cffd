"""Names and values that are markup stay text, everywhere on the page; a server with a token asks for it."""

import json
from typing import TYPE_CHECKING
from urllib.parse import quote

from tests.apps.http.served import serving
from tests.apps.page.workbench import HOSTILE, IMAGE, QUOTES, Workbench, hostile_project, opened
from tests.apps.projects import loans
from tests.browser import needs_browser

from ssba.apps.http.settings import ServeSettings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_browser

# Whatever came in as text and became an element, or ran.
HURT = "[window.hurt ?? 0, document.querySelectorAll('#person-view script, img[onerror], main b').length]"


def test_markup_in_names_levels_classes_units_and_constraints_is_inert(browser: "Browser") -> None:
    with serving(hostile_project()) as served, opened(browser, served) as bench:
        bench.open()
        page = bench.page
        assert page.locator("h1").inner_text() == HOSTILE
        assert page.locator("#caution").inner_text() == IMAGE
        bench.button(f"Lock {HOSTILE}").click()
        bench.solved()
        assert bench.state["own"] == {HOSTILE: {"t": "lock"}}
        page.get_by_label(f"{QUOTES}: direction").select_option("down")
        bench.solved()
        levels = page.get_by_role("group", name=f"{IMAGE}: allowed levels")
        now = levels.locator(".is-now").inner_text()
        other = next(one for one in (HOSTILE, IMAGE, QUOTES) if one != now)
        # All are allowed: leaving one out asks for the others by name.
        levels.get_by_label(other, exact=True).uncheck()
        bench.solved()
        assert bench.state["own"][IMAGE]["t"] == "levels"
        assert page.locator(".problem p").count() == 0
        page.locator("svg.map .query").wait_for()
        page.get_by_label("Across").select_option(HOSTILE)
        page.get_by_text("Find a person").click()
        page.locator(".rows .row").first.wait_for()
        page.get_by_role("tab", name="Many people").click()
        bench.button("Run").click()
        page.wait_for_selector("#cohort[data-state=ended]")
        assert page.evaluate(HURT) == [0, 0]


def test_an_address_cannot_bring_markup_in(loan_bench: Workbench) -> None:
    state = {
        "row": 3,
        "own": {HOSTILE: {"t": "text", "c": [IMAGE]}},
        "free": HOSTILE,
        "find": {"search": IMAGE},
    }
    loan_bench.page.goto(f"{loan_bench.served.url}/#{quote(json.dumps(state))}")
    loan_bench.page.wait_for_selector("#answer[data-state=failed]")
    loan_bench.page.locator("#free-said .wrong").wait_for()
    assert loan_bench.page.evaluate(HURT) == [0, 0]
    loan_bench.said.clear()  # the browser itself notes each reply that is a refusal


def test_a_script_in_the_page_itself_would_not_run(loan_bench: Workbench) -> None:
    loan_bench.open(row=3)
    loan_bench.page.evaluate(
        """() => {
          const script = document.createElement("script");
          try { script.textContent = "window.hurt = 3"; } catch { return; }
          document.body.append(script);
        }"""
    )
    assert loan_bench.page.evaluate("window.hurt") is None
    assert any("Content Security Policy" in one or "TrustedScript" in one for one in loan_bench.said)
    loan_bench.said.clear()


def test_a_server_with_a_token_is_asked_with_it(browser: "Browser") -> None:
    token = "correct horse battery".replace(" ", "-")
    with serving(loans(), ServeSettings(token=token)) as served, opened(browser, served) as bench:
        bench.page.goto(served.url)
        for given in ("wrong-token-wrong-token", token):
            bench.page.get_by_role("textbox", name="Token").fill(given)
            bench.button("Enter").click()
        bench.solved()
        assert bench.page.locator(".sentence").inner_text()
        assert token not in bench.page.url
        bench.said.clear()  # two refusals, as the browser notes them

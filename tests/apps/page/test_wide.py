"""60 columns and 10,000 rows: the page works, and asks no more than for a small table."""

from typing import TYPE_CHECKING

from tests.apps.http.served import serving
from tests.apps.page.workbench import opened, wide_project
from tests.browser import needs_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_browser


def test_many_columns_and_rows(browser: "Browser") -> None:
    with serving(wide_project()) as served, opened(browser, served) as bench:
        bench.open()
        page = bench.page
        assert page.locator(".feature").count() == 60
        before = bench.asked_for("/api/explain")
        bench.drag("f00: highest allowed", *range(80, 60, -1))
        bench.solved()
        assert bench.asked_for("/api/explain") == before + 1
        assert float(bench.changed().get("f00", 0)) <= 61
        page.get_by_label("Filter features").fill("f4")
        assert page.locator(".feature:visible").count() == 10
        page.get_by_text("Find a person").click()
        rows = page.locator(".rows .row")
        rows.first.wait_for()
        assert rows.count() == 25
        bench.button("Show more").click()
        bench.until(lambda: rows.count() == 50)

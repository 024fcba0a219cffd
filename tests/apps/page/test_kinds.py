"""Columns of every kind on the page: dates, orders, truths, missing cells; a model of numbers."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from tests.apps.http.served import Served, serving
from tests.apps.page.workbench import STATES, Workbench, flats_project, opened
from tests.browser import needs_browser
from tests.support import every

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_browser


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(flats_project()) as running:
        yield running


@pytest.fixture
def bench(browser: "Browser", served: Served) -> Iterator[Workbench]:
    with opened(browser, served) as page:
        yield page.open(row=0)


def test_an_order_goes_up_level_by_level(bench: Workbench) -> None:
    now = bench.page.get_by_label("state: current value").input_value()
    bench.page.get_by_label("state: direction").select_option("up")
    bench.solved()
    boxes = bench.page.get_by_role("group", name="state: allowed levels").locator("input")
    assert [one.is_checked() for one in boxes.all()] == [name >= STATES.index(now) for name in range(4)]
    assert bench.page.get_by_label("state: direction").input_value() == "up"


def test_dates_move_by_days_and_are_written_as_such(bench: Workbench) -> None:
    slider = bench.page.get_by_label("signed: highest allowed")
    now = bench.page.get_by_label("signed: current value").input_value()
    assert slider.get_attribute("aria-valuetext") == str(flats_project().table["signed"].max().date())
    slider.focus()
    slider.press("ArrowLeft")
    bench.solved()
    rule = bench.state["own"]["signed"]
    assert now == rule["lo"] < rule["hi"]
    assert rule["hi"] == slider.get_attribute("aria-valuetext")
    assert bench.page.locator("#answer .problem p").count() == 0


def test_a_missing_cell_may_be_filled_once_it_is_unlocked(bench: Workbench) -> None:
    assert bench.page.get_by_label("floor: current value").input_value() == ""
    lock = bench.button("Lock floor")
    assert lock.get_attribute("aria-pressed") == "true"
    lock.click()
    bench.solved()
    assert bench.state["own"]["floor"] == {"t": "text", "c": ["floor may be filled"]}
    assert lock.get_attribute("aria-pressed") == "false"


def test_numbers_are_told_as_numbers_and_a_truth_can_be_edited(bench: Workbench) -> None:
    texts = bench.page.locator(".tile strong").all_inner_texts()
    assert every(float(one) for one in texts)
    assert bench.page.locator(".tile meter").count() == 0
    bench.page.get_by_text("Show features that stay, too").click()
    lift = bench.page.get_by_label("lift: proposed value")
    other = "false" if lift.input_value() == "true" else "true"
    lift.select_option(other)
    trial = bench.page.locator("#trial p")
    bench.until(lambda: "lift" in trial.inner_text())


def test_a_rule_about_two_columns_is_switched_off_and_on(bench: Workbench) -> None:
    bench.page.get_by_text("The project's rules (2)").click()
    box = bench.page.get_by_label("area - 10 * rooms >= 0")
    box.uncheck()
    bench.solved()
    assert bench.state["off"] == [0]
    box.check()
    bench.solved()
    assert "off" not in bench.state

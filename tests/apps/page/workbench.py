"""A served project in a browser: opening its page, using it, and noting all that it says and asks for."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
import pandas as pd
from tests.apps.http.served import Served

from ssba.apps.project.opened import OpenedProject
from ssba.apps.project.settings import FeatureSettings, ProjectSettings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

_MOVE = """
(slider, values) => {
  for (const value of values) {
    slider.value = value;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
  }
}
"""
SOLVED = "#answer[data-state=solved]"
LIMIT = 60_000
"""Milliseconds after which something that has not happened never will."""


class Workbench:
    """The page, opened in a window of its own."""

    def __init__(self, page: "Page", served: Served) -> None:
        self.page, self.served = page, served
        self.said: list[str] = []
        self.asked: list[str] = []
        page.set_default_timeout(LIMIT)
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))

    def open(self, **state: Any) -> "Workbench":
        """Open the page anew with a state in its address, and wait for the answer."""
        self.page.goto("about:blank")
        self.asked.clear()
        address = f"#{quote(json.dumps(state))}" if state else ""
        self.page.goto(f"{self.served.url}/{address}")
        self.solved()
        return self

    def solved(self) -> None:
        """Wait for the answer, which the other tab hides."""
        self.page.wait_for_selector(SOLVED, state="attached")

    @property
    def state(self) -> dict[str, Any]:
        """What stands in the address, which the page writes a moment later, or at once when it is left."""
        self.page.evaluate("dispatchEvent(new Event('pagehide'))")
        found: dict[str, Any] = self.page.evaluate(
            "JSON.parse(decodeURIComponent(location.hash.slice(1) || '%7B%7D'))"
        )
        return found

    @property
    def sentence(self) -> str:
        return self.page.locator(".sentence").inner_text()

    def button(self, name: str) -> "Locator":
        return self.page.get_by_role("button", name=name, exact=True)

    def changed(self) -> dict[str, str]:
        """Return the proposed values, by column."""
        rows = self.page.locator(".changes tr.is-changed")
        return {
            row.locator(".label").inner_text(): row.locator(".proposed input, .proposed select").input_value()
            for row in rows.all()
        }

    def until(self, condition: Callable[[], Any]) -> None:
        """Wait for something; the page's policy allows no script of a test to wait inside of it."""
        for _ in range(LIMIT // 20):
            if condition():
                return
            self.page.wait_for_timeout(20)
        raise AssertionError("it did not happen")

    def drag(self, label: str, *values: float) -> None:
        """Move a slider through some values, with the events that a hand makes, faster than any hand."""
        self.page.get_by_label(label, exact=True).evaluate(_MOVE, values)

    def asked_for(self, path: str) -> int:
        return sum(url.endswith(path) for url in self.asked)


@contextmanager
def opened(browser: "Browser", served: Served, width: int = 1440, **options: Any) -> Iterator[Workbench]:
    """Open a window; at its end nothing may have gone wrong in it, and nothing been asked for elsewhere."""
    context = browser.new_context(viewport={"width": width, "height": 900}, **options)
    bench = Workbench(context.new_page(), served)
    try:
        yield bench
    finally:
        context.close()
    assert bench.said == []
    own = (f"{served.url}/", f"blob:{served.url}/", "about:blank")
    assert [url for url in bench.asked if not url.startswith(own)] == []


HOSTILE = "<script>window.hurt=1</script>"
IMAGE = '"><img src=x onerror=window.hurt=2>'
QUOTES = 'it\'s `a` \\ "b" {c}'


def hostile_project() -> OpenedProject:
    """Names, levels, classes, units and meanings that are markup, and one with every kind of quote."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            HOSTILE: rng.integers(0, 100, 120),
            IMAGE: rng.choice([HOSTILE, IMAGE, QUOTES], 120),
            QUOTES: rng.integers(0, 50, 120),
        }
    )

    def model(rows: pd.DataFrame) -> Any:
        return np.where(rows[HOSTILE] + 20 * (rows[IMAGE] == QUOTES) - rows[QUOTES] > 40, IMAGE, HOSTILE)

    said = {
        HOSTILE: FeatureSettings(unit=IMAGE, meaning=HOSTILE),
        QUOTES: FeatureSettings(unit="<b>", meaning=IMAGE),
    }
    settings = ProjectSettings(
        title=HOSTILE, model="m", data="d", target=IMAGE, features=said, caution=IMAGE, constraints=()
    )
    return OpenedProject(settings, Path(), table, model)


STATES = ("poor", "fair", "good", "new")
"""How flats may be, from low to high."""


def flats_project() -> OpenedProject:
    """A price of flats: dates, an order, truths, missing cells, and a rule about two columns."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "signed": pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 700, 200), unit="D"),
            "area": rng.normal(90, 25, 200).round(2),
            "rooms": rng.integers(1, 7, 200),
            "lift": rng.choice([True, False], 200),
            "state": rng.choice(list(STATES), 200),
            "floor": rng.integers(0, 20, 200).astype(float),
        }
    )
    table.loc[::10, "floor"] = np.nan
    settings = ProjectSettings(
        title="Flats",
        model="m",
        data="d",
        target="value:320..400",
        constraints=("area - 10 * rooms >= 0", "signed >= x.signed"),
        features={"state": FeatureSettings(kind="ordinal", levels=STATES)},
    )
    return OpenedProject(settings, Path(), table, _price)


def _price(rows: pd.DataFrame) -> Any:
    state = rows["state"].map({name: place for place, name in enumerate(STATES)}).astype(float)
    days = (rows["signed"] - pd.Timestamp("2022-01-01")).dt.days
    price = 2.1 * rows["area"] + 9 * rows["rooms"] + 12 * rows["lift"].astype(float)
    return (price + 15 * state + rows["floor"].fillna(3) + 0.03 * days).to_numpy()


def wide_project(columns: int = 60, rows: int = 10_000) -> OpenedProject:
    """Many columns and rows, and a linear score of the first dozen."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(50, 10, (rows, columns)).round(1), columns=_names(columns))
    score = table.iloc[:, :12].sum(axis=1) - 600
    model = LogisticRegression(max_iter=200).fit(table, np.where(score > 0, "yes", "no"))
    settings = ProjectSettings(title="Wide", model="m", data="d", target="yes")
    return OpenedProject(settings, Path(), table, model)


def _names(count: int) -> list[str]:
    return [f"f{number:02}" for number in range(count)]

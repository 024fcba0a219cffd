from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from tests.apps.http.served import Served, serving
from tests.apps.page.workbench import Workbench, opened
from tests.apps.projects import heart, loans
from tests.browser import started_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser


# A started browser keeps an event loop running in this process, which tests of other modules must not meet;
# and a process that one of these forks shares what the loop of a server waits for, which then does not stop.
@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    with started_browser() as started:
        yield started


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(heart()) as running:
        yield running


@pytest.fixture(scope="module")
def served_loans() -> Iterator[Served]:
    with serving(loans()) as running:
        yield running


@pytest.fixture
def loan_bench(browser: "Browser", served_loans: Served) -> Iterator[Workbench]:
    with opened(browser, served_loans) as page:
        yield page


@pytest.fixture
def bench(browser: "Browser", served: Served) -> Iterator[Workbench]:
    with opened(browser, served) as page:
        yield page

"""Many people on the page: run, cancelled, drilled into, exported."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from tests.apps.http.served import Served, gated, serving
from tests.apps.page.workbench import Workbench, opened
from tests.apps.projects import loans
from tests.browser import needs_browser
from tests.support import every

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_browser

ENDED = "#cohort[data-state=ended]"


def test_a_filtered_set_is_run_and_leads_to_single_people(loan_bench: Workbench, tmp_path: Path) -> None:
    bench = loan_bench.open()
    page = bench.page
    page.get_by_role("tab", name="Many people").click()
    page.locator("#cohort").get_by_label("Search").fill("north")
    bench.button("Run").click()
    page.wait_for_selector(ENDED)
    members = page.locator("table.members tbody tr")
    unfavourable = bench.served.post("/api/rows", {"search": "north", "reached": False, "limit": 200}).json
    rows = [one["values"]["customer"] for one in unfavourable["rows"]]
    assert members.locator("th").all_inner_texts() == rows
    assert page.locator("#cohort p[role=status]").inner_text().startswith(f"{len(rows)} queries.")
    page.locator("#cohort figure img").nth(1).wait_for()

    files = {}
    for name in ("CSV", "Parquet", "HTML report"):
        with page.expect_download() as waiting:
            page.locator("#cohort").get_by_role("button", name=name).click()
        files[name] = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(files[name])
    table = pd.read_csv(files["CSV"])
    assert set(table["query"]) == {one["row"] for one in unfavourable["rows"]}
    assert list(pd.read_parquet(files["Parquet"])["query"]) == list(table["query"])
    assert "<h1>Loans</h1>" in files["HTML report"].read_text(encoding="utf-8")

    page.reload()
    members.first.wait_for()
    assert members.locator("th").all_inner_texts() == rows, "the address names the run"
    page.locator("#cohort").get_by_label("Search").fill("south")
    page.keyboard.press("Enter")
    assert page.get_by_text("These results belong to the settings before").is_visible()
    members.first.get_by_role("button").click()
    bench.solved()
    assert bench.state["row"] == unfavourable["rows"][0]["row"]
    assert page.locator("#person-title").inner_text() == "The person: c" + f"{bench.state['row']:03}"


def test_groups_are_compared(loan_bench: Workbench) -> None:
    bench = loan_bench.open()
    job = bench.served.post("/api/cohort", {"rows": [3, 4, 5, 6], "by": "region"}).json["id"]
    cohort = {"search": "", "column": "", "value": "", "by": "region", "rules": "project", "job": job}
    bench.page.goto("about:blank")
    bench.page.goto(f"{bench.served.url}/#{json.dumps({'tab': 'cohort', 'row': 3, 'cohort': cohort})}")
    table = bench.page.get_by_role("table", name="How groups fare, by region")
    table.wait_for()
    assert table.locator("tbody th").all_inner_texts() == ["north", "south"]


def test_what_the_pictures_show_stands_in_words_on_a_phone(browser: "Browser", served_loans: Served) -> None:
    rows = [3, 4, 5, 6]
    with opened(browser, served_loans, width=380) as bench:
        job = served_loans.post("/api/cohort", {"rows": rows}).json["id"]
        bench.until(lambda: served_loans.request("GET", f"/api/cohort/{job}").json["status"] == "done")
        cohort = served_loans.request("GET", f"/api/cohort/{job}").json["result"]["cohort"]
        chosen = {"search": "", "column": "", "value": "", "by": "", "rules": "project", "job": job}
        bench.page.goto(f"{served_loans.url}/#{json.dumps({'tab': 'cohort', 'row': 3, 'cohort': chosen})}")
        words = bench.page.locator(".in-words")
        words.first.wait_for()
        changing = sum(bool(one["changes"]) for one in cohort["members"])
        first = cohort["columns"][0]
        shares = words.first.locator("li").first.inner_text()
        assert f"{first['changed']} of {changing} ({100 * first['changed'] / changing:.0f}%)" in shares
        assert f"half within\n{cohort['distances']['median']:.3g}" in words.nth(1).inner_text()
        assert bench.page.locator(".charts img").first.is_hidden()


def test_a_run_is_followed_and_cancelled(browser: "Browser") -> None:
    project, gate = gated(loans())
    with serving(project) as served, opened(browser, served) as bench:
        bench.open(tab="person", row=3)
        bench.page.get_by_role("tab", name="Many people").click()
        gate.close()
        bench.button("Run").click()
        bench.page.locator("#cohort progress").wait_for()
        gate.open()
        gate.close()
        bench.page.get_by_text("Cancel", exact=True).click()
        gate.open()
        bench.page.wait_for_selector(ENDED)
        assert bench.page.locator("#cohort p[role=status]").inner_text() == "Cancelled."
        assert bench.page.locator("#cohort progress").is_hidden()


def test_what_no_answer_was_found_for_has_no_pictures(loan_bench: Workbench) -> None:
    served = loan_bench.served
    asked = {"rows": [3], "constraints": ["income == x.income", "debt == x.debt"]}
    job = served.post("/api/cohort", asked).json["id"]
    loan_bench.until(lambda: served.request("GET", f"/api/cohort/{job}").json["status"] == "done")
    found = {
        name: served.request("GET", f"/api/cohort/{job}/files/{name}").status
        for name in ("columns.svg", "distances.svg", "report.html", "answers.csv", "nothing.txt")
    }
    assert every(found[name] == 404 for name in ("columns.svg", "distances.svg", "nothing.txt"))
    assert every(found[name] == 200 for name in ("report.html", "answers.csv"))
    cohort = {"search": "", "column": "", "value": "", "by": "", "rules": "project", "job": job}
    loan_bench.page.goto(f"{served.url}/#{json.dumps({'tab': 'cohort', 'row': 3, 'cohort': cohort})}")
    loan_bench.page.get_by_role("table", name="Choose a row to look at it").wait_for()
    assert loan_bench.asked_for("columns.svg") == 0

"""One person on the page: found, locked, moved, relaxed, edited, undone, reloaded."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import pytest
from tests.apps.http.served import Served, gated, serving
from tests.apps.page.workbench import SOLVED, Workbench, opened
from tests.apps.projects import PATIENT, WELL, heart, loans
from tests.browser import needs_browser
from tests.support import every

from ssba.results import Certificate

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_browser

FOCUSED = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"


def best(bench: Workbench, *constraints: str, **asked: Any) -> Any:
    """Return what the service answers without the page."""
    return bench.served.post("/api/explain", {"constraints": constraints, **asked}).json


def shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float | int) else str(value)


# Where on the screen the limit of a slider lies: its handle stands beside it.
_HANDLE = """
(slider) => {
  const strip = slider.closest(".track").querySelector(".strip").getBoundingClientRect();
  const box = slider.getBoundingClientRect();
  const share = (slider.value - slider.min) / (slider.max - slider.min);
  return [strip.left + share * strip.width, (box.top + box.bottom) / 2];
}
"""

POOR = 3
"""A customer whom the model refuses a loan."""
BOTH_LOCKED = {"income": {"t": "lock"}, "debt": {"t": "lock"}}


class TestFinding:
    def test_search_order_and_only_the_unfavourable_lead_to_a_person(self, bench: Workbench) -> None:
        bench.open()
        page = bench.page
        page.get_by_text("Find a person").click()
        page.locator(".finder").get_by_label("Search").fill("atypical")
        first = page.locator(".rows .row").first
        page.get_by_text("3 rows found").wait_for()
        wanted = bench.served.post(
            "/api/rows", {"search": "atypical", "sort": "score", "reached": False}
        ).json
        assert wanted["total"] == 3
        scores = [one["score"] for one in wanted["rows"]]
        assert scores == sorted(scores)
        assert f"row {wanted['rows'][0]['row']}" in first.inner_text()
        first.click()
        bench.until(lambda: bench.state["row"] == wanted["rows"][0]["row"])
        bench.solved()
        assert page.locator("#person-title").inner_text() == f"The person: row {bench.state['row']}"

    def test_a_person_can_be_typed_in(self, loan_bench: Workbench) -> None:
        bench = loan_bench.open()
        bench.button("Type one in").click()
        bench.solved()
        bench.page.get_by_label("income: current value").fill("33")
        bench.page.keyboard.press("Enter")
        bench.until(lambda: bench.state["values"]["income"] == 33)
        bench.solved()
        assert bench.sentence == best(bench, values=bench.state["values"])["sentence"]

    def test_a_row_that_is_not_there_is_told(self, browser: "Browser", served: Served) -> None:
        with opened(browser, served) as bench:
            bench.page.goto(f"{served.url}/#{json.dumps({'row': 999})}")
            bench.page.get_by_text("There is no row 999").wait_for()
            assert bench.page.locator("#person-title").inner_text() == "The person"
            lines = bench.page.locator(".feature")
            assert lines.evaluate_all("all => all.every((one) => one.inert)")


class TestValues:
    @pytest.mark.parametrize(
        ("typed", "told"),
        [
            ("", "type a value; until then 140 holds"),
            ("about 130", "type a number; until then 140 holds"),
            ("131.5", "type a whole number; until then 140 holds"),
        ],
    )
    def test_what_is_no_value_is_told_beside_the_field_and_not_asked_about(
        self, bench: Workbench, typed: str, told: str
    ) -> None:
        bench.open(row=PATIENT)
        asked = bench.asked_for("/api/explain")
        field = bench.page.get_by_label("trestbps: current value")
        hint = bench.page.locator(".feature").filter(has=field).locator(".hint")
        field.fill(typed)
        field.press("Enter")
        assert hint.inner_text() == told
        assert field.get_attribute("aria-invalid") == "true"
        assert "set" not in bench.state
        assert bench.asked_for("/api/explain") == asked
        field.fill("150")
        field.press("Enter")
        bench.solved()
        assert bench.state["set"] == {"trestbps": 150}
        assert (hint.inner_text(), field.get_attribute("aria-invalid")) == ("", "false")

    def test_a_field_may_stand_empty_where_the_data_have_gaps(self, bench: Workbench) -> None:
        bench.open(row=PATIENT)
        field = bench.page.get_by_label("ca: current value")
        field.fill("")
        field.press("Enter")
        bench.solved()
        assert bench.state["set"] == {"ca": None}
        choices = {
            name: bench.page.get_by_label(f"{name}: current value").locator("option").all_inner_texts()
            for name in ("thal", "sex")
        }
        assert choices["thal"][0] == "missing"
        assert choices["sex"] == ["female", "male"]

    def test_a_long_level_can_be_read_by_pointing_at_it(self, bench: Workbench) -> None:
        bench.open(row=PATIENT)
        field = bench.page.get_by_label("restecg: current value")
        assert field.get_attribute("title") == field.input_value() == "left ventricular hypertrophy"

    def test_a_value_beyond_the_data_is_taken_with_a_note(self, bench: Workbench) -> None:
        bench.open(row=PATIENT)
        field = bench.page.get_by_label("age: current value")
        hint = bench.page.locator(".feature").filter(has=field).locator(".hint")
        assert hint.inner_text() == ""
        field.fill("500")
        field.press("Enter")
        bench.solved()
        assert hint.inner_text() == "outside the data's 29 to 77"
        bench.button("Undo").click()
        bench.solved()
        assert hint.inner_text() == ""

    def test_without_an_answer_nothing_is_called_locked(self, browser: "Browser", served: Served) -> None:
        with opened(browser, served) as bench:
            bench.page.goto(f"{served.url}/#{quote(json.dumps({'row': 1, 'set': {'age': None}}))}")
            bench.page.locator("#answer .problem p").wait_for()
            said = bench.page.locator(".allowed-words").all_inner_texts()
            assert set(said) == {"not worked out"}
            assert bench.page.locator(".lock[aria-pressed=true]").count() == 0
            ends = [
                bench.page.get_by_label(f"chol: {end} allowed").input_value() for end in ("lowest", "highest")
            ]
            assert ends == ["126", "564"]
            assert bench.page.get_by_text("Choose a person").count() == 0
            # What another row may do is not shown beside this one either.
            bench.page.goto(f"{served.url}/#{quote(json.dumps({'row': 2}))}")
            bench.solved()
            assert "locked" in bench.page.locator(".allowed-words").all_inner_texts()
            bench.page.goto(f"{served.url}/#{quote(json.dumps({'row': 1, 'set': {'age': None}}))}")
            bench.page.locator("#answer .problem p").wait_for()
            assert set(bench.page.locator(".allowed-words").all_inner_texts()) == {"not worked out"}
            bench.said.clear()  # the browser itself notes each reply that is a refusal


class TestSolving:
    def test_a_lock_and_a_range_change_the_answer(self, bench: Workbench) -> None:
        bench.open(row=PATIENT)
        found = best(bench, row=PATIENT)
        assert bench.sentence == found["sentence"]
        changes = found["explanation"]["counterfactuals"][0]["changes"]
        assert bench.changed() == {name: shown(after) for name, (_, after) in changes.items()}
        assert "thalach" in changes

        bench.button("Lock thalach").click()
        bench.solved()
        assert "thalach" not in bench.changed()
        assert bench.sentence == best(bench, "thalach == x.thalach", row=PATIENT)["sentence"]

        bench.drag("trestbps: lowest allowed", 125)
        bench.solved()
        assert bench.state["own"]["trestbps"] == {"t": "range", "lo": 125, "hi": 140}
        narrowed = best(bench, "thalach == x.thalach", "125 <= trestbps <= 140", row=PATIENT)
        assert bench.sentence == narrowed["sentence"]

    def test_direction_and_levels_become_constraints(self, bench: Workbench) -> None:
        bench.open(row=PATIENT)
        bench.page.get_by_label("oldpeak: direction").select_option("up")
        bench.solved()
        assert "oldpeak" not in bench.changed()
        levels = bench.page.get_by_role("group", name="slope: allowed levels")
        levels.get_by_label("upsloping").check()
        bench.solved()
        assert bench.state["own"]["slope"] == {"t": "levels", "v": ["downsloping", "upsloping"]}
        assert bench.changed()["slope"] == "upsloping"

    def test_a_moving_slider_asks_once_it_rests(self, bench: Workbench) -> None:
        bench.open(row=PATIENT)
        before = bench.asked_for("/api/explain")
        bench.drag("chol: lowest allowed", *range(215, 255))
        assert bench.page.locator("#answer").get_attribute("data-state") == "solving"
        assert "belongs to the inputs before" in bench.page.locator("#answer .stale-note").inner_text()
        bench.solved()
        assert bench.page.locator("#answer .stale-note").is_hidden()
        assert bench.state["own"]["chol"]["lo"] == 254
        assert bench.asked_for("/api/explain") - before <= 2
        bench.button("Undo").click()
        assert "own" not in bench.state, "the whole movement is undone at once"

    def test_the_newest_request_wins_and_older_ones_are_cancelled(self, loan_bench: Workbench) -> None:
        bench = loan_bench.open(row=POOR)
        gone: list[str] = []
        bench.page.on("requestfailed", lambda request: gone.append(request.url))
        held: list[Any] = []
        bench.page.route("**/api/explain", lambda route: held.append(route))
        bench.button("Lock income").click()
        bench.until(lambda: held)
        bench.page.unroute("**/api/explain")
        bench.page.get_by_label("debt: direction").select_option("down")
        bench.solved()
        assert f"{bench.served.url}/api/explain" in gone
        both = best(bench, "income == x.income", "debt <= x.debt", row=POOR)
        assert bench.sentence == both["sentence"]

    def test_another_number_of_alternatives_cancels_the_search_before(self, loan_bench: Workbench) -> None:
        bench = loan_bench.open(row=POOR, k=1)
        held: list[Any] = []
        gone: list[str] = []
        bench.page.on("requestfailed", lambda request: gone.append(request.url))
        bench.page.route("**/api/explain", lambda route: held.append(route))
        count = bench.page.get_by_label("Alternatives").and_(bench.page.locator("select"))
        count.select_option("5")
        bench.until(lambda: held)
        bench.page.unroute("**/api/explain")
        count.select_option("3")
        tabs = bench.page.locator(".answer-tabs [role=tab]")
        tabs.nth(2).wait_for()
        assert gone == [f"{bench.served.url}/api/explain"]
        assert tabs.count() == 3

    def test_a_row_is_solved_for_though_the_other_tab_is_opened_meanwhile(
        self, loan_bench: Workbench
    ) -> None:
        bench = loan_bench.open(row=POOR)
        held: list[Any] = []
        bench.page.get_by_text("Find a person").click()
        second = bench.page.locator(".rows .row").nth(1)
        second.wait_for()
        bench.page.route("**/api/rows", lambda route: held.append(route))
        second.click()
        bench.until(lambda: held)
        bench.page.get_by_role("tab", name="Many people").click()
        bench.page.unroute("**/api/rows")  # which lets go what was held
        bench.solved()
        bench.page.get_by_role("tab", name="One person").click()
        assert bench.sentence == best(bench, row=bench.state["row"])["sentence"]

    def test_both_handles_of_a_locked_feature_can_be_drawn(self, bench: Workbench) -> None:
        bench.open(row=PATIENT)
        for name, end, by in (("age", "lowest", -60), ("ca", "highest", 40)):
            now = bench.page.get_by_label(f"{name}: current value").input_value()
            side = -3 if end == "lowest" else 3
            slider = bench.page.get_by_label(f"{name}: {end} allowed")
            slider.scroll_into_view_if_needed()
            x, y = slider.evaluate(_HANDLE)
            bench.page.mouse.move(x + side, y)
            bench.page.mouse.down()
            bench.page.mouse.move(x + side + by, y, steps=4)
            bench.page.mouse.up()
            bench.solved()
            rule = bench.state["own"][name]
            assert (rule["hi"] if by < 0 else rule["lo"]) == float(now)
            assert rule["lo"] < rule["hi"]

    def test_presets(self, loan_bench: Workbench) -> None:
        bench = loan_bench.open(row=POOR)
        badge = bench.page.locator(".badge")
        bench.button("all locked").click()
        bench.solved()
        assert badge.inner_text() == "Not within these limits"
        bench.button("all unlocked").click()
        bench.solved()
        assert badge.inner_text() == "Found"
        assert bench.sentence == best(bench, row=POOR)["sentence"]
        bench.button("Lock debt").click()
        bench.solved()
        bench.button("±20%").click()
        bench.solved()
        assert bench.state["own"] == {"income": {"t": "within", "p": 20}, "debt": {"t": "lock"}}
        bench.button("the project's rules").click()
        bench.solved()
        assert "own" not in bench.state

    def test_a_set_of_rules_is_saved_and_comes_back(self, loan_bench: Workbench) -> None:
        bench = loan_bench.open(row=POOR)
        bench.button("Lock income").click()
        bench.page.get_by_text("Saved sets").click()
        bench.page.get_by_label("Name of the set").fill("no raise")
        bench.button("Save").click()
        bench.button("the project's rules").click()
        bench.solved()
        assert "own" not in bench.state
        bench.button("no raise").click()
        bench.solved()
        assert bench.state["own"] == {"income": {"t": "lock"}}
        bench.button("Remove the saved set no raise").click()
        assert bench.button("no raise").count() == 0

    def test_free_text_is_checked_as_it_is_typed(self, bench: Workbench) -> None:
        bench.open(row=PATIENT)
        text = bench.page.get_by_label("Further constraints, one a line")
        text.fill("# a note\noldpeak >= 1\nchl <= 200")
        wrong = bench.page.locator("#free-said .wrong")
        wrong.wait_for()
        assert wrong.inner_text().startswith(
            "Line 3: constraint 'chl <= 200': unknown column 'chl' (did you mean 'chol'?)"
        )
        assert "until the constraint is mended" in bench.page.locator("#answer .stale-note").inner_text()
        bench.said.clear()  # the browser itself notes each reply that is a refusal
        text.fill("# a note\noldpeak >= 1\nchol <= 200")
        bench.solved()
        assert bench.page.locator("#free-said").inner_text() == "2 constraints are understood."
        assert bench.sentence == best(bench, "oldpeak >= 1", "chol <= 200", row=PATIENT)["sentence"]

    def test_somebody_who_is_there_already(self, bench: Workbench) -> None:
        bench.open(row=WELL)
        assert bench.page.locator(".badge").inner_text() == "Already there"
        assert bench.page.locator(".tile").count() == 1


class TestServer:
    """What becomes of the work of a server that is slow, or gone."""

    @pytest.mark.parametrize(
        ("path", "own"),
        [
            ("/api/explain", {}),
            ("/api/plan", {}),
            ("/api/ranges", {}),
            ("alternatives", {}),
            ("/api/why-not", BOTH_LOCKED),
            ("/api/map", {}),
        ],
    )
    def test_a_movement_stops_the_work_on_what_is_not_wanted_any_more(
        self, browser: "Browser", path: str, own: dict[str, Any]
    ) -> None:
        project, gate = gated(loans())
        route = "/api/explain" if path == "alternatives" else path

        def hold(asked: Any) -> None:
            if path != "alternatives" or "k" in asked.request.post_data_json["options"]:
                gate.close()
            asked.continue_()

        with serving(project) as served, opened(browser, served) as bench:
            bench.page.route(f"**{route}", hold)
            address = quote(json.dumps({"row": POOR, "own": own}))
            bench.page.goto(f"{served.url}/#{address}")
            bench.until(gate.entered.is_set)
            meters = list(served.server.desk._meters)
            bench.page.unroute(f"**{route}")
            bench.page.get_by_label("income: direction").select_option("up")
            # The gate is still closed: what they ended by is not an answer.
            bench.until(
                lambda: every(one.is_cancelled for one in meters if one in served.server.desk._meters)
            )
            gate.open()
            bench.solved()
            assert (route, 499) in {(one.get("route"), one["status"]) for one in served.logged()}
            held = ["debt == x.debt"] if own else []
            assert bench.sentence == best(bench, "income >= x.income", *held, row=POOR)["sentence"]

    def test_one_that_does_not_answer_is_told_and_asked_again(self, loan_bench: Workbench) -> None:
        bench = loan_bench.open(row=POOR)
        first = bench.sentence
        bench.page.route("**/api/**", lambda route: route.abort())
        bench.button("Lock income").click()
        bench.page.get_by_text("The server does not answer.").first.wait_for()
        assert "the last request failed" in bench.page.locator("#answer .stale-note").inner_text()
        bench.said.clear()  # the browser itself notes each request that failed
        bench.page.unroute("**/api/**")
        bench.button("Try again").click()
        bench.solved()
        assert bench.sentence != first
        assert bench.sentence == best(bench, "income == x.income", row=POOR)["sentence"]
        assert bench.button("Try again").count() == 0


class TestRelaxing:
    def test_pressing_what_to_relax_leads_to_an_answer(self, loan_bench: Workbench) -> None:
        bench = loan_bench.open(row=POOR, own=BOTH_LOCKED)
        assert bench.page.locator(".badge").inner_text() == "Not within these limits"
        relax = bench.page.locator(".relaxation").first
        relax.wait_for()
        binds = bench.page.locator(".binds code").first.inner_text()
        assert binds in ("income == x.income", "debt == x.debt")
        column = "income" if "income" in relax.inner_text() else "debt"
        relax.click()
        bench.solved()
        assert bench.page.locator(".badge").inner_text() == "Found"
        assert list(bench.changed()) == [column]
        bench.button("Undo").click()
        bench.solved()
        assert bench.page.locator(".badge").inner_text() == "Not within these limits"

    def test_what_a_relaxation_gives_up_stands_on_its_button(self, bench: Workbench) -> None:
        bench.open(row=8)
        buttons = bench.page.locator(".relaxation")
        buttons.first.wait_for()
        noted = {
            one.locator(".words").text_content(): one.locator(".caution-words").inner_text()
            for one in buttons.all()
        }
        fact = noted["let cp also be 'typical angina'"]
        assert fact == "Gives up a fact: cp was said to stay as it is."
        both = noted["let sex also be 'female' and let thal also be 'normal'"]
        assert both == "Gives up a fact: sex and thal were said to stay as they are."
        assert fact in (buttons.nth(0).get_attribute("aria-label") or "")

    def test_a_relaxation_of_what_may_change_has_no_note(self, bench: Workbench) -> None:
        bench.open(row=PATIENT, free="chol >= 300")
        bench.page.locator(".relaxation").first.wait_for()
        assert bench.page.locator(".caution-words").count() == 0

    def test_a_contradiction_names_what_clashes(self, bench: Workbench) -> None:
        bench.open(row=PATIENT, free="chol >= 300")
        assert bench.page.locator(".badge").inner_text() == "Contradiction"
        clash = bench.page.locator(".binds code").all_inner_texts()
        assert set(clash) == {"chol >= 300", "0.8 * x.chol <= chol <= x.chol"}
        assert bench.page.locator("#glance").text_content() == "Contradiction"


class TestAnswer:
    def test_alternatives_are_tabs_with_steps_and_ranges_of_their_own(self, loan_bench: Workbench) -> None:
        bench = loan_bench.open(row=POOR)
        tabs = bench.page.locator(".answer-tabs [role=tab]")
        tabs.nth(2).wait_for()
        first = bench.changed()
        tabs.first.press("ArrowRight")
        assert bench.changed() != first
        assert bench.state["answer"] == 1
        assert tabs.nth(1).get_attribute("aria-selected") == "true"
        steps = bench.page.locator(".steps li .what")
        bench.until(lambda: every(name in " ".join(steps.all_inner_texts()) for name in bench.changed()))
        bench.page.locator(".changes thead").get_by_text("Holds for").wait_for()

    def test_an_edited_value_is_predicted_at_once(self, bench: Workbench) -> None:
        bench.open(row=PATIENT)
        bench.page.get_by_label("trestbps: proposed value").fill("138")
        trial = bench.page.locator("#trial p")
        trial.wait_for()
        bench.until(lambda: trial.inner_text().startswith("With"))
        edited = {**{name: float(value) for name, value in bench.changed().items()}, "trestbps": 138}
        wanted = bench.served.post("/api/try", {"row": PATIENT, "try_values": edited}).json
        assert trial.inner_text() == wanted["sentence"]
        assert bench.page.locator(".tile.then strong").inner_text() == wanted["trial"]["prediction"]
        bench.button("Back to the proposed values").click()
        assert bench.page.locator("#trial").count() == 0

    @pytest.mark.parametrize(
        ("typed", "told"),
        [("131.5", "type a whole number"), ("", "type a value"), ("13x", "type a number")],
    )
    def test_an_edit_that_is_no_value_shows_no_outcome_of_other_values(
        self, bench: Workbench, typed: str, told: str
    ) -> None:
        bench.open(row=PATIENT)
        then = bench.page.locator(".tile.then")
        assert "reaches the target" in then.inner_text()
        field = bench.page.get_by_label("trestbps: proposed value")
        field.fill(typed)
        bench.page.get_by_text(f"trestbps: {told}").wait_for()
        assert then.inner_text().split("\n") == ["Your edit", "not known; see below"]
        assert field.get_attribute("aria-invalid") == "true"
        assert bench.page.locator(".changes tr").filter(has=field).locator(".delta").count() == 0
        assert bench.asked_for("/api/try") == 0
        field.fill("138")
        bench.until(lambda: "score of the target" in then.inner_text())
        assert then.inner_text().startswith("Your edit")

    def test_the_outcome_of_an_edit_goes_when_the_next_is_typed(self, bench: Workbench) -> None:
        bench.open(row=PATIENT, edit={"trestbps": 138})
        then = bench.page.locator(".tile.then")
        bench.until(lambda: "score of the target" in then.inner_text())
        held: list[Any] = []
        bench.page.route("**/api/try", lambda route: held.append(route))
        bench.page.get_by_label("trestbps: proposed value").fill("120")
        bench.until(lambda: held)
        assert then.inner_text().split("\n") == ["Your edit", "Asking the model …"]
        bench.page.unroute("**/api/try")  # which lets go what was held
        bench.until(lambda: "score of the target" in then.inner_text())

    def test_downloads(self, loan_bench: Workbench, tmp_path: Path) -> None:
        bench = loan_bench.open(row=POOR)
        found = {}
        for name in ("JSON", "HTML report", "Certificate"):
            with bench.page.expect_download() as waiting:
                bench.button(name).click()
            file = tmp_path / waiting.value.suggested_filename
            waiting.value.save_as(file)
            found[file.name] = file.read_text(encoding="utf-8")
        assert json.loads(found["explanation.json"])["status"] == "found"
        assert "<h1>Loans</h1>" in found["report.html"]
        made = Certificate.from_json(found["certificate.json"])
        assert loans().explainer().check_certificate(made).passed


class TestState:
    def test_a_reloaded_address_shows_the_same(self, loan_bench: Workbench) -> None:
        bench = loan_bench.open(row=POOR, set={"income": 30}, free="debt >= 1")
        bench.page.get_by_label("income: direction").select_option("up")
        bench.solved()
        bench.page.locator(".answer-tabs [role=tab]").nth(1).click()
        bench.page.get_by_label("Across").select_option("debt")
        name, value = next(iter(bench.changed().items()))
        edit = int(value) + 1
        bench.page.get_by_label(f"{name}: proposed value").fill(str(edit))
        bench.until(lambda: bench.page.locator("#trial p").inner_text().startswith("With"))
        seen = (bench.sentence, bench.changed(), bench.state, bench.page.locator("#trial p").inner_text())
        assert (bench.state["answer"], bench.state["edit"]) == (1, {name: edit})
        bench.page.reload()
        bench.solved()
        bench.page.locator(".answer-tabs [role=tab]").nth(1).wait_for()
        bench.until(lambda: bench.page.locator("#trial p").inner_text() == seen[3])
        assert (bench.sentence, bench.changed(), bench.state) == seen[:3]
        assert bench.page.get_by_label("income: current value").input_value() == "30"
        assert bench.page.get_by_label("Across").input_value() == "debt"

    def test_the_link_is_copied_and_the_button_says_so(self, loan_bench: Workbench) -> None:
        bench = loan_bench.open(row=POOR)
        bench.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        bench.button("Lock income").click()
        bench.button("Copy link").click()
        bench.button("Link copied").wait_for()
        copied = bench.page.evaluate("navigator.clipboard.readText()")
        assert copied == bench.page.url
        assert json.loads(unquote(copied.split("#")[1]))["own"] == {"income": {"t": "lock"}}
        bench.button("Copy link").wait_for()

    def test_undo_and_redo_by_button_and_by_key(self, loan_bench: Workbench) -> None:
        bench = loan_bench.open(row=POOR)
        first = bench.sentence
        bench.button("Lock income").click()
        bench.solved()
        second = bench.sentence
        assert second != first
        bench.button("Undo").click()
        bench.solved()
        assert bench.sentence == first
        bench.button("Redo").click()
        bench.solved()
        assert bench.sentence == second
        bench.page.keyboard.press("Control+z")
        bench.solved()
        assert bench.sentence == first

    def test_an_address_that_says_nothing_shows_the_example(self, loan_bench: Workbench) -> None:
        for broken in ("nonsense", "[1]", '{"own": 3, "row": "x"}', '{"own": {"income": 7}}'):
            loan_bench.page.goto("about:blank")
            loan_bench.page.goto(f"{loan_bench.served.url}/#{broken}")
            loan_bench.solved()
            assert set(loan_bench.state) == {"row"}


class TestMap:
    def test_it_shows_rows_boundary_query_answer_and_allowed_box(self, bench: Workbench) -> None:
        bench.open(row=PATIENT)
        drawn = bench.page.locator("svg.map")
        drawn.wait_for()
        assert drawn.locator(".dot").count() == len(heart().table)
        assert drawn.locator("path.boundary").count() > 100
        for part in (".query", ".diamond.answer", ".box"):
            assert drawn.locator(part).count() == 1

    def test_pointing_and_arrow_keys_name_rows_and_enter_opens_one(self, bench: Workbench) -> None:
        bench.open(row=PATIENT, axes=["age", "chol"])
        drawn = bench.page.locator("svg.map")
        drawn.locator(".dot").nth(3).hover(force=True)
        said = bench.page.locator(".map-said")
        assert said.inner_text().startswith("row ")
        assert "chol" in said.inner_text()
        drawn.focus()
        drawn.press("ArrowRight")
        named = said.inner_text().removeprefix("row ").split(":")[0]
        drawn.press("Enter")
        bench.until(lambda: bench.state["row"] == int(named))
        bench.solved()

    def test_the_projection_needs_no_features(self, bench: Workbench) -> None:
        bench.open(row=PATIENT, axes=["", ""])
        bench.page.locator("svg.map .query").wait_for()
        assert bench.page.locator("svg.map .box").count() == 0
        assert bench.page.get_by_label("Across").is_hidden()


def test_the_whole_way_by_keyboard(bench: Workbench) -> None:
    bench.open(row=PATIENT)
    page = bench.page

    def tab_to(label: str) -> None:
        for _ in range(120):
            page.keyboard.press("Tab")
            if (
                page.evaluate(
                    "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"
                )
                == label
            ):
                return
        raise AssertionError(f"the key Tab does not lead to {label}")

    tab_to("Lock thalach")
    page.keyboard.press("Space")
    bench.solved()
    assert "thalach" not in bench.changed()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    tab_to("oldpeak: lowest allowed")
    page.keyboard.press("ArrowRight")
    bench.until(lambda: "oldpeak" in bench.state["own"])
    bench.solved()
    assert bench.state["own"]["oldpeak"]["lo"] == pytest.approx(0.1)
    assert page.locator(SOLVED).count() == 1
    assert page.locator("#announce").inner_text() == bench.sentence


def test_the_answer_is_announced_and_the_caution_stands_once(bench: Workbench) -> None:
    bench.open(row=PATIENT)
    assert bench.page.locator("#announce").get_attribute("aria-live") == "polite"
    assert bench.page.locator("#announce").inner_text() == bench.sentence
    caution = heart().settings.caution
    assert bench.page.locator("body").inner_text().count(caution) == 1

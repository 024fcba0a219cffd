"""The HTTP API: replies are the service's own, faults of requests are 422 in a sentence, never 500."""

import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.apps.http.served import Gate, Served, gated, serving, wait_until
from tests.apps.projects import PATIENT, heart, loans
from tests.support import every

from ssba.apps.http.openapi import ENDPOINTS
from ssba.apps.http.settings import ServeSettings
from ssba.apps.limits import Limits
from ssba.apps.requests import ExplainRequest, PredictRequest, RowsRequest
from ssba.apps.service import Service
from ssba.results import Explanation

ENDLESS = {"row": 3, "options": {"k": 5}}
LONG_CONSTRAINT = b'{"row": 6, "constraints": ["' + b"age + " * 400 + b'age <= 5"]}'
HUGE = str(10**400).encode()
NO_ANSWER = b'{"row": 6, "constraints": ["age >= 99", "age <= 18"]}'
NO_TIME = b'{"row": 6, "budget": {"seconds": 1e-6}}'
HUGE_RADIUS = b'{"row": 6, "options": {"margin": {"kind": "ball", "radius": ' + HUGE + b"}}}"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(heart()) as running:
        yield running


@pytest.fixture
def held_up() -> Iterator[tuple[Served, Gate]]:
    """A server with one worker and one place to wait, whose model can be held up."""
    project, gate = gated(loans())
    with serving(project, ServeSettings(workers=1, waiting=1)) as running:
        yield running, gate
        gate.open()


class TestReplies:
    def test_they_are_what_the_service_says(self, served: Served) -> None:
        service = Service(heart())
        asked = {"row": PATIENT, "constraints": ["chol == x.chol"], "options": {"k": 2}}
        reply = served.post("/api/explain", asked)
        wanted = service.explain(ExplainRequest.model_validate(asked)).model_dump()
        assert reply.status == 200
        assert _timeless(reply.json["explanation"]) == _timeless(wanted["explanation"])
        assert reply.json["sentence"] == wanted["sentence"]
        assert reply.json["caution"] == wanted["caution"]

    def test_an_explanation_can_be_asked_about_again(self, served: Served) -> None:
        found = served.post("/api/explain", {"row": PATIENT}).json["explanation"]
        plan = served.post("/api/plan", {"explanation": found, "max_step": {"trestbps": 5}})
        trial = served.post("/api/try", {"explanation": found, "try_values": {"oldpeak": 0}})
        assert plan.json["plan"]["steps"]
        assert trial.json["trial"]["prediction"] == "disease"

    def test_the_report_is_a_page_that_loads_nothing(self, served: Served) -> None:
        reply = served.post("/api/report", {"row": PATIENT})
        assert reply.headers["content-type"] == "text/html; charset=utf-8"
        assert reply.body.startswith(b"<!doctype html>") or reply.body.startswith(b"<!DOCTYPE html>")
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src" not in policy

    def test_the_schema_tells_all_that_a_client_needs(self, served: Served) -> None:
        said = served.request("GET", "/api/schema").json
        assert said["title"] == "Heart patients"
        assert said["requests"]["ExplainRequest"]["properties"]["row"]
        assert said["results"]["$defs"]["Explanation"]

    def test_rows_come_by_query_string_and_by_body_alike(self, served: Served) -> None:
        query = "search=typical&where=sex:male&where=ca:0&reached=true&offset=1&limit=2"
        by_query = served.request("GET", f"/api/rows?{query}")
        asked = {
            "search": "typical",
            "where": {"sex": "male", "ca": 0},
            "reached": True,
            "offset": 1,
            "limit": 2,
        }
        wanted = Service(heart()).rows(RowsRequest.model_validate(asked)).model_dump(mode="json")
        assert by_query.json == served.post("/api/rows", asked).json == wanted
        assert len(wanted["rows"]) == 2

    def test_an_empty_value_in_a_query_string_is_a_missing_cell(self, served: Served) -> None:
        found = served.request("GET", "/api/rows?where=ca:").json
        assert found["total"] == 4, "as heart.csv has it"
        assert every(one["values"]["ca"] is None for one in found["rows"])


class TestFaults:
    @pytest.mark.parametrize(
        ("path", "body", "where", "message"),
        [
            ("explain", b"{", "", "this is not the JSON of a request"),
            ("explain", b"", "", "this is not the JSON of a request"),
            ("explain", b"\xff\xfe", "", "no UTF-8 text"),
            ("explain", b'{"row": NaN}', "", "NaN, which is not valid JSON"),
            ("explain", b'{"where": {"sex": "\\ud800"}}', "", "no UTF-8 text"),
            ("explain", b'{"row": ' + b"1" * 5000 + b"}", "", "this is not the JSON"),
            ("explain", b'{"row": 1e400}', "row", "row is inf"),
            ("explain", b"[" * 100_000, "", "this is not the JSON"),
            ("explain", b'{"values": ' + b"[" * 500 + b"]" * 500 + b"}", "", "more than 40 levels"),
            ("explain", b"[]", "", "give an object"),
            ("explain", b'{"row": ' + HUGE + b"}", "", "is not in the data, whose 303 rows are 0 to 302"),
            ("explain", b'{"where": {"age": ' + HUGE + b"}}", "", "no row of the data has age = 1000"),
            ("explain", HUGE_RADIUS, "options", 'a distance above 0, {"kind": "ball", "radius": 0.2}'),
            ("explain", b'{"row": 6, "constraints": ["9e300*9e300*age <= chol"]}', "", "write smaller ones"),
            ("explain", b"{}", "", "exactly one of row, where, values; none of them is given"),
            ("explain", b'{"row": -1}', "row", "row is -1: give 0 or more"),
            ("explain", b'{"row": 999}', "", "row 999 is not in the data, whose 303 rows are 0 to 302"),
            ("explain", b'{"row": 6, "constrains": []}', "constrains", "did you mean 'constraints'?"),
            ("explain", b'{"row": 6, "constraints": ["chl == 3"]}', "", "did you mean 'chol'?"),
            ("explain", b'{"row": 6, "target": "healthy"}', "", "healthy"),
            ("explain", b'{"row": 6, "options": {"k": 0}}', "options", "k"),
            ("explain", b'{"values": {"age": [1]}}', "values.age", "give text, a number"),
            ("explain", b'{"values": {"age": 50}}', "", "column 'sex' is missing"),
            ("explain", b'{"row": 6, "budget": {"rows": 2000000}}', "", "1,000,000 model rows at most"),
            ("explain", b'{"row": 6, "budget": {"seconds": 500}}', "", "120 seconds at most"),
            ("plan", b'{"explanation": {}}', "", "this is not the JSON of the kind 'explanation'"),
            (
                "ranges",
                b'{"row": 0}',
                "",
                "there is no answer, as this query ended as already_there: ",
            ),
            ("ranges", NO_ANSWER, "", "relax one of them. /api/why-not tells what to relax"),
            ("ranges", NO_TIME, "", "; allow more with budget.seconds"),
            ("plan", b'{"row": 6, "answer": 7}', "", "answer is 7, but the last of the answers is number 0"),
            ("explain", b'{"row": 6, "options": {"margin": -1}}', "options", "margin is -1; give a distance"),
            ("explain", b'{"row": 6, "options": {"target": 1}}', "options", "it stands beside options"),
            ("explain", b'{"row": 6, "budget": {"rows": 0}}', "budget", "budget.rows is 0; give a whole"),
            ("try", b'{"row": 6}', "try_values", "missing"),
            ("check-constraints", LONG_CONSTRAINT, "constraints.0", "give at most 2,000 characters"),
            ("rows", b'{"limit": 1000}', "limit", "200 or less"),
            ("cohort", b'{"rows": [-1]}', "rows.0", "0 or more"),
        ],
    )
    def test_each_is_told_in_one_sentence(
        self, served: Served, path: str, body: bytes, where: str, message: str
    ) -> None:
        reply = served.request("POST", f"/api/{path}", body, Content_Type="application/json")
        assert reply.status == 422
        (problem,) = reply.json["detail"]
        assert problem["where"] == where
        assert message in problem["message"]
        assert len(problem["message"]) < 600

    def test_so_is_a_number_of_an_explanation_that_no_float_can_hold(self, served: Served) -> None:
        found = served.post("/api/explain", {"row": PATIENT}).json["explanation"]
        reply = served.post("/api/plan", {"explanation": {**found, "seconds": 10**400}})
        assert reply.status == 422
        assert "is too large, where a number up to 1.8e+308 was expected" in reply.messages[0]

    def test_several_are_told_at_once(self, served: Served) -> None:
        reply = served.post("/api/explain", {"row": "x", "constraints": 3, "speed": 9})
        assert [one["where"] for one in reply.json["detail"]] == ["row", "constraints", "speed"]

    def test_of_very_many_some_are_told(self, served: Served) -> None:
        reply = served.post("/api/explain", {"row": 1, **{f"unknown {i}": 0 for i in range(5000)}})
        assert reply.status == 422
        *told, rest = (one["message"] for one in reply.json["detail"])
        assert (len(told), rest) == (20, "and 4,980 more")

    def test_a_long_value_is_not_repeated(self, served: Served) -> None:
        reply = served.post("/api/explain", {"row": "secret" * 1000, "x" * 1000: 1})
        assert reply.status == 422
        assert len(reply.body) < 1000

    @pytest.mark.parametrize(
        ("query", "message"),
        [
            ("limit=many", "limit is 'many': give a whole number"),
            ("where=sex", "where is 'sex': give COLUMN:VALUE"),
            ("limit=1&limit=2", "limit is given twice"),
            ("page=3", "page is not known"),
            ("where=sx:male", "unknown column 'sx' (did you mean 'sex'?)"),
        ],
    )
    def test_so_are_those_of_a_query_string(self, served: Served, query: str, message: str) -> None:
        reply = served.request("GET", f"/api/rows?{query}")
        assert reply.status == 422
        assert message in reply.messages[0]

    def test_unknown_addresses_and_methods_are_told_as_json(self, served: Served) -> None:
        assert served.request("GET", "/api/nothing").json["error"] == "NotFound"
        wrong = served.request("GET", "/api/explain")
        assert (wrong.status, wrong.json["error"]) == (405, "MethodNotAllowed")

    def test_the_failure_of_a_model_is_told_without_its_inside(self) -> None:
        project, gate = gated(loans())

        class Failing:
            def predict(self, rows: Any) -> Any:
                if (rows["income"] == 77).any():
                    raise ValueError("secret of the model")
                return gate.predict(rows)

        table = project.table.assign(income=project.table["income"].replace(77, 76))
        with serving(replace(project, model=Failing(), table=table)) as running:
            reply = running.post("/api/predict", {"values": {"income": 77, "debt": 3}})
            assert (reply.status, reply.json["error"]) == (422, "ModelError")
            assert "the model could not answer" in reply.messages[0]
            assert b"secret" not in reply.body
            line = running.line_of(reply)
        assert line["failure"][0]["type"] == "ModelError"
        assert "77" not in json.dumps(line["failure"]).replace(":77 ", "")
        assert "secret" not in json.dumps(line)

    def test_a_fault_of_our_own_is_500_and_says_nothing(
        self, served: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*asked: Any) -> Any:
            raise KeyError("/home/somebody/secret")

        monkeypatch.setattr(served.server.service, "predict", broken)
        reply = served.post("/api/predict", {"row": 1})
        assert reply.status == 500
        assert b"secret" not in reply.body
        line = served.line_of(reply)
        assert (line["level"], line["failure"][0]["type"]) == ("error", "KeyError")
        assert "secret" not in json.dumps(line)


class TestLimits:
    def test_what_takes_too_many_rows_is_stopped(self) -> None:
        with serving(loans(), limits=Limits(rows=50)) as running:
            reply = running.post("/api/explain", {"row": 3, "budget": {"rows": 50}})
        assert (reply.status, reply.json["error"]) == (422, "StoppedError")
        assert "more than the 50 model rows" in reply.messages[0]

    def test_what_takes_too_long_is_stopped(self) -> None:
        with serving(loans(), limits=Limits(seconds=1e-6)) as running:
            reply = running.post("/api/predict", {"row": 3})
        assert reply.status == 422
        assert "longer than the 1e-06 seconds" in reply.messages[0]

    def test_beyond_those_that_may_wait_a_request_is_told_when_to_come_again(
        self, held_up: tuple[Served, Gate]
    ) -> None:
        served, gate = held_up
        gate.close()
        replies: list[int] = []
        asking = [
            threading.Thread(target=lambda: replies.append(served.post("/api/predict", {"row": 3}).status))
            for _ in range(2)
        ]
        for one in asking:
            one.start()
        wait_until(lambda: served.server.desk.taken == 2)
        refused = served.post("/api/predict", {"row": 3})
        assert (refused.status, refused.headers["retry-after"]) == (503, "2")
        assert "ssba_queue_length 2.0" in served.request("GET", "/metrics").body.decode()
        gate.open()
        for one in asking:
            one.join()
        assert replies == [200, 200]

    def test_work_stops_when_the_client_has_gone(self, held_up: tuple[Served, Gate]) -> None:
        served, gate = held_up
        calls = gate.calls
        gate.close()
        body = json.dumps(ENDLESS).encode()
        head = f"POST /api/explain HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        with socket.create_connection(("127.0.0.1", served.port)) as connection:
            connection.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode() + body)
            assert gate.entered.wait(30)
            (meter,) = served.server.desk._meters
        wait_until(lambda: meter.is_cancelled)
        gate.open()
        wait_until(lambda: served.server.desk.taken == 0)
        assert gate.calls == calls + 1, "no call after the one that was under way"
        wait_until(served.logged)
        assert served.logged()[-1]["status"] == 499
        assert served.post("/api/predict", {"row": 3}).status == 200, "the worker is free again"

    def test_what_searches_nothing_waits_for_no_search(self, held_up: tuple[Served, Gate]) -> None:
        served, gate = held_up
        quick = [
            ("/api/check-constraints", {"row": 3, "constraints": ["income >= x.income"]}),
            ("/api/rows", {"sort": "score"}),
        ]
        for asked in quick:  # what the model says about the rows is known from now on
            assert served.post(*asked).status == 200
        gate.close()
        search = threading.Thread(target=served.post, args=("/api/explain", {"row": 3}))
        search.start()
        assert gate.entered.wait(30)
        for asked in quick:
            assert served.post(*asked).status == 200
        assert search.is_alive()
        gate.open()
        search.join()

    def test_who_leaves_the_line_is_not_worked_for(self, held_up: tuple[Served, Gate]) -> None:
        served, gate = held_up
        gate.close()
        first = threading.Thread(target=served.post, args=("/api/explain", ENDLESS))
        first.start()
        assert gate.entered.wait(30)
        with socket.create_connection(("127.0.0.1", served.port)) as connection:
            connection.sendall(
                b"POST /api/explain HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n"
                b'Content-Type: application/json\r\n\r\n{"row": 3}'
            )
            wait_until(lambda: served.server.desk.taken == 2)
            waiting = served.server.desk._meters[1]
        wait_until(lambda: served.server.desk.taken == 1)
        gate.open()
        first.join()
        assert (waiting.rows, waiting.is_cancelled) == (0, True)


def test_several_explainers_answer_side_by_side_and_alike() -> None:
    with serving(heart(), ServeSettings(workers=3)) as running:
        replies: list[Any] = []

        def ask() -> None:
            replies.append(running.post("/api/explain", {"row": PATIENT}).json)

        asking = [threading.Thread(target=ask) for _ in range(6)]
        for one in asking:
            one.start()
        for one in asking:
            one.join()
    assert len(replies) == 6
    first, *others = [_timeless(one["explanation"]) for one in replies]
    assert every(one == first for one in others)


class TestStopping:
    def test_running_work_is_cancelled_and_told_so(self, held_up: tuple[Served, Gate]) -> None:
        served, gate = held_up
        replies: list[Any] = []
        gate.close()
        asking = threading.Thread(target=lambda: replies.append(served.post("/api/explain", ENDLESS)))
        asking.start()
        assert gate.entered.wait(30)
        (meter,) = served.server.desk._meters
        calls = gate.calls
        served.running.should_exit = True
        wait_until(lambda: meter.is_cancelled)
        gate.open()
        asking.join()
        served.thread.join(30)
        assert not served.thread.is_alive()
        assert (replies[0].status, replies[0].json["error"]) == (503, "Closed")
        assert gate.calls == calls

    def test_a_connection_that_asks_nothing_holds_nothing_up(self, held_up: tuple[Served, Gate]) -> None:
        served, _ = held_up
        with socket.create_connection(("127.0.0.1", served.port)):
            served.stop()


class TestObserved:
    def test_metrics_count_requests_rows_and_jobs(self, served: Served) -> None:
        served.post("/api/predict", {"row": 5})
        served.request("GET", "/api/cohort/nobody-knows-this")
        text = served.request("GET", "/metrics").body.decode()
        assert 'ssba_requests_total{method="POST",route="/api/predict",status="200"}' in text
        assert 'route="/api/cohort/{job_id}",status="404"' in text
        assert 'ssba_request_seconds_count{route="/api/predict"}' in text
        assert 'ssba_model_rows_total{by="requests"}' in text
        assert 'ssba_jobs{status="running"}' in text
        assert "nobody" not in text

    def test_a_line_is_logged_for_each_request_without_values(self, served: Served) -> None:
        row = Service(heart()).predict(PredictRequest(row=PATIENT)).prediction["values"]
        replies = [
            served.post("/api/explain", {"values": row}),
            served.request("GET", "/api/rows?search=asymptomatic"),
            served.request("GET", "/some/asymptomatic/path"),
        ]
        lines = [served.line_of(one) for one in replies]
        assert [one["route"] for one in lines] == ["/api/explain", "/api/rows", "unmatched"]
        assert [one["status"] for one in lines] == [200, 200, 404]
        assert lines[0]["rows"] > 0
        assert lines[0]["ms"] > 0
        assert "asymptomatic" not in json.dumps(lines)

    def test_values_are_logged_where_somebody_says_so(self) -> None:
        with serving(loans(), ServeSettings(log_values=True)) as running:
            line = running.line_of(running.post("/api/predict", {"row": 3, "set": {"income": 4711}}))
        assert "4711" in line["body"]


def test_every_endpoint_is_a_method_of_the_service() -> None:
    assert every(callable(getattr(Service, one.method)) for one in ENDPOINTS)


def _timeless(explanation: dict[str, Any]) -> Explanation:
    return replace(Explanation.from_dict(json.loads(json.dumps(explanation))), seconds=0.0)

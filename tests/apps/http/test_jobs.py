"""Cohorts in the background: progress by server-sent events, cancelled on request, bounded in number."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import anyio
import pytest
from tests.apps.http.served import Gate, Served, gated, serving, wait_until
from tests.apps.projects import loans
from tests.support import every

from ssba.apps.http import jobs as jobs_module
from ssba.apps.http.jobs import Job, Jobs
from ssba.apps.http.settings import ServeSettings
from ssba.apps.limits import Limits
from ssba.apps.requests import CohortRequest
from ssba.apps.service import Service

ROWS = list(range(40))


@pytest.fixture
def held_up() -> Iterator[tuple[Served, Gate]]:
    project, gate = gated(loans())
    with serving(project, ServeSettings(jobs=2, workers=1)) as running:
        yield running, gate
        gate.open()


def events(served: Served, job: str, gate: Gate | None = None) -> list[tuple[str, Any]]:
    """Follow a job to its end; the gate is opened when the first event has come."""
    connection = HTTPConnection("127.0.0.1", served.port, timeout=60)
    connection.request("GET", f"/api/cohort/{job}/events")
    answer = connection.getresponse()
    assert answer.getheader("content-type", "").startswith("text/event-stream")
    found, name = [], ""
    for line in map(bytes.decode, iter(answer.readline, b"")):
        if line.startswith("event: "):
            name = line.removeprefix("event: ").strip()
        if line.startswith("data: "):
            found.append((name, json.loads(line.removeprefix("data: "))))
            if gate is not None:
                gate.open()
    connection.close()
    return found


def test_progress_comes_as_events_and_the_result_at_last(held_up: tuple[Served, Gate]) -> None:
    served, gate = held_up
    gate.close()
    started = served.post("/api/cohort", {"rows": ROWS, "by": "region"})
    assert started.status == 202
    job = started.json["id"]
    assert started.headers["location"] == f"/api/cohort/{job}"
    assert gate.entered.wait(30)
    seen = events(served, job, gate)
    assert every(name == "progress" for name, _ in seen[:-1])
    assert seen[0][1]["status"] == "running"
    assert seen[0][1]["total"] == len(ROWS)
    last, said = seen[-1]
    assert last == "result"
    asked = CohortRequest(rows=tuple(ROWS), by="region")
    wanted = Service(served.server.service.project).cohort(asked)[0]
    assert said == wanted.model_dump(mode="json")
    looked = served.request("GET", f"/api/cohort/{job}").json
    assert (looked["status"], looked["done"], looked["total"]) == ("done", 40, 40)
    assert looked["result"] == said
    assert events(served, job)[-1] == ("result", said), "it can be asked for again"


def test_a_cancelled_job_stops_at_the_next_model_call(held_up: tuple[Served, Gate]) -> None:
    served, gate = held_up
    gate.close()
    job = served.post("/api/cohort", {"rows": ROWS}).json["id"]
    assert gate.entered.wait(30)
    calls = gate.calls
    cancelled = served.request("DELETE", f"/api/cohort/{job}").json
    assert cancelled["status"] == "cancelled"
    assert events(served, job)[-1][0] == "cancelled"
    gate.open()
    wait_until(lambda: served.server.jobs._desk.taken == 0)
    assert gate.calls == calls
    assert served.request("GET", f"/api/cohort/{job}").json["status"] == "cancelled"


def test_other_requests_get_their_turn_meanwhile(held_up: tuple[Served, Gate]) -> None:
    served, _ = held_up
    job = served.post("/api/cohort", {}).json["id"]
    assert served.post("/api/predict", {"row": 3}).status == 200
    assert events(served, job)[-1][0] == "result"


def test_a_fault_of_the_request_ends_the_job_with_its_sentence(held_up: tuple[Served, Gate]) -> None:
    served, _ = held_up
    job = served.post("/api/cohort", {"rows": [5, 999]}).json["id"]
    name, said = events(served, job)[-1]
    assert name == "error"
    assert said["error"] == "ArgumentError"
    assert "row 999 is not in the data" in said["detail"][0]["message"]
    assert served.request("GET", f"/api/cohort/{job}").json["error"] == said


def test_no_more_wait_than_may(held_up: tuple[Served, Gate]) -> None:
    served, gate = held_up
    gate.close()
    started = [served.post("/api/cohort", {"rows": [3]}) for _ in range(4)]
    assert [one.status for one in started] == [202, 202, 202, 503]
    assert started[-1].headers["retry-after"] == "30"
    statuses = [served.request("GET", one.headers["location"]).json["status"] for one in started[1:3]]
    assert statuses == ["waiting", "waiting"]


def test_ids_cannot_be_guessed_and_unknown_ones_are_told(held_up: tuple[Served, Gate]) -> None:
    served, _ = held_up
    ids = {served.post("/api/cohort", {"rows": [3]}).json["id"] for _ in range(2)}
    assert every(len(one) >= 22 for one in ids), "16 random bytes"
    assert len(ids) == 2
    for method, path in (("GET", "x"), ("DELETE", "x"), ("GET", "x/events")):
        assert served.request(method, f"/api/cohort/{path}").status == 404


def test_stopping_the_server_cancels_jobs_and_ends_their_events(held_up: tuple[Served, Gate]) -> None:
    served, gate = held_up
    gate.close()
    job = served.post("/api/cohort", {"rows": ROWS}).json["id"]
    assert gate.entered.wait(30)
    connection = HTTPConnection("127.0.0.1", served.port, timeout=60)
    connection.request("GET", f"/api/cohort/{job}/events")
    answer = connection.getresponse()
    assert b"progress" in answer.readline()
    served.running.should_exit = True
    wait_until(lambda: served.server.desk.is_closed)
    gate.open()
    assert b"event: cancelled" in answer.read()
    connection.close()
    served.thread.join(30)
    assert not served.thread.is_alive()


def test_a_job_beyond_its_limits_is_stopped() -> None:
    settings = ServeSettings(job_limits=Limits(rows=100))
    with serving(loans(), settings) as running:
        job = running.post("/api/cohort", {"rows": ROWS}).json["id"]
        name, said = events(running, job)[-1]
    assert (name, said["error"]) == ("error", "StoppedError")


def ended_jobs(jobs: Jobs, count: int) -> list[Job]:
    async def main() -> list[Job]:
        async with anyio.create_task_group() as group:
            found = []
            for _ in range(count):
                found.append(jobs.start(CohortRequest(rows=(3,)), group))
                while found[-1].outcome is None:
                    await anyio.sleep(0.01)
        return found

    return anyio.run(main)


def test_what_ended_is_kept_for_a_while_and_the_oldest_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    jobs = Jobs(Service(loans()), Limits(), 2, lambda job, failure: told.append(job.status))
    first, second, third = ended_jobs(jobs, 3)
    assert told == ["done"] * 3
    assert jobs.get(first.id) is None
    assert jobs.get(second.id) is second
    assert jobs.by_status() == {"waiting": 0, "running": 0, "done": 2, "failed": 0, "cancelled": 0}
    monkeypatch.setattr(jobs_module, "KEPT_SECONDS", -1.0)
    assert jobs.get(third.id) is None

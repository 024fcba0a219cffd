"""`ssba.Client`: the same answers, and the same errors, as an explainer that is asked directly."""

import contextlib
import threading
import time
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.apps.http.served import Served, serving
from tests.apps.projects import PATIENT, heart, loans
from tests.support import every

import ssba
from ssba.apps.client import NEEDS_MODEL
from ssba.apps.http.settings import ServeSettings
from ssba.errors import (
    ArgumentError,
    ConstraintError,
    SchemaError,
    ServiceError,
    SsbaError,
    TargetError,
)
from ssba.results import Explanation

BUDGET = ssba.Budget(15_000, 30.0)
EXPLAINER = heart().explainer()
RULES = heart().settings.constraints
ROWS = heart().rows
FREE: list[Any] = [ssba.only("chol", "thalach", "oldpeak", "ca"), "thalach <= 1.2 * x.thalach"]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(heart()) as running:
        yield running


@pytest.fixture(scope="module")
def client(served: Served) -> Iterator[ssba.Client]:
    with ssba.Client(served.url) as found:
        yield found


def timeless(explanation: Explanation) -> Explanation:
    return replace(explanation, seconds=0.0)


class TestExplain:
    @pytest.mark.parametrize(
        "row",
        [PATIENT, ROWS.iloc[PATIENT], ROWS.iloc[[PATIENT]], ROWS.iloc[PATIENT].to_dict()],
        ids=["number", "series", "frame", "dict"],
    )
    def test_the_answer_is_the_one_of_the_explainer(self, client: ssba.Client, row: Any) -> None:
        found = client.explain(row)
        wanted = EXPLAINER.explain(ROWS.iloc[PATIENT], RULES, budget=BUDGET)
        assert timeless(found) == timeless(wanted)

    def test_options_constraints_and_targets_go_along(self, client: ssba.Client) -> None:
        target = ssba.probability("no disease", at_least=0.6)
        asked: dict[str, Any] = {"k": 2, "margin": ssba.score_margin(0.01), "budget": ssba.Budget(4000)}
        found = client.explain(PATIENT, FREE, target=target, project_constraints=False, **asked)
        wanted = EXPLAINER.toward(target).explain(ROWS.iloc[PATIENT], FREE, **asked)
        assert timeless(found) == timeless(wanted)
        assert len(found.counterfactuals) == 2

    def test_none_is_any_other_class(self, client: ssba.Client) -> None:
        found = client.toward(None).explain(PATIENT)
        assert timeless(found) == timeless(
            EXPLAINER.toward(None).explain(ROWS.iloc[PATIENT], RULES, budget=BUDGET)
        )

    def test_an_answer_comes_back_in_the_form_of_the_users_rows(self, client: ssba.Client) -> None:
        best = client.explain(ROWS.iloc[PATIENT]).best
        assert best is not None
        assert list(best.row.index) == [PATIENT]
        assert best.row.dtypes.equals(ROWS.dtypes)

    def test_missing_cells_and_numpy_numbers_can_be_sent(self, client: ssba.Client) -> None:
        row = {**ROWS.iloc[PATIENT].to_dict(), "ca": np.nan, "age": np.int64(62)}
        found = client.explain(row, project_constraints=False)
        assert found.query["ca"] is None
        assert timeless(found) == timeless(EXPLAINER.explain(row, budget=BUDGET))

    def test_many_are_those_of_the_explainer(self, client: ssba.Client) -> None:
        rows = ROWS.iloc[[PATIENT, 10]]
        wanted = EXPLAINER.explain_many(rows, RULES, budget=BUDGET)
        by_frame, by_number = client.explain_many(rows), client.explain_many([PATIENT, 10])
        assert every(timeless(a) == timeless(b) for a, b in zip(by_frame, wanted, strict=True))
        assert every(timeless(a) == timeless(b) for a, b in zip(by_number, wanted, strict=True))
        assert by_frame.layout == wanted.layout
        pd.testing.assert_frame_equal(by_frame.rows(), wanted.rows())


class TestOthers:
    def test_further_questions_give_the_same_results(self, client: ssba.Client) -> None:
        found = EXPLAINER.explain(ROWS.iloc[PATIENT], RULES, budget=BUDGET)
        steps = {"trestbps": 5.0}
        assert client.plan(found, max_step=steps) == EXPLAINER.plan(found, max_step=steps)
        assert client.try_values(found, {"oldpeak": 0}) == EXPLAINER.try_values(found, {"oldpeak": 0})
        assert client.levers(found, 1) == EXPLAINER.levers(found, 1, progress=False)

    def test_ranges_and_certificates_are_the_same(self, client: ssba.Client) -> None:
        found = EXPLAINER.explain(ROWS.iloc[PATIENT], RULES, budget=BUDGET, k=2)
        assert client.ranges(found, 1, n_samples=200) == EXPLAINER.ranges(found, 1, n_samples=200)
        certificate = client.certificate(found)
        assert certificate.sha256 == EXPLAINER.certificate(found).sha256
        assert EXPLAINER.check_certificate(certificate).passed

    def test_a_report_is_written_here(self, client: ssba.Client, tmp_path: Path) -> None:
        found = client.explain(PATIENT)
        page = client.report(found, tmp_path / "page.html").read_text(encoding="utf-8")
        assert page.startswith("<!DOCTYPE html>")
        assert "serum cholesterol" in page.lower()
        with pytest.raises(ArgumentError, match="which is a folder"):
            client.report(found, tmp_path)
        with pytest.raises(SsbaError):
            client.report(replace(found, model_fingerprint="another"), tmp_path / "other.html")
        assert not (tmp_path / "other.html").exists()

    def test_many_predictions_are_those_of_the_explainer(self, client: ssba.Client) -> None:
        wanted = EXPLAINER.predict_many(ROWS.iloc[[PATIENT, 10]])
        assert client.predict_many(ROWS.iloc[[PATIENT, 10]]) == client.predict_many([PATIENT, 10]) == wanted

    def test_what_is_in_the_way_is_the_same(self) -> None:
        explainer, rows = loans().explainer(), loans().rows
        poor = int(rows["income"].argmin())
        with serving(loans()) as running, ssba.Client(running.url) as client:
            found = client.explain(poor, ["income <= 1.1 * x.income", ssba.fixed("debt")])
            assert found.best is None
            assert client.why_not(found) == explainer.why_not(found, progress=False)

    def test_predictions_and_checks_are_the_same(self, client: ssba.Client) -> None:
        assert client.predict(PATIENT) == EXPLAINER.predict(ROWS.iloc[PATIENT])
        assert client.toward("disease").predict(PATIENT) == EXPLAINER.toward("disease").predict(
            ROWS.iloc[PATIENT]
        )
        checked = client.check_constraints(PATIENT, FREE, project_constraints=False)
        assert checked == EXPLAINER.check_constraints(ROWS.iloc[PATIENT], FREE)

    def test_columns_classes_and_target_are_told(self, client: ssba.Client) -> None:
        assert client.columns == EXPLAINER.columns
        assert client.classes == EXPLAINER.classes
        assert client.target == EXPLAINER.target
        assert client.toward("disease").target == EXPLAINER.toward("disease").target

    def test_rows_are_found(self, client: ssba.Client) -> None:
        page = client.rows("asymptomatic", where={"ca": np.int64(3)}, reached=False, limit=2)
        assert page["total"] > len(page["rows"]) == 2
        assert every(one["values"]["ca"] == 3 and not one["reached"] for one in page["rows"])


def test_what_only_an_explainer_has_is_told_by_its_name(client: ssba.Client) -> None:
    public = {name for name in dir(ssba.Explainer) if not name.startswith("_")}
    assert public - set(dir(ssba.Client)) == NEEDS_MODEL
    for name in NEEDS_MODEL:
        with pytest.raises(
            AttributeError, match=rf"^ssba\.Client has no {name}, which needs the model itself"
        ):
            getattr(client, name)
    assert not hasattr(client, "sacn_line")
    assert copy(client).schema == client.schema


def test_a_target_with_two_ends_is_sent_as_it_is(client: ssba.Client) -> None:
    target = ssba.probability("no disease", at_least=0.2, at_most=0.4)
    wanted = EXPLAINER.toward(target).explain(ROWS.iloc[PATIENT], RULES, budget=BUDGET)
    assert timeless(client.toward(target).explain(PATIENT)) == timeless(wanted)


class TestErrors:
    @pytest.mark.parametrize(
        ("asked", "kind"),
        [
            ({"constraints": ["chl == 3"]}, ConstraintError),
            ({"constraints": [ssba.fixed("chl")]}, ConstraintError),
            ({"constraints": ["no disease"]}, ArgumentError),
            ({"k": 0}, ArgumentError),
            ({"budget": 5}, ArgumentError),
            ({"row": {"age": 5}}, SchemaError),
            ({"row": {**ROWS.iloc[PATIENT].to_dict(), "sex": "other"}}, SchemaError),
            ({"row": {**ROWS.iloc[PATIENT].to_dict(), "age": float("inf")}}, SchemaError),
        ],
    )
    def test_they_are_the_ones_that_the_library_raises(
        self, client: ssba.Client, asked: dict[str, Any], kind: type[SsbaError]
    ) -> None:
        row = asked.pop("row", ROWS.iloc[PATIENT])
        with pytest.raises(kind) as here:
            client.explain(row, **asked)
        with pytest.raises(kind) as there:
            EXPLAINER.explain(row, **asked)
        if "inf" not in str(here.value):
            assert str(here.value) == str(there.value)

    def test_they_name_what_the_client_has(self, client: ssba.Client) -> None:
        found = client.explain(PATIENT, ["age >= 99", "age <= 18"])
        with pytest.raises(ArgumentError, match=r"client\.why_not\(explanation\) tells what to relax"):
            client.plan(found)

    def test_a_target_that_is_none_is_refused_by_the_server(self, client: ssba.Client) -> None:
        with pytest.raises(TargetError, match="'healthy'"):
            client.toward("healthy").explain(PATIENT)

    def test_a_number_that_is_no_row_is_refused(self, client: ssba.Client) -> None:
        with pytest.raises(ArgumentError, match="row 999 is not in the data"):
            client.explain(999)

    def test_what_is_no_explanation_is_refused(self, client: ssba.Client) -> None:
        with pytest.raises(ArgumentError, match="give what explain"):
            client.plan(7)  # type: ignore[arg-type]

    @pytest.mark.parametrize("rows", [7, "rows", {"age": 3}])
    def test_what_is_no_list_of_rows_is_refused(self, client: ssba.Client, rows: Any) -> None:
        with pytest.raises(ArgumentError, match="give a frame"):
            client.explain_many(rows)

    def test_a_server_that_is_not_there_is_told_in_one_line(self) -> None:
        with ssba.Client("http://127.0.0.1:9") as nobody, pytest.raises(ServiceError) as told:
            nobody.predict(3)
        assert "http://127.0.0.1:9 cannot be reached" in str(told.value)
        assert "ssba serve" in str(told.value)
        assert "\n" not in str(told.value)

    @pytest.mark.parametrize("url", ["localhost:8000", "ftp://localhost", "http://", "http://[::1"])
    def test_what_is_no_address_is_told(self, url: str) -> None:
        with pytest.raises(ServiceError), ssba.Client(url) as nobody:
            nobody.predict(3)

    def test_the_token_is_needed_and_sent(self) -> None:
        token = "a-long-enough-token"
        with serving(loans(), ServeSettings(token=token)) as running:
            with ssba.Client(running.url, token) as allowed:
                assert allowed.predict(3).prediction in (0, 1)
            with ssba.Client(running.url) as stranger, pytest.raises(ServiceError, match=r"401.*token"):
                stranger.predict(3)


class Scripted(BaseHTTPRequestHandler):
    """A server that replies what it is told to, one after the other."""

    replies: list[tuple[int, dict[str, str], bytes]]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        status, headers, body = self.replies.pop(0)
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if "Slow" not in headers:
            self.wfile.write(body)
            return
        with contextlib.suppress(OSError):
            for place in range(len(body)):
                self.wfile.write(body[place : place + 1])
                time.sleep(0.1)

    def do_GET(self) -> None:
        self.headers["Content-Length"] = "0"
        self.do_POST()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def scripted() -> Iterator[tuple[str, list[tuple[int, dict[str, str], bytes]]]]:
    Scripted.replies = []
    server = HTTPServer(("127.0.0.1", 0), Scripted)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", Scripted.replies
    server.shutdown()
    thread.join()
    server.server_close()


BUSY = (503, {"Retry-After": "0"}, b'{"error": "Busy", "detail": [{"where": "", "message": "too many"}]}')


def test_a_busy_server_is_asked_again(scripted: Any) -> None:
    url, replies = scripted
    replies += [BUSY, BUSY, (200, {}, b'{"total": 0, "offset": 0, "rows": []}')]
    with ssba.Client(url) as client:
        assert client.rows()["total"] == 0
    assert not replies


def test_one_that_stays_busy_is_told(scripted: Any) -> None:
    url, replies = scripted
    replies += [BUSY] * 9
    with ssba.Client(url) as client, pytest.raises(ServiceError, match="503: too many"):
        client.rows()
    assert len(replies) == 4, "five tries"


def test_one_that_has_too_many_connections_is_no_other_server(scripted: Any) -> None:
    url, replies = scripted
    replies += [(503, {"Retry-After": "0"}, b"Service Unavailable")] * 9
    with ssba.Client(url) as client, pytest.raises(ServiceError, match="503: no reason was given"):
        client.rows()


@pytest.mark.parametrize("body", [b"<html>hello</html>", b"[]", b""])
def test_another_server_is_told(scripted: Any, body: bytes) -> None:
    url, replies = scripted
    replies += [(200, {}, body)]
    with ssba.Client(url) as client, pytest.raises(ServiceError, match="is no server of ssba"):
        client.rows()


def test_no_class_beside_our_errors_is_ever_raised(scripted: Any) -> None:
    url, replies = scripted
    replies += [(422, {}, b'{"error": "SystemExit", "detail": [{"message": "bye"}]}')]
    replies += [(422, {}, b'{"error": "SsbaWarning", "detail": "odd"}')]
    with ssba.Client(url) as client:
        with pytest.raises(ServiceError, match="bye"):
            client.rows()
        with pytest.raises(ServiceError, match="no reason was given"):
            client.rows()


DEEP = b'{"rows": ' + b"[" * 20_000 + b"]" * 20_000 + b"}"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{}", "'columns' cannot be read: it is missing"),
        (b'{"columns": 7}', "'columns' cannot be read: this is not the JSON of"),
        (b'{"columns": "\\n"}', "'columns' cannot be read: this is not the JSON of"),
        (DEEP, "is no server of ssba"),
        (b'{"columns": NaN}', "is no server of ssba"),
    ],
)
def test_a_reply_that_is_none_of_ours_is_told_in_one_line(scripted: Any, body: bytes, said: str) -> None:
    url, replies = scripted
    replies += [(200, {}, body)]
    with ssba.Client(url) as client, pytest.raises(ServiceError) as told:
        client.predict({"age": 3})
    assert said in str(told.value)
    assert "\n" not in str(told.value)


def test_classes_that_are_none_are_told(scripted: Any) -> None:
    url, replies = scripted
    replies += [(200, {}, b'{"classes": 7}')]
    with ssba.Client(url) as client, pytest.raises(ServiceError, match="'classes' cannot be read: it is 7"):
        _ = client.classes


def test_results_that_are_none_are_told(scripted: Any) -> None:
    url, replies = scripted
    replies += [(200, {}, EXPLAINER.columns.to_json().join(['{"columns": ', "}"]).encode())]
    replies += [(200, {}, b'{"prediction": {"kind": "prediction", "schema": 1}}')]
    with ssba.Client(url) as client, pytest.raises(ServiceError, match="'prediction' cannot be read"):
        client.predict(3)


def test_a_time_to_wait_that_is_none_is_passed_over(scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    url, replies = scripted
    monkeypatch.setattr("ssba.apps.client_connection.time.sleep", lambda _: None)
    replies += [(503, {"Retry-After": "\xb2"}, b"{}"), (200, {}, b'{"total": 3}')]
    with ssba.Client(url) as client:
        assert client.rows() == {"total": 3}


def test_a_reply_that_comes_byte_by_byte_is_given_up(scripted: Any) -> None:
    url, replies = scripted
    replies += [(200, {"Slow": "yes"}, b'{"total": 0}' + b" " * 200)]
    with ssba.Client(url, timeout=0.5) as client, pytest.raises(ServiceError, match="did not answer in time"):
        client.rows()


def test_a_reply_without_end_is_given_up(scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    url, replies = scripted
    monkeypatch.setattr("ssba.models.remote.replies.MOST_BYTES", 2**20)
    replies += [(200, {}, b'{"total": 0}' + b" " * 2**21)]
    with ssba.Client(url) as client, pytest.raises(ServiceError, match="sent a reply of more than 1 MiB"):
        client.rows()

"""docs/service.md: its commands print what it shows, its endpoints and metrics are all that there are."""

import contextlib
import io
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.apps.http.served import Served, serving
from tests.apps.projects import heart
from tests.support import every

from ssba.apps.http.problems import CLIENT_GONE

TEXT = (Path(__file__).parents[3] / "docs" / "service.md").read_text(encoding="utf-8")
ADDRESS = "http://127.0.0.1:8000"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(heart()) as running:
        yield running


def fenced(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)


def matches(shown: str, printed: str) -> bool:
    """Tell whether a text was printed as it is shown, where three dots stand for anything."""
    pattern = ".*".join(map(re.escape, shown.strip().split("...")))
    return re.fullmatch(pattern, printed.strip(), flags=re.DOTALL) is not None


@pytest.mark.skipif(shutil.which("curl") is None, reason="the examples are for curl")
def test_commands_print_what_the_page_shows(served: Served) -> None:
    shown = "".join(fenced("console"))
    steps = re.findall(r"^\$ (curl .*)\n((?:(?!\$ ).*\n)*)", shown, flags=re.MULTILINE)
    job = ""
    for line, wanted in steps:
        # An old curl does not know --json.
        said = line.replace("--json", "-H 'Content-Type: application/json' -d")
        said = said.replace(ADDRESS, served.url).replace("/ID/", f"/{job}/")
        printed = subprocess.run(said, shell=True, capture_output=True, text=True, check=True).stdout
        assert matches(wanted, printed), f"$ {line}\n{printed[:3000]}"
        if found := re.search(r'"id":"([\w-]+)"', printed):
            job = found.group(1)
    assert len(steps) == 6


def test_the_program_prints_what_the_page_shows(served: Served) -> None:
    ((program,), (wanted,)) = fenced("python"), fenced("text")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(program.replace(ADDRESS, served.url), {})  # noqa: S102 - it is our own page
    assert matches(wanted, printed.getvalue()), printed.getvalue()


def test_every_endpoint_is_told_and_no_other(served: Served) -> None:
    told = {
        (method, path.replace("ID", "{job_id}").replace("NAME", "{name}"))
        for method, path in re.findall(r"`(GET|POST|DELETE) (/[\w/.-]*)`", TEXT)
    }
    document = served.app.openapi()["paths"]
    there = {(method.upper(), path) for path, methods in document.items() for method in methods}
    beside = {("GET", "/healthz"), ("GET", "/metrics"), ("GET", "/api/openapi.json"), ("POST", "/mcp")}
    assert told == there | beside


def test_every_status_of_the_document_is_told(served: Served) -> None:
    table = TEXT.split("## What is refused")[1].split("## Limits")[0]
    told = set(re.findall(r"\b[45]\d\d\b", table))
    operations = [one for methods in served.app.openapi()["paths"].values() for one in methods.values()]
    documented = {status for one in operations for status in one["responses"] if status >= "400"}
    assert documented - {"500"} <= told
    assert str(CLIENT_GONE) not in told, "nobody sees it"


def test_every_metric_is_told(served: Served) -> None:
    served.post("/api/predict", {"row": 6})
    found = re.findall(r"^# TYPE (ssba_\w+) ", served.request("GET", "/metrics").body.decode(), re.MULTILINE)
    assert every(f"`{name}`" in TEXT for name in found if not name.endswith("_created"))

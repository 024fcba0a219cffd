"""The files of the page, without a browser: small, self-contained, sent under a strict policy."""

import re
from collections.abc import Iterator

import pytest
from tests.apps.http.served import Served, serving
from tests.apps.projects import loans
from tests.support import every

from ssba.apps.http.page import FOLDER, page_files
from ssba.apps.http.settings import ServeSettings

TEXTS = {name: content.decode() for name, content in page_files().items()}


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(loans(), ServeSettings(token="a-token-of-some-length")) as running:
        yield running


def test_they_are_small_together() -> None:
    assert sum(len(content) for content in page_files().values()) < 160_000
    assert {one.name for one in FOLDER.iterdir()} == set(TEXTS)


def test_nothing_in_them_leads_elsewhere_or_makes_markup_of_text() -> None:
    namespace = "http://www.w3.org/2000/svg"
    addresses = {url for text in TEXTS.values() for url in re.findall(r"https?://[^\s\"'`<>)]+", text)}
    assert addresses == {namespace}
    sinks = re.compile(r"(inner|outer|Adjacent)HTML|document\.write|\beval\(|new Function|DOMParser")
    assert every(not sinks.search(text) for text in TEXTS.values())
    assert not re.search(r"\son\w+=|<style|style=|<script(?! type=\"module\" src=)", TEXTS["index.html"])


def test_every_module_that_is_imported_is_there() -> None:
    named = {
        one
        for name, text in TEXTS.items()
        if name.endswith(".js")
        for one in re.findall(r"from \"\./([\w.]+)\"", text)
    }
    assert named < set(TEXTS)
    assert set(TEXTS) - named == {"index.html", "style.css", "icon.svg", "main.js"}


def test_every_string_is_used_and_every_used_string_is_there() -> None:
    strings = TEXTS["strings.en.js"]
    known = set(re.findall(r"^  (\w+):", strings, flags=re.MULTILINE))
    modules = [text for name, text in TEXTS.items() if name != "strings.en.js"]
    used = {one for text in modules for one in re.findall(r"\bS\.(\w+)", text)}
    used |= set(re.findall(r"data-(?:s|label)=\"(\w+)\"", TEXTS["index.html"]))
    assert known == used


def test_the_page_needs_no_token_and_the_data_does(served: Served) -> None:
    page = served.request("GET", "/")
    assert page.status == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    for name in TEXTS:
        reply = served.request("GET", f"/page/{name}")
        assert (reply.status, reply.body) == (200, page_files()[name])
        assert reply.headers["x-content-type-options"] == "nosniff"
    for path in ("/api/schema", "/api/population"):
        assert served.request("GET", path).status == 401


@pytest.mark.parametrize("name", ["nothing.js", "..%2Fservice.py", "%2e%2e/service.py", "index.html/x"])
def test_no_other_file_is_sent(served: Served, name: str) -> None:
    assert served.request("GET", f"/page/{name}").status == 404

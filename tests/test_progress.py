"""The bar of queries: it takes parts of them, and shows whole ones."""

import io
import sys
from typing import Any

import pytest
from tqdm.auto import tqdm

from ssba.progress import query_bar


def shown(monkeypatch: pytest.MonkeyPatch, *parts: float) -> tuple[Any, list[str]]:
    """What a bar of 10 queries shows after each of some parts."""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    lines = []
    with query_bar(10, True) as bar:
        for part in parts:
            bar.update(part)
            lines.append(str(bar))
    return bar, lines


def test_it_counts_parts_and_shows_whole_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    bar, lines = shown(monkeypatch, 2.25, 2.0, 5.75)
    assert bar.n == 10
    assert [line.partition("| ")[2].rpartition("| ")[2].split()[0] for line in lines] == [
        "2/10",
        "4/10",
        "10/10",
    ]
    assert " 42%" in lines[1]
    assert " queries/s" in lines[1] or "s/ queries" in lines[1]


def test_time_left_is_by_all_of_the_time_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with query_bar(10, True) as bar:
        bar.update(2.5)
        told = dict(bar.format_dict)
        # Of a quarter that took 10 seconds three more are left.
        line = tqdm.format_meter(**{**told, "elapsed": 10.0})
    assert "00:10<00:30" in line


def test_nobody_who_watches_no_bar() -> None:
    with query_bar(10, False) as bar:
        assert bar.disable

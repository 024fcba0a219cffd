"""The harness of `python -m benchmarks.index`: bounds leave what they say, answers agree."""

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.index import __main__ as index
from benchmarks.index.bare import pass_over_columns, pass_over_rows
from benchmarks.index.predicates import SHARES
from benchmarks.index.rows import Table
from benchmarks.index.sections import Section, as_markdown
from tests.support import every


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path, rows=70_000, columns=6, seed=1)


@pytest.mark.parametrize("share", SHARES)
def test_bounds_leave_the_share_of_rows_that_they_are_made_for(table: Table, share: float) -> None:
    rows = table.in_memory()
    for bounds in table.bounds(share, 3):
        (region,) = table.query(bounds.x, bounds).regions
        left = region.contains(rows).mean()
        # Five standard deviations of a share of independent rows.
        assert left == pytest.approx(share, abs=5 * np.sqrt(share / len(rows)))


@pytest.mark.parametrize("share", SHARES)
def test_the_bare_passes_find_what_the_index_finds(table: Table, share: float) -> None:
    rows = table.in_memory()
    finder = table.finder()
    for bounds in table.bounds(share, 3):
        (found,) = finder.nearest([table.query(bounds.x, bounds)], 10)
        expected = found.position.tolist()
        assert pass_over_rows(rows, table.factor, bounds, 10).tolist() == expected
        assert pass_over_columns(np.asfortranarray(rows), table.factor, bounds, 10).tolist() == expected


@pytest.mark.slow
def test_a_quick_run_writes_every_section_and_all_methods_agree(tmp_path: Path) -> None:
    out = tmp_path / "figures"
    index.main(["--quick", "--out", str(out), "--folder", str(tmp_path)])
    told = json.loads(out.with_suffix(".json").read_text())
    assert told["settings"]["seed"] == index.SEED
    titles = [section["title"] for section in told["sections"]]
    assert titles[:2] == ["Nearest rows under bounds on three columns", "Opening"]
    answers = [
        line["same rows"] for section in told["sections"] for line in section["lines"] if "same rows" in line
    ]
    assert answers
    assert set(answers) == {"yes"}
    assert every(f"### {title}" in out.with_suffix(".md").read_text() for title in titles)


def test_figures_are_written_as_a_table() -> None:
    settings = {"seed": 1, "rows": 1000, "columns": 2, "k": 10}
    section = Section("Some", "A note.", [{"method": "a", "ms": 1.23456}, {"method": "b", "ms": None}])
    assert "| method | ms |\n| --- | --- |\n| a | 1.23 |\n| b | - |" in as_markdown([section], settings)

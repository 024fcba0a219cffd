"""The pictures of the documentation: those that it shows are there, and their script still runs."""

import re
from pathlib import Path

import pytest
from examples.pictures import draw_heart, draw_plane
from tests.support import every

ROOT = Path(__file__).parents[2]
SHOWN = {
    name
    for page in (ROOT / "docs").glob("*.md")
    for name in re.findall(r"\]\((pictures/[\w.-]+)\)", page.read_text(encoding="utf-8"))
}
PNG = b"\x89PNG"


def test_pictures_that_the_documentation_shows_are_there_and_no_others() -> None:
    assert {f"pictures/{file.name}" for file in (ROOT / "docs/pictures").iterdir()} == SHOWN


def test_maps_of_two_columns_are_drawn(tmp_path: Path) -> None:
    draw_plane(tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"plane-10.png", "plane-25.png"}
    assert every(file.read_bytes().startswith(PNG) for file in tmp_path.iterdir())


@pytest.mark.slow
def test_charts_of_heart_patients_are_drawn(tmp_path: Path) -> None:
    draw_heart(tmp_path)
    others = ("plane", "report", "page")
    charts = {name for one in SHOWN if not (name := Path(one).name).startswith(others)}
    assert charts <= {file.name for file in tmp_path.iterdir()}

"""Pictures: documents of their own, in light and dark, that are shown by notebooks and written to files."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.support import every

import ssba
from ssba.html import element
from ssba.views.picture import Picture

PICTURE = Picture("A <ring> & more", element("circle", cx=5, cy=5, r=4, class_="query"), 40, 20.5)
SPACE = "{http://www.w3.org/2000/svg}"


def test_document_stands_alone() -> None:
    root = ElementTree.fromstring(PICTURE.svg)
    assert root.tag == f"{SPACE}svg"
    assert (root.get("viewBox"), root.get("width"), root.get("height")) == ("0 0 40 20.5", "40", "20.5")
    assert [one.tag.removeprefix(SPACE) for one in root] == ["title", "style", "rect", "circle"]
    for outside in ("href", "url(", "@import", "<script"):
        assert outside not in PICTURE.svg


def test_screen_readers_are_told_the_title() -> None:
    for written in (PICTURE.svg, PICTURE.inline):
        root = ElementTree.fromstring(written)
        assert (root.get("role"), root.get("aria-label"), root[0].text) == (
            "img",
            PICTURE.title,
            PICTURE.title,
        )


def test_colours_follow_light_and_dark_and_touch_no_other_picture_of_a_page() -> None:
    style = ElementTree.fromstring(PICTURE.svg).findtext(f"{SPACE}style") or ""
    assert "prefers-color-scheme: dark" in style
    rules = [line.strip() for line in style.splitlines() if "{" in line and "@media" not in line]
    for rule in rules:
        assert every(one.strip().startswith(".ssba") for one in rule.partition("{")[0].split(","))


def test_a_page_gets_it_without_a_style_of_its_own() -> None:
    assert "<style" not in PICTURE.inline
    assert "xmlns" not in PICTURE.inline


def test_notebooks_show_the_document() -> None:
    assert PICTURE._repr_svg_() == PICTURE.svg


@pytest.mark.parametrize("name", ["a.svg", "b.SVG"])
def test_saved_file_holds_the_document(tmp_path: Path, name: str) -> None:
    file = PICTURE.save(tmp_path / name)
    assert file == tmp_path / name
    assert file.read_text(encoding="utf-8") == PICTURE.svg


@pytest.mark.parametrize("name", ["a.png", "a", "svg"])
def test_other_endings_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ssba.errors.ArgumentError, match=r"give a name that ends in \.svg"):
        PICTURE.save(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("file", [None, 3, "", "no/such/folder/a.svg"])
def test_what_is_no_file_to_write_is_refused(file: Any) -> None:
    with pytest.raises(ssba.errors.ArgumentError, match=r"^file is "):
        PICTURE.save(file)

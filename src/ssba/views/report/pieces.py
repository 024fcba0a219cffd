"""The pieces that report pages are made of."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from ssba import html
from ssba.html import Markup, element, joined
from ssba.version import __version__
from ssba.views.picture import Picture, picture_style
from ssba.views.svg import Sign


def section(title: str, *content: Any) -> Markup:
    """Return a part of the page under a heading."""
    name = "s-" + "-".join("".join(sign if sign.isalnum() else " " for sign in title.lower()).split())
    return element("section", element("h2", title, id=name), *content, aria_labelledby=name)


def paragraph(content: Any, **attributes: Any) -> Markup:
    """Return a paragraph."""
    return element("p", content, **attributes)


def table(caption: str, heads: Sequence[Any], rows: Iterable[Sequence[Any]]) -> Markup:
    """Return a table; on a narrow screen the cells of a row stand below each other."""
    return _scrolling(caption, html.table(caption, heads, rows, named=True))


def figure(picture: Picture, caption: str) -> Markup:
    """Return a picture with what it shows below; a wide one scrolls on a narrow screen."""
    return element("figure", _scrolling(caption, picture.inline), element("figcaption", caption))


def _scrolling(name: str, wide: Markup) -> Markup:
    return element("div", wide, class_="scroll", tabindex="0", role="group", aria_label=name)


def key(signs: Iterable[Sign]) -> Markup:
    """Return what marks mean."""
    listed = [
        element("li", element("svg", mark, class_="ssba", viewBox="0 0 14 14", aria_hidden="true"), words)
        for words, mark in signs
    ]
    return element("ul", *listed, class_="key", aria_label="What the marks mean")


def tiles(facts: Mapping[str, Any]) -> Markup:
    """Return a few facts that are seen first."""
    return element("dl", *(_tile(name, fact) for name, fact in facts.items()), class_="tiles")


def _tile(name: str, fact: Any) -> Markup:
    return element("div", element("dt", name), element("dd", fact))


def facts(pairs: Mapping[str, Any]) -> Markup:
    """Return names and what is known of them, below each other."""
    listed = [piece for name, fact in pairs.items() for piece in (element("dt", name), element("dd", fact))]
    return element("dl", *listed, class_="facts")


def codes(lines: Iterable[str]) -> Markup:
    """Return a list of texts that a program reads."""
    return element("ul", *(element("li", element("code", line)) for line in lines), class_="plain")


def note(content: str) -> Markup:
    """Return a caution."""
    return element("div", paragraph(content), class_="note", role="note", aria_label="Caution")


def page(title: str, eyebrow: str, content: Iterable[Any]) -> str:
    """Return a whole page that needs nothing from outside: styles and pictures are in it, no program is."""
    head = joined(
        [
            element("meta", charset="utf-8"),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            # Whatever a text may hold, the page fetches nothing and runs nothing.
            element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
            # An empty icon, so that no browser asks for one.
            element("link", rel="icon", href="data:,"),
            element("meta", name="generator", content=f"ssba {__version__}"),
            element("title", title),
            element("style", Markup(_style())),
        ]
    )
    top = element("header", paragraph(eyebrow, class_="eyebrow"), element("h1", title))
    foot = element(
        "footer", paragraph(f"Made by ssba {__version__}. Every value shown comes from the result.")
    )
    body = element("body", top, element("main", *content), foot)
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>{body}</html>\n'


_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@cache
def _style() -> str:
    page_style = files("ssba.views.report").joinpath("report.css").read_text(encoding="utf-8")
    return f"{picture_style()}{page_style}"

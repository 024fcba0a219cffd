"""The pieces that report pages are made of. What comes from outside is escaped here, and only here."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from ssba.version import __version__

# Elements that HTML never closes.
_VOID = ("img", "link", "meta")


class Markup(str):
    """Text that is HTML already; any other text is escaped before it enters a page."""

    __slots__ = ()


def safe(content: Any) -> Markup:
    """Return HTML as it is, and anything else escaped.

    >>> safe("a < b"), safe(Markup("<b>"))
    ('a &lt; b', '<b>')
    """
    return content if isinstance(content, Markup) else Markup(escape(str(content)))


def element(tag: str, *content: Any, **attributes: Any) -> Markup:
    """Return an element; a trailing underscore in an attribute's name is left out, others become hyphens.

    >>> element("td", "1 < 2", class_="number"), element("div", aria_label="a 'b'")
    ('<td class="number">1 &lt; 2</td>', '<div aria-label="a &#x27;b&#x27;"></div>')
    """
    told = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{tag}{told}>" if tag in _VOID else f"<{tag}{told}>{joined(content)}</{tag}>")


def joined(parts: Iterable[Any]) -> Markup:
    """Return pieces one after the other; None is left out."""
    return Markup("".join(safe(part) for part in parts if part is not None))


def section(title: str, *content: Any) -> Markup:
    """Return a part of the page under a heading."""
    name = "s-" + "-".join("".join(sign if sign.isalnum() else " " for sign in title.lower()).split())
    return element("section", element("h2", title, id=name), *content, aria_labelledby=name)


def paragraph(content: Any, **attributes: Any) -> Markup:
    """Return a paragraph."""
    return element("p", content, **attributes)


@dataclass(frozen=True)
class Cell:
    """A cell of a table, with the class that styles it."""

    content: Any
    look: str | None = None


def table(caption: str, heads: Sequence[Any], rows: Iterable[Sequence[Any]]) -> Markup:
    """Return a table with a caption; the first cell of each row is its heading.

    On a narrow screen it scrolls in its own box, which the keyboard reaches, too.
    """
    top = element("tr", *(_cell("th", head, scope="col") for head in heads))
    body = [
        element("tr", _cell("th", row[0], scope="row"), *(_cell("td", cell) for cell in row[1:]))
        for row in rows
    ]
    whole = element("table", element("caption", caption), element("thead", top), element("tbody", *body))
    return element("div", whole, class_="scroll", tabindex="0", role="group", aria_label=caption)


def _cell(tag: str, cell: Any, **attributes: Any) -> Markup:
    content, look = (cell.content, cell.look) if isinstance(cell, Cell) else (cell, None)
    return element(tag, content, **attributes, class_=look)


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
    return files("ssba.views.report").joinpath("report.css").read_text(encoding="utf-8")

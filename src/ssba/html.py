"""HTML, built from elements: what comes from outside is escaped here, and only here."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

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
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{tag}{written}>" if tag in _VOID else f"<{tag}{written}>{joined(content)}</{tag}>")


def joined(parts: Iterable[Any]) -> Markup:
    """Return pieces one after the other; None is left out."""
    return Markup("".join(safe(part) for part in parts if part is not None))


@dataclass(frozen=True)
class Cell:
    """A cell of a table, with the class that styles it."""

    content: Any
    look: str | None = None


def table(
    caption: str, heads: Sequence[Any], rows: Iterable[Sequence[Any]], *, named: bool = False
) -> Markup:
    """Return a table with a caption; the first cell of each row is its heading.

    Where cells are `named`, each has the head of its column as `data-head`, for styles that put the cells of
    a row below each other.
    """
    top = element("tr", *(_cell("th", head, scope="col") for head in heads))
    names = [one.content if isinstance(one, Cell) else one for one in heads] if named else [None] * len(heads)
    body = [
        element(
            "tr",
            _cell("th", row[0], scope="row"),
            *(_cell("td", cell, data_head=name) for cell, name in zip(row[1:], names[1:], strict=True)),
        )
        for row in rows
    ]
    return element("table", element("caption", caption), element("thead", top), element("tbody", *body))


def _cell(tag: str, cell: Any, **attributes: Any) -> Markup:
    content, look = (cell.content, cell.look) if isinstance(cell, Cell) else (cell, None)
    return element(tag, content, **attributes, class_=look)

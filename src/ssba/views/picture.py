"""A drawn picture: SVG that a notebook shows, a report page takes in and a file keeps."""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from os import PathLike
from pathlib import Path

from ssba.arguments import file_to_write
from ssba.errors import ArgumentError
from ssba.html import Markup, element

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Picture:
    """A picture as SVG: notebooks show it, `save` writes it to a file. It follows the reader's light or dark.

    Attributes
    ----------
    title : str
        What screen readers say.
    drawn : Markup
        What is drawn.
    width, height : float
        How large it is, in pixels.

    Examples
    --------
    >>> from ssba.views.charts import distance_chart
    >>> picture = distance_chart({"disease": [0.2, 1.4, 2.0], "no disease": [0.7, 0.9]})
    >>> picture.svg.startswith("<svg xmlns=")
    True
    """

    title: str
    drawn: Markup
    width: float
    height: float

    @property
    def inline(self) -> Markup:
        """The picture for a page that holds the style of pictures."""
        return self._element()

    @property
    def svg(self) -> str:
        """The picture as a document of its own, which needs nothing from outside."""
        style = element("style", Markup(picture_style()))
        card = element("rect", width="100%", height="100%", class_="card")
        size = {"width": f"{self.width:g}", "height": f"{self.height:g}"}
        whole = self._element(style, card, xmlns="http://www.w3.org/2000/svg", **size)
        return _NOT_IN_XML.sub("\ufffd", whole)

    def _element(self, *first: Markup, **attributes: str) -> Markup:
        return element(
            "svg",
            element("title", self.title),
            *first,
            self.drawn,
            **attributes,
            class_="ssba",
            viewBox=f"0 0 {self.width:g} {self.height:g}",
            role="img",
            aria_label=self.title,
        )

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, file: str | PathLike[str]) -> Path:
        """Write the picture to a file whose name ends in .svg, and return its path."""
        path = file_to_write("file", file)
        if path.suffix.lower() != ".svg":
            raise ArgumentError(
                f"file is {str(path)!r}; this picture is SVG, so give a name that ends in .svg"
            )
        path.write_text(self.svg, encoding="utf-8")
        return path


@cache
def picture_style() -> str:
    """How all pictures look, as CSS."""
    return files("ssba.views").joinpath("picture.css").read_text(encoding="utf-8")

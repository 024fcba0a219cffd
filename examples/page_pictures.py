"""Photograph the page of `ssba serve` for docs/page.md: an answer in light, limits to relax in dark.

Run it from the root of the repository: `python -m examples.page_pictures [FOLDER]`. It needs Debian's
chromium and the package playwright.
"""

import io
import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from benchmarks.page import serving
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

COLOURS = 96
"""So many are enough for a page, and make small files."""


@dataclass(frozen=True)
class Photograph:
    """A state of the page, and what has to be on it."""

    name: str
    state: dict[str, Any]
    shows: str
    scheme: Literal["light", "dark"]
    height: int


HELD = {"oldpeak": {"t": "lock"}}
PHOTOGRAPHS = (
    Photograph("page-light", {"row": 6}, ".answer-tabs [role=tab]:nth-child(3)", "light", 1000),
    Photograph("page-bounded-dark", {"row": 6, "own": HELD}, ".relaxation", "dark", 860),
)


def photograph(browser: Browser, url: str, wanted: Photograph) -> bytes:
    size = {"width": 1300, "height": wanted.height}
    page = browser.new_page(viewport=size, color_scheme=wanted.scheme)  # type: ignore[arg-type]
    page.goto(f"{url}/#{quote(json.dumps(wanted.state))}")
    page.wait_for_selector(wanted.shows, timeout=120_000)
    # What comes last, the map, is drawn below.
    page.wait_for_selector("svg.map .query", timeout=60_000)
    return page.screenshot()


def main(folder: Path) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("this needs Debian's chromium")
    folder.mkdir(parents=True, exist_ok=True)
    with serving() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for wanted in PHOTOGRAPHS:
            taken = Image.open(io.BytesIO(photograph(browser, url, wanted))).convert("RGB")
            file = folder / f"{wanted.name}.png"
            taken.quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)
            print(file)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures"))

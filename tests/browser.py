"""Debian's chromium for tests that look at pages: where it is, when to skip, what all of them ask."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium")
IN_CI = os.environ.get("CI") == "true"

# Where CI asks for them, these tests fail rather than skip.
needs_browser = pytest.mark.skipif(
    (CHROMIUM is None or find_spec("playwright") is None) and not IN_CI,
    reason="needs Debian's chromium and the Python package playwright",
)

# As root in a container there is no sandbox; the other switches keep the browser itself off the network.
_SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]

# The contrast of each text with what is painted behind it, by WCAG 2.2; see-through colours are mixed.
LOW_CONTRAST = """
() => {
  const parse = (colour) => {
    const parts = colour.match(/[\\d.]+/g).map(Number);
    return parts.length === 3 ? [...parts, 1] : parts;
  };
  const over = (top, below) => top.slice(0, 3).map((part, i) => part * top[3] + below[i] * (1 - top[3]));
  const light = (colour) => {
    const [r, g, b] = colour.map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    const layers = [];
    for (let one = element; one; one = one.parentElement) {
      layers.push(parse(getComputedStyle(one).backgroundColor));
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const low = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const words = walk.currentNode.textContent.trim();
    const element = walk.currentNode.parentElement;
    if (!words || element.tagName === 'title') continue;
    // What cannot be pressed may be faint, and what is not drawn cannot be read anyway.
    if (element.closest(':disabled') || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const below = behind(element);
    const colour = over(parse(element.closest('svg') ? style.fill : style.color), below);
    const [high, dark] = [light(colour), light(below)].sort((a, b) => b - a);
    const contrast = (high + 0.05) / (dark + 0.05);
    if (contrast < 4.5) low.push(`${contrast.toFixed(2)}: ${words}`);
  }
  return low;
}
"""


@contextmanager
def started_browser() -> Iterator["Browser"]:
    """Start chromium, and close it at the end."""
    from playwright.sync_api import sync_playwright

    assert CHROMIUM is not None, "install the Debian package chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_SWITCHES)
        yield browser
        browser.close()


def is_dark(page: "Page") -> bool:
    """Tell whether a page is dark, by what is painted behind all of it."""
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return max(int(part) for part in re.findall(r"\d+", background)[:3]) < 100

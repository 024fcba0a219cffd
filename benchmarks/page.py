"""How long the page takes from a movement of the hand to the answer on the screen.

Run it with ``python -m benchmarks.page`` where Debian's chromium is installed: the packaged heart patients,
and a table of 60 columns and 10,000 rows. What is measured is what a person waits for: from the event of a
slider or lock to the frame in which the new answer stands, the page's own wait for further movement included.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import numpy as np
import pandas as pd
from playwright.sync_api import Page, sync_playwright
from sklearn.linear_model import LogisticRegression

Moves = list[tuple[str, float]]
"""The names of controls, and how far sliders move; locks are pressed."""


@dataclass(frozen=True)
class Seen:
    """A movement: milliseconds until its answer was drawn, those that the service took, and how it ended."""

    waited: float
    served: float
    outcome: str


# Uses a control and returns what `Seen` holds; null where that changed nothing.
MEASURE = """
async ([label, by]) => {
  const answer = document.getElementById("answer");
  const control = document.querySelector(`[aria-label="${label}"]`);
  performance.clearResourceTimings();
  const begun = performance.now();
  const drawn = new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      if (answer.dataset.state !== "solved") return;
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(resolve));
    });
    observer.observe(answer, { attributes: true, attributeFilter: ["data-state"] });
  });
  if (control.type !== "range") control.click();
  else {
    control.value = Number(control.value) + by;
    control.dispatchEvent(new Event("input", { bubbles: true }));
  }
  // A slider that was at its end has not moved, and nothing is worked out.
  if (answer.dataset.state === "solved") return null;
  await drawn;
  const waited = performance.now() - begun;
  const asked = performance.getEntriesByType("resource").filter((one) => one.name.endsWith("/api/explain"));
  return [waited, asked.at(-1).duration, answer.querySelector(".badge").textContent];
}
"""

PATIENTS = (6, 60, 110, 114, 224)
"""Patients for whom there is an answer within the project's rules."""
HEART: Moves = [
    ("trestbps: lowest allowed", 4),
    ("thalach: highest allowed", -2),
    ("chol: lowest allowed", 6),
    ("Lock chol", 0),
    ("Lock chol", 0),
    ("trestbps: lowest allowed", -4),
    ("thalach: highest allowed", 2),
    ("oldpeak: lowest allowed", 0.1),
    ("oldpeak: lowest allowed", -0.1),
    ("Lock exang", 0),
]
WIDE: Moves = [
    *((f"f{number:02}: highest allowed", by) for by in (-20, 4) for number in range(3)),
    *((f"Lock f{number:02}", 0) for number in range(6, 10)),
]


def main() -> None:
    """Print a table: what a person waits for, in milliseconds."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("this needs Debian's chromium")
    print("| from a movement to its answer | movements | median | 90% within | the service alone | found |")
    print("|---|---|---|---|---|---|")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        cases: list[tuple[str, list[str], tuple[int, ...], Moves]] = [
            ("heart patients", [], PATIENTS, HEART),
            ("60 columns, 10,000 rows", ["--project", str(wide_project(Path(folder)))], (2, 2, 2), WIDE),
        ]
        for name, options, rows, moves in cases:
            with serving(*options) as url:
                page = browser.new_page(viewport={"width": 1440, "height": 900})
                found = [
                    one for row in rows for one in measured(page, f"{url}/#%7B%22row%22%3A{row}%7D", moves)
                ]
                print(line(name, found))
        browser.close()


def measured(page: Page, address: str, moves: Moves) -> list[Seen]:
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("#answer[data-state=solved]", timeout=120_000)
    found: list[Seen] = []
    for move in moves:
        # A hand rests a moment between two movements.
        page.wait_for_timeout(600)
        if (seen := page.evaluate(MEASURE, list(move))) is not None:
            found.append(Seen(*seen))
    return found


def line(name: str, found: list[Seen]) -> str:
    waited, served = [one.waited for one in found], [one.served for one in found]
    reached, most = sum(one.outcome == "Found" for one in found), quantiles(waited, n=10)[-1]
    figures = f"{median(waited):.0f} ms | {most:.0f} ms | {median(served):.0f} ms"
    return f"| {name} | {len(found)} | {figures} | {reached} |"


def wide_project(folder: Path, columns: int = 60, rows: int = 10_000) -> Path:
    """Write a project with many columns and rows, whose model is linear in the first twelve."""
    import skops.io

    rng = np.random.default_rng(1)
    values = rng.normal(50, 10, (rows, columns)).round(1)
    table = pd.DataFrame(values, columns=[f"f{number:02}" for number in range(columns)])
    outcome: Any = np.where(values[:, :12].sum(axis=1) > 600, "yes", "no")
    skops.io.dump(LogisticRegression(max_iter=200).fit(table, outcome), folder / "model.skops")
    table.to_csv(folder / "table.csv", index=False)
    file = folder / "ssba.toml"
    said = ("title = 'Wide'", "model = 'model.skops'", "data = 'table.csv'", "target = 'yes'")
    file.write_text("\n".join(said), encoding="utf-8")
    return file


@contextmanager
def serving(*options: str) -> Iterator[str]:
    """Run `ssba serve` in a process of its own, and give its address."""
    program = "from ssba.apps.cli import main; main()"
    command = [sys.executable, "-c", program, "serve", "--port", "0", *options]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert running.stdout is not None
    try:
        (url,) = re.findall(r"http://\S+", running.stdout.readline())
        yield url
    finally:
        running.terminate()
        running.communicate(timeout=30)


if __name__ == "__main__":
    main()

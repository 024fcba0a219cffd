"""axe-core, from npm and for tests only: fetched once into a folder that git ignores."""

import shutil
import subprocess
import tarfile
from functools import cache
from pathlib import Path

import pytest
from tests.browser import IN_CI

VERSION = "4.10.3"
_FOLDER = Path(__file__).parents[3] / "build" / "axe"

# Only what hurts somebody: notes about taste are left out.
RUN = """
async () => {
  const found = await axe.run(document, { resultTypes: ["violations"] });
  return found.violations
    .filter((one) => one.impact === "serious" || one.impact === "critical")
    .map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html).join(" | ")}`);
}
"""


@cache
def axe() -> str:
    """Return the script; where npm cannot be reached the test is skipped, but in CI it fails."""
    file = _FOLDER / f"axe-{VERSION}.js"
    if not file.exists():
        said = _fetch(file)
        if said and IN_CI:
            pytest.fail(f"axe-core cannot be fetched: {said}")
        if said:
            pytest.skip(f"axe-core cannot be fetched from npm: {said}")
    return file.read_text(encoding="utf-8")


def _fetch(file: Path) -> str:
    """Fetch the package and keep its script; return why it did not work, or nothing."""
    npm = shutil.which("npm")
    if npm is None:
        return "npm is not installed"
    _FOLDER.mkdir(parents=True, exist_ok=True)
    command = [npm, "pack", f"axe-core@{VERSION}", "--pack-destination", str(_FOLDER)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode:
        return done.stderr.strip()[-200:] or "npm failed"
    with tarfile.open(_FOLDER / f"axe-core-{VERSION}.tgz") as packed:
        script = packed.extractfile("package/axe.min.js")
        assert script is not None
        file.write_bytes(script.read())
    return ""

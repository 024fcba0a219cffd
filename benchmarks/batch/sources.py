"""The commit that is measured, and the sources of the one that it is compared with."""

import shutil
import subprocess
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

from benchmarks.nearest.plans import CACHE
from benchmarks.nearest.running import ROOT

BASE = "5fad16f"
"""The commit with one Python generator a query, before the search became an array program."""


class NoBaseError(Exception):
    """The sources of the base commit cannot be had, as in a shallow clone."""


def base_sources() -> Path:
    """The `src` of the base commit, taken out of the repository once and kept with the trained cases."""
    kept = CACHE / f"source-{BASE}"
    if not kept.exists():
        CACHE.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            with tarfile.open(fileobj=BytesIO(_git("archive", BASE, "src"))) as archive:
                archive.extractall(folder, filter="data")
            # In one step, so that a run that is stopped leaves no half of it.
            shutil.move(Path(folder) / "src", kept)
    return kept


def commit() -> str:
    """The commit that is checked out, and whether the files differ from it."""
    try:
        changed = _git("status", "--porcelain", "--untracked-files=no", "src").strip()
        name = _git("rev-parse", "--short", "HEAD").decode().strip()
    except NoBaseError:
        return "unknown"
    return f"{name} with changes" if changed else name


def _git(*arguments: str) -> bytes:
    try:
        return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise NoBaseError(f"git {arguments[0]} failed: {error}") from error

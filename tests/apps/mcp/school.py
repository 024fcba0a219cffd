"""A small project for tests of the MCP server: who passes an exam, and a model that tests can hold up."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ssba.apps.limits import Limits, Meter
from ssba.apps.project.opened import OpenedProject
from ssba.apps.project.settings import FeatureSettings, ProjectSettings
from ssba.apps.service import Service

FOLDER = Path("/home/somebody/school")
"""Where the project pretends to be; no reply may tell."""

NEEDED = 12
"""Hours that somebody of the day school needs to pass; the evening school needs four less."""


class Exam:
    """Passes whoever worked for enough hours; `before` is called before every answer, with the rows."""

    classes_ = np.array([0, 1])

    def __init__(self) -> None:
        self.before: Callable[[Any], None] = lambda rows: None

    def predict_proba(self, rows: Any) -> Any:
        self.before(rows)
        surplus = np.asarray(rows["hours"], float) + 4.0 * np.asarray(rows["school"] == "evening") - NEEDED
        passes = 1 / (1 + np.exp(-surplus - 0.5))
        return np.stack([1 - passes, passes], axis=1)

    def predict(self, rows: Any) -> Any:
        return (self.predict_proba(rows)[:, 1] >= 0.5).astype(int)


class HeldUp:
    """Holds up a model's answers until the work is cancelled; `asked` are the rows it was asked about."""

    def __init__(self, model: Exam, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered = threading.Event()
        self.asked = 0
        self._cancelled = threading.Event()
        cancel = Meter.cancel

        def cancel_and_tell(meter: Meter) -> None:
            cancel(meter)
            self._cancelled.set()

        monkeypatch.setattr(Meter, "cancel", cancel_and_tell)
        model.before = self._wait

    def _wait(self, rows: Any) -> None:
        self.asked += len(rows)
        self.entered.set()
        assert self._cancelled.wait(60)


def table() -> pd.DataFrame:
    hours = np.arange(40) % 20
    return pd.DataFrame(
        {
            "name": [f"p{number}" for number in range(40)],
            "hours": hours,
            "school": np.where(np.arange(40) < 20, "day", "evening"),
        }
    )


def school(model: Any, limits: Limits | None = None) -> Service:
    settings = ProjectSettings(
        title="Exams",
        model="exam.skops",
        data="exam.csv",
        target="passed",
        id="name",
        classes={"0": "failed", "1": "passed"},
        constraints=("school == x.school",),
        features={"hours": FeatureSettings(unit="h", meaning="hours of work")},
        caution="Exams are not everything.",
    )
    return Service(OpenedProject(settings, FOLDER, table(), model), limits=limits)

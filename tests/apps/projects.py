"""Projects that the tests of all ways in ask about, opened once."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from ssba.apps.project.heart import heart_project
from ssba.apps.project.opened import OpenedProject
from ssba.apps.project.settings import FeatureSettings, ProjectSettings

PATIENT = 6
"""A heart patient for whom there is an answer within the project's constraints."""
STUCK = 1
"""One for whom there is none, only a bounded move."""
WELL = 0
"""One who is at the target already."""


@cache
def heart() -> OpenedProject:
    return heart_project()


@cache
def loans() -> OpenedProject:
    """Loans: names for classes 0 and 1, an id and a region that the model does not take, no constraints."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"income": rng.integers(20, 90, 200), "debt": rng.integers(0, 50, 200)})
    model = LogisticRegression().fit(rows, (rows["income"] - rows["debt"] > 30).astype(int))
    table = rows.assign(customer=[f"c{i:03}" for i in range(200)], region=["north", "south"] * 100)
    settings = ProjectSettings(
        title="Loans",
        model="model.skops",
        data="loans.csv",
        target="granted",
        id="customer",
        ignore=("region",),
        classes={"0": "refused", "1": "granted"},
        features={"income": FeatureSettings(unit="k$", meaning="yearly income")},
    )
    return OpenedProject(settings, Path(), table, model)


class Slow:
    """A model that counts its calls and can be told what to do in them."""

    def __init__(self, during: Any = None) -> None:
        self.calls, self.during = 0, during

    def predict(self, rows: Any) -> Any:
        self.calls += 1
        if self.during is not None:
            self.during(self.calls)
        return np.where(rows["income"] - rows["debt"] > 30, 1, 0)

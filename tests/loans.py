"""A small project on disk, with all that a project file may say: loans, granted by a logistic regression."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from skops import io

from ssba.apps.cli import main

COLUMNS = ["income", "debt", "age", "home"]
POOR = 3
"""A row whose loan the model refuses."""

SETTINGS = """\
title = "Loans"
model = "model.skops"
data = "loans.csv"
target = "granted"
labels = "label"
id = "id"
constraints = ["age == x.age", "home == x.home", "debt >= 0"]
caution = "A model's opinion."

[classes]
0 = "refused"
1 = "granted"

[features.income]
unit = "k"
meaning = "income a year"

[features.debt]
unit = "k"
"""


def loans(count: int = 60) -> pd.DataFrame:
    """Return applicants; those who earn much and owe little get their loan."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "id": [f"p{number}" for number in range(count)],
            "income": rng.integers(10, 90, count),
            "debt": rng.normal(20, 8, count).round(1),
            "age": rng.integers(18, 80, count),
            "home": rng.choice(["own", "rent"], count),
        }
    )
    return table.assign(label=(table["income"] - table["debt"] + rng.normal(0, 5, count) > 25).astype(int))


def write_loans(folder: Path) -> Path:
    """Write data, model and project file."""
    table = loans()
    encode = make_column_transformer((OneHotEncoder(), ["home"]), remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression(max_iter=5000)).fit(table[COLUMNS], table["label"])
    io.dump(model, folder / "model.skops")
    table.to_csv(folder / "loans.csv", index=False)
    (folder / "ssba.toml").write_text(SETTINGS, encoding="utf-8")
    return folder


@dataclass(frozen=True)
class Said:
    """What a command printed, and how it left."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


class Command:
    """The command `ssba`, run in this process with a project."""

    def __init__(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.project = project
        self._capsys = capsys

    def __call__(self, command: str, *arguments: object) -> Said:
        return self.bare(command, "--project", self.project, *arguments)

    def bare(self, *arguments: object) -> Said:
        with pytest.raises(SystemExit) as left:
            main([str(one) for one in arguments])
        printed = self._capsys.readouterr()
        return Said(int(left.value.code or 0), printed.out, printed.err)

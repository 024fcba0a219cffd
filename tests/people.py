"""People whose risk a function tells, and rows on both sides of a plane, shared by several modules."""

from typing import Any

import numpy as np
import pandas as pd
from tests.problems import half_space

import ssba

_rng = np.random.default_rng(5)
X = _rng.normal(size=(300, 3))
WEIGHTS = np.array([1.0, 2.0, -0.5])
SMALL = ssba.Budget(rows=1500)
plane = half_space(*WEIGHTS, at=1.0)

PEOPLE = pd.DataFrame(
    {
        "age": _rng.integers(25, 80, size=300),
        "sex": _rng.choice(["female", "male"], size=300),
        "smoker": _rng.choice(["never", "former", "yes"], size=300),
        "systolic": _rng.normal(140, 18, size=300).round(),
        "diastolic": _rng.normal(85, 10, size=300).round(),
        "stress": _rng.normal(0, 1, size=300),
    }
)
PATIENT: dict[str, Any] = {
    "age": 61,
    "sex": "male",
    "smoker": "yes",
    "systolic": 152.0,
    "diastolic": 90.0,
    "stress": 0.4,
}


def at_risk(rows: pd.DataFrame) -> Any:
    risk = (
        (rows["age"] - 50) / 20
        + (rows["smoker"] == "yes")
        + 0.5 * (rows["sex"] == "male")
        + (rows["systolic"] - 140) / 18
        + (rows["diastolic"] - 85) / 20
        + rows["stress"] ** 3
    )
    return np.where(risk > 1.0, "risk", "fine")

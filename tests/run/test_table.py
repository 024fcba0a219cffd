"""Explanations as rows of a table."""

from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from ssba.apps.batch.work import form_of
from ssba.apps.project.opened import OpenedProject
from ssba.apps.project.settings import ProjectSettings
from ssba.apps.requests import CohortRequest
from ssba.apps.service import Service
from ssba.run.table import Asked


def service_of(table: pd.DataFrame, model: Any, target: Any) -> Service:
    return Service(OpenedProject(ProjectSettings(model="m", data="d", target=target), Path(), table, model))


def asked(service: Service, count: int = 1) -> list[Asked]:
    found = service.explain_frame(service.project.rows.head(count), CohortRequest())
    return [Asked(number, None, one) for number, one in enumerate(found)]


def test_columns_of_the_model_keep_their_names_and_ours_are_marked() -> None:
    table = pd.DataFrame({"row": np.arange(30.0) / 3, "score": np.arange(30) % 7})
    service = service_of(table, lambda rows: np.asarray(rows["row"] > 5), True)
    form = form_of(service, with_json=False)
    written = form.table(asked(service)).to_pylist()[0]
    assert (written["ssba_row"], written["ssba_score"]) == (0, None)
    assert written["row"] > 5
    assert form.schema.field("prediction").type == pa.bool_()


def test_dates_levels_and_numbers_have_the_types_of_the_data() -> None:
    count = 40
    table = pd.DataFrame(
        {
            "seen": pd.date_range("2024-01-01", periods=count, freq="D"),
            "size": pd.Categorical(["s", "m"] * (count // 2), categories=["s", "m"], ordered=True),
            "weight": np.linspace(0, 9, count).astype("float32"),
        }
    )

    def price(rows: pd.DataFrame) -> Any:
        return np.asarray(rows["weight"], dtype=float) + (rows["seen"] > "2024-01-20").to_numpy()

    service = service_of(table, price, "value:5..")
    form = form_of(service, with_json=False)
    rows = form.table(asked(service))
    types = {name: rows.schema.field(name).type for name in ("size", "weight", "prediction")}
    assert types == {"size": pa.string(), "weight": pa.float32(), "prediction": pa.float64()}
    (row,) = rows.to_pylist()
    assert isinstance(row["seen"], datetime)
    assert row["new_prediction"] >= 5


def test_errors_say_why_and_nothing_else() -> None:
    table = pd.DataFrame({"x": np.arange(20.0)})
    form = form_of(service_of(table, lambda rows: np.asarray(rows["x"] > 5), True), with_json=True)
    (row,) = form.table([Asked(7, None, "row 7: it is broken")]).to_pylist()
    assert {name: value for name, value in row.items() if value is not None} == {
        "row": 7,
        "status": "error",
        "sentence": "row 7: it is broken",
    }

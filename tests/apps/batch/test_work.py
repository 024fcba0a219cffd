"""The work on one chunk."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support import every

from ssba.apps.batch.crews import alone
from ssba.apps.batch.work import Job, Refused
from ssba.apps.limits import Cancelled
from ssba.apps.project.opened import OpenedProject
from ssba.apps.project.settings import ProjectSettings
from ssba.apps.requests import CohortRequest
from ssba.run.chunks import Chunk
from ssba.run.work import Done, OnError

TABLE = pd.DataFrame({"x": np.arange(20.0) / 3 + 1, "y": np.arange(20.0)[::-1] / 7 + 3})
UNLUCKY = 13.125


def model(rows: pd.DataFrame) -> Any:
    """A model that fails for one value."""
    if (rows["y"] == UNLUCKY).any():
        raise RuntimeError("no luck")
    return np.asarray(rows["x"] > 5)


def project() -> OpenedProject:
    return OpenedProject(ProjectSettings(model="m", data="d", target=True), Path(), TABLE, model)


def job(on_error: OnError, constraints: tuple[str, ...] = ("y == x.y",)) -> Job:
    return Job("a job", project, CohortRequest(constraints=constraints), on_error)


def chunk() -> Chunk:
    rows = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [4.0, UNLUCKY, 5.0]})
    return Chunk(0, [40, 41, 42], [None] * 3, rows)


def test_row_that_the_model_cannot_score_stops_the_work_by_its_number() -> None:
    result = job("stop").worker()(chunk())
    assert isinstance(result, Refused)
    assert result.reason.startswith("row 41")
    assert "no luck" in result.reason
    assert "--on-error row" in result.reason


def test_other_rows_are_explained_beside_it() -> None:
    (result,) = alone(job("row").worker())([chunk()])
    assert isinstance(result, Done)
    rows = result.table.to_pylist()
    assert [(row["row"], row["status"]) for row in rows] == [(40, "found"), (41, "error"), (42, "found")]
    assert every(row["x"] > 5 for row in rows if row["status"] == "found")


def test_constraint_that_is_wrong_for_every_row_stops_the_work() -> None:
    result = job("row", ("z == 1",)).worker()(chunk())
    assert isinstance(result, Refused)
    assert "'z'" in result.reason


def test_work_ends_before_the_next_model_call_when_it_is_stopped() -> None:
    def stop(rows: int) -> None:
        raise Cancelled("enough")

    ended: Callable[..., Any] = job("stop").worker()
    assert ended(chunk(), stop) == Refused("enough")


@pytest.mark.parametrize("on_error", ["stop", "row"])
def test_chunk_of_unreadable_rows_alone(on_error: OnError) -> None:
    empty = Chunk(0, [3], [None], TABLE.head(0), {3: "it is torn"})
    result = job(on_error).worker()(empty)
    if on_error == "stop":
        assert isinstance(result, Refused)
    else:
        assert isinstance(result, Done)
        assert result.table["sentence"].to_pylist() == ["row 3: it is torn"]

"""Runs in this process: what is written, kept, gone on with and refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.run.models import MARK, Unlucky, bowl, mixed
from tests.support import every

import ssba
from ssba.errors import ArgumentError, ConstraintError, SchemaError
from ssba.explainer import Inside
from ssba.run import Output, locally, on_ray

COUNT, CHUNK = 20, 6
CURED = Unlucky(cured=True)
MIXED = pd.DataFrame(
    {
        "a": np.random.default_rng(0).normal(size=300).round(2),
        "b": np.random.default_rng(1).normal(size=300).round(2),
        "kind": np.random.default_rng(2).choice(["r", "s"], size=300),
    }
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.parquet"
    rows = np.random.default_rng(1).normal(size=(COUNT, 3))
    rows[CHUNK + 2, 2] = MARK
    frame = pd.DataFrame(rows, columns=["x0", "x1", "x2"])
    frame.assign(who=[f"p{i}" for i in range(COUNT)]).to_parquet(path)
    return path


def explainer(model: Any = CURED, target: Any = True, **how: Any) -> ssba.Explainer:
    return ssba.Explainer(model, np.random.default_rng(0).normal(size=(500, 3)), target=target, **how)


@pytest.mark.parametrize(
    "form", [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "pyarrow"]
)
def test_answers_of_a_file_are_those_of_explain_many_in_the_types_of_the_data(
    form: Callable[[pd.DataFrame], Any], tmp_path: Path
) -> None:
    one = ssba.Explainer(mixed, form(MIXED), target="up")
    queries = MIXED.head(10)
    queries.to_parquet(tmp_path / "in.parquet")
    locally(one).explain_many(tmp_path / "in.parquet", ["kind == x.kind"], out=tmp_path / "out.parquet")
    written = pq.read_table(tmp_path / "out.parquet")
    assert [written.schema.field(name).type for name in MIXED] == [pa.float64(), pa.float64(), pa.string()]
    wanted = one.explain_many(queries, ["kind == x.kind"])
    best = [answer.best and answer.best.values for answer in wanted]
    rows = written.to_pylist()
    assert [row["status"] for row in rows] == [answer.status for answer in wanted]
    assert every(
        {name: row[name] for name in MIXED} == values
        for row, values in zip(rows, best, strict=True)
        if values is not None
    )


def test_a_column_can_name_the_rows(file: Path, tmp_path: Path) -> None:
    written = locally(explainer(), chunk=CHUNK).explain_many(file, out=tmp_path / "out.parquet", id="who")
    rows = pq.read_table(written.path).to_pylist()
    assert [(row["row"], row["id"]) for row in rows] == [(i, f"p{i}") for i in range(COUNT)]
    assert sum(written.statuses.values()) == written.rows == COUNT


def test_a_run_that_stopped_goes_on_in_another_process_that_asks_the_same(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    with pytest.raises(ArgumentError, match=f"row {CHUNK + 2}: .*no luck"):
        locally(explainer(Unlucky()), chunk=CHUNK).explain_many(file, out=out)
    assert len(list((tmp_path / "out.parquet.parts").glob("part-*"))) == 1
    written = locally(explainer(), chunk=CHUNK).explain_many(file, out=out)
    assert (written.rows, written.rows_before) == (COUNT, CHUNK)
    whole = locally(explainer(), chunk=CHUNK).explain_many(file, out=tmp_path / "whole.parquet")
    assert written.digest() == whole.digest()


@pytest.fixture
def stopped(file: Path, tmp_path: Path) -> Path:
    """The output of a run that stopped after its first chunk."""
    out = tmp_path / "out.parquet"
    with pytest.raises(ArgumentError):
        locally(explainer(Unlucky()), chunk=CHUNK).explain_many(file, out=out)
    return out


@pytest.mark.parametrize(
    ("how", "chunk", "asked", "other"),
    [
        ({}, CHUNK, {"constraints": ["x2 == x.x2"]}, "request"),
        ({}, CHUNK, {"k": 2}, "request"),
        ({}, 5, {}, "request"),
        ({}, CHUNK, {"budget": ssba.Budget(rows=500)}, "request"),
        ({"seed": 1}, CHUNK, {}, "explainer"),
        ({"distance": "l1"}, CHUNK, {}, "explainer"),
    ],
)
def test_what_was_asked_otherwise_is_refused_by_name(
    how: Any, chunk: int, asked: Any, other: str, file: Path, stopped: Path
) -> None:
    runner = locally(explainer(**how), chunk=chunk)
    remedy = r"give ssba\.run\.Output\(out, force=True\)"
    with pytest.raises(ArgumentError, match=f"begun with another {other}; .*{remedy}"):
        runner.explain_many(file, out=stopped, **asked)
    assert runner.explain_many(file, out=Output(stopped, force=True), **asked).rows_before == 0


def test_points_that_are_stored_now_are_another_request(file: Path, stopped: Path) -> None:
    one = explainer()
    with pytest.raises(ArgumentError, match="begun with another request"):
        locally(one, chunk=CHUNK).explain_many(file, out=stopped, boundary=one.sample_boundary(100))


@pytest.mark.parametrize("change", [lambda rows: rows.iloc[::-1], lambda rows: rows.iloc[:0]])
def test_chunks_of_other_rows_are_refused(change: Any, file: Path, stopped: Path) -> None:
    change(pd.read_parquet(file)).to_parquet(file)
    with pytest.raises(ArgumentError, match="holds chunks of other rows than these"):
        locally(explainer(), chunk=CHUNK).explain_many(file, out=stopped)


def test_rows_that_were_added_meanwhile_are_explained_as_well(file: Path, stopped: Path) -> None:
    rows = pd.read_parquet(file)
    pd.concat([rows, rows.head(3)]).to_parquet(file)
    written = locally(explainer(), chunk=CHUNK).explain_many(file, out=stopped)
    assert (written.rows, written.rows_before) == (COUNT + 3, CHUNK)


def test_what_cannot_be_done_is_refused_before_any_work(file: Path, tmp_path: Path) -> None:
    runner, out = locally(explainer()), tmp_path / "out.parquet"
    out.write_text("mine", encoding="utf-8")
    new = tmp_path / "new.parquet"
    for refused, kind, reason in (
        (
            lambda: runner.explain_many(file, out=out),
            ArgumentError,
            r"is there already; .*Output\(out, force=True\)",
        ),
        (
            lambda: runner.explain_many(tmp_path / "no.parquet", out=new),
            ArgumentError,
            "there is no such file",
        ),
        (
            lambda: runner.explain_many(np.zeros((2, 3)), out=new),
            ArgumentError,
            "of type ndarray; give the name",
        ),
        (lambda: runner.explain_many(file, out=new, id="name"), SchemaError, "there is no column 'name'"),
        (lambda: runner.explain_many(file, ["z > 1"], out=new), ConstraintError, "'z'"),
        (
            lambda: runner.explain_many(file, out=new, budget=ssba.Budget(seconds=1)),
            ArgumentError,
            "of seconds",
        ),
        (
            lambda: runner.explain_many(file, out=cast(Any, 5)),
            ArgumentError,
            "out is 5; give the name of a file",
        ),
        (
            lambda: Output(new, on_error=cast(Any, "skip")),
            ArgumentError,
            "is 'skip'; choose one of 'stop', 'row'",
        ),
        (lambda: runner.explain_many(out, out=new), SchemaError, "this is not a Parquet file"),
        (lambda: runner.sample_boundary(0), ArgumentError, "n_pairs"),
    ):
        with pytest.raises(kind, match=reason):
            refused()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["out.parquet", "rows.parquet"]
    assert out.read_text(encoding="utf-8") == "mine"


def test_arguments_of_a_cluster_are_checked_before_it_is_joined() -> None:
    one, function, number = explainer(), cast(Any, bowl), cast(Any, 6379)
    refusals: list[tuple[Callable[[], Any], str]] = [
        (lambda: on_ray(function), "explainer is of type function; give an ssba.Explainer"),
        (lambda: locally(function), "explainer is of type function; give an ssba.Explainer"),
        (lambda: on_ray(one, number), "address is 6379; give"),
        (lambda: on_ray(one, chunk=0), "chunk is 0; give a whole number, 1 or more"),
        (lambda: locally(one, chunk=0), "chunk is 0; give a whole number, 1 or more"),
        (lambda: on_ray(one, actors=0), "actors is 0; give a whole number"),
        (lambda: on_ray(one, num_gpus=1.5), "num_gpus is 1.5; give 0, a part of 1 or a whole number"),
        (lambda: on_ray(one, num_cpus=-1), "num_cpus is -1; give"),
        (lambda: on_ray(one, num_cpus=0), "num_cpus and num_gpus are both 0"),
    ]
    for refused, reason in refusals:
        with pytest.raises(ArgumentError, match=reason):
            refused()


def test_a_model_on_a_gpu_needs_actors_with_one() -> None:
    import torch

    torch.manual_seed(0)
    one = explainer(torch.nn.Linear(3, 1).double().eval(), target=ssba.value_between(0.2, None))
    on_device = Inside(one).engine.judging.model.on_device
    assert on_device is not None
    assert on_ray(one) is not None
    # There is no GPU in tests.
    object.__setattr__(on_device, "place", lambda: ("cuda:0", "float64"))
    with pytest.raises(ArgumentError, match=r"the model lies on cuda:0, .*; give num_gpus=1"):
        on_ray(one)
    assert on_ray(one, num_gpus=0.5) is not None


def test_points_are_those_of_the_explainer_itself(tmp_path: Path) -> None:
    one = explainer()
    found = locally(one).sample_boundary(40_000, path=tmp_path / "index")
    assert found.digest() == one.sample_boundary(40_000).digest()
    more = locally(one).sample_boundary(800, crossings="all", labels=bowl(one._given[1]))
    assert more.digest() == one.sample_boundary(800, crossings="all", labels=bowl(one._given[1])).digest()


def test_points_in_memory_of_a_torch_module_are_those_of_the_explainer_itself() -> None:
    import torch

    torch.manual_seed(0)
    network = (
        torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)).double().eval()
    )
    one = ssba.Explainer(network, np.random.default_rng(0).normal(size=(300, 3)), target=1)
    assert locally(one).sample_boundary(2_000).digest() == one.sample_boundary(2_000).digest()

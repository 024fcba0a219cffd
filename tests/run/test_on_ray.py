"""Actors of a real Ray cluster, which is started once and listens to this machine alone."""

import os
import sys
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from tests.run.models import MARK, Killed, KilledLater, Noted, Otherwise, SeesGpus, bowl, fails_on_marked
from tests.support import every

import ssba
from ssba.errors import ArgumentError, ModelError, StoppedError
from ssba.results import Explanation
from ssba.run import Output, Runner, Written, locally, on_ray
from ssba.run.cluster import joined, on_loopback
from ssba.run.parts import Parts

ray: Any = pytest.importorskip("ray")

DATA = np.random.default_rng(0).normal(size=(1200, 3))
PAIRS, SOME_PAIRS = 100_000, 40_000
CHUNK, CHUNKS = 8, 6
RULES = ["x2 == x.x2"]
# Ray sets the deprecated fields of its own context.
RAY_WARNS = pytest.mark.filterwarnings("ignore::DeprecationWarning:ray")


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """A cluster that pretends to have GPUs, and four processors."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    with on_loopback():
        ray.init(
            "local",
            num_cpus=4,
            num_gpus=2,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
        )
    yield
    ray.shutdown()


def queries() -> pd.DataFrame:
    rows = np.random.default_rng(1).normal(size=(CHUNK * CHUNKS - 3, 3))
    rows[CHUNK * 3 + 2, 2] = MARK
    return pd.DataFrame(rows, columns=["x0", "x1", "x2"]).assign(
        who=lambda frame: "p" + frame.index.astype(str)
    )


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows to explain; one of them, in the fourth chunk, is marked."""
    path = tmp_path_factory.mktemp("input") / "rows.parquet"
    # Row groups of another size than the chunks.
    queries().to_parquet(path, row_group_size=11)
    return path


def explainer(model: Any = bowl) -> ssba.Explainer:
    return ssba.Explainer(model, DATA, target=True)


def explain(runner: Runner, rows: Any, out: Path | Output) -> Written:
    return runner.explain_many(rows, RULES, out=out, id="who")


@pytest.fixture(scope="module")
def runner(cluster: None) -> Iterator[Runner]:
    """Two actors, which serve several tests: to begin takes them seconds."""
    with on_ray(explainer(), chunk=CHUNK, actors=2) as made:
        yield made


@pytest.fixture(scope="module")
def by_one(file: Path, tmp_path_factory: pytest.TempPathFactory) -> Written:
    """What one process writes that nobody stops."""
    return explain(locally(explainer(), chunk=CHUNK), file, tmp_path_factory.mktemp("output") / "one.parquet")


def shards(path: Path) -> list[str]:
    """The names of an index's files, which are the sha256 of their bytes."""
    return sorted(one.name for one in (path / "shards").iterdir())


def test_actors_find_the_boundary_points_of_one_process_to_the_last_byte(
    runner: Runner, tmp_path: Path
) -> None:
    one = explainer().sample_boundary(PAIRS, path=tmp_path / "one")
    shared = runner.sample_boundary(PAIRS, path=tmp_path / "shared")
    again = runner.sample_boundary(PAIRS, path=tmp_path / "shared")
    assert shards(tmp_path / "shared") == shards(tmp_path / "one")
    assert len(shards(tmp_path / "one")) == 4
    assert (shared.digest(), shared.rows_used) == (one.digest(), one.rows_used)
    assert again.rows_used == 0


def test_growth_goes_on_from_what_one_process_has_published(runner: Runner, tmp_path: Path) -> None:
    begun = explainer().sample_boundary(SOME_PAIRS, path=tmp_path / "index")
    grown = runner.sample_boundary(PAIRS, path=tmp_path / "index")
    assert grown.rows_used == begun.rows_used * (PAIRS - SOME_PAIRS) // SOME_PAIRS
    assert grown.digest() == explainer().sample_boundary(PAIRS).digest()


@pytest.mark.usefixtures("cluster")
def test_an_actor_that_is_killed_while_it_finds_points_changes_nothing(tmp_path: Path) -> None:
    sign = tmp_path / "killed"
    with on_ray(explainer(KilledLater(sign=sign)), chunk=CHUNK, actors=2) as runner:
        shared = runner.sample_boundary(PAIRS, path=tmp_path / "shared")
    assert sign.exists()
    assert shared.digest() == explainer().sample_boundary(PAIRS, path=tmp_path / "one").digest()
    assert shards(tmp_path / "shared") == shards(tmp_path / "one")


def test_actors_write_the_file_of_one_process_to_the_last_byte(
    runner: Runner, file: Path, by_one: Written, tmp_path: Path
) -> None:
    shared = explain(runner, file, tmp_path / "shared.parquet")
    assert shared.digest() == by_one.digest()
    assert (shared.rows, shared.rows_before, shared.statuses) == (by_one.rows, 0, by_one.statuses)
    assert [one.name for one in tmp_path.iterdir()] == ["shared.parquet"]


def test_answers_are_those_of_explain_many_also_from_stored_points(
    runner: Runner, file: Path, tmp_path: Path
) -> None:
    one = explainer()
    points = one.sample_boundary(2_000)
    # No stored point would meet a rule that holds a column.
    rules = ["x2 >= x.x2 - 1"]
    runner.explain_many(
        file, rules, out=Output(tmp_path / "out.parquet", with_json=True), boundary=points, k=2
    )
    table = pq.read_table(tmp_path / "out.parquet").to_pylist()
    found = [Explanation.from_json(row["explanation"]) for row in table if row["explanation"]]
    rows = queries()[["x0", "x1", "x2"]]
    wanted = one.explain_many(rows, rules, boundary=points, k=2)
    assert [answers(one) for one in found] == [answers(one) for one in wanted]
    assert every(len(one.counterfactuals) == 2 for one in found if one.status == "found")


def answers(explanation: Explanation) -> Any:
    return explanation.status, explanation.rows_used, [one.values for one in explanation.answers]


@pytest.mark.usefixtures("cluster")
def test_an_actor_that_is_killed_in_the_middle_of_a_chunk_changes_nothing(
    file: Path, by_one: Written, tmp_path: Path
) -> None:
    signs = tmp_path / "signs"
    signs.mkdir()
    with on_ray(explainer(Killed(folder=signs, times=2)), chunk=CHUNK, actors=2) as runner:
        shared = explain(runner, file, tmp_path / "shared.parquet")
    assert len(list(signs.iterdir())) == 2
    assert shared.digest() == by_one.digest()


@pytest.mark.usefixtures("cluster")
def test_an_actor_that_somebody_kills_between_two_calls_is_replaced(
    file: Path, by_one: Written, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    pids.mkdir()
    with on_ray(explainer(Noted(folder=pids)), chunk=CHUNK, actors=1) as runner:
        runner.sample_boundary(1000)
        (first,) = pids.iterdir()
        os.kill(int(first.name), 9)
        assert explain(runner, file, tmp_path / "shared.parquet").digest() == by_one.digest()
    assert len(list(pids.iterdir())) == 2


@pytest.mark.usefixtures("cluster")
def test_a_run_that_was_given_up_goes_on_with_the_chunks_that_are_missing(
    file: Path, by_one: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signs, out = tmp_path / "signs", tmp_path / "out.parquet"
    signs.mkdir()
    monkeypatch.setattr("ssba.run.crews._TRIES", 2)
    with on_ray(explainer(Killed(folder=signs, times=2)), chunk=CHUNK, actors=1) as runner:
        with pytest.raises(StoppedError, match="begun 2 times, and its actor was lost each time"):
            explain(runner, file, out)
        before = {one.name for one in Path(f"{out}.parts").glob("part-*")}
        # What was on its way as the actor was killed may be lost, and is done again.
        assert 1 <= len(before) < CHUNKS
        places: list[int] = []
        add = Parts.add

        def noted(parts: Parts, place: int, *more: Any) -> None:
            places.append(place)
            add(parts, place, *more)

        monkeypatch.setattr(Parts, "add", noted)
        written = explain(runner, file, out)
    assert len(places) == CHUNKS - len(before)
    assert not {f"{place:08d}" for place in places} & {name.split("-")[1] for name in before}
    assert written.rows_before == len(before) * CHUNK
    assert written.digest() == by_one.digest()


@RAY_WARNS
def test_rows_of_a_dataset_come_in_its_own_order_however_long_its_blocks_take(
    runner: Runner, by_one: Written, tmp_path: Path
) -> None:
    sign = tmp_path / "another block is finished"

    def first_comes_last(batch: Any) -> Any:
        if "p0" in set(batch["who"]):
            ends = time.monotonic() + 20
            while not sign.exists() and time.monotonic() < ends:
                time.sleep(0.05)
            time.sleep(0.3)
        else:
            sign.touch()
        return batch

    import ray.data

    ray.data.DataContext.get_current().enable_progress_bars = False
    blocks = np.array_split(np.arange(by_one.rows), 5)
    dataset = ray.data.from_pandas([queries().iloc[block] for block in blocks])
    mapped = dataset.map_batches(first_comes_last, batch_format="pandas", batch_size=None)
    shared = explain(runner, mapped, tmp_path / "shared.parquet")
    assert sign.exists()
    assert shared.digest() == by_one.digest()


@RAY_WARNS
@pytest.mark.usefixtures("cluster")
def test_a_dataset_needs_a_processor_beside_the_actors(tmp_path: Path) -> None:
    import ray.data

    dataset = ray.data.from_pandas(queries())
    out = tmp_path / "out.parquet"
    with (
        on_ray(explainer(), chunk=CHUNK, actors=4) as runner,
        pytest.raises(ArgumentError, match="room for 3 and leaves one"),
    ):
        explain(runner, dataset, out)
    with on_ray(explainer(), chunk=CHUNK, num_cpus=2) as runner:
        assert explain(runner, dataset, out).rows == CHUNK * CHUNKS - 3


@pytest.mark.usefixtures("cluster")
def test_actors_take_the_gpus_that_they_are_given(file: Path, by_one: Written, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    seen.mkdir()
    with on_ray(explainer(SeesGpus(folder=seen)), chunk=CHUNK, actors=2, num_gpus=1) as runner:
        assert explain(runner, file, tmp_path / "out.parquet").digest() == by_one.digest()
    assert sorted(one.name for one in seen.iterdir()) == ["0", "1"]
    with (
        on_ray(explainer(), chunk=CHUNK, actors=3, num_gpus=1) as runner,
        pytest.raises(ArgumentError, match=r"3 actors of 1 processors and 1 GPUs .* room for 2; give fewer"),
    ):
        explain(runner, file, tmp_path / "more.parquet")


@pytest.mark.usefixtures("cluster")
def test_a_row_that_fails_on_an_actor_is_named_by_its_number_in_the_file(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    with on_ray(explainer(fails_on_marked), chunk=CHUNK, actors=1) as runner:
        with pytest.raises(ArgumentError, match=f'row {CHUNK * 3 + 2}: .*no luck.*on_error="row"'):
            explain(runner, file, out)
        written = explain(runner, file, Output(tmp_path / "rows.parquet", on_error="row"))
    assert written.statuses["error"] == 1


@pytest.mark.usefixtures("cluster")
def test_a_model_that_answers_otherwise_on_an_actor_is_refused(tmp_path: Path) -> None:
    with (
        on_ray(explainer(Otherwise()), chunk=CHUNK, actors=1) as runner,
        pytest.raises(ModelError, match="answers otherwise"),
    ):
        runner.sample_boundary(1000)


@pytest.mark.usefixtures("cluster")
def test_a_model_of_a_module_that_only_this_process_has_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    only_here = types.ModuleType("only_here")
    exec("def model(rows):\n    return rows[:, 0] > 0.5\n", only_here.__dict__)  # noqa: S102
    monkeypatch.setitem(sys.modules, "only_here", only_here)
    with (
        on_ray(explainer(only_here.model), chunk=CHUNK, actors=1) as runner,
        pytest.raises(ModelError, match=r"No module named 'only_here'.*every node of the cluster needs"),
    ):
        runner.sample_boundary(1000)


@pytest.mark.usefixtures("cluster")
def test_a_model_of_the_script_itself_goes_along() -> None:
    """Pickled by value, as Ray does with what is defined in `__main__`."""
    main = sys.modules["__main__"]
    exec("def model(rows):\n    return rows[:, 0] > 0.5\n", main.__dict__)  # noqa: S102
    with on_ray(explainer(main.__dict__["model"]), chunk=CHUNK, actors=1) as runner:
        assert len(runner.sample_boundary(1000)) == 1000
    del main.__dict__["model"]


@pytest.mark.usefixtures("cluster")
def test_a_cluster_that_was_joined_before_is_left_running() -> None:
    with on_ray(explainer(), chunk=CHUNK, actors=1) as runner:
        runner.sample_boundary(100)
    assert ray.is_initialized()
    with joined(None):
        pass
    assert ray.is_initialized()


@pytest.mark.usefixtures("cluster")
def test_the_cluster_listens_to_this_machine_alone() -> None:
    assert [one["NodeManagerAddress"] for one in ray.nodes()] == ["127.0.0.1"]

"""An index is filled where it left off, by one process or several, and always ends as the same set."""

import multiprocessing
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import SVC

import ssba
from ssba.index import sampling
from ssba.index.sampling import Part, _missing

_rng = np.random.default_rng(4)
X = _rng.normal(size=(90, 3))
MODEL = SVC().fit(X, (X[:, 0] + X[:, 1] ** 2 > 0.6).astype(int))


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "BLOCK_PAIRS", 64)


def explainer(model: Any = MODEL, **wishes: Any) -> ssba.Explainer:
    return ssba.Explainer(model, X, target=1, **wishes)


class Interrupted:
    """A model that is cut off after so many rows, as by Ctrl-C."""

    left = 10**12

    def predict(self, rows: Any) -> Any:
        self.left -= len(rows)
        if self.left < 0:
            raise KeyboardInterrupt
        return MODEL.predict(rows)


class TestOneSet:
    def test_on_disk_as_in_memory(self, tmp_path: Path) -> None:
        stored = explainer().sample_boundary(500, path=tmp_path / "a")
        held = explainer().sample_boundary(500)
        assert len(stored) == 500
        assert stored.digest() == held.digest()
        np.testing.assert_array_equal(stored.points, held.points)

    def test_in_pieces_as_in_one(self, tmp_path: Path) -> None:
        whole = explainer().sample_boundary(700, path=tmp_path / "whole")
        for n in (100, 333, 700):
            pieces = explainer().sample_boundary(n, path=tmp_path / "pieces")
        assert pieces.digest() == whole.digest()

    def test_interrupted_anywhere_and_resumed(self, tmp_path: Path) -> None:
        whole = explainer().sample_boundary(400).digest()
        for rows in range(100, 4000, 555):
            model = Interrupted()
            cut = explainer(model)
            cut.sample_boundary(1)  # the background rows are predicted now
            model.left = rows
            with pytest.raises(KeyboardInterrupt):
                cut.sample_boundary(400, path=tmp_path / str(rows))
            before = ssba.boundary_info(tmp_path / str(rows))["points"]
            model.left = 10**12
            resumed = cut.sample_boundary(400, path=tmp_path / str(rows))
            assert resumed.digest() == whole
            assert resumed.rows_used == 10 * (400 - before)
            assert before == 0 if rows < 640 else before >= (rows // 640) * 64

    def test_killed_and_resumed(self, tmp_path: Path) -> None:
        path = tmp_path / "killed"
        explainer().sample_boundary(1, path=path)
        spawn = multiprocessing.get_context("spawn")
        worker = spawn.Process(target=_work, args=(str(path), 10**6))
        with pytest.warns(ssba.SsbaWarning, match="only"):
            pairs = explainer().sample_boundary(10**6).pairs
        worker.start()
        while ssba.boundary_info(path)["points"] < 200 and worker.is_alive():
            pass
        worker.kill()
        worker.join()
        before = ssba.boundary_info(path)["points"]
        wanted = min(pairs, before + 300)
        resumed = explainer().sample_boundary(wanted, path=path)
        assert resumed.rows_used == 10 * (wanted - before)
        assert resumed.digest() == explainer().sample_boundary(wanted).digest()

    def test_four_parts_as_one_run(self, tmp_path: Path) -> None:
        whole = explainer().sample_boundary(1000, path=tmp_path / "whole")
        for number in (2, 0, 3, 1):
            parts = explainer().sample_boundary(1000, path=tmp_path / "parts", part=(number, 4))
        assert parts.digest() == whole.digest()

    def test_processes_that_share_a_path_publish_every_pair_once(self, tmp_path: Path) -> None:
        path = tmp_path / "shared"
        explainer().sample_boundary(1, path=path)
        spawn = multiprocessing.get_context("spawn")
        workers = [spawn.Process(target=_work, args=(str(path), 1500)) for _ in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert [worker.exitcode for worker in workers] == [0, 0]
        shared = explainer().open_boundary(path)
        assert len(shared) == 1500
        assert shared.digest() == explainer().sample_boundary(1500).digest()


def _work(path: str, n: int) -> None:
    sampling.BLOCK_PAIRS = 64
    warnings.simplefilter("ignore")
    explainer().sample_boundary(n, path=path)


class TestGrowth:
    def test_only_what_is_missing_is_computed(self, tmp_path: Path) -> None:
        first = explainer().sample_boundary(300, path=tmp_path / "a")
        more = explainer().sample_boundary(450, path=tmp_path / "a")
        less = explainer().sample_boundary(200, path=tmp_path / "a")
        assert first.rows_used == 10 * 300
        assert more.rows_used == 10 * 150
        assert less.rows_used == 0
        assert len(less) == 450

    def test_another_seed_or_tolerance_adds_points_of_its_own(self, tmp_path: Path) -> None:
        explainer().sample_boundary(100, path=tmp_path / "a")
        with pytest.warns(ssba.SsbaWarning, match="another seed"):
            assert len(explainer(seed=3).sample_boundary(100, path=tmp_path / "a")) == 200
        with pytest.warns(ssba.SsbaWarning, match="beside"):
            assert len(explainer().sample_boundary(100, tolerance=1e-4, path=tmp_path / "a")) == 300
        samples = ssba.boundary_info(tmp_path / "a")["samples"]
        assert [(one["seed"], one["tolerance"], one["pairs_used"]) for one in samples] == [
            (0, 1e-3, 100),
            (3, 1e-3, 100),
            (0, 1e-4, 100),
        ]

    def test_a_set_says_where_it_is_and_how_much_of_the_pairs_it_used(self, tmp_path: Path) -> None:
        made = explainer().sample_boundary(50, path=tmp_path / "a")
        assert repr(made).startswith("<BoundarySet of 50 points toward 1, from 50 of ")
        assert repr(made).endswith(f"pairs in {tmp_path / 'a'}>")
        assert repr(explainer().open_boundary(tmp_path / "a")) == repr(made)

    def test_every_crossing_gives_at_least_a_point_a_pair(self, tmp_path: Path) -> None:
        waves = ssba.Explainer(lambda rows: np.sin(4 * rows[:, 0]) > 0, X, target=True)
        one = waves.sample_boundary(200, path=tmp_path / "one")
        every = waves.sample_boundary(200, path=tmp_path / "all", crossings="all")
        assert len(one) == one.pairs_used == every.pairs_used == 200
        assert len(every) > 250
        assert (np.sin(4 * every.points[:, 0]) > 0).all()


class TestMissing:
    @given(
        st.lists(st.tuples(st.integers(0, 300), st.integers(1, 90)), max_size=6),
        st.integers(0, 400),
        st.integers(1, 4),
    )
    def test_parts_share_out_what_is_not_covered(
        self, stretches: list[tuple[int, int]], count: int, of: int
    ) -> None:
        covered = [range(begin, begin + length) for begin, length in sorted(stretches)]
        taken = [
            position
            for number in range(of)
            for piece in _missing(covered, count, Part(number, of))
            for position in piece
        ]
        wanted = set(range(count)) - {position for one in covered for position in one}
        assert sorted(taken) == sorted(wanted)

    def test_no_piece_is_longer_than_a_block_or_crosses_its_end(self) -> None:
        pieces = list(_missing([range(10, 20)], 200, Part()))
        assert pieces == [range(10), range(20, 64), range(64, 128), range(128, 192), range(192, 200)]


@pytest.mark.parametrize(
    ("part", "says"),
    [
        ((4, 4), "the last is (3, 4)"),
        ((0, 0), "1 or more"),
        ("1/4", "(0, 4) is the first of four"),
        ((-1, 2), "0 or more"),
    ],
)
def test_a_part_that_is_none_is_refused(part: Any, says: str) -> None:
    with pytest.raises(ssba.errors.ArgumentError) as refused:
        explainer().sample_boundary(10, part=part)
    assert says in str(refused.value)


@pytest.mark.parametrize("path", [3, "", b"x"])
def test_a_path_that_is_none_is_refused(path: Any) -> None:
    with pytest.raises(ssba.errors.ArgumentError, match="path is"):
        explainer().sample_boundary(10, path=path)

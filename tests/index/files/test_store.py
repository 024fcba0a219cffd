"""An index on disk gives back what was appended, under the identity it was made with."""

import os
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.index.files.support import IDENTITY, content, points, small_index

from ssba.errors import ArgumentError, BoundaryFileError
from ssba.index.files.store import Identity, Manifest, Store


def test_a_new_index_is_empty(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "heart.boundary", IDENTITY)
    assert store.latest() == Manifest(0, IDENTITY, ())
    assert Store.open(tmp_path / "heart.boundary").identity == IDENTITY


def test_what_was_appended_is_read_back_in_order_with_its_facts(tmp_path: Path) -> None:
    small_index(tmp_path / "index", appends=3)
    assert content(tmp_path / "index") == [({"seed": seed}, points(seed).tolist()) for seed in range(3)]
    assert Store.open(tmp_path / "index").latest().rows == 12


@given(rows=arrays(np.float64, st.tuples(st.integers(0, 7), st.just(3))), in_columns=st.booleans())
def test_every_bit_of_every_number_survives(
    tmp_path_factory: pytest.TempPathFactory,
    rows: np.ndarray[tuple[int, int], np.dtype[np.float64]],
    in_columns: bool,
) -> None:
    store = Store.create(tmp_path_factory.mktemp("index"), IDENTITY)
    manifest = store.append(np.asfortranarray(rows) if in_columns else rows, {})
    assert manifest is not None
    read = Store.open(store.path).read(manifest.shards[0])
    assert read.shape == rows.shape
    # as integers, so that kinds of NaN and signs of zero count
    np.testing.assert_array_equal(np.ascontiguousarray(read).view(np.int64), rows.view(np.int64))


def test_points_are_mapped_column_by_column_and_cannot_be_written(tmp_path: Path) -> None:
    store = small_index(tmp_path / "index", appends=1)
    read = store.read(store.latest().shards[0])
    assert read.flags.f_contiguous
    assert not read.flags.c_contiguous
    with pytest.raises(ValueError, match="read-only"):
        read[0, 0] = 1.0


def test_numpy_reads_a_shard_as_it_lies_on_disk(tmp_path: Path) -> None:
    store = small_index(tmp_path / "index", appends=1)
    loaded = np.load(tmp_path / "index" / "shards" / store.latest().shards[0].name, allow_pickle=False)
    np.testing.assert_array_equal(loaded, points(0))


def test_no_shard_is_looked_at_when_an_index_is_opened(tmp_path: Path) -> None:
    store = small_index(tmp_path / "index")
    for shard in store.latest().shards:
        (tmp_path / "index" / "shards" / shard.name).unlink()
    assert Store.open(tmp_path / "index").latest().rows == 12


def test_equal_points_with_equal_facts_are_there_once(tmp_path: Path) -> None:
    store = small_index(tmp_path / "index", appends=2)
    before = store.latest()
    assert store.append(points(0), {"seed": 0}) == before
    assert store.latest() == before
    after = store.append(points(0), {"seed": 9})
    assert after is not None
    assert [shard.about["seed"] for shard in after.shards] == [0, 1, 9]
    assert after.shards[0].name == after.shards[2].name


def test_an_empty_shard_keeps_its_facts(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "index", IDENTITY)
    store.append(np.empty((0, 3)), {"from": 0, "to": 10})
    store.append(np.empty((0, 3)), {"from": 10, "to": 20})
    assert content(tmp_path / "index") == [({"from": 0, "to": 10}, []), ({"from": 10, "to": 20}, [])]


def test_a_shard_that_is_not_wanted_any_more_is_not_published(tmp_path: Path) -> None:
    store = small_index(tmp_path / "index", appends=1)
    before = store.latest()
    assert store.append(points(5), {"seed": 5}, unless=lambda now: now.rows >= 4) is None
    assert store.latest() == before
    assert store.append(points(5), {"seed": 5}, unless=lambda now: now.rows >= 5) is not None


def test_a_change_is_made_of_the_manifest_that_a_faster_writer_left(tmp_path: Path) -> None:
    store = small_index(tmp_path / "index", appends=1)
    seen = []

    def drop_first_after_another_append(now: Manifest) -> Manifest:
        seen.append(now.number)
        if len(seen) == 1:
            Store.open(store.path).append(points(7), {"seed": 7})
        return replace(now, shards=now.shards[1:])

    published = store.publish(drop_first_after_another_append)
    assert seen == [1, 2]
    assert published is not None
    assert published.number == 3
    assert [about for about, _ in content(store.path)] == [{"seed": 7}]


def test_a_change_may_give_up_or_change_nothing(tmp_path: Path) -> None:
    store = small_index(tmp_path / "index", appends=1)
    before = store.latest()
    assert store.publish(lambda now: None) is None
    assert store.publish(lambda now: now) == before
    assert sorted(os.listdir(store.path)) == ["manifest-0.json", "manifest-1.json", "shards"]


def test_creating_twice_opens_what_is_there(tmp_path: Path) -> None:
    small_index(tmp_path / "index", appends=2)
    assert Store.create(tmp_path / "index", IDENTITY).latest().rows == 8


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (replace(IDENTITY, target="'ill'"), "the target: 'healthy' in the index, 'ill' here"),
        (
            replace(IDENTITY, model_fingerprint="b2"),
            "fingerprint 'a1' in the index, SVC with fingerprint 'b2'",
        ),
        (
            replace(IDENTITY, columns=("age", "chol", "sex")),
            r"\['größe'\] only in the index, \['sex'\] only here",
        ),
        (replace(IDENTITY, columns=("chol", "age", "größe")), "the order of the columns"),
        (replace(IDENTITY, kinds=("integer",) * 3), "column 'chol': numeric in the index, integer here"),
        (replace(IDENTITY, schema_hash="6f"), "levels, steps or types of the columns"),
    ],
)
def test_an_index_of_another_identity_is_refused_with_what_differs(
    tmp_path: Path, other: Identity, said: str
) -> None:
    small_index(tmp_path / "index")
    with pytest.raises(BoundaryFileError, match=said) as refusal:
        Store.create(tmp_path / "index", other)
    assert str(tmp_path / "index") in str(refusal.value)


def test_an_index_that_was_given_a_new_model_takes_no_points_of_the_old_one(
    tmp_path: Path,
) -> None:
    store = small_index(tmp_path / "index", appends=1)
    retrained = replace(IDENTITY, model_fingerprint="b2")
    Store.open(store.path).publish(lambda now: replace(now, identity=retrained))
    with pytest.raises(BoundaryFileError, match="it has become about something else: the model"):
        store.append(points(5), {})
    assert Store.open(store.path).append(points(5), {}) is not None


def test_where_there_is_no_index_the_error_names_the_path(tmp_path: Path) -> None:
    with pytest.raises(BoundaryFileError, match="No such file") as missing:
        Store.open(tmp_path / "nowhere")
    assert str(tmp_path / "nowhere") in str(missing.value)
    with pytest.raises(BoundaryFileError, match="holds no boundary index"):
        Store.open(tmp_path)
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(BoundaryFileError, match="Not a directory"):
        Store.open(tmp_path / "file")
    with pytest.raises(BoundaryFileError, match="cannot make the folder"):
        Store.create(tmp_path / "no" / "parent", IDENTITY)


def test_a_folder_with_other_files_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(BoundaryFileError, match=r"other files, such as 'notes\.txt'"):
        Store.create(tmp_path, IDENTITY)
    assert os.listdir(tmp_path) == ["notes.txt"]


def test_a_folder_that_a_killed_creator_left_becomes_an_index(tmp_path: Path) -> None:
    (tmp_path / "shards").mkdir()
    (tmp_path / "temp-0123456789abcdef").write_text("{")
    assert Store.create(tmp_path, IDENTITY).append(points(0), {}) is not None


@pytest.mark.parametrize("rows", [np.zeros((2, 4)), np.zeros(3), np.zeros((1, 3, 1))])
def test_points_of_another_width_are_refused(tmp_path: Path, rows: object) -> None:
    store = Store.create(tmp_path / "index", IDENTITY)
    with pytest.raises(ArgumentError, match="the index holds rows of 3"):
        store.append(rows, {})


@pytest.mark.parametrize("fact", [True, None, float("nan"), float("inf"), [1], np.int64(3), b"x"])
def test_facts_that_cannot_be_kept_are_refused_before_anything_is_written(
    tmp_path: Path, fact: object
) -> None:
    store = Store.create(tmp_path / "index", IDENTITY)
    with pytest.raises(ArgumentError, match="neither a text nor a finite number"):
        store.append(points(0), {"fact": fact})  # type: ignore[dict-item]
    assert os.listdir(tmp_path / "index" / "shards") == []


def test_a_manifest_that_no_reader_would_take_is_not_published(tmp_path: Path) -> None:
    store = small_index(tmp_path / "index")
    before = store.latest()
    wider = replace(IDENTITY, columns=("a", "b", "c", "d"), kinds=("numeric",) * 4)
    with pytest.raises(ArgumentError, match="a shard of 4 rows cannot have 224 bytes"):
        store.publish(lambda now: replace(now, identity=wider))
    assert store.latest() == before


def test_a_shard_that_is_gone_before_it_is_published_is_not_published(tmp_path: Path) -> None:
    store = small_index(tmp_path / "index", appends=1)
    before = store.latest()
    shard = store.write(points(5), {"seed": 5})
    (tmp_path / "index" / "shards" / shard.name).unlink()
    with pytest.raises(BoundaryFileError, match=f"cannot publish .*{shard.name}: .* be written again"):
        store.publish(lambda now: replace(now, shards=(*now.shards, shard)))
    assert store.latest() == before


def test_appending_again_heals_a_damaged_shard(tmp_path: Path) -> None:
    store = small_index(tmp_path / "index", appends=2)
    before = content(store.path)
    path = tmp_path / "index" / "shards" / store.latest().shards[0].name
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(BoundaryFileError, match="216 bytes instead of 224"):
        content(store.path)
    store.append(points(0), {"seed": 0})
    assert content(store.path) == before


def test_an_error_can_be_sent_to_another_process(tmp_path: Path) -> None:
    with pytest.raises(BoundaryFileError) as raised:
        Store.open(tmp_path)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)  # noqa: S301

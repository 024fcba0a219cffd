"""Many processes share an index, and any of them may be killed at any moment."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from tests.index.files.support import IDENTITY, small_index
from tests.index.files.workers import APPENDS, MOST_APPENDS, WRITERS, rows_of

from ssba.index.files.store import Shard, Store

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the writers are forked")

PROGRAM = [sys.executable, "-m", "tests.index.files.workers"]
ROOT = Path(__file__).parents[3]
KILLS = 200


class Victims:
    """Writers in processes of their own, one after the other."""

    def __init__(self, program: subprocess.Popen[str]) -> None:
        self.program = program

    def start(self, kind: str, number: int, path: Path) -> Iterator[str]:
        """Start a writer, and yield what is said until it is dead."""
        assert self.program.stdin is not None
        assert self.program.stdout is not None
        self.program.stdin.write(f"{kind} {number} {path}\n")
        self.program.stdin.flush()
        for line in self.program.stdout:
            if line == "dead\n":
                return
            yield line.rstrip("\n")
        raise AssertionError("the program that starts the writers has ended")


@pytest.fixture(scope="module")
def victims() -> Iterator[Victims]:
    with subprocess.Popen(
        [*PROGRAM, "victims"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        yield Victims(program)


def check_new_shards(store: Store, shards: tuple[Shard, ...]) -> set[tuple[int, int]]:
    """Read shards that were published; say which writer's steps they are."""
    steps = [(int(shard.about["writer"]), int(shard.about["step"])) for shard in shards]
    for shard, step in zip(shards, steps, strict=True):
        assert store.read(shard).tolist() == rows_of(*step).tolist()
    return set(steps)


def steps_told_of_before_a_kill(said: Iterator[str], chance: random.Random) -> int:
    """Kill a writer at a random moment after none, one or two of its appends; how many it told of."""
    process, told, wait_for = 0, 0, chance.randrange(3)
    for line in said:
        word, number = line.split(" ", 1)
        if word == "process":
            process = int(number)
        else:
            assert line == f"published {told}"
            told += 1
        if process and told >= wait_for:
            time.sleep(chance.uniform(0, 0.01))
            os.kill(process, signal.SIGKILL)
            process, wait_for = 0, MOST_APPENDS + 1
    return told


def test_kill_9_at_random_moments_loses_nothing_that_was_published(tmp_path: Path, victims: Victims) -> None:
    chance = random.Random(4)
    for writer in range(KILLS):
        if writer % 40 == 0:  # a new index now and then, since manifests grow with the shards they list
            path = tmp_path / f"index-{writer}"
            Store.create(path, IDENTITY)
        before = Store.open(path).latest()
        told = steps_told_of_before_a_kill(victims.start("at-random", writer, path), chance)
        store = Store.open(path)
        now = store.latest()
        assert now.shards[: len(before.shards)] == before.shards
        added = check_new_shards(store, now.shards[len(before.shards) :])
        # One more than was told of may be there: its writer died before it could say so.
        assert added in [{(writer, step) for step in range(most)} for most in (told, told + 1)]
        if writer % 40 == 39:
            check_new_shards(Store.open(path), now.shards)
            assert len(now.shards) > 0


def test_a_writer_killed_before_any_of_its_disk_calls_leaves_the_index_before_or_after(
    tmp_path: Path, victims: Victims
) -> None:
    before = small_index(tmp_path / "index", appends=1).latest()
    outcomes = []
    for call in count(1):
        said = list(victims.start("at-call", call, tmp_path / "index"))
        store = Store.open(tmp_path / "index")
        added = check_new_shards(store, store.latest().shards[len(before.shards) :])
        outcomes.append((0, call) in added)
        assert len(added) == sum(outcomes)
        if f"published {call}" in said:
            break
    assert outcomes[-1]
    assert outcomes == sorted(outcomes)  # once the link is made, no later kill undoes it
    assert outcomes.count(False) > 10


def test_four_writers_and_two_readers_lose_no_shard_and_see_no_error(tmp_path: Path) -> None:
    Store.create(tmp_path / "index", IDENTITY)
    done = subprocess.run(
        [*PROGRAM, "crowd", str(tmp_path / "index")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    store = Store.open(tmp_path / "index")
    manifest = store.latest()
    assert len(manifest.shards) == WRITERS * APPENDS == 200
    assert manifest.number == 200
    wanted = {(writer, step) for writer in range(WRITERS) for step in range(APPENDS)}
    assert check_new_shards(store, manifest.shards) == wanted
    assert sorted(os.listdir(tmp_path / "index" / "shards")) == sorted(one.name for one in manifest.shards)

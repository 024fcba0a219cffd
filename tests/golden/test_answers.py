"""Some of the golden answers in every run of the tests; `python -m tests.golden check` compares all."""

import pytest
from tests.generated.drawing import world
from tests.generated.worlds import FAMILIES
from tests.golden.__main__ import KEPT
from tests.golden.answers import Answer, differing, read, world_answer

# The worlds whose model is made of comparisons only: no library or processor rounds them differently.
SEEDS = [seed for seed in range(40) if world(seed, FAMILIES).family in ("table", "tree")]


@pytest.fixture(scope="module")
def kept() -> dict[str, Answer]:
    return read(KEPT)


def test_there_are_worlds_to_compare(kept: dict[str, Answer]) -> None:
    assert len([seed for seed in SEEDS if f"world {seed}" in kept]) > 10


@pytest.mark.parametrize("seed", SEEDS)
def test_the_answer_to_a_world_is_the_one_that_was_kept(seed: int, kept: dict[str, Answer]) -> None:
    found = world_answer(seed)
    if found is None:
        assert f"world {seed}" not in kept
    else:
        assert differing(kept.get(f"world {seed}"), found) is None

"""Which background rows are asked about, and which of them together."""

from itertools import pairwise

import numpy as np
from tests.engine.cases import engine
from tests.support import every

from ssba.engine.choice import choose_rows

DATA = np.random.default_rng(0).normal(size=(3000, 4))
METRIC = engine(lambda rows: rows[:, 0] > 0, DATA).metric


def test_few_rows_are_all_chosen_and_one_block() -> None:
    choice = choose_rows(DATA[:700], METRIC, 2000)
    assert sorted(choice.numbers) == list(range(700))
    assert choice.ends == (700,)
    np.testing.assert_array_equal(choice.sample, choice.numbers)


def test_of_many_rows_a_fixed_choice_has_a_sample_and_small_blocks() -> None:
    choice = choose_rows(DATA, METRIC, 2000)
    assert len(set(choice.numbers)) == choice.ends[-1] == 2000
    assert len(choice.sample) == 1024
    assert every(0 < size <= 128 for size in np.diff(choice.ends))
    np.testing.assert_array_equal(choose_rows(DATA, METRIC, 2000).numbers, choice.numbers)


def test_a_larger_number_keeps_the_sample() -> None:
    np.testing.assert_array_equal(
        choose_rows(DATA, METRIC, 3000).sample, choose_rows(DATA, METRIC, 1024).sample
    )


def test_the_rows_of_a_block_are_neighbours() -> None:
    choice = choose_rows(DATA, METRIC, 3000)
    inside = [DATA[choice.numbers[begin:end]].std(axis=0).mean() for begin, end in pairwise(choice.ends)]
    assert np.mean(inside) < 0.7 * DATA.std(axis=0).mean()


def test_a_small_number_tries_the_model_out_on_no_more() -> None:
    made = engine(lambda rows: rows[:, 0] > 0, DATA, background_rows=40)
    assert len(made.judging.known.rows) == len(made.judging.sample) == 40

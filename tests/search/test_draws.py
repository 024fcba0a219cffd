"""Random numbers by purpose: the same for the same path, whoever else draws."""

import numpy as np

from ssba.search.draws import Draws


def test_a_path_draws_the_same_numbers_again() -> None:
    one, other = Draws((3,)).of("swap", 2), Draws((3,)).of("swap", 2)
    np.testing.assert_array_equal(one.normal(4, 3), other.normal(4, 3))
    np.testing.assert_array_equal(one.normal(4, 3), one.normal(4, 3))


def test_seeds_moves_and_rounds_draw_different_numbers() -> None:
    draws = [
        Draws((3,)),
        Draws((4,)),
        Draws((3,)).of("swap"),
        Draws((3,)).of("swap", 1),
        Draws((3,)).of("back"),
        Draws((3,)).of("back").of("swap"),
        Draws((3,)).of("swap").of("back"),
    ]
    assert len({one.generator.random() for one in draws}) == len(draws)


def test_a_block_with_more_rows_begins_with_the_rows_of_a_smaller_one() -> None:
    """So what a region draws does not depend on how many rows another one needs."""
    one = Draws((0,)).of("ball")
    np.testing.assert_array_equal(one.normal(9, 4)[:3], one.normal(3, 4))

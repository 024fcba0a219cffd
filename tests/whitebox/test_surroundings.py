"""What it costs to get into leaves, and the choices that cost no more than some amount."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from tests.support import Matrix, Setting, setting

from ssba.constraints.constraint import constraint
from ssba.models.model import adapt
from ssba.models.targets import Reach
from ssba.whitebox.branching import Search
from ssba.whitebox.cells import Surroundings, surroundings_of
from ssba.whitebox.forest import Trees
from ssba.whitebox.read_model import open_model
from ssba.whitebox.scoring import ways_to

DATA = np.random.default_rng(3).normal(size=(300, 5))
DATA[:, 4] = np.round(2 * DATA[:, 4])
LABELS = DATA[:, 0] + DATA[:, 1] * DATA[:, 2] + 0.5 * DATA[:, 4] > 0.4
MODELS = {
    "forest": RandomForestClassifier(5, max_depth=4, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=6, max_depth=2, random_state=0),
}


def around(model: Any, row: Any, *, most_changes: int | None = None, norm: Any = "l2") -> Surroundings:
    """Return the surroundings of a row for the class True."""
    where = setting(DATA, norm=norm)
    fitted = model.fit(DATA, LABELS)
    trees = open_model(fitted, adapt(fitted, DATA), where.space, where.Z)
    assert isinstance(trees, Trees)
    (way,) = ways_to(Reach(label=True), trees.scoring)
    (region,) = where.regions(where.space.encode_row(row), [])
    return surroundings_of(trees, way, region, where.metric, most_changes)


def query(number: int) -> Any:
    return DATA[~LABELS][number].tolist()


def some_choices(near: Surroundings, seed: int) -> tuple[Any, Matrix]:
    """Return all choices of a query, and some of them by their rows."""
    cells, rng = near.cells(), np.random.default_rng(seed)
    choices = np.stack([rng.integers(0, len(one.cost), 200) for one in cells.options], axis=1)
    home = rng.random(choices.shape) < rng.random((200, 1))
    return cells, cells.rows(np.where(home, cells.home, choices))


@pytest.mark.parametrize("name", MODELS)
@given(number=st.integers(0, 60), seed=st.integers(0, 10**6), share=st.floats(0.05, 1.0))
@settings(max_examples=25, deadline=None)
def test_choices_within_a_cost_reach_as_they_do_among_all(
    name: str, number: int, seed: int, share: float
) -> None:
    near = around(MODELS[name], query(number))
    everything, rows = some_choices(near, seed)
    choices = np.stack([everything.choice_near(row) for row in rows])
    costs = everything.cost(choices)
    within = float(np.quantile(costs, share))
    few = near.cells(within)
    assert few.reach == within
    assert few.gain.shape[1] <= everything.gain.shape[1]
    mine = costs <= within
    again = np.stack([few.choice_near(row) for row in rows[mine]])
    # Cells that no leaf tells apart any more are one, with the cheapest value of all of them.
    assert (few.cost(again) <= costs[mine] * (1 + 1e-9)).all()
    np.testing.assert_allclose(few.margin(again), everything.margin(choices[mine]), rtol=1e-9, atol=1e-12)
    assert few.size <= near.size(within)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("name", MODELS)
def test_nothing_reaches_for_less_than_the_least_cost(name: str, norm: Any) -> None:
    metric = setting(DATA, norm=norm).metric
    for number in range(8):
        near = around(MODELS[name], query(number), norm=norm)
        found = Search(near.cells(), metric).run(np.inf, 20_000)
        assert found.bound == found.cost
        assert 0 < near.least_cost <= found.cost
        # A bound that comes from fewer choices is no other.
        again = Search(near.cells(found.cost * 1.5), metric).run(np.inf, 20_000)
        assert again.cost == pytest.approx(found.cost)
        # Where all of them cost more, that is what is said.
        none = Search(near.cells(found.cost * 0.9), metric).run(np.inf, 20_000)
        assert none.row is None
        assert none.bound == pytest.approx(found.cost * 0.9)


def test_where_nothing_can_reach_the_least_cost_is_infinite() -> None:
    where: Setting = setting(DATA)
    fitted = MODELS["forest"].fit(DATA, LABELS)
    trees = open_model(fitted, adapt(fitted, DATA), where.space, where.Z)
    assert isinstance(trees, Trees)
    (way,) = ways_to(Reach(label=True), trees.scoring)
    rules = [f"x{j} == x.x{j}" for j in range(5)]
    (region,) = where.regions(where.space.encode_row(query(0)), [constraint(text) for text in rules])
    near = surroundings_of(trees, way, region, where.metric)
    assert near.least_cost == np.inf
    assert near.free_columns == 0


def test_columns_left_with_one_option_are_no_choice_any_more_and_their_changes_count() -> None:
    near = around(MODELS["forest"], query(0), most_changes=3)
    cells = near.cells(near.least_cost)
    assert len(cells.options) < len(near.cells().options)
    assert all(len(one.cost) > 1 for one in cells.options)
    assert cells.changes_left == 3
    assert cells.rows(cells.home[None, :])[0].tolist() == query(0)


def test_a_search_that_falls_behind_its_pace_ends_with_a_bound_that_holds() -> None:
    near = around(MODELS["boosting"], query(1))
    metric = setting(DATA).metric
    whole = Search(near.cells(), metric).run(np.inf, 20_000)
    slow = Search(near.cells(whole.cost * 1.2), metric).run(whole.cost * 1.2, 1000, pace=100.0)
    assert slow.boxes < whole.boxes
    assert slow.bound <= whole.cost

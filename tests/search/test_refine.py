"""The whole search finds known optima, spends no more than allowed, and only gains by a larger budget."""

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from tests.support import Matrix, Setting, answered, labels_only, scored, setting

from ssba.columns.distance import Norm
from ssba.columns.features import numeric
from ssba.constraints.regions.region import Region
from ssba.models.targets import Reply
from ssba.search.archive import Archive, recorded
from ssba.search.descend import standing
from ssba.search.refine import _is_rough, last_resort, nearest_search
from ssba.search.starts import Pool

# Scores show both faces of an edge exactly; by labels the search ends a little beside it.
AT_AN_EDGE = {"scores": 1.01, "labels": 1.03}
WIDTHS = [2, 5, 10, 20, 50]
REPLIES = ["scores", "labels"]


def background(width: int, *more: Any) -> Matrix:
    rows = np.random.default_rng(width).normal(size=(300, width))
    return np.concatenate([rows, [[-5.0] * width, [5.0] * width], *more])


@dataclass
class Found:
    archive: Archive
    asked: Matrix

    @property
    def distance(self) -> float:
        return self.archive.best_distance


def searched(
    where: Setting, query: Any, judge: Any, texts: tuple[str, ...] = (), rows: float = math.inf, seed: int = 0
) -> Found:
    """Run the search around a query from the background rows that reach the target."""
    return searched_in(where, where.region(query, *texts), judge, rows, seed)


def searched_in(where: Setting, region: Region, judge: Any, rows: float = math.inf, seed: int = 0) -> Found:
    """Run the search in a region, and remember all it asked."""
    archive = Archive(region, where.metric)
    asked: list[Matrix] = []

    def remember(Z: Any) -> Reply:
        asked.append(np.array(Z))
        reply: Reply = judge(Z)
        return reply

    pool = where.Z[judge(where.Z).reached]
    search = nearest_search(archive, Pool(pool), seed)
    answered(recorded(search, archive, rows, lambda: False), remember)
    return Found(archive, np.concatenate(asked))


def judges(margin: Any) -> dict[str, Any]:
    return {"scores": scored(margin), "labels": labels_only(lambda Z: margin(Z) >= 0)}


def tree_judges(model: Any) -> dict[str, Any]:
    """Return what a tree model says, asked once a question; a tie is the other class."""

    def scores(Z: Any) -> Reply:
        margin = model.predict_proba(Z)[:, 1] - 0.5 - 1e-12
        return Reply(margin >= 0, margin)

    return {"scores": scores, "labels": labels_only(lambda Z: model.predict(Z) == 1)}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_a_half_space_is_reached_at_its_distance(width: int, reply: str, norm: Norm) -> None:
    """Closed form: c / |w| in L2, c / max |w_j| in L1."""
    normal = np.random.default_rng(width).normal(size=width)
    where = setting(background(width), norm=norm, scale="none")
    found = searched(where, [0.0] * width, judges(lambda Z: Z @ normal - 0.7)[reply])
    best = 0.7 / (np.linalg.norm(normal) if norm == "l2" else np.abs(normal).max())
    assert best * (1 - 1e-9) <= found.distance <= 1.01 * best


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("reply", REPLIES)
def test_a_ball_is_reached_at_its_near_side(width: int, reply: str) -> None:
    center = np.full(width, 1.8 / math.sqrt(width))
    where = setting(background(width, [center]), scale="none")
    judge = judges(lambda Z: 1 - np.linalg.norm(Z - center, axis=-1))[reply]
    assert 0.8 * (1 - 1e-9) <= searched(where, [0.0] * width, judge).distance <= 0.8 * 1.01


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("reply", REPLIES)
def test_a_step_along_one_axis_moves_that_column_only(width: int, reply: str) -> None:
    where = setting(background(width), scale="none")
    judge = judges(lambda Z: np.where(Z[:, 1] >= 0.6, 0.5, -0.5))[reply]
    found = searched(where, [0.0] * width, judge)
    assert 0.6 <= found.distance <= 0.6 * (1 + 2e-5)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("reply", REPLIES)
def test_two_steps_are_met_at_their_corner(width: int, reply: str) -> None:
    where = setting(background(width), scale="none")
    judge = judges(lambda Z: np.minimum(Z[:, 0] - 0.5, Z[:, 1] - 0.4))[reply]
    assert searched(where, [0.0] * width, judge).distance <= AT_AN_EDGE[reply] * math.hypot(0.5, 0.4)


@pytest.mark.parametrize("width", [12, 30])
@pytest.mark.parametrize("reply", REPLIES)
def test_columns_that_the_model_ignores_stay_as_they_are(width: int, reply: str) -> None:
    normal = np.where(np.arange(width) < width // 2, 1.0, 0.0) / math.sqrt(width // 2)
    where = setting(background(width), scale="none")
    found = searched(where, [0.0] * width, judges(lambda Z: Z @ normal - 1)[reply])
    assert 1 - 1e-9 <= found.distance <= 1.01


@pytest.mark.parametrize("reply", REPLIES)
def test_one_weight_among_many_that_are_zero_costs_no_more_rows_by_scores(reply: str) -> None:
    where = setting(background(20), scale="none")
    found = searched(where, [0.0] * 20, judges(lambda Z: Z[:, 3] - 1)[reply])
    assert 1 <= found.distance <= 1.01
    assert len(found.asked) <= 1000


def squared(u: Any) -> float:
    return float(u @ u)


def nearest_beyond_planes(normals: Matrix, offsets: Matrix) -> float:
    """Return the length of the shortest u with ``normals @ u >= offsets``, by a quadratic program."""
    solved = minimize(
        squared,
        np.linalg.lstsq(normals, offsets, rcond=None)[0],
        constraints=LinearConstraint(normals, offsets, np.inf),
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert solved.success
    return math.sqrt(solved.fun)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("reply", REPLIES)
def test_the_edge_of_two_faces_is_found(width: int, reply: str) -> None:
    """The target is beyond two planes whose normals are 120 degrees apart; nearest is where they meet."""
    rng = np.random.default_rng(width)
    basis = np.linalg.qr(rng.normal(size=(width, 2)))[0].T
    normals = np.array([[1.0, 0.0], [-0.5, math.sqrt(0.75)]]) @ basis
    offsets = np.array([0.6, 0.5])
    best = nearest_beyond_planes(normals, offsets)
    corner = np.linalg.lstsq(normals, offsets + 0.5, rcond=None)[0]
    where = setting(background(width, [corner]), scale="none")
    judge = judges(lambda Z: (Z @ normals.T - offsets).min(axis=-1))[reply]
    found = searched(where, [0.0] * width, judge)
    assert best * (1 - 1e-6) <= found.distance <= AT_AN_EDGE[reply] * best


@pytest.mark.parametrize("reply", REPLIES)
def test_constraints_are_kept_during_the_search(reply: str) -> None:
    """Half-space x0 + x1 + x2 >= 3 with x0 held and x1 <= 0.5: the nearest row is (0, 0.5, 2.5, 0)."""
    where = setting(background(4), scale="none")
    judge = judges(lambda Z: Z[:, :3].sum(axis=-1) - 3)[reply]
    found = searched(where, [0.0] * 4, judge, ("x0 == x.x0", "x1 <= 0.5"))
    assert found.distance == pytest.approx(math.hypot(0.5, 2.5), rel=1e-3)
    assert found.archive.region.contains(found.asked).all()


@pytest.mark.parametrize("reply", REPLIES)
def test_a_line_between_columns_is_kept(reply: str) -> None:
    """Half-space x0 >= 2 with x0 <= x1: the nearest row is (2, 2)."""
    where = setting(background(3), scale="none")
    judge = judges(lambda Z: Z[:, 0] - 2)[reply]
    found = searched(where, [0.0] * 3, judge, ("x0 <= x1",))
    assert found.distance == pytest.approx(math.sqrt(8), rel=0.01)


def lines(texts: list[str], width: int) -> list[LinearConstraint]:
    """Return what texts like "x0 + x1 >= 1" say, for a solver."""
    found = []
    for text in texts:
        left, right = text.split(" >= ")
        weights = np.array([float(f"x{column}" in left.split(" + ")) for column in range(width)])
        found.append(LinearConstraint(weights[None, :], float(right), np.inf))
    return found


@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize(
    "texts", [["x0 >= 1"], ["x1 >= 1"], ["x1 + x3 >= 2"], ["x0 + x1 >= 1"], ["x0 >= 0.5", "x1 + x2 >= 1.5"]]
)
def test_where_the_start_is_not_the_query_the_row_nearest_to_the_query_is_found(
    reply: str, texts: list[str]
) -> None:
    """Checked against a quadratic program; the row nearest to the start would be 3% to 13% too far."""
    weights = np.array([1.0, 0.5, 0.8, 0.2])
    where = setting(background(4), scale="none")
    found = searched(where, [0.0] * 4, judges(lambda Z: Z @ weights - 2.5)[reply], tuple(texts))
    plane = LinearConstraint(weights[None, :], 2.5, np.inf)
    best = math.sqrt(minimize(squared, np.ones(4), constraints=[plane, *lines(texts, 4)]).fun)
    assert not np.array_equal(found.archive.region.start, found.archive.region.x)
    assert best * (1 - 1e-6) <= found.distance <= 1.01 * best


WHOLE = setting(np.array(list(itertools.product(range(6), repeat=3))), norm="l1", scale="none")


@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize("seed", range(6))
def test_on_a_small_grid_the_nearest_row_is_found(reply: str, seed: int) -> None:
    """All 216 rows are tried by hand."""
    rng = np.random.default_rng(seed)
    weights, right = rng.uniform(0.2, 1, size=3), rng.uniform(2, 6)

    def margin(Z: Any) -> Any:
        return Z @ weights - right

    found = searched(WHOLE, [0, 0, 0], judges(margin)[reply])
    assert found.distance == WHOLE.Z[margin(WHOLE.Z) >= 0].sum(axis=1).min()


@pytest.mark.parametrize("reply", REPLIES)
def test_on_a_grid_no_row_is_asked_about_twice(reply: str) -> None:
    found = searched(WHOLE, [0, 0, 0], judges(lambda Z: Z @ [1, 0.5, 0.3] - 3.3)[reply])
    assert len({row.tobytes() for row in found.asked}) == len(found.asked) == found.archive.rows_asked


def test_the_right_level_is_found_and_the_rest_left_alone() -> None:
    frame = pd.DataFrame({"r": np.linspace(0, 1, 40), "c": list("uvwx") * 10, "b": [True, False] * 20})
    where = setting(frame, norm="gower")
    judge = labels_only(lambda Z: (Z[:, 1] == 2) | (Z[:, 0] > 5))
    found = searched(where, {"r": 0.3, "c": "u", "b": True}, judge)
    assert found.archive.nearest(1).tolist() == [[0.3, 2.0, 1.0]]
    assert found.distance == 1.0


LEVELS = pd.DataFrame(
    {
        "r": np.random.default_rng(5).normal(size=240),
        "s": np.random.default_rng(6).normal(size=240),
        "c": list("uvwx") * 60,
        "b": [True, True, False, False, False, False, False, False] * 30,
    }
)
LEVELLED = setting(LEVELS, scale={"r": 1.0, "s": 1.0}, weights={"c": 0.6, "b": 0.6})


@pytest.mark.parametrize("reply", REPLIES)
def test_levels_that_no_background_row_has_are_found_where_they_are_nearest(reply: str) -> None:
    """Level w and b together are worth 3 of the 3.5 needed, and no background row has both of them.

    With both: |(0.5, 0.6, 0.6)| = 0.985. Numbers alone: 3.5, with w or b alone 2.5 and 0.6: 2.57.
    """

    def margin(Z: Any) -> Any:
        both = (Z[:, 2] == 2) & (Z[:, 3] == 1)
        return Z[:, 0] + np.where(both, 3.0, np.where((Z[:, 2] == 2) | (Z[:, 3] == 1), 1.0, 0.0)) - 3.5

    assert not ((LEVELLED.Z[:, 2] == 2) & (LEVELLED.Z[:, 3] == 1)).any()
    far = np.array([[3.6, 0.4, 0.0, 0.0], [2.8, -0.3, 2.0, 0.0], [2.7, 1.0, 0.0, 1.0]])
    where = replace(LEVELLED, Z=np.r_[LEVELLED.Z, far])
    region = where.region({"r": 0.0, "s": 0.0, "c": "u", "b": False}, "r <= 5", "s <= 5")
    found = searched_in(where, region, judges(margin)[reply])
    best = math.sqrt(0.5**2 + 2 * 0.6**2)
    assert best * (1 - 1e-9) <= found.distance <= 1.01 * best


@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize("seed", range(8))
def test_numbers_and_levels_together_are_nearest(reply: str, seed: int) -> None:
    """Every set of levels shifts a half-space of the two numbers; all eight are solved in closed form."""
    rng = np.random.default_rng(seed)
    table, slope = rng.uniform(0.0, 1.5, size=(4, 2)), np.array([1.0, 0.5])
    table[0, 0] = 0.0

    def margin(Z: Any) -> Any:
        return Z[:, :2] @ slope + table[Z[:, 2].astype(int), Z[:, 3].astype(int)] - 2

    found = searched(LEVELLED, {"r": 0.0, "s": 0.0, "c": "u", "b": False}, judges(margin)[reply])
    changed = 0.6**2 * np.add.outer([0, 1, 1, 1], [0, 1])
    best = np.sqrt(changed + ((2 - table) / np.linalg.norm(slope)) ** 2).min()
    assert best * (1 - 1e-9) <= found.distance <= 1.01 * best


def moons(columns: int, seed: int) -> tuple[Matrix, Any]:
    """Return rows and labels that no straight line parts."""
    rows = np.random.default_rng(seed).normal(size=(300, columns))
    return rows, (np.sin(2 * rows[:, 0]) + rows[:, 1] * rows[:, -1] > 0.4).astype(int)


def nearest_cell(model: Any, thresholds: list[Matrix], x: Matrix) -> float:
    """Return the distance of the nearest row that a tree model calls 1, by asking in all of its cells.

    Trees look at rows in 32 bits: a cell begins just beyond its threshold there.
    """
    values = []
    for cuts, home in zip(thresholds, x, strict=True):
        below = np.nextafter(cuts.astype(np.float32), np.float32(-np.inf)).astype(float)
        above = np.nextafter(cuts.astype(np.float32), np.float32(np.inf)).astype(float)
        values.append(np.unique(np.r_[home, below, cuts, above]))
    rows = np.stack(np.meshgrid(*values, indexing="ij"), axis=-1).reshape(-1, len(x))
    distances = np.linalg.norm(rows - x, axis=1)
    order = np.argsort(distances)
    for some in np.array_split(order, 1 + len(order) // 20000):
        reached = np.flatnonzero(model.predict(rows[some]) == 1)
        if len(reached):
            return float(distances[some[reached[0]]])
    raise AssertionError("no cell reaches")


def cuts_of(trees: list[Any], columns: int) -> list[Matrix]:
    """Return all thresholds of each column."""
    return [
        np.unique(np.concatenate([tree.tree_.threshold[tree.tree_.feature == column] for tree in trees]))
        for column in range(columns)
    ]


def tree_ratios(model: Any, trees: list[Any], rows: Matrix, reply: str, count: int) -> Matrix:
    """Return how much farther than the nearest cell the search ends, for some queries."""
    where, cuts = setting(rows, scale="none"), cuts_of(trees, rows.shape[1])
    return np.array(
        [
            searched(where, x, tree_judges(model)[reply]).distance / nearest_cell(model, cuts, x)
            for x in rows[model.predict(rows) == 0][:count]
        ]
    )


@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize("columns", [2, 3])
def test_a_tree_of_few_columns_is_mostly_solved(reply: str, columns: int) -> None:
    """A thin cell between the rows asked about may be missed, but not by more than one query in eight."""
    rows, labels = moons(columns, 0)
    model = DecisionTreeClassifier(max_leaf_nodes=20, random_state=0).fit(rows, labels)
    ratios = tree_ratios(model, [model], rows, reply, 16)
    assert ratios.min() >= 1 - 1e-6
    assert np.median(ratios) <= 1.001
    assert (ratios <= 1.01).mean() >= 7 / 8


@pytest.mark.parametrize("reply", REPLIES)
def test_a_forest_of_two_columns_is_solved(reply: str) -> None:
    rows, labels = moons(2, 1)
    model = RandomForestClassifier(6, max_depth=4, random_state=0).fit(rows, labels)
    ratios = tree_ratios(model, model.estimators_, rows, reply, 8)
    assert ratios.min() >= 1 - 1e-6
    assert ratios.mean() <= 1.01


def test_missing_cells_of_the_query_stay_missing() -> None:
    frame = pd.DataFrame({"a": [0.0, 5.0, None, 3.0], "b": [0.0, 5.0, 4.0, 3.0]})
    where = setting(frame, scale="none")
    found = searched(where, {"a": None, "b": 0.0}, labels_only(lambda Z: Z[:, 1] >= 2))
    assert np.isnan(found.asked[:, 0]).all()
    assert found.distance == pytest.approx(2, rel=1e-4)


@pytest.mark.parametrize("reply", REPLIES)
def test_bounds_hold_beside_a_line_that_says_nothing(reply: str) -> None:
    """As without the line x2 + x3 <= 8: the nearest row is (0, 0.5, 2.5, 0)."""
    where = setting(background(4), scale="none")
    judge = judges(lambda Z: Z[:, :3].sum(axis=-1) - 3)[reply]
    found = searched(where, [0.0] * 4, judge, ("x0 == x.x0", "x1 <= 0.5", "x2 + x3 <= 8"))
    assert found.distance == pytest.approx(math.hypot(0.5, 2.5), rel=0.01)


GRIDS = setting(
    pd.DataFrame(
        {
            "r": np.random.default_rng(1).normal(size=80),
            "n": np.random.default_rng(2).integers(-4, 5, 80),
            "s": np.random.default_rng(3).integers(0, 21, 80) / 10,
            "c": list("uvwx") * 20,
        }
    ),
    {"s": numeric(step=0.1)},
    scale={"r": 1.0, "n": 2.0, "s": 0.5},
)


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    reply=st.sampled_from(REPLIES),
    texts=st.sets(st.sampled_from(["r <= 1", "n >= 1", "c in {'u', 'w'}", "s == x.s", "r >= x.r"])),
)
def test_all_that_is_asked_is_legal_feasible_and_new(seed: int, reply: str, texts: set[str]) -> None:
    """Whatever bounds there are; real numbers beside the grid make repeated rows rare, but not impossible."""
    rng = np.random.default_rng(seed)
    weights, levels = rng.normal(size=3), rng.normal(size=4)

    def margin(Z: Any) -> Any:
        return Z[:, :3] @ weights + levels[Z[:, 3].astype(int)]

    shift = float(np.quantile(margin(GRIDS.Z), 0.8))
    query = {"r": 0.3, "n": 0, "s": 0.7, "c": "u"}
    judge = judges(lambda Z: margin(Z) - shift)[reply]
    found = searched(GRIDS, query, judge, tuple(sorted(texts)))
    assert found.archive.region.contains(found.asked).all()
    np.testing.assert_array_equal(GRIDS.space.encode(GRIDS.space.decode(found.asked)), found.asked)
    assert len({row.tobytes() for row in found.asked + 0.0}) == len(found.asked) == found.archive.rows_asked


BUDGETS = [1, 2, 10, 49, 50, 60, 100, 200, 400, 1000, 5000]


@pytest.mark.parametrize("width", [3, 12])
def test_a_budget_is_kept_and_a_larger_one_is_never_worse(width: int) -> None:
    normal = np.random.default_rng(1).normal(size=width)
    where = setting(background(width), scale="none")
    judge = labels_only(lambda Z: np.sin(Z @ normal) + 0.1 * (Z * Z).sum(axis=-1) >= 0.8)
    distances = []
    for budget in BUDGETS:
        found = searched(where, [0.0] * width, judge, rows=budget)
        assert len(found.asked) <= budget
        distances.append(found.distance)
    assert distances == sorted(distances, reverse=True)
    assert math.isfinite(distances[-1])


@pytest.mark.parametrize("reply", REPLIES)
def test_a_larger_budget_is_never_worse_on_grids_and_trees(reply: str) -> None:
    rows, labels = moons(3, 2)
    model = DecisionTreeClassifier(max_leaf_nodes=20, random_state=0).fit(rows, labels)
    query = rows[model.predict(rows) == 0][0]
    for where, x, judge in (
        (setting(rows, scale="none"), query, tree_judges(model)[reply]),
        (WHOLE, [0, 0, 0], judges(lambda Z: Z @ [1, 0.5, 0.3] - 3.3)[reply]),
    ):
        distances = [searched(where, x, judge, rows=budget).distance for budget in BUDGETS]
        assert distances == sorted(distances, reverse=True)
        assert math.isfinite(distances[-1])


def test_a_smaller_budget_asks_the_first_rows_of_a_larger_one() -> None:
    where = setting(background(5), scale="none")
    judge = labels_only(lambda Z: Z.sum(axis=-1) >= 2)
    few, many = (searched(where, [0.0] * 5, judge, rows=budget).asked for budget in (70, 300))
    np.testing.assert_array_equal(many[: len(few)], few)


def test_the_same_seed_asks_the_same_rows() -> None:
    where = setting(background(5), scale="none")
    judge = labels_only(lambda Z: Z.sum(axis=-1) >= 2)
    one, other = (searched(where, [0.0] * 5, judge).asked for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_a_start_that_reaches_is_the_answer() -> None:
    where = setting(background(2), scale="none")
    found = searched(where, [0.0, 0.0], labels_only(lambda Z: Z[:, 0] >= 0.5), ("x0 >= 1",))
    assert found.archive.nearest(1).tolist() == [[1.0, 0.0]]
    assert len(found.asked) == 1


@pytest.mark.parametrize(("norm", "best"), [("l2", math.sqrt(0.8)), ("l1", 1.0)])
def test_a_start_that_reaches_is_the_nearest_row_beside_a_line(norm: Norm, best: float) -> None:
    """Every row beyond x0 + 2 x1 >= 2 reaches: nearest are (0.4, 0.8) in L2 and (0, 1) in L1."""
    where = setting(background(2), norm=norm, scale="none")
    found = searched(where, [0.0, 0.0], labels_only(lambda Z: Z[:, 1] > -9), ("x0 + 2*x1 >= 2",))
    assert best * (1 - 1e-9) <= found.distance <= 1.01 * best


CUBE = np.array(list(itertools.product(range(-6, 7), repeat=3)))


@pytest.mark.parametrize("seed", range(5))
def test_on_a_grid_beside_a_line_the_nearest_row_is_found_in_l1(seed: int) -> None:
    """Every row that keeps to the line reaches; all 2,197 of the grid are tried by hand."""
    norm: Norm = "l1"
    rng = np.random.default_rng(seed)
    weights, right = rng.integers(1, 5, 3) * rng.choice([-1, 1], 3), rng.integers(2, 14)
    text = " + ".join(f"{weight}*x{column}" for column, weight in enumerate(weights)) + f" >= {right}"
    where = setting(CUBE, norm=norm, scale="none")
    found = searched(where, [0, 0, 0], labels_only(lambda Z: Z[:, 0] > -99), (text,))
    rows = CUBE[CUBE @ weights >= right]
    best = np.abs(rows).sum(axis=1).min()
    assert found.distance == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("reply", REPLIES)
def test_a_target_that_cannot_be_reached_ends_the_search(reply: str) -> None:
    where = setting(background(3), scale="none")
    found = searched(where, [0.0] * 3, judges(lambda Z: Z[:, 0] - 99)[reply])
    assert found.archive.found is None
    assert found.distance == math.inf


def test_nothing_free_asks_about_the_query_only() -> None:
    where = setting(background(2), scale="none")
    found = searched(where, [0.0, 0.0], labels_only(lambda Z: Z[:, 0] > 1), ("x0 == x.x0", "x1 == x.x1"))
    np.testing.assert_array_equal(np.unique(found.asked, axis=0), [[0.0, 0.0]])


def test_the_last_resort_goes_on_from_rows_that_reach() -> None:
    where = setting(background(3), scale="none")
    archive = Archive(where.region([0.0] * 3), where.metric)
    judge = scored(lambda Z: Z[:, 0] - 2)
    rows = np.array([[4.0, 3.0, 0.0], [1.0, 0.0, 0.0]])
    search = last_resort(archive, rows, 0)
    answered(recorded(search, archive, math.inf, lambda: False), judge)
    assert archive.best_distance == pytest.approx(2, rel=1e-3)


def test_the_last_resort_without_rows_asks_nothing() -> None:
    where = setting(background(3), scale="none")
    archive = Archive(where.region([0.0] * 3), where.metric)
    search = last_resort(archive, np.empty((0, 3)), 0)
    answered(recorded(search, archive, math.inf, lambda: False), lambda Z: pytest.fail("asked"))
    assert archive.rows_asked == 0


AT_THE_CORNER = np.array([0.82, 0.56, 0.02, 0.02, 0.02])


@pytest.mark.parametrize(
    ("reached", "rough"),
    [
        (lambda Z: (Z[:, 0] >= 0.82) & (Z[:, 1] >= 0.56) & (Z[:, 2:] >= 0.02).all(axis=1), True),
        (lambda Z: Z @ AT_THE_CORNER >= AT_THE_CORNER @ AT_THE_CORNER - 1e-9, False),
        (lambda Z: np.linalg.norm(Z, axis=1) >= np.linalg.norm(AT_THE_CORNER) - 1e-9, False),
    ],
)
def test_a_corner_from_which_no_column_can_go_back_is_told_from_a_slope(reached: Any, rough: bool) -> None:
    """At the corner a column that goes back a little is lost, whatever the others do; not so on a slope."""
    where = setting(background(5), scale="none")
    archive = Archive(where.region([0.0] * 5), where.metric)
    found = answered(_is_rough(archive, standing(archive, AT_THE_CORNER), 4e-4), labels_only(reached))
    assert found == rough


@pytest.mark.parametrize("reply", REPLIES)
def test_a_start_that_reaches_ends_the_search_only_where_it_is_the_nearest_row(reply: str) -> None:
    """Of the whole numbers with a sum of 4 or more, (2, 2) is nearest to the origin."""
    where = setting(np.array([[-9, -9], [9, 9]]), scale="none")
    judge = judges(lambda Z: Z[:, 0] + 1.5)[reply]
    nearest = where.region([0, 0], "x0 + x1 >= 4")
    assert len(searched_in(where, nearest, judge).asked) == 1
    for start in ([5.0, 0.0], [1.0, 6.0]):
        found = searched_in(where, replace(nearest, start=np.array(start)), judge)
        assert found.archive.nearest(1).tolist() == [[2.0, 2.0]]
        assert len(found.asked) < 60

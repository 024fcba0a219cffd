"""The whole search finds known optima by labels and by scores, and each of its moves is of use somewhere."""

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import LinearConstraint, minimize
from sklearn.ensemble import RandomForestClassifier
from tests.search.lanes import DRAWS, REPLIES, Lanes, judge_of, lane, lanes, lanes_in, weighted
from tests.support import Matrix, Setting, labels_only, setting

from ssba.columns.distance import Norm
from ssba.columns.features import integer
from ssba.search import nearest
from ssba.search.stored import Stored

# Scores show both faces of an edge exactly; by labels the search ends a little beside it.
AT_AN_EDGE = {"scores": 1.01, "labels": 1.03}
WIDTHS = [2, 5, 20]
BY_REPLY = pytest.mark.parametrize("reply", REPLIES)


def background(width: int, *more: Any) -> Matrix:
    rows = np.random.default_rng(width).normal(size=(300, width))
    return np.concatenate([rows, [[-5.0] * width, [5.0] * width], *more])


def numbers(width: int, *more: Any, norm: Norm = "l2") -> Setting:
    return setting(background(width, *more), norm=norm, scale="none")


def searched(where: Setting, margin: Any, reply: str, *texts: str, query: Any = None) -> Lanes:
    """Search around the origin, or another query."""
    query = np.zeros(where.Z.shape[1]) if query is None else query
    return lane(where, query, judge_of(margin, reply), *texts).search()


def led(where: Setting) -> Lanes:
    """Search around the origin with a model that tells its slopes: those of some bent sheets."""
    width = where.Z.shape[1]
    bends = np.random.default_rng(1).normal(size=(6, width))

    def margin(Z: Any) -> Any:
        return np.tanh(sums(Z)).sum(axis=1) - 2

    def sums(Z: Any) -> Any:
        return np.stack([weighted(Z, bend) for bend in bends], axis=1) / 3

    def slopes(Z: Any, query: Any) -> Any:
        return margin(Z), (1 - np.tanh(sums(Z)) ** 2) @ bends / 3

    one = lane(where, [0.0] * width, judge_of(margin, "scores"))
    one.ledger.door = replace(one.ledger.door, slopes=slopes, led=np.array([True]))
    return one.search()


@pytest.mark.parametrize("width", WIDTHS)
@BY_REPLY
@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_a_half_space_is_reached_at_its_distance(width: int, reply: str, norm: Norm) -> None:
    """Closed form: c / |w| in L2, c / max |w_j| in L1."""
    normal = np.random.default_rng(width).normal(size=width)
    found = searched(numbers(width, norm=norm), lambda Z: weighted(Z, normal) - 0.7, reply)
    best = 0.7 / (np.linalg.norm(normal) if norm == "l2" else np.abs(normal).max())
    assert best * (1 - 1e-9) <= found.distance <= 1.01 * best


@pytest.mark.parametrize("width", WIDTHS)
@BY_REPLY
def test_a_ball_is_reached_at_its_near_side(width: int, reply: str) -> None:
    center = np.full(width, 1.8 / math.sqrt(width))
    found = searched(numbers(width, [center]), lambda Z: 1 - np.linalg.norm(Z - center, axis=-1), reply)
    assert 0.8 * (1 - 1e-9) <= found.distance <= 0.8 * 1.01


@pytest.mark.parametrize("width", WIDTHS)
@BY_REPLY
def test_a_step_along_one_axis_moves_that_column_only(width: int, reply: str) -> None:
    found = searched(numbers(width), lambda Z: np.where(Z[:, 1] >= 0.6, 0.5, -0.5), reply)
    assert 0.6 <= found.distance <= 0.6 * (1 + 4e-5)


@pytest.mark.parametrize(
    ("width", "reply", "most"),
    [
        (2, "scores", 1.01),
        (5, "scores", 1.01),
        (20, "scores", 1.01),
        (2, "labels", 1.03),
        (5, "labels", 1.03),
        # With many columns and labels only a way down may stall beside the corner, and no step gives it away.
        (20, "labels", 1.1),
    ],
)
def test_two_steps_are_met_at_their_corner(width: int, reply: str, most: float) -> None:
    found = searched(numbers(width), lambda Z: np.minimum(Z[:, 0] - 0.5, Z[:, 1] - 0.4), reply)
    assert found.distance <= most * math.hypot(0.5, 0.4)


@BY_REPLY
def test_columns_that_the_model_ignores_stay_as_they_are(reply: str) -> None:
    normal = np.where(np.arange(12) < 6, 1.0, 0.0) / math.sqrt(6)
    found = searched(numbers(12), lambda Z: weighted(Z, normal) - 1, reply)
    assert 1 - 1e-9 <= found.distance <= 1.01


@BY_REPLY
def test_one_weight_among_many_that_are_zero_costs_no_more_rows(reply: str) -> None:
    found = searched(numbers(20), lambda Z: Z[:, 3] - 1, reply)
    assert 1 <= found.distance <= 1.01
    assert len(found.asked) <= 1000


def squared(u: Any) -> float:
    return float(u @ u)


@pytest.mark.parametrize("width", WIDTHS)
@BY_REPLY
def test_the_edge_of_two_faces_is_found(width: int, reply: str) -> None:
    """The target is beyond two planes whose normals are 120 degrees apart; nearest is where they meet."""
    basis = np.linalg.qr(np.random.default_rng(width).normal(size=(width, 2)))[0].T
    normals = np.array([[1.0, 0.0], [-0.5, math.sqrt(0.75)]]) @ basis
    offsets = np.array([0.6, 0.5])
    beyond = LinearConstraint(normals, offsets, np.inf)
    begin = np.linalg.lstsq(normals, offsets, rcond=None)[0]
    best = math.sqrt(minimize(squared, begin, constraints=beyond, options={"ftol": 1e-14}).fun)
    corner = np.linalg.lstsq(normals, offsets + 0.5, rcond=None)[0]

    def margin(Z: Any) -> Any:
        return np.stack([weighted(Z, n) - c for n, c in zip(normals, offsets, strict=True)]).min(axis=0)

    found = searched(numbers(width, [corner]), margin, reply)
    assert best * (1 - 1e-6) <= found.distance <= AT_AN_EDGE[reply] * best


class TestConstraints:
    @BY_REPLY
    @pytest.mark.parametrize(
        "texts", [(), ("x2 + x3 <= 8",)], ids=["alone", "beside a line that says nothing"]
    )
    def test_bounds_are_kept(self, reply: str, texts: tuple[str, ...]) -> None:
        """Half-space x0 + x1 + x2 >= 3 with x0 held and x1 <= 0.5: the nearest row is (0, 0.5, 2.5, 0)."""
        found = searched(
            numbers(4), lambda Z: Z[:, :3].sum(axis=-1) - 3, reply, "x0 == x.x0", "x1 <= 0.5", *texts
        )
        # A way down ends where a step gains less than 2e-3.
        assert found.distance == pytest.approx(math.hypot(0.5, 2.5), rel=0.01 if texts else 2e-3)
        assert found.region.contains(found.found).all()

    @BY_REPLY
    def test_a_line_between_columns_is_kept(self, reply: str) -> None:
        """Half-space x0 >= 2 with x0 <= x1: the nearest row is (2, 2)."""
        found = searched(numbers(3), lambda Z: Z[:, 0] - 2, reply, "x0 <= x1")
        assert found.distance == pytest.approx(math.sqrt(8), rel=0.01)

    @BY_REPLY
    @pytest.mark.parametrize(
        ("texts", "rows", "rights"),
        [
            (["x0 >= 1"], [[1, 0, 0, 0]], [1]),
            (["x1 + x3 >= 2"], [[0, 1, 0, 1]], [2]),
            (["x0 >= 0.5", "x1 + x2 >= 1.5"], [[1, 0, 0, 0], [0, 1, 1, 0]], [0.5, 1.5]),
        ],
    )
    def test_where_the_start_is_not_the_query_the_row_nearest_to_the_query_is_found(
        self, reply: str, texts: list[str], rows: Any, rights: list[float]
    ) -> None:
        """Checked against a quadratic program; the row nearest to the start would be 3% to 13% too far."""
        weights = np.array([1.0, 0.5, 0.8, 0.2])
        found = searched(numbers(4), lambda Z: weighted(Z, weights) - 2.5, reply, *texts)
        rules = LinearConstraint(np.array(rows, dtype=float), rights, np.inf)
        plane = LinearConstraint(weights[None, :], 2.5, np.inf)
        best = math.sqrt(minimize(squared, np.ones(4), constraints=[plane, rules]).fun)
        assert not np.array_equal(found.region.start, found.region.x)
        assert best * (1 - 1e-6) <= found.distance <= 1.01 * best

    @BY_REPLY
    def test_of_several_regions_the_nearest_answer_is_found(self, reply: str) -> None:
        """Where x0 rises x1 must rise by 2: the cheaper way is to leave x0 alone, at 1.5 of x2."""
        found = searched(
            numbers(3), lambda Z: np.maximum(Z[:, 0] - 0.5, Z[:, 2] - 1.5), reply, "if x0 > x.x0: x1 >= 2"
        )
        assert found.regions.count > 1
        assert found.distance == pytest.approx(1.5, rel=1e-3)

    def test_a_region_that_begins_beyond_the_best_row_is_left_out(self) -> None:
        """Beyond x0 = 2 no row is nearer than 2; all that is asked there is its start."""
        where = numbers(3)
        near, far = (where.region([0.0] * 3, text) for text in ("x0 <= 1.9", "x0 >= 2"))
        judge = judge_of(lambda Z: np.abs(Z[:, 1]) - 1, "labels")
        one = lanes_in(where, [[near, far]], judge).search()
        assert one.distance == pytest.approx(1, rel=1e-3)
        assert one.asked[one.asked[:, 0] >= 2].tolist() == [[2.0, 0.0, 0.0]]


WHOLE = setting(np.array(list(itertools.product(range(6), repeat=3))), norm="l1", scale="none")


class TestGrids:
    @BY_REPLY
    @pytest.mark.parametrize("seed", range(4))
    def test_on_a_small_grid_the_nearest_row_is_found(self, reply: str, seed: int) -> None:
        """All 216 rows are tried by hand."""
        rng = np.random.default_rng(seed)
        weights, right = rng.uniform(0.2, 1, size=3), rng.uniform(2, 6)

        def margin(Z: Any) -> Any:
            return weighted(Z, weights) - right

        found = searched(WHOLE, margin, reply, query=[0, 0, 0])
        assert found.distance == WHOLE.Z[margin(WHOLE.Z) >= 0].sum(axis=1).min()

    def test_the_right_level_is_found_and_the_rest_left_alone(self) -> None:
        frame = pd.DataFrame({"r": np.linspace(0, 1, 40), "c": list("uvwx") * 10, "b": [True, False] * 20})
        judge = labels_only(lambda Z: (Z[:, 1] == 2) | (Z[:, 0] > 5))
        found = lane(setting(frame, norm="gower"), {"r": 0.3, "c": "u", "b": True}, judge).search()
        assert found.ledger.best_row.tolist() == [[0.3, 2.0, 1.0]]
        assert found.distance == 1.0

    def test_missing_cells_of_the_query_stay_missing(self) -> None:
        where = setting(pd.DataFrame({"a": [0.0, 5.0, None, 3.0], "b": [0.0, 5.0, 4.0, 3.0]}), scale="none")
        found = searched(where, lambda Z: Z[:, 1] - 2, "labels", query={"a": None, "b": 0.0})
        assert np.isnan(found.asked[:, 0]).all()
        assert found.distance == pytest.approx(2, rel=1e-4)


LEVELS = pd.DataFrame(
    {
        "r": np.random.default_rng(5).normal(size=240),
        "s": np.random.default_rng(6).normal(size=240),
        "c": list("uvwx") * 60,
        "b": [True, True, False, False, False, False, False, False] * 30,
    }
)
LEVELLED = setting(LEVELS, scale={"r": 1.0, "s": 1.0}, weights={"c": 0.6, "b": 0.6})
UNCHANGED = {"r": 0.0, "s": 0.0, "c": "u", "b": False}


def both_levels(Z: Any) -> Any:
    """Level w and b together are worth 3 of the 3.5 needed, each alone 1."""
    both = (Z[:, 2] == 2) & (Z[:, 3] == 1)
    return Z[:, 0] + np.where(both, 3.0, np.where((Z[:, 2] == 2) | (Z[:, 3] == 1), 1.0, 0.0)) - 3.5


def levelled() -> Setting:
    far = np.array([[3.6, 0.4, 0.0, 0.0], [2.8, -0.3, 2.0, 0.0], [2.7, 1.0, 0.0, 1.0]])
    return replace(LEVELLED, Z=np.r_[LEVELLED.Z, far])


def unseen() -> Setting:
    """Return background rows of which none has one of the levels that are worth it."""
    where = levelled()
    return replace(where, Z=where.Z[(where.Z[:, 2] != 2) & (where.Z[:, 3] != 1)])


class TestLevels:
    @BY_REPLY
    @pytest.mark.parametrize("make", [levelled, unseen])
    def test_levels_that_no_background_row_has_are_found_where_they_are_nearest(
        self, reply: str, make: Callable[[], Setting]
    ) -> None:
        """With both: |(0.5, 0.6, 0.6)| = 0.985. Numbers alone: 3.5, with w or b alone 2.5 and 0.6: 2.57."""
        where = make()
        assert not ((where.Z[:, 2] == 2) & (where.Z[:, 3] == 1)).any()
        found = searched(where, both_levels, reply, "r <= 5", "s <= 5", query=UNCHANGED)
        best = math.sqrt(0.5**2 + 2 * 0.6**2)
        assert best * (1 - 1e-9) <= found.distance <= 1.01 * best

    @BY_REPLY
    @pytest.mark.parametrize("seed", range(4))
    def test_numbers_and_levels_together_are_nearest(self, reply: str, seed: int) -> None:
        """Every set of levels shifts a half-space of the two numbers; all eight are solved in closed form."""
        table, slope = np.random.default_rng(seed).uniform(0.0, 1.5, size=(4, 2)), np.array([1.0, 0.5])
        table[0, 0] = 0.0

        def margin(Z: Any) -> Any:
            return weighted(Z[:, :2], slope) + table[Z[:, 2].astype(int), Z[:, 3].astype(int)] - 2

        found = searched(LEVELLED, margin, reply, query=UNCHANGED)
        changed = 0.6**2 * np.add.outer([0, 1, 1, 1], [0, 1])
        best = np.sqrt(changed + ((2 - table) / np.linalg.norm(slope)) ** 2).min()
        assert best * (1 - 1e-9) <= found.distance <= 1.01 * best


class TestStarts:
    def test_one_that_reaches_is_the_answer(self) -> None:
        found = searched(numbers(2), lambda Z: Z[:, 0] - 0.5, "labels", "x0 >= 1")
        assert found.ledger.best_row.tolist() == [[1.0, 0.0]]
        assert len(found.asked) == 1

    @pytest.mark.parametrize(("norm", "best"), [("l2", math.sqrt(0.8)), ("l1", 1.0)])
    def test_one_that_reaches_is_the_nearest_row_beside_a_line(self, norm: Norm, best: float) -> None:
        """Every row beyond x0 + 2 x1 >= 2 reaches: nearest are (0.4, 0.8) in L2 and (0, 1) in L1."""
        found = searched(numbers(2, norm=norm), lambda Z: Z[:, 1] + 9, "labels", "x0 + 2*x1 >= 2")
        assert best * (1 - 1e-9) <= found.distance <= 1.01 * best

    @BY_REPLY
    def test_one_that_reaches_ends_the_search_only_where_it_is_the_nearest_row(self, reply: str) -> None:
        """Of the whole numbers with a sum of 4 or more, (2, 2) is nearest to the origin."""
        where = setting(np.array([[-9, -9], [9, 9]]), scale="none")
        judge = judge_of(lambda Z: Z[:, 0] + 1.5, reply)
        region = where.region([0, 0], "x0 + x1 >= 4")
        assert len(lanes_in(where, [[region]], judge).search().asked) == 1
        for start in ([5.0, 0.0], [1.0, 6.0]):
            found = lanes_in(where, [[replace(region, start=np.array(start))]], judge).search()
            assert found.ledger.best_row.tolist() == [[2.0, 2.0]]
            assert len(found.asked) < 60

    @pytest.mark.parametrize("seed", range(3))
    def test_on_a_grid_beside_a_line_the_nearest_row_is_found_in_l1(self, seed: int) -> None:
        """Every row that keeps to the line reaches; all 2,197 of the grid are tried by hand."""
        rng = np.random.default_rng(seed)
        weights, right = rng.integers(1, 5, 3) * rng.choice([-1, 1], 3), rng.integers(2, 14)
        text = " + ".join(f"{weight}*x{column}" for column, weight in enumerate(weights)) + f" >= {right}"
        cube = np.array(list(itertools.product(range(-6, 7), repeat=3)))
        where = setting(cube, norm="l1", scale="none")
        found = searched(where, lambda Z: Z[:, 0] + 99, "labels", text, query=[0, 0, 0])
        assert found.distance == pytest.approx(np.abs(cube[cube @ weights >= right]).sum(axis=1).min())

    @BY_REPLY
    def test_a_target_that_cannot_be_reached_ends_the_search(self, reply: str) -> None:
        found = searched(numbers(3), lambda Z: Z[:, 0] - 99, reply)
        assert found.distance == math.inf
        assert len(found.found) == 0

    def test_nothing_free_asks_about_the_query_only(self) -> None:
        found = searched(numbers(2), lambda Z: Z[:, 0] - 1, "labels", "x0 == x.x0", "x1 == x.x1")
        np.testing.assert_array_equal(np.unique(found.asked, axis=0), [[0.0, 0.0]])

    def test_scores_that_are_infinite_in_places_are_no_problem(self) -> None:
        """Behind x0 = 0.5 the score is minus infinity, except beyond the plane."""

        def margin(Z: Any) -> Any:
            plane = Z[:, 0] + Z[:, 1] - 1.4
            return np.where((Z[:, 0] < -0.3) | (Z[:, 1] > 3), -np.inf, plane)

        found = searched(numbers(3), margin, "scores")
        assert found.distance == pytest.approx(1.4 / math.sqrt(2), rel=0.01)


def diamond(Z: Any) -> Any:
    """A small one in 12 columns, which neither corners nor luck find; its score leads there."""
    return 3.0 - np.abs(Z - np.linspace(0.5, 2.0, 12)).sum(axis=1)


def arms(Z: Any) -> Any:
    """A plane with the background rows, and another one behind the query, where there are none."""
    return np.maximum(Z[:, 0] + Z[:, 1] - 2.0, -Z[:, 0] - 0.5 * Z[:, 2] - 0.9)


def lonely_column(Z: Any) -> Any:
    """A plane of eleven of twelve columns, and one step of the last."""
    return np.maximum(weighted(Z[:, :11], np.ones(11)) - 4.0, -Z[:, 11] - 1.1)


def staircase(Z: Any) -> Any:
    """Steps of twelve columns, as a forest makes them."""
    return (np.floor(3 * Z[:, :8]) / 3 * [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3]).sum(axis=1) - 1.5


def stored_plane() -> list[Stored]:
    rows = np.random.default_rng(1).normal(size=(400, 5))
    rows += ((1.0 - rows.sum(axis=1)) / 5 + 1e-9)[:, None]
    rows = rows[np.argsort(np.linalg.norm(rows, axis=1))]
    return [Stored(rows, np.ones(len(rows), dtype=bool))]


def front(width: int) -> Setting:
    """Return background rows of which none lies behind the query."""
    rows = np.abs(background(width)[:-2])
    return replace(setting(np.r_[rows, [[-5.0] * width, [5.0] * width]], scale="none"), Z=rows)


def forest(width: int, seed: int, reply: str, *, whole: bool = False) -> Lanes:
    """Search a small forest, on real or whole numbers, from a row that it puts on the other side."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-6, 7, size=(300, width)) if whole else rng.normal(size=(300, width))
    above = rows[:, : width // 2].sum(axis=1) > (3 if whole else 1)
    model = RandomForestClassifier(10, max_depth=5, random_state=seed).fit(rows, above)

    def margin(Z: Any) -> Any:
        return model.predict_proba(Z)[:, 1] - 0.5 - 1e-12

    query = rows[margin(rows) < 0][0].tolist()
    return searched(setting(rows, scale="none"), margin, reply, query=query)


def small_cell(beyond: float = np.inf) -> Lanes:
    """Search a cell of two columns around values of the data, a millionth of their range, the third held.

    Also rows with more than `beyond` in the first column reach the target.
    """
    where = setting(background(3).round(1), scale="none")
    far = where.Z[np.abs(where.Z[:, 2]) > 0.5]
    near = np.sort(np.abs(far[:, :2]), axis=0)[40]
    values = [far[np.abs(far[:, j]) == near[j], j][0] for j in range(2)]

    def margin(Z: Any) -> Any:
        inside = (np.abs(Z[:, :2] - values) < 1e-3).all(axis=1)
        return np.where(inside | (np.abs(Z[:, 2]) > 0.5) | (Z[:, 0] > beyond), 0.5, -0.5)

    return searched(where, margin, "labels", "x2 == x.x2")


MANY = 200


def few_steps(Z: Any) -> Any:
    """Steps of three of many columns."""
    return np.floor(4 * Z[:, [3, 50, 170]]).sum(axis=1) / 4 - 1.5


def slanted(width: int) -> Matrix:
    weights = np.random.default_rng(2).normal(size=width)
    return np.asarray(weights / np.linalg.norm(weights))


def either_face(Z: Any) -> Any:
    """Beyond either of two planes; the score rises toward the farther one first."""
    first, second = weighted(Z, slanted(12)), weighted(Z, np.roll(slanted(12), 1))
    return np.maximum(0.5 * first - 0.6, second - 1)


def bowl(Z: Any) -> Any:
    """Outside a ball whose middle is beside the query."""
    return ((Z - 0.3) ** 2).sum(axis=1) - 1.5


def numbers_and_a_level() -> Setting:
    """Return six numbers and a level; no background row has the level v."""
    rows = pd.DataFrame(background(6), columns=[f"x{j}" for j in range(6)])
    where = setting(rows.assign(c=["u", "v"] * (len(rows) // 2)), scale="none", weights={"c": 0.3})
    return replace(where, Z=where.Z[where.Z[:, 6] == 0])


def turned(Z: Any) -> Any:
    """A plane across the first number; with level v a nearer one across all of them."""
    return np.where(Z[:, 6] == 1, Z[:, :6].sum(axis=1) / math.sqrt(6) - 0.5, Z[:, 0] - 2.0)


def sums_of_levels() -> Lanes:
    """Search where four whole numbers and six levels add up, each level worth something else."""
    rng = np.random.default_rng(4)
    numbers = {f"n{j}": rng.integers(-20, 21, 240) for j in range(4)}
    frame = pd.DataFrame(numbers | {f"c{j}": rng.choice(list("uvwx"), 240) for j in range(6)})
    where = setting(frame, scale=dict.fromkeys(numbers, 20.0))
    worth, slope = rng.normal(size=(6, 4)), rng.normal(size=4) / 10

    def margin(Z: Any) -> Any:
        return weighted(Z[:, :4], slope) + worth[np.arange(6), Z[:, 4:].astype(int)].sum(axis=1) - 4

    query = frame.iloc[int(np.flatnonzero(margin(where.Z) < -1)[0])].to_dict()
    return searched(where, margin, "labels", query=query)


def one_row_apart() -> Lanes:
    """Search three whole numbers where one row reaches nearer than all others, and apart from them."""
    frame = pd.DataFrame({name: range(-30, 31) for name in "abc"})
    where = setting(frame, dict.fromkeys("abc", integer()), scale="none")

    def margin(Z: Any) -> Any:
        return np.where((Z == [-2, 1, 1]).all(axis=1), 1.0, Z[:, 0] - 2.5)

    one = lane(where, [0.0] * 3, judge_of(margin, "labels"))
    one.ledger.door = replace(one.ledger.door, ends_early=np.array([True]))
    return one.search()


# What each move finds, or saves, that the others do not.
PROBLEMS: dict[str, Callable[[], Lanes]] = {
    "start": lambda: searched(numbers(3), lambda Z: Z[:, 0] - 1, "labels"),
    "stored points": lambda: lane(
        numbers(5), [0.0] * 5, judge_of(lambda Z: Z.sum(axis=1) - 1, "labels")
    ).search(stored=stored_plane()),
    "the model's slopes": lambda: led(numbers(20)),
    "slope": lambda: searched(numbers(20), lambda Z: Z.sum(axis=1) - 3, "scores"),
    "known rows": lambda: searched(numbers(5), lambda Z: Z.sum(axis=1) - 1, "labels"),
    "further rows": lambda: searched(numbers(4), lambda Z: Z.sum(axis=1) - 1, "labels", "x0 == x.x0"),
    "climb": lambda: searched(setting(np.r_[[[-5.0] * 12], [[5.0] * 12]], scale="none"), diamond, "scores"),
    "crossed values": small_cell,
    "descent": lambda: searched(numbers(10), lambda Z: Z.sum(axis=1) - 2, "labels"),
    "other faces": lambda: searched(numbers(12), either_face, "scores"),
    "along columns": lambda: searched(front(12), lonely_column, "labels"),
    "values nearby": lambda: small_cell(beyond=1.9),
    "elsewhere": lambda: searched(front(5), arms, "scores"),
    "steps": lambda: searched(numbers(12), staircase, "labels"),
    "few of many columns": lambda: lane(numbers(MANY), [0.0] * MANY, judge_of(few_steps, "labels")).search(),
    "around the best": lambda: forest(4, 0, "labels"),
    "few nearer rows": one_row_apart,
    "broad steps": lambda: forest(6, 2, "scores"),
    "columns back": lambda: forest(6, 1, "scores"),
    "other levels": sums_of_levels,
    "exchanges": lambda: forest(10, 5, "scores"),
    "gains and costs": lambda: forest(10, 2, "scores"),
    "trades": lambda: forest(10, 3, "labels", whole=True),
    "descent again": lambda: searched(numbers_and_a_level(), turned, "labels", query=[0.0] * 6 + ["u"]),
    "columns back finely": lambda: searched(numbers(12), staircase, "scores"),
    "all columns again": lambda: lane(
        numbers(MANY), [0.0] * MANY, judge_of(lambda Z: weighted(Z, slanted(MANY)) - 1, "labels")
    ).search(),
    "small changes left out": lambda: forest(6, 1, "labels"),
    "last crossing": lambda: searched(numbers(4), bowl, "scores"),
}
SAVE_ROWS = {
    "stored points",
    "the model's slopes",
    "slope",
    "known rows",
    "few of many columns",
}


@pytest.mark.parametrize("name", [move.name for move in nearest.MOVES])
def test_each_move_is_of_use(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it the answer to a problem of its own is farther, or costs more rows."""
    whole = PROBLEMS[name]()
    monkeypatch.setattr(nearest, "MOVES", tuple(move for move in nearest.MOVES if move.name != name))
    without = PROBLEMS[name]()
    assert math.isfinite(whole.distance)
    if name in SAVE_ROWS:
        assert whole.distance <= 1.01 * without.distance
        assert len(whole.asked) < 0.97 * len(without.asked)
    else:
        assert whole.distance < without.distance


def test_moves_have_names_of_their_own_and_each_its_problem() -> None:
    assert sorted(move.name for move in nearest.MOVES) == sorted(PROBLEMS)


def test_a_move_runs_only_where_it_applies() -> None:
    """By labels no move that follows scores is made; without stored points none looks at them."""
    one = lanes(numbers(3), [[0.0] * 3], judge_of(lambda Z: Z[:, 0] - 1, "labels"))
    search = nearest.Search(one.ledger, one.pools(), DRAWS)
    nearest.MOVES[0].run(search)
    left_out = [move.name for move in nearest.MOVES if not move.applies(search)]
    assert left_out == [
        "stored points",
        "the model's slopes",
        "slope",
        "climb",
        "other levels",
        "gains and costs",
        "all columns again",
    ]


@pytest.mark.parametrize("reply", REPLIES)
def test_moves_cope_with_nothing_to_do(reply: str) -> None:
    """Where all queries reach as they are, the other moves ask about nothing."""
    one = lanes(numbers(3), [[2.0] * 3, [3.0] * 3], judge_of(lambda Z: Z[:, 0] - 1, reply))
    search = nearest.Search(one.ledger, one.pools(), DRAWS)
    for move in nearest.MOVES:
        if move.applies(search):
            move.run(search)
    assert len(one.asked) == 2

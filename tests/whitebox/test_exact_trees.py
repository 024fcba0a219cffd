"""Nearest rows of trees against brute force: the model itself, asked about every value that could matter."""

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tests.support import Matrix, Setting, setting

import ssba
from ssba.columns.distance import Norm
from ssba.constraints.regions.region import Region
from ssba.models.answers import Model
from ssba.models.model import adapt
from ssba.models.targets import Goal, Leave, Probability, Reach, ValueBetween, judge
from ssba.whitebox import exact
from ssba.whitebox.exact import (
    Exact,
    Question,
    nearest_by_cpsat,
    nearest_by_search,
    nearest_exact,
    nearest_quickly,
)
from ssba.whitebox.forest import Trees
from ssba.whitebox.read_model import open_model
from ssba.whitebox.scoring import CannotTell

DATA = np.random.default_rng(5).normal(size=(200, 3)).round(2)
CLASSES = (DATA @ [1.0, -1.0, 0.5] > 0.3).astype(int) + (DATA[:, 0] * DATA[:, 1] > 0.8)
NUMBERS = DATA[:, 0] ** 2 - DATA[:, 1]


@dataclasses.dataclass(frozen=True)
class Opened:
    """A model opened, and how to ask the user's own about encoded rows."""

    setting: Setting
    model: Model
    trees: Trees

    def reached(self, goal: Goal, Z: Matrix) -> Any:
        return judge(goal, self.model.verdict(self.setting.space.decode(Z)), self.model.classes).reached

    def question(self, goal: Goal, region: Region) -> Question:
        return Question(goal, region, self.setting.metric, lambda Z: self.reached(goal, Z))

    def values(self, region: Region, j: int) -> Matrix:
        """Every value that could be the nearest: the query's, bounds, and both sides of each cut."""
        if region.held[j]:
            return np.asarray(region.x[[j]])
        if self.trees.coded[j]:
            return np.flatnonzero(region.allowed[j]).astype(float)
        cuts = self.trees.cuts[j]
        ends = np.concatenate(
            [region.x[[j]], region.lower[[j]], region.upper[[j]], cuts, np.nextafter(cuts, np.inf)]
        )
        rows = np.tile(region.x, (len(ends), 1))
        rows[:, j] = ends
        legal = np.concatenate([region.grid.floor(rows)[:, j], region.grid.ceil(rows)[:, j], region.x[[j]]])
        return np.unique(legal[(legal >= region.lower[j]) & (legal <= region.upper[j])])

    def brute_force(self, goal: Goal, region: Region) -> float:
        values = [self.values(region, j) for j in range(len(region.x))]
        Z = np.array(list(itertools.product(*values)))
        Z = Z[region.contains(Z)]
        Z = Z[self.reached(goal, Z)]
        return float(self.setting.metric.distance(Z, region.x).min()) if len(Z) else math.inf


def opened(
    model: Any, data: Any, norm: Norm = "l2", features: Any = None, target: Goal | None = None
) -> Opened:
    made = setting(data, features, norm)
    adapted = adapt(
        model,
        made.space.decode(made.Z),
        wants_numbers=isinstance(target, ValueBetween),
        wants_probabilities=isinstance(target, Probability),
    )
    trees = open_model(model, adapted, made.space, made.Z)
    assert isinstance(trees, Trees)
    return Opened(made, adapted, trees)


def check(answer: Exact | None, one: Opened, goal: Goal, region: Region, limit: float) -> None:
    """The answer is legal, reaches by the model's own word, and is as near as brute force gets."""
    assert answer is not None
    assert answer.proved
    assert answer.lower_bound == pytest.approx(limit, rel=1e-9)
    if limit == math.inf:
        assert answer.row is None
        return
    assert answer.row is not None
    assert region.contains(answer.row[None, :])[0]
    assert one.reached(goal, answer.row[None, :])[0]
    assert one.setting.metric.distance(answer.row[None, :], region.x)[0] == pytest.approx(limit, rel=1e-9)


CLASSIFIERS = {
    "forest": RandomForestClassifier(12, random_state=1),
    "histogram boosting": HistGradientBoostingClassifier(max_iter=8, random_state=0),
    "xgboost": xgboost.XGBClassifier(n_estimators=6, max_depth=3, n_jobs=1),
}
GOALS: list[Goal] = [Reach(0), Reach(2), Leave(1), Leave(0)]


@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_three_classes_in_two_free_columns(name: str, norm: Norm) -> None:
    one = opened(clone(CLASSIFIERS[name]).fit(DATA, CLASSES), DATA, norm)
    for query, goal in itertools.product(DATA[:3], GOALS):
        region = one.setting.region(query, "x0 == x.x0")
        if not one.reached(goal, region.x[None, :])[0]:
            check(
                nearest_exact(one.trees, one.question(goal, region)),
                one,
                goal,
                region,
                one.brute_force(goal, region),
            )


def test_ties_of_votes_are_settled_as_the_model_settles_them() -> None:
    # Two classes and an even number of full trees: half of the votes is a tie, which the first class wins.
    model = RandomForestClassifier(4, max_features=1, random_state=0).fit(DATA, CLASSES > 0)
    one = opened(model, DATA)
    for query, goal in itertools.product(DATA[:6], [Reach(False), Reach(True)]):
        region = one.setting.region(query, "x2 == x.x2")
        if not one.reached(goal, region.x[None, :])[0]:
            check(
                nearest_exact(one.trees, one.question(goal, region)),
                one,
                goal,
                region,
                one.brute_force(goal, region),
            )


@pytest.mark.parametrize("model", [GradientBoostingRegressor(n_estimators=10), RandomForestRegressor(6)])
def test_a_band_of_numbers(model: Any) -> None:
    model.set_params(random_state=0).fit(DATA, NUMBERS)
    goal = ValueBetween(0.9, 1.1)
    one = opened(model, DATA, target=goal)
    for query in DATA[:4]:
        region = one.setting.region(query, "x1 == x.x1")
        check(
            nearest_exact(one.trees, one.question(goal, region)),
            one,
            goal,
            region,
            one.brute_force(goal, region),
        )


@pytest.mark.parametrize("name", ["forest", "xgboost"])
def test_a_wished_probability(name: str) -> None:
    goal = Probability(1, 0.8)
    one = opened(clone(CLASSIFIERS[name]).fit(DATA, CLASSES > 0), DATA, target=goal)
    for query in DATA[:4]:
        region = one.setting.region(query, "x2 == x.x2")
        if not one.reached(goal, region.x[None, :])[0]:
            check(
                nearest_exact(one.trees, one.question(goal, region)),
                one,
                goal,
                region,
                one.brute_force(goal, region),
            )


def test_softmax_probabilities_are_declined() -> None:
    goal = Probability(1, 0.8)
    one = opened(clone(CLASSIFIERS["xgboost"]).fit(DATA, CLASSES), DATA, target=goal)
    with pytest.raises(CannotTell, match="one of several boosted or linear classes"):
        nearest_exact(one.trees, one.question(goal, one.setting.region(DATA[0])))


def test_bounds_steps_and_whole_numbers() -> None:
    rows = np.column_stack([np.round(DATA[:, 0] * 10), DATA[:, 1], DATA[:, 2]])
    model = RandomForestClassifier(9, random_state=2).fit(rows, CLASSES > 0)
    features = {"x0": ssba.integer(), "x1": ssba.numeric(step=0.25)}
    one = opened(model, rows, features=features)
    for query in rows[:5]:
        region = one.setting.region(query, "x0 >= -8", "x0 <= 9", "x2 == x.x2")
        goal = Leave(one.model.labels(query[None, :]).labels[0])  # type: ignore[index]
        check(
            nearest_exact(one.trees, one.question(goal, region)),
            one,
            goal,
            region,
            one.brute_force(goal, region),
        )


def test_columns_of_32_bits() -> None:
    rows = DATA.astype(np.float32)
    one = opened(clone(CLASSIFIERS["forest"]).fit(rows, CLASSES), rows)
    for query in rows[:3]:
        region = one.setting.region(query, "x0 == x.x0")
        goal = Leave(one.model.labels(query[None, :]).labels[0])  # type: ignore[index]
        check(
            nearest_exact(one.trees, one.question(goal, region)),
            one,
            goal,
            region,
            one.brute_force(goal, region),
        )


def mixed() -> tuple[pd.DataFrame, Any]:
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": random.integers(20, 60, 200),
            "size": random.choice(["S", "M", "L"], 200),
            "job": random.choice(["a", "b", "c", "d"], 200),
            "pay": random.normal(30, 9, 200).round(1),
        }
    )
    y = frame["age"] / 10 + (frame["job"] == "b") * 2 + (frame["size"] == "L") + frame["pay"] / 20 > 6.5
    steps = make_column_transformer(
        (StandardScaler(), ["age", "pay"]), (OneHotEncoder(sparse_output=False), ["size", "job"])
    )
    return frame, make_pipeline(steps, RandomForestClassifier(9, random_state=0)).fit(frame, y)


@pytest.mark.parametrize("norm", ["l2", "gower"])
def test_categories_and_levels_behind_one_hot_columns(norm: Norm) -> None:
    frame, model = mixed()
    one = opened(model, frame, norm, {"size": ssba.ordinal(["S", "M", "L"])})
    for i in range(4):
        region = one.setting.region(
            frame.iloc[i].to_dict(), "job in {'a', 'b', 'd'}" if i % 2 else "age == x.age"
        )
        if region.x[2] == 2 and i % 2:
            continue
        goal = Leave(model.predict(frame.iloc[[i]])[0])
        check(
            nearest_exact(one.trees, one.question(goal, region)),
            one,
            goal,
            region,
            one.brute_force(goal, region),
        )


def test_a_linear_row_through_the_cells() -> None:
    one = opened(clone(CLASSIFIERS["forest"]).fit(DATA, CLASSES > 0), DATA)
    steps = np.linspace(DATA.min(), DATA.max(), 260)
    for query in DATA[:4]:
        region = one.setting.region(query, "x0 + x1 <= 0.4", "x2 == x.x2")
        goal = Leave(one.model.labels(query[None, :]).labels[0])  # type: ignore[index]
        answer = nearest_exact(one.trees, one.question(goal, region))
        assert answer is not None
        grid = np.array([[a, b, query[2]] for a in steps for b in steps])
        grid = grid[region.contains(grid)]
        grid = grid[one.reached(goal, grid)]
        assert answer.proved
        assert answer.row is not None
        assert region.contains(answer.row[None, :])[0]
        assert one.reached(goal, answer.row[None, :])[0]
        nearest = float(one.setting.metric.distance(grid, region.x).min())
        # The grid is a sample: never nearer than the bound, and at most two of its steps farther.
        assert answer.lower_bound <= nearest <= answer.lower_bound + 2 * (steps[1] - steps[0]) * math.sqrt(2)


def test_a_missing_cell_that_stays_missing() -> None:
    rows = DATA.copy()
    rows[::4, 0] = np.nan
    model = HistGradientBoostingClassifier(max_iter=8, random_state=0).fit(rows, CLASSES > 0)
    one = opened(model, rows)
    query = rows[4]
    region = one.setting.region(query)
    goal = Leave(one.model.labels(query[None, :]).labels[0])  # type: ignore[index]
    check(
        nearest_exact(one.trees, one.question(goal, region)), one, goal, region, one.brute_force(goal, region)
    )


def test_a_missing_cell_that_may_be_filled_is_declined() -> None:
    rows = DATA.copy()
    rows[::4, 0] = np.nan
    one = opened(HistGradientBoostingClassifier(max_iter=3).fit(rows, CLASSES > 0), rows)
    (region,) = one.setting.regions(rows[4], [ssba.may_fill("x0")])
    with pytest.raises(CannotTell, match="missing cell"):
        nearest_exact(one.trees, one.question(Reach(True), region))


def test_no_row_in_the_region_reaches() -> None:
    one = opened(clone(CLASSIFIERS["forest"]).fit(DATA, CLASSES > 0), DATA)
    query = DATA[CLASSES == 0][0]
    region = one.setting.region(query, "x0 == x.x0", "x1 == x.x1", "x2 == x.x2")
    check(nearest_exact(one.trees, one.question(Reach(True), region)), one, Reach(True), region, math.inf)


def many_columns(columns: int = 8) -> tuple[Opened, Matrix]:
    random = np.random.default_rng(1)
    rows = random.normal(size=(250, columns))
    model = RandomForestClassifier(20, max_depth=5, random_state=0)
    return opened(model.fit(rows, rows[:, :3].sum(axis=1) > 0.5), rows), rows


def test_stopped_early_it_still_bounds_every_row_that_reaches() -> None:
    one, rows = many_columns()
    random = np.random.default_rng(2)
    for work in (1, 50, 500):
        region = one.setting.region(rows[0])
        goal = Leave(one.model.labels(rows[:1]).labels[0])  # type: ignore[index]
        answer = nearest_exact(one.trees, one.question(goal, region), work=work)
        assert answer is not None
        sample = region.snap(
            rows[0] + random.normal(size=(20_000, rows.shape[1])) * random.uniform(0, 1.5, (20_000, 1))
        )
        sample = sample[region.contains(sample)]
        sample = sample[one.reached(goal, sample)]
        assert answer.lower_bound <= one.setting.metric.distance(sample, region.x).min()
        assert answer.row is not None
        assert answer.lower_bound <= one.setting.metric.distance(answer.row[None, :], region.x)[0]


def test_cpsat_proves_what_boxes_prove() -> None:
    one, rows = many_columns(6)
    for i in range(3):
        region = one.setting.region(rows[i])
        goal = Leave(one.model.labels(rows[[i]]).labels[0])  # type: ignore[index]
        boxes = nearest_exact(one.trees, one.question(goal, region), work=10**6)
        solver = nearest_by_cpsat(one.trees, one.question(goal, region))
        assert boxes is not None
        assert solver is not None
        assert boxes.proved
        assert solver.proved
        assert solver.lower_bound == pytest.approx(boxes.lower_bound, rel=1e-6)
        assert solver.row is not None
        assert one.reached(goal, solver.row[None, :])[0]


def test_cpsat_takes_categories() -> None:
    frame, model = mixed()
    one = opened(model, frame)
    region = one.setting.region(frame.iloc[0].to_dict())
    goal = Leave(model.predict(frame.iloc[[0]])[0])
    answer = nearest_by_cpsat(one.trees, one.question(goal, region))
    limit = nearest_exact(one.trees, one.question(goal, region), work=10**6)
    assert answer is not None
    assert limit is not None
    assert answer.proved
    assert answer.lower_bound == pytest.approx(limit.lower_bound, rel=1e-6)


def test_the_local_search_comes_near_the_proved_optimum() -> None:
    one, rows = many_columns()
    ratios = []
    for i in range(4):
        region = one.setting.region(rows[i])
        goal = Leave(one.model.labels(rows[[i]]).labels[0])  # type: ignore[index]
        question = one.question(goal, region)
        limit = nearest_by_cpsat(one.trees, question)
        row = nearest_by_search(one.trees, question)
        assert limit is not None
        assert limit.proved
        assert row is not None
        assert region.contains(row[None, :])[0]
        assert one.reached(goal, row[None, :])[0]
        ratios.append(question.distance(row) / limit.lower_bound)
    assert min(ratios) >= 1 - 1e-9
    assert np.mean(ratios) <= 1.01


def test_the_local_search_never_loses_a_known_row() -> None:
    one, rows = many_columns()
    region = one.setting.region(rows[0])
    goal = Leave(one.model.labels(rows[:1]).labels[0])  # type: ignore[index]
    known = rows[one.reached(goal, rows)][0]
    found = nearest_by_search(one.trees, one.question(goal, region), known=known)
    assert found is not None
    assert one.question(goal, region).distance(found) <= one.question(goal, region).distance(known)


def test_the_local_search_gives_the_same_row_every_time() -> None:
    one, rows = many_columns()
    region = one.setting.region(rows[3])
    goal = Leave(one.model.labels(rows[[3]]).labels[0])  # type: ignore[index]
    first, second = (nearest_by_search(one.trees, one.question(goal, region)) for _ in range(2))
    assert first is not None
    assert second is not None
    assert (first == second).all()


class TestLittleWork:
    def test_it_is_enough_for_a_proof_where_columns_are_few(self) -> None:
        one = opened(clone(CLASSIFIERS["forest"]).fit(DATA, CLASSES), DATA)
        for query, goal in itertools.product(DATA[:3], GOALS):
            region = one.setting.region(query, "x0 == x.x0")
            if not one.reached(goal, region.x[None, :])[0]:
                answer = nearest_quickly(one.trees, one.question(goal, region))
                check(answer, one, goal, region, one.brute_force(goal, region))

    def test_where_it_is_not_enough_its_row_is_near_and_its_bound_holds(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        one, rows = many_columns()
        ratios, proved = [], []
        for i in range(4):
            region = one.setting.region(rows[i])
            goal = Leave(one.model.labels(rows[[i]]).labels[0])  # type: ignore[index]
            question = one.question(goal, region)
            limit = nearest_exact(one.trees, question, work=10**6)
            monkeypatch.setattr(exact, "_QUICK_BOXES", 5)
            answer = nearest_quickly(one.trees, question)
            assert limit.proved
            assert answer.lower_bound <= limit.lower_bound * (1 + 1e-9)
            proved.append(answer.proved)
            assert answer.row is not None
            assert one.reached(goal, answer.row[None, :])[0]
            ratios.append(question.distance(answer.row) / limit.lower_bound)
        assert min(ratios) >= 1 - 1e-9
        assert np.mean(ratios) <= 1.02
        assert not all(proved)

    def test_it_ends_with_the_same_row_every_time(self) -> None:
        one, rows = many_columns()
        region = one.setting.region(rows[3])
        goal = Leave(one.model.labels(rows[[3]]).labels[0])  # type: ignore[index]
        first, second = (nearest_quickly(one.trees, one.question(goal, region)) for _ in range(2))
        assert first.row is not None
        assert second.row is not None
        assert (first.row == second.row).all()
        assert first.lower_bound == second.lower_bound


class TestFewChanges:
    """At most so many columns change: boxes, the local search and CP-SAT against brute force."""

    def limit(self, one: Opened, goal: Goal, region: Region, most: int) -> float:
        Z = np.array(list(itertools.product(*(one.values(region, j) for j in range(len(region.x))))))
        Z = Z[region.contains(Z) & ((region.x != Z).sum(axis=1) <= most)]
        Z = Z[one.reached(goal, Z)]
        return float(one.setting.metric.distance(Z, region.x).min(initial=math.inf))

    @pytest.mark.parametrize("most", [1, 2])
    def test_every_way_to_look_keeps_to_it(self, most: int) -> None:
        small = RandomForestClassifier(5, max_depth=3, random_state=1).fit(DATA, CLASSES)
        one = opened(small, DATA)
        limits = []
        for query, goal in itertools.product(DATA[:3], GOALS[:2]):
            region = one.setting.region(query)
            if one.reached(goal, region.x[None, :])[0]:
                continue
            question = dataclasses.replace(one.question(goal, region), most_changes=most)
            limits.append(self.limit(one, goal, region, most))
            for look in (nearest_exact, nearest_quickly, nearest_by_cpsat):
                answer = look(one.trees, question)
                check(answer, one, goal, region, limits[-1])
                assert answer.row is None or (answer.row != region.x).sum() <= most
            near = nearest_by_search(one.trees, question)
            assert near is None or (near != region.x).sum() <= most
            assert question.distance(near) >= limits[-1] * (1 - 1e-9)
        assert np.isfinite(limits).any()

    def test_a_column_that_must_change_counts(self) -> None:
        """The query's own x0 is not allowed, so that with one change nothing else may move."""
        one = opened(clone(CLASSIFIERS["forest"]).fit(DATA, CLASSES > 0), DATA)
        goal = Reach(True)
        for query in DATA[CLASSES == 0][:3]:
            region = one.setting.region(query, f"x0 >= {query[0] + 0.1:.2f}")
            alone = one.setting.region(query, f"x0 >= {query[0] + 0.1:.2f}", "x1 == x.x1", "x2 == x.x2")
            limit = nearest_exact(one.trees, one.question(goal, alone))
            few = dataclasses.replace(one.question(goal, region), most_changes=1)
            assert nearest_exact(one.trees, few).lower_bound == pytest.approx(limit.lower_bound)

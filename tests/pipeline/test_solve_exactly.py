"""Models that can be opened: exact answers, bounds that hold, and no claim beyond what was shown."""

import itertools
import math
import re
from functools import partial
from typing import Any

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from tests.support import every

import ssba
from ssba.engine import judging
from ssba.errors import ArgumentError
from ssba.pipeline import solve_exactly
from ssba.whitebox import exact, read_model
from ssba.whitebox.exact import Exact, nearest_exact

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = (X @ [1.0, -2.0, 0.5, 0.0] + 0.3 * RNG.normal(size=300) > 0.5).astype(int)
LINEAR = LogisticRegression().fit(X, Y)
BELOW = X[LINEAR.predict(X) == 0]


def plane_distance(row: np.ndarray) -> float:
    return float(-LINEAR.decision_function(row[None, :])[0] / np.linalg.norm(LINEAR.coef_))


@pytest.mark.parametrize("number", range(5))
def test_a_linear_model_is_solved_in_closed_form(number: int) -> None:
    answer = ssba.Explainer(LINEAR, X, target=1, distance=ssba.Distance(scale="none")).explain(BELOW[number])
    limit = plane_distance(BELOW[number])
    assert answer.best is not None
    assert limit * (1 - 1e-9) <= answer.best.distance <= limit * 1.001
    assert answer.evidence.proof == "optimal"
    assert answer.evidence.lower_bound == pytest.approx(limit, rel=1e-6)
    assert answer.rows_used < 20
    assert "Proved optimal" in answer.evidence.sentence


def test_the_same_model_as_a_function_is_searched_and_nothing_is_claimed() -> None:
    answer = ssba.Explainer(LINEAR.predict, X, target=1, distance=ssba.Distance(scale="none")).explain(
        BELOW[0]
    )
    assert answer.best is not None
    assert answer.best.distance <= 1.01 * plane_distance(BELOW[0])
    assert answer.evidence.proof is None
    assert answer.evidence.lower_bound is None


@pytest.mark.parametrize(
    "options", [{"k": 3}, {"max_changes": 1}, {"sparsity": "strong"}, {"plausible": True}]
)
def test_a_bound_holds_whatever_else_is_asked_for(options: dict[str, Any]) -> None:
    explainer = ssba.Explainer(LINEAR, X, target=1, distance=ssba.Distance(scale="none"))
    answer = explainer.explain(BELOW[1], **options)
    limit = plane_distance(BELOW[1])
    assert answer.evidence.lower_bound == pytest.approx(limit, rel=1e-6)
    assert every(one.distance >= limit * (1 - 1e-9) for one in answer.counterfactuals)
    assert (answer.evidence.proof == "optimal") == (answer.counterfactuals[0].distance <= limit * 1.001)


def test_what_cannot_be_reached_is_proved_so() -> None:
    explainer = ssba.Explainer(LINEAR, X, target=1)
    answer = explainer.explain(BELOW[0], [f"x{j} == x.x{j}" for j in range(3)])
    assert answer.status == "bounded"
    assert answer.evidence.proof == "unreachable"
    assert answer.evidence.sentence == "Proved: no feasible row reaches the target."


def test_constraints_are_part_of_the_exact_problem() -> None:
    """With x1 held, the plane's distance is that of the remaining weights."""
    answer = ssba.Explainer(LINEAR, X, target=1, distance=ssba.Distance(scale="none")).explain(
        BELOW[2], ["x1 == x.x1"]
    )
    rest = np.delete(LINEAR.coef_[0], 1)
    limit = float(-LINEAR.decision_function(BELOW[2][None, :])[0] / np.linalg.norm(rest))
    assert answer.best is not None
    assert answer.best.distance == pytest.approx(limit, rel=1.1e-3)
    assert answer.evidence.proof == "optimal"


def test_a_pipeline_with_categories_is_exact() -> None:
    frame = pd.DataFrame(
        {"a": RNG.normal(size=200), "n": RNG.integers(0, 9, 200), "c": RNG.choice(list("uvw"), 200)}
    )
    wanted = (frame["a"] + 0.4 * frame["n"] + 1.5 * (frame["c"] == "w") > 2.5).astype(int)
    columns = make_column_transformer((StandardScaler(), ["a", "n"]), (OneHotEncoder(), ["c"]))
    model = make_pipeline(columns, LogisticRegression()).fit(frame, wanted)
    queries = frame[model.predict(frame) == 0].iloc[:5]
    opened = ssba.Explainer(model, frame, target=1).explain_many(queries)
    asked = ssba.Explainer(lambda rows: model.predict(rows), frame, target=1).explain_many(queries)
    for solved, searched in zip(opened, asked, strict=True):
        assert solved.evidence.proof == "optimal"
        assert solved.best is not None
        assert searched.best is not None
        assert solved.best.distance <= searched.best.distance * 1.001
        assert solved.evidence.lower_bound is not None
        assert searched.best.distance >= solved.evidence.lower_bound * (1 - 1e-9)


def test_a_band_of_a_regressor_is_exact() -> None:
    model = LinearRegression().fit(X, X @ [1.0, 2.0, 0.0, 0.0])
    answer = ssba.Explainer(model, X, ssba.value_between(4, 5), distance=ssba.Distance(scale="none")).explain(
        [0.0, 0.0, 0.0, 0.0]
    )
    assert answer.best is not None
    assert answer.best.distance == pytest.approx(4 / math.sqrt(5), rel=1.1e-3)
    assert answer.evidence.proof == "optimal"


@pytest.mark.parametrize(
    "model", [DecisionTreeClassifier(random_state=0), RandomForestClassifier(7, random_state=0)]
)
def test_trees_are_opened_unless_the_call_says_no(model: object) -> None:
    """Whole numbers, so that every legal row can be tried by hand."""
    grid = np.array(list(itertools.product(range(8), repeat=3)))
    data = pd.DataFrame(grid[::3], columns=["a", "b", "c"])
    fitted = model.fit(data, (data.sum(axis=1) + data["a"] * data["b"] > 18).astype(int))  # type: ignore[attr-defined]
    everything = pd.DataFrame(grid, columns=["a", "b", "c"])
    reached = grid[fitted.predict(everything) == 1]
    explainer = ssba.Explainer(fitted, data, target=1, distance=ssba.Distance(scale="none"))
    for query in data[fitted.predict(data) == 0].iloc[:4].to_numpy():
        best = np.linalg.norm(reached - query, axis=1).min()
        for answer in (explainer.explain(query), explainer.explain(query, prove=True)):
            assert answer.best is not None
            assert answer.best.distance == pytest.approx(best)
            assert answer.evidence.proof == "optimal"
            # The query, the answer in some forms, and rows so near to a tie that rounding decides.
            assert answer.rows_used < 20
        closed = explainer.explain(query, prove=False, evidence=0)
        assert (closed.evidence.proof, closed.evidence.lower_bound) == (None, None)


def test_a_closed_model_gives_an_answer_and_no_proof() -> None:
    model = SVC().fit(X, Y)
    query = X[model.predict(X) == 0][0]
    answer = ssba.Explainer(model, X, target=1).explain(query, prove=True)
    assert answer.status == "found"
    assert answer.evidence.proof is None
    assert answer.evidence.lower_bound is None


def test_a_wrong_prove_is_refused_with_the_choices() -> None:
    with pytest.raises(ssba.errors.ArgumentError, match="prove is 'yes'; give 'auto', True or False"):
        ssba.Explainer(LINEAR, X, target=1).explain(BELOW[0], prove="yes")  # type: ignore[arg-type]


def test_proofs_are_the_same_alone_and_among_others() -> None:
    explainer = ssba.Explainer(LINEAR, X, target=1)
    together = explainer.explain_many(BELOW[:4])
    for row, answer in zip(BELOW[:4], together, strict=True):
        alone = explainer.explain(row)
        assert alone.best is not None
        assert answer.best is not None
        assert alone.best.values == answer.best.values
        assert alone.evidence == answer.evidence


MIXED = pd.DataFrame(
    {
        "age": np.arange(300) % 40,
        "job": pd.Categorical(np.array(["a", "b", "c", "d"])[np.arange(300) * 7 % 4]),
    }
)
MIXED_CLASS = ((MIXED["age"] > 20) ^ MIXED["job"].isin(["b", "d"])).astype(int)
OPENED_FROM_CATEGORIES = {
    "lightgbm": lightgbm.LGBMClassifier(n_estimators=5, min_data_per_group=1, n_jobs=1, verbose=-1),
    "xgboost": xgboost.XGBClassifier(n_estimators=5, enable_categorical=True, n_jobs=1),
    "catboost": catboost.CatBoostClassifier(
        iterations=5, cat_features=["job"], one_hot_max_size=9, verbose=0, allow_writing_files=False
    ),
    "histogram boosting": HistGradientBoostingClassifier(max_iter=5),
}


@pytest.mark.parametrize("name", OPENED_FROM_CATEGORIES)
def test_trees_with_categories_are_proved(name: str) -> None:
    """Without draws or rows asked one by one: 160 rows in all, of which the nearest is looked for by hand."""
    model = OPENED_FROM_CATEGORIES[name].fit(MIXED, MIXED_CLASS)
    explainer = ssba.Explainer(model, MIXED, target=1)
    query = MIXED[model.predict(MIXED) == 0].iloc[0]
    answer = explainer.explain(query, evidence=0)
    everything = pd.DataFrame(list(itertools.product(range(40), "abcd")), columns=["age", "job"])
    everything["job"] = pd.Categorical(everything["job"], categories=list("abcd"))
    reaching = everything[model.predict(everything) == 1]
    apart = np.abs(reaching["age"] - query["age"]) / MIXED["age"].std(ddof=0)
    best = np.hypot(apart, reaching["job"].astype(str) != query["job"]).min()
    assert answer.best is not None
    assert answer.best.distance == pytest.approx(best)
    assert (answer.evidence.proof, answer.evidence.unproved) == ("optimal", None)


class TestWhyNothingIsProved:
    """Each reason stands in the evidence, and in its sentence."""

    def why(self, model: Any, *constraints: str, **options: Any) -> str:
        explainer = ssba.Explainer(model, X, target=1)
        # Far from the boundary, where an answer takes several columns.
        query = X[(X @ [1.0, -2.0, 0.5, 0.0]).argmin()]
        answer = explainer.explain(query, list(constraints), prove=True, **options)
        assert answer.evidence.proof is None
        assert answer.evidence.unproved is not None
        assert answer.evidence.sentence.endswith(f"Not proved: {answer.evidence.unproved}.")
        assert ssba.results.Explanation.from_json(answer.to_json()).evidence == answer.evidence
        return answer.evidence.unproved

    def test_the_model_is_of_no_kind_that_is_opened(self) -> None:
        model = KNeighborsClassifier().fit(X, Y)
        expected = "KNeighborsClassifier is neither a linear model nor trees that can be opened"
        assert self.why(model) == expected

    def test_the_model_as_read_is_not_the_model(self, monkeypatch: pytest.MonkeyPatch) -> None:
        plain = DecisionTreeClassifier.predict_proba

        def other(self: Any, rows: Any) -> Any:
            return np.where(np.asarray(rows)[:, [0]] > 1, plain(self, rows)[:, ::-1], plain(self, rows))

        model = DecisionTreeClassifier(random_state=0).fit(X, Y)
        monkeypatch.setattr(DecisionTreeClassifier, "predict_proba", other)
        pattern = r"the model as read disagrees with its own scores at \d+ of \d+ rows"
        assert re.fullmatch(pattern, self.why(model))

    def test_the_time_ran_out(self) -> None:
        forest = RandomForestClassifier(5, random_state=0).fit(X, Y)
        reason = self.why(forest, budget=ssba.Budget(seconds=1e-9))
        assert reason == "the time of the budget ran out before the proof was done"

    def test_the_work_ran_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def without_solver(*_: Any, **__: Any) -> Exact:
            raise ArgumentError("the extra is not installed")

        forest = RandomForestClassifier(5, random_state=0).fit(X, Y)
        monkeypatch.setattr(exact, "_QUICK_BOXES", 1)
        monkeypatch.setattr(solve_exactly, "nearest_exact", partial(nearest_exact, work=1))
        monkeypatch.setattr(solve_exactly, "nearest_by_cpsat", without_solver)
        assert self.why(forest) == "the proof was not done within the work that is spent on one"

    def test_too_many_ways_to_meet_the_constraints(self) -> None:
        tree = DecisionTreeClassifier(random_state=0).fit(X, Y)
        rules = [f"if x0 >= {i / 10}: x{1 + i % 3} >= {i / 20 - 1}" for i in range(8)]
        expected = "there are too many ways to meet the constraints to look at all of them"
        assert self.why(tree, *rules) == expected

    def test_something_else_than_the_nearest_row_is_asked_for(self) -> None:
        reason = self.why(LINEAR, max_changes=1)
        assert reason == "the bound is that of the nearest row, and max_changes=1 asks for another one"

    def test_a_probability_of_several_classes(self) -> None:
        model = HistGradientBoostingClassifier(max_iter=4).fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
        explainer = ssba.Explainer(model, X, target=ssba.probability(2, at_least=0.6))
        answer = explainer.explain(X[X[:, 0] < -0.5][0], prove=True)
        assert answer.evidence.unproved == (
            "a probability of one of several boosted or linear classes is no single sum"
        )

    def test_nothing_is_said_where_no_proof_was_asked_for(self) -> None:
        model = KNeighborsClassifier().fit(X, Y)
        answer = ssba.Explainer(model, X, target=1).explain(X[model.predict(X) == 0][0])
        assert answer.evidence.unproved is None

    def test_nothing_is_said_where_there_is_nothing_to_prove(self) -> None:
        model = KNeighborsClassifier().fit(X, Y)
        explainer = ssba.Explainer(model, X, target=1)
        there = explainer.explain(X[model.predict(X) == 1][0], prove=True)
        assert (there.status, there.evidence.unproved) == ("already_there", None)
        clashing = explainer.explain(X[model.predict(X) == 0][0], ["x0 >= 2", "x0 <= 1"], prove=True)
        assert (clashing.status, clashing.evidence.unproved) == ("infeasible", None)


class TestAuto:
    """What `prove="auto"`, the default, does with trees."""

    FOREST = RandomForestClassifier(30, max_depth=4, random_state=0).fit(X, Y)
    QUERIES = X[FOREST.predict(X) == 0][:4]

    def explainer(self) -> ssba.Explainer:
        return ssba.Explainer(self.FOREST, X, target=1, distance=ssba.Distance(scale="none"))

    def leave_open(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Allow for so little work that nothing is proved."""
        monkeypatch.setattr(exact, "_QUICK_BOXES", 1)

    def test_what_little_work_leaves_open_is_searched_and_nothing_is_said_of_it(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        proved = self.explainer().explain_many(self.QUERIES)
        self.leave_open(monkeypatch)
        drawn = []
        for limit, answer in zip(proved, self.explainer().explain_many(self.QUERIES), strict=True):
            assert limit.evidence.proof == "optimal"
            assert limit.best is not None
            assert answer.best is not None
            assert answer.evidence.unproved is None
            assert answer.evidence.lower_bound is not None
            assert answer.evidence.lower_bound <= limit.best.distance
            assert limit.best.distance * 0.999 <= answer.best.distance <= limit.best.distance * 1.05
            if answer.evidence.proof is None:
                drawn.append(answer.evidence.drawn)
        assert every(count > 0 for count in drawn)

    def test_the_row_from_the_inside_is_an_answer_for_every_budget(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.leave_open(monkeypatch)
        few = self.explainer().explain(self.QUERIES[0], budget=ssba.Budget(rows=1))
        closed = self.explainer().explain(self.QUERIES[0], budget=ssba.Budget(rows=1), prove=False)
        assert few.best is not None
        assert closed.best is not None
        assert few.best.distance < closed.best.distance

    @pytest.mark.parametrize(
        "options", [{"k": 3}, {"sparsity": "strong"}, {"k": 2, "diversity": "levers"}], ids=str
    )
    def test_the_nearest_row_is_among_what_other_options_choose_from(self, options: dict[str, Any]) -> None:
        explainer = self.explainer()
        for query in self.QUERIES:
            nearest, answer = explainer.explain(query), explainer.explain(query, **options)
            assert answer.evidence.nearer_than == nearest.evidence.nearer_than
            assert answer.evidence.lower_bound == nearest.evidence.lower_bound

    @pytest.mark.parametrize("options", [{"plausible": True}, {"margin": 0.1}], ids=str)
    def test_nothing_is_opened_where_the_nearest_row_would_not_do(self, options: dict[str, Any]) -> None:
        explainer = self.explainer()
        answer = explainer.explain(self.QUERIES[0], **options)
        assert (answer.evidence.lower_bound, answer.evidence.unproved) == (None, None)

    def test_over_many_columns_opened_trees_need_no_search_for_the_nearest_row(self) -> None:
        """160 columns, of which the forest looks at many; the search through a function is farther."""
        rows = np.random.default_rng(1).normal(size=(300, 160))
        above = rows[:, :4].sum(axis=1) + rows[:, 4:8].prod(axis=1) > 0.3
        forest = RandomForestClassifier(30, random_state=0).fit(rows, above)
        query = rows[~forest.predict(rows)][0]
        explainer, few = ssba.Explainer(forest, rows, target=True), 80
        told = explainer.explain(query)
        assert told.rows_used < few
        searched = explainer.explain(query, prove=False)
        assert searched.rows_used > few
        assert told.best is not None
        assert searched.best is not None
        assert told.best.distance <= searched.best.distance
        assert explainer.explain(query, k=3).rows_used > few
        fixed = [ssba.fixed(f"x{j}") for j in range(20)]
        assert explainer.explain(query, fixed).rows_used > few

    def test_a_large_model_stays_closed_until_a_proof_is_asked_for(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(read_model, "_QUICKLY_READ", 10)
        explainer = self.explainer()
        searched = explainer.explain(self.QUERIES[0])
        assert (searched.evidence.lower_bound, searched.evidence.unproved) == (None, None)
        assert explainer.explain(self.QUERIES[0], prove=True).evidence.proof == "optimal"
        # What another call has read makes no difference.
        assert explainer.explain(self.QUERIES[0]).evidence == searched.evidence

    def test_a_model_is_read_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        opened = []

        def counting(*given: Any) -> Any:
            opened.append(1)
            return read_model.open_model(*given)

        monkeypatch.setattr(judging, "open_model", counting)
        explainer = self.explainer()
        for query in self.QUERIES:
            explainer.explain(query)
        assert len(opened) == 1
        self.explainer().explain(self.QUERIES[0], prove=False)
        assert len(opened) == 1

    def test_answers_are_the_same_alone_and_among_others(self) -> None:
        explainer = self.explainer()
        for query, among in zip(self.QUERIES, explainer.explain_many(self.QUERIES), strict=True):
            alone = self.explainer().explain(query)
            assert alone.counterfactuals == among.counterfactuals
            assert alone.evidence == among.evidence


class TestFewChangesOfTrees:
    """`max_changes` on opened trees, in whole numbers: every legal row is tried by hand."""

    GRID = np.array(list(itertools.product(range(7), repeat=4)))
    DATA = pd.DataFrame(GRID[::5], columns=list("abcd"))
    MODEL = RandomForestClassifier(15, random_state=0).fit(
        DATA, (DATA.sum(axis=1) + DATA["a"] * DATA["b"] > 20).astype(int)
    )
    REACHED = GRID[MODEL.predict(pd.DataFrame(GRID, columns=list("abcd"))) == 1]

    @pytest.mark.parametrize("most", [1, 2, 3])
    def test_the_nearest_row_that_changes_so_few_columns_is_found_and_proved(self, most: int) -> None:
        explainer = ssba.Explainer(self.MODEL, self.DATA, target=1, distance=ssba.Distance(scale="none"))
        proofs = []
        for query in self.DATA[self.MODEL.predict(self.DATA) == 0].iloc[::40].to_numpy():
            answer = explainer.explain(query, max_changes=most, evidence=0)
            few = self.REACHED[(self.REACHED != query).sum(axis=1) <= most]
            best = np.linalg.norm(few - query, axis=1).min(initial=np.inf)
            proofs.append(answer.evidence.proof)
            assert proofs[-1] == ("optimal" if len(few) else "unreachable")
            if len(few):
                assert answer.best is not None
                assert answer.best.distance == pytest.approx(best)
                assert len(answer.best.changes) <= most
        assert "optimal" in proofs

    def test_so_many_changes_as_the_plain_answer_has_give_the_plain_answer(self) -> None:
        explainer = ssba.Explainer(self.MODEL, self.DATA, target=1, distance=ssba.Distance(scale="none"))
        for query in self.DATA[self.MODEL.predict(self.DATA) == 0].iloc[::60].to_numpy():
            plain = explainer.explain(query)
            assert plain.best is not None
            few = explainer.explain(query, max_changes=len(plain.best.changes))
            assert few.best is not None
            assert few.best.distance == pytest.approx(plain.best.distance)

    def test_rows_beyond_the_limit_do_not_contradict_its_bound(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A short search without the limit comes nearer than any row within it; that is no contradiction."""
        monkeypatch.setattr(exact, "_QUICK_BOXES", 1)
        explainer = ssba.Explainer(self.MODEL, self.DATA, target=1, distance=ssba.Distance(scale="none"))
        for query in self.DATA[self.MODEL.predict(self.DATA) == 0].iloc[::60].to_numpy():
            answer = explainer.explain(query, max_changes=1, prove=True)
            assert answer.evidence.proof is not None
            assert not answer.evidence.reading_contradicted

"""Models that can be opened: exact answers, bounds that hold, and no claim beyond what was shown."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from tests.support import every

import ssba

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = (X @ [1.0, -2.0, 0.5, 0.0] + 0.3 * RNG.normal(size=300) > 0.5).astype(int)
LINEAR = LogisticRegression().fit(X, Y)
BELOW = X[LINEAR.predict(X) == 0]


def plane_distance(row: np.ndarray) -> float:
    return float(-LINEAR.decision_function(row[None, :])[0] / np.linalg.norm(LINEAR.coef_))


@pytest.mark.parametrize("number", range(5))
def test_a_linear_model_is_solved_in_closed_form(number: int) -> None:
    answer = ssba.Explainer(LINEAR, X, target=1, scale="none").explain(BELOW[number])
    limit = plane_distance(BELOW[number])
    assert answer.best is not None
    assert limit * (1 - 1e-9) <= answer.best.distance <= limit * 1.001
    assert answer.evidence.proof == "optimal"
    assert answer.evidence.lower_bound == pytest.approx(limit, rel=1e-6)
    assert answer.rows_used < 20
    assert "Proved optimal" in answer.evidence.sentence


def test_the_same_model_as_a_function_is_searched_and_nothing_is_claimed() -> None:
    answer = ssba.Explainer(LINEAR.predict, X, target=1, scale="none").explain(BELOW[0])
    assert answer.best is not None
    assert answer.best.distance <= 1.01 * plane_distance(BELOW[0])
    assert answer.evidence.proof is None
    assert answer.evidence.lower_bound is None


@pytest.mark.parametrize(
    "options", [{"k": 3}, {"max_changes": 1}, {"sparsity": "strong"}, {"plausible": True}]
)
def test_a_bound_holds_whatever_else_is_asked_for(options: dict[str, object]) -> None:
    answer = ssba.Explainer(LINEAR, X, target=1, scale="none").explain(BELOW[1], **options)  # type: ignore[arg-type]
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
    answer = ssba.Explainer(LINEAR, X, target=1, scale="none").explain(BELOW[2], ["x1 == x.x1"])
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
    for exact, searched in zip(opened, asked, strict=True):
        assert exact.evidence.proof == "optimal"
        assert exact.best is not None
        assert searched.best is not None
        assert exact.best.distance <= searched.best.distance * 1.001
        assert exact.evidence.lower_bound is not None
        assert searched.best.distance >= exact.evidence.lower_bound * (1 - 1e-9)


def test_a_band_of_a_regressor_is_exact() -> None:
    model = LinearRegression().fit(X, X @ [1.0, 2.0, 0.0, 0.0])
    answer = ssba.Explainer(model, X, ssba.value_between(4, 5), scale="none").explain([0.0, 0.0, 0.0, 0.0])
    assert answer.best is not None
    assert answer.best.distance == pytest.approx(4 / math.sqrt(5), rel=1.1e-3)
    assert answer.evidence.proof == "optimal"


@pytest.mark.parametrize(
    "model", [DecisionTreeClassifier(random_state=0), RandomForestClassifier(7, random_state=0)]
)
def test_trees_are_proved_on_request(model: object) -> None:
    """Whole numbers, so that every legal row can be tried by hand."""
    grid = np.array(list(itertools.product(range(8), repeat=3)))
    data = pd.DataFrame(grid[::3], columns=["a", "b", "c"])
    fitted = model.fit(data, (data.sum(axis=1) + data["a"] * data["b"] > 18).astype(int))  # type: ignore[attr-defined]
    everything = pd.DataFrame(grid, columns=["a", "b", "c"])
    reached = grid[fitted.predict(everything) == 1]
    explainer = ssba.Explainer(fitted, data, target=1, scale="none")
    for query in data[fitted.predict(data) == 0].iloc[:4].to_numpy():
        answer = explainer.explain(query, prove=True, evidence=0)
        best = np.linalg.norm(reached - query, axis=1).min()
        assert answer.best is not None
        assert answer.best.distance == pytest.approx(best)
        assert answer.evidence.proof == "optimal"
        assert explainer.explain(query, evidence=0).evidence.proof is None


def test_a_closed_model_gives_an_answer_and_no_proof() -> None:
    model = SVC().fit(X, Y)
    query = X[model.predict(X) == 0][0]
    answer = ssba.Explainer(model, X, target=1).explain(query, prove=True)
    assert answer.status == "found"
    assert answer.evidence.proof is None
    assert answer.evidence.lower_bound is None


def test_a_wrong_prove_is_refused_with_the_choices() -> None:
    with pytest.raises(ssba.errors.ArgumentError, match="prove is 'yes'; give True or False"):
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

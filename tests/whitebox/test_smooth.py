"""Slopes that are read off networks and kernel machines are those of their scores, and lead near."""

from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PowerTransformer, StandardScaler
from sklearn.svm import SVC, SVR, NuSVC

import ssba
from ssba.columns.space import build_space
from ssba.models.model import adapt
from ssba.models.targets import Leave, Probability, Reach, ValueBetween
from ssba.pipeline import nearest_rows
from ssba.whitebox.read_model import open_slopes

COLUMNS = 12
X = np.random.default_rng(3).normal(size=(400, COLUMNS)) * np.linspace(0.5, 4, COLUMNS)
U = X / X.std(axis=0)
NUMBER = U[:, :4].sum(axis=1) + U[:, 4] ** 2
TWO = np.where(NUMBER > 1, "yes", "no")
THREE = np.digitize(NUMBER, [0.0, 2.0])


FITTED: dict[str, Any] = {"solver": "lbfgs", "alpha": 0.1, "max_iter": 5000, "random_state": 0}


def network(activation: Any = "relu") -> Any:
    return MLPClassifier((16, 8), activation=activation, **FITTED)


TWO_CLASSES = {
    "relu": network(),
    "tanh": make_pipeline(StandardScaler(), network("tanh")),
    "logistic": make_pipeline(MinMaxScaler((-3, 3)), network("logistic")),
    "identity": make_pipeline(StandardScaler(), PCA(8), network("identity")),
    "rbf": make_pipeline(StandardScaler(), SVC()),
    "nu": make_pipeline(StandardScaler(), NuSVC(gamma=0.1)),
    "poly": make_pipeline(StandardScaler(), SVC(kernel="poly", degree=3, coef0=1.0)),
    "sigmoid": make_pipeline(StandardScaler(), SVC(kernel="sigmoid", gamma=0.02)),
}
REGRESSORS = {
    "network": make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(16,), **FITTED)),
    "rbf": make_pipeline(StandardScaler(), SVR()),
}


def opened(model: Any, rows: Any = X) -> Any:
    space, Z = build_space(rows)
    return open_slopes(model, adapt(model, rows), space, Z)


def assert_slopes(smooth: Any, goal: Any, rows: Any) -> Any:
    """Compare slopes with differences of the heights; return these."""
    heights, slopes = smooth.slopes(rows, goal)
    step = 1e-6
    for j in range(COLUMNS):
        aside = rows.copy()
        aside[:, j] += step
        differences = (smooth.slopes(aside, goal)[0] - heights) / step
        # A row may lie beside a bend, where both are right.
        assert (np.abs(differences - slopes[:, j]) <= 1e-4 * np.abs(slopes).max()).mean() > 0.98
    return heights


@pytest.mark.parametrize("model", TWO_CLASSES.values(), ids=TWO_CLASSES)
def test_of_two_classes(model: Any) -> None:
    smooth = opened(model.fit(X, TWO))
    said = model.predict(X) == "yes"
    assert 0 < said.sum() < len(X)
    for goal, reaches in ((Reach("yes"), said), (Reach("no"), ~said), (Leave("yes"), ~said)):
        heights = assert_slopes(smooth, goal, X[:50])
        assert ((heights > 0) == reaches[:50]).all()


@pytest.mark.parametrize("goal", [Reach(1), Leave(0), Leave(2)], ids=str)
def test_of_three_classes(goal: Any) -> None:
    model = make_pipeline(StandardScaler(), network()).fit(X, THREE)
    heights = assert_slopes(opened(model), goal, X[:80])
    same = model.predict(X[:80]) == goal.label
    assert ((heights > 0) == (same if isinstance(goal, Reach) else ~same)).all()


def test_of_a_probability() -> None:
    model = make_pipeline(StandardScaler(), network()).fit(X, TWO)
    heights = assert_slopes(opened(model), Probability("yes", 0.3, 0.8), X[:100])
    likely = model.predict_proba(X[:100])[:, 1]
    assert ((heights > 0) == ((likely > 0.3) & (likely < 0.8))).all()
    # The probabilities of a kernel machine are another model, fitted to its scores.
    assert opened(TWO_CLASSES["rbf"].fit(X, TWO)).slopes(X, Probability("yes", 0.5, 1.0)) is None


@pytest.mark.parametrize("model", REGRESSORS.values(), ids=REGRESSORS)
def test_of_numbers(model: Any) -> None:
    heights = assert_slopes(opened(model.fit(X, NUMBER)), ValueBetween(0.5, 1.5), X[:100])
    number = model.predict(X[:100])
    assert ((heights > 0) == ((number > 0.5) & (number < 1.5))).all()


def test_a_row_has_the_same_slopes_alone_and_among_others() -> None:
    smooth = opened(make_pipeline(StandardScaler(), network()).fit(X, TWO))
    heights, slopes = smooth.slopes(X[:150], Reach("yes"))
    for i in (0, 63, 64, 149):
        height, slope = smooth.slopes(X[i : i + 1], Reach("yes"))
        assert height[0] == heights[i]
        assert (slope[0] == slopes[i]).all()


class OfOnesOwn(MLPClassifier):  # type: ignore[misc]
    """A network that answers otherwise than its weights say."""

    def predict_proba(self, rows: Any) -> Any:
        return super().predict_proba(rows)[:, ::-1]

    def predict(self, rows: Any) -> Any:
        return self.classes_[self.predict_proba(rows).argmax(axis=1)]


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        OfOnesOwn((4,), **FITTED),
        make_pipeline(PowerTransformer(), network()),
        FixedThresholdClassifier(network(), threshold=0.7),
        SVC(kernel=lambda one, other: one @ other.T),
    ],
    ids=["another kind", "a subclass", "bent columns", "a threshold", "a kernel of one's own"],
)
def test_others_stay_closed(model: Any) -> None:
    assert opened(model.fit(X, TWO)) is None


def test_votes_of_pairs_stay_closed() -> None:
    assert opened(SVC().fit(X, THREE)) is None


@pytest.mark.parametrize("name", ["relu", "rbf"])
def test_answers_are_nearer_for_fewer_rows(name: str) -> None:
    model = TWO_CLASSES[name].fit(X, TWO)
    explainer = ssba.Explainer(model, X, target="yes")
    rows = X[model.predict(X) == "no"][:30]
    led, others = explainer.explain_many(rows), explainer.explain_many(rows, prove=False)
    assert [one.status for one in led] == [one.status for one in others] == ["found"] * 30
    far, before = (np.array([one.best.distance for one in some if one.best]) for some in (led, others))
    assert (far / before).mean() < 1.0005
    assert (far / before).max() < 1.02
    spent, more = (np.mean([one.rows_used for one in some]) for some in (led, others))
    assert spent < 0.8 * more
    assert all(model.predict([list(one.best.values.values())])[0] == "yes" for one in led if one.best)


def test_a_query_has_the_same_answer_alone_and_among_others() -> None:
    model = TWO_CLASSES["tanh"].fit(X, TWO)
    explainer = ssba.Explainer(model, X, target="yes")
    rows = X[model.predict(X) == "no"][:12]
    together = explainer.explain_many(rows)
    for row, among in zip(rows, together, strict=True):
        assert explainer.explain(row).best == among.best


def test_missing_cells_in_most_rows_leave_enough_to_read() -> None:
    holes = X.copy()
    holes[np.random.default_rng(4).random(X.shape) < 0.1] = np.nan
    assert 0 < (~np.isnan(holes).any(axis=1)).mean() < 0.5
    model = make_pipeline(SimpleImputer(), StandardScaler(), network()).fit(holes, TWO)
    heights = assert_slopes(opened(model, holes), Reach("yes"), X[:50])
    assert ((heights > 0) == (model.predict(X[:50]) == "yes")).all()


def test_without_a_complete_row_a_model_stays_closed() -> None:
    holes = X.copy()
    holes[np.arange(len(X)), np.arange(len(X)) % COLUMNS] = np.nan
    assert opened(make_pipeline(SimpleImputer(), network()).fit(holes, TWO), holes) is None


def test_a_model_is_opened_only_where_its_slopes_can_lead() -> None:
    model = TWO_CLASSES["relu"].fit(X, TWO)
    explainer = ssba.Explainer(model, X, target="yes")
    row = X[model.predict(X) == "no"][0]
    explainer.explain(row, [ssba.only("x0", "x1", "x2")])
    assert "opened_slopes" not in explainer._engine.judging.__dict__
    explainer.explain(row)
    assert explainer._engine.judging.__dict__["opened_slopes"] is not None


def test_among_three_classes_edges_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    highest = (U @ np.random.default_rng(2).normal(size=(COLUMNS, 3))).argmax(axis=1)
    model = make_pipeline(StandardScaler(), network()).fit(X, highest)
    explainer = ssba.Explainer(model, X, target=0)
    rows = X[model.predict(X) != 0][:60]

    def distances() -> Any:
        return np.array([one.best.distance for one in explainer.explain_many(rows) if one.best])

    along_edges = distances()
    # Without edges a few ways end beside the nearest corner, a fifth too far; most end in the same place.
    monkeypatch.setattr(nearest_rows, "_has_faces", lambda states: False)
    assert len(along_edges) == len(rows)
    assert (along_edges / distances()).mean() < 1 - 1e-4

"""Trained models opened for the limits: smooth ones as a value and its gradient, ensembles as leaves.

Only the limits look inside; no method that is measured gets any of this.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from benchmarks.nearest.cases import Case
from numpy.typing import NDArray
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Smooth:
    """The margin of class 1 at a row in matrix form, and its gradient there."""

    value: Callable[[Matrix], float]
    gradient: Callable[[Matrix], Matrix]

    def toward(self, target: int) -> "Smooth":
        """The same with the sign turned so that the target has the positive side."""
        if target == 1:
            return self
        return Smooth(lambda z: -self.value(z), lambda z: -self.gradient(z))


def duels(case: Case, i: int) -> list[Smooth]:
    """For a vector machine of several classes: where each other class wins against that of query `i`.

    A class that wins all its duels is predicted; the query's own is not any more where it loses one, except
    for ties, which whoever uses this must ask the model about.
    """
    own = int(case.own_labels[i])
    return [_duel(case.model, own, other) for other in range(len(case.model.classes_)) if other != own]


def _duel(model: SVC, own: int, other: int) -> Smooth:
    first, second = sorted((own, other))
    ends = np.concatenate([[0], np.cumsum(model.n_support_)])
    of_first, of_second = slice(*ends[first : first + 2]), slice(*ends[second : second + 2])
    dual = np.concatenate([model.dual_coef_[second - 1, of_first], model.dual_coef_[first, of_second]])
    vectors = np.concatenate([model.support_vectors_[of_first], model.support_vectors_[of_second]])
    pairs = list(combinations(range(len(model.classes_)), 2))
    machine = _Machine(vectors, dual, float(model.intercept_[pairs.index((first, second))]))
    for_first = _kernel_sum(model, machine)
    # scikit-learn's duels are won by the first class where they are positive
    return for_first.toward(1 if other == first else 0)


class _Machine(NamedTuple):
    vectors: Matrix
    dual: Matrix
    constant: float


class Linear(NamedTuple):
    """A linear margin of class 1: weights of the matrix columns, tables for categories, and a constant."""

    weights: Matrix
    levels: dict[int, Matrix]
    constant: float


class Leaf(NamedTuple):
    """What a leaf adds to the margin of class 1, and the splits on the way: (column, threshold, above)."""

    value: float
    path: tuple[tuple[int, float, bool], ...]


@dataclass(frozen=True)
class Ensemble:
    """Trees whose leaf values add up, with `constant`, to the margin of class 1.

    Where `single` the trees compare the 32-bit value of a cell with the threshold.
    """

    trees: tuple[tuple[Leaf, ...], ...]
    constant: float
    single: bool


def smooth(case: Case) -> Smooth:
    """The case's model as value and gradient, positive on the target's side."""
    model, mean, scale = case.model, np.zeros(len(case.columns)), np.ones(len(case.columns))
    if isinstance(model, Pipeline):
        first, model = model[0], model[-1]
        if not isinstance(first, StandardScaler):
            raise TypeError(f"{case.name}: cannot open a pipeline that begins with {type(first).__name__}")
        mean, scale = first.mean_, first.scale_
    inner = _smooth(model)
    standardized = Smooth(
        lambda z: inner.value((z - mean) / scale), lambda z: inner.gradient((z - mean) / scale) / scale
    )
    return standardized.toward(case.one_target)


def _smooth(model: Any) -> Smooth:
    if isinstance(model, LogisticRegression):
        weights, constant = model.coef_[0], float(model.intercept_[0])
        return Smooth(lambda z: float(z @ weights + constant), lambda z: weights)
    if isinstance(model, MLPClassifier):
        return _network(model)
    if isinstance(model, SVC):
        return _support_vectors(model)
    raise TypeError(f"cannot open a {type(model).__name__} as a smooth function")


def _network(model: MLPClassifier) -> Smooth:
    layers = list(zip(model.coefs_, model.intercepts_, strict=True))

    def forward(z: Matrix) -> tuple[float, list[Matrix]]:
        gates = []
        for weights, shift in layers[:-1]:
            before = z @ weights + shift
            gates.append((before > 0).astype(float))
            z = np.maximum(before, 0)
        weights, shift = layers[-1]
        return float((z @ weights + shift)[0]), gates

    def gradient(z: Matrix) -> Matrix:
        gates = forward(z)[1]
        slope = layers[-1][0][:, 0]
        for (weights, _), gate in zip(reversed(layers[:-1]), reversed(gates), strict=True):
            slope = weights @ (slope * gate)
        return np.asarray(slope)

    return Smooth(lambda z: forward(z)[0], gradient)


def _support_vectors(model: SVC) -> Smooth:
    machine = _Machine(model.support_vectors_, model.dual_coef_[0], float(model.intercept_[0]))
    return _kernel_sum(model, machine)


def _kernel_sum(model: SVC, machine: _Machine) -> Smooth:
    vectors, dual, constant = machine
    # scikit-learn keeps what gamma="scale" came to under this name only
    gamma = float(model._gamma)
    if model.kernel == "rbf":

        def bump(z: Matrix) -> Matrix:
            return np.asarray(dual * np.exp(-gamma * ((z - vectors) ** 2).sum(axis=1)))

        return Smooth(
            lambda z: float(bump(z).sum() + constant), lambda z: -2 * gamma * (bump(z) @ (z - vectors))
        )
    if model.kernel == "poly":
        degree, shift = model.degree, model.coef0

        def base(z: Matrix) -> Matrix:
            return np.asarray(gamma * (vectors @ z) + shift)

        return Smooth(
            lambda z: float(dual @ base(z) ** degree + constant),
            lambda z: degree * gamma * ((dual * base(z) ** (degree - 1)) @ vectors),
        )
    raise TypeError(f"cannot open an SVC with kernel {model.kernel!r}")


def linear(case: Case) -> Linear:
    """A logistic regression, alone or behind one-hot and standardized columns, over matrix columns."""
    model = case.model
    if isinstance(model, LogisticRegression):
        return Linear(model.coef_[0], {}, float(model.intercept_[0]))
    columns, last = model[0], model[-1]
    if not isinstance(last, LogisticRegression):
        raise TypeError(f"{case.name}: cannot open a {type(last).__name__} as a linear function")
    position = {column.name: j for j, column in enumerate(case.columns)}
    weights, levels, constant = np.zeros(len(case.columns)), {}, float(last.intercept_[0])
    slopes = iter(last.coef_[0])
    for _, step, names in columns.transformers_:
        for k, name in enumerate(names):
            j = position[name]
            if isinstance(step, StandardScaler):
                weights[j] = next(slopes) / step.scale_[k]
                constant -= weights[j] * step.mean_[k]
            else:
                # the encoder's categories are sorted, as the levels of a case are
                levels[j] = np.array([next(slopes) for _ in step.categories_[k]])
    return Linear(weights, levels, constant)


def ensemble(case: Case) -> Ensemble:
    """The case's trees as leaves."""
    model = case.model
    if isinstance(model, RandomForestClassifier):
        return Ensemble(tuple(tuple(_forest_leaves(tree.tree_)) for tree in model.estimators_), 0.0, True)
    if isinstance(model, HistGradientBoostingClassifier):
        trees = tuple(tuple(_hist_leaves(stage[0].nodes)) for stage in model._predictors)
        return Ensemble(trees, float(model._baseline_prediction.ravel()[0]), False)
    if isinstance(model, GradientBoostingClassifier):
        return _gradient_boosting(model)
    if type(model).__name__ == "XGBClassifier":
        return _xgboost(model, [column.name for column in case.columns])
    if type(model).__name__ == "LGBMClassifier":
        dumped = model.booster_.dump_model()["tree_info"]
        return Ensemble(tuple(tuple(_lightgbm_leaves(one["tree_structure"])) for one in dumped), 0.0, False)
    if type(model).__name__ == "CatBoostClassifier":
        return _catboost(model)
    raise TypeError(f"{case.name}: cannot open a {type(model).__name__}")


def _forest_leaves(tree: Any, node: int = 0, path: tuple[Any, ...] = ()) -> Iterator[Leaf]:
    if tree.children_left[node] == -1:
        share = tree.value[node][0] / tree.value[node][0].sum()
        yield Leaf(float(share[1] - share[0]), path)
        return
    column, threshold = int(tree.feature[node]), float(tree.threshold[node])
    yield from _forest_leaves(tree, tree.children_left[node], (*path, (column, threshold, False)))
    yield from _forest_leaves(tree, tree.children_right[node], (*path, (column, threshold, True)))


def _gradient_boosting(model: GradientBoostingClassifier) -> Ensemble:
    rate = float(model.learning_rate)
    trees = tuple(tuple(_stage_leaves(stage[0].tree_, rate)) for stage in model.estimators_)
    asked = np.zeros((1, model.n_features_in_), dtype=np.float32)
    # what every row has before the first tree
    start = float(model._raw_predict_init(asked)[0, 0])
    return Ensemble(trees, start, True)


def _stage_leaves(tree: Any, rate: float, node: int = 0, path: tuple[Any, ...] = ()) -> Iterator[Leaf]:
    if tree.children_left[node] == -1:
        yield Leaf(rate * float(tree.value[node][0][0]), path)
        return
    column, threshold = int(tree.feature[node]), float(tree.threshold[node])
    yield from _stage_leaves(tree, rate, tree.children_left[node], (*path, (column, threshold, False)))
    yield from _stage_leaves(tree, rate, tree.children_right[node], (*path, (column, threshold, True)))


def _lightgbm_leaves(node: Any, path: tuple[Any, ...] = ()) -> Iterator[Leaf]:
    if "leaf_value" in node:
        yield Leaf(float(node["leaf_value"]), path)
        return
    if node["decision_type"] != "<=":
        raise TypeError(f"cannot open a LightGBM split of the kind {node['decision_type']!r}")
    column, threshold = int(node["split_feature"]), float(node["threshold"])
    yield from _lightgbm_leaves(node["left_child"], (*path, (column, threshold, False)))
    yield from _lightgbm_leaves(node["right_child"], (*path, (column, threshold, True)))


def _hist_leaves(nodes: Any, at: int = 0, path: tuple[Any, ...] = ()) -> Iterator[Leaf]:
    node = nodes[at]
    if node["is_leaf"]:
        yield Leaf(float(node["value"]), path)
        return
    column, threshold = int(node["feature_idx"]), float(node["num_threshold"])
    yield from _hist_leaves(nodes, int(node["left"]), (*path, (column, threshold, False)))
    yield from _hist_leaves(nodes, int(node["right"]), (*path, (column, threshold, True)))


def _catboost(model: Any) -> Ensemble:
    """CatBoost's trees ask the same question on a whole level; the first one is the lowest bit of a leaf."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "model.json"
        model.save_model(str(file), format="json")
        kept = json.loads(file.read_text())
    scale, (bias,) = kept["scale_and_bias"]
    trees = tuple(tuple(_catboost_leaves(tree, scale)) for tree in kept["oblivious_trees"])
    return Ensemble(trees, float(bias), True)


def _catboost_leaves(tree: Any, scale: float) -> Iterator[Leaf]:
    splits = [(int(one["float_feature_index"]), float(one["border"])) for one in tree["splits"]]
    for number, value in enumerate(tree["leaf_values"]):
        path = ((*split, bool(number >> bit & 1)) for bit, split in enumerate(splits))
        yield Leaf(scale * float(value), tuple(path))


def _xgboost(model: Any, names: Sequence[str]) -> Ensemble:
    """XGBoost goes left where the 32-bit cell is *below* the split; `above` then means the split or more."""
    booster = model.get_booster()
    table = booster.trees_to_dataframe()
    named = booster.feature_names or [f"f{j}" for j in range(len(names))]
    columns = {name: j for j, name in enumerate(named)}
    trees = tuple(tuple(_xgboost_leaves(part.set_index("ID"), columns)) for _, part in table.groupby("Tree"))
    asked = np.zeros((1, booster.num_features()), dtype=np.float32)
    whole = float(booster.inplace_predict(asked, predict_type="margin", validate_features=False)[0])
    return Ensemble(trees, whole - _margin_at(trees, asked[0].astype(float)), True)


def _xgboost_leaves(
    nodes: Any, columns: dict[str, int], at: str | None = None, path: tuple[Any, ...] = ()
) -> Iterator[Leaf]:
    at = nodes.index[0] if at is None else at
    node = nodes.loc[at]
    if node["Feature"] == "Leaf":
        yield Leaf(float(node["Gain"]), path)
        return
    column = columns[node["Feature"]]
    # below the split is "at most the number before it", which turns < into the <= of the other libraries
    threshold = float(np.nextafter(np.float32(node["Split"]), np.float32(-np.inf)))
    yield from _xgboost_leaves(nodes, columns, node["Yes"], (*path, (column, threshold, False)))
    yield from _xgboost_leaves(nodes, columns, node["No"], (*path, (column, threshold, True)))


def _margin_at(trees: tuple[tuple[Leaf, ...], ...], z: Matrix) -> float:
    return sum(
        next(leaf.value for leaf in tree if all((z[c] > t) == above for c, t, above in leaf.path))
        for tree in trees
    )

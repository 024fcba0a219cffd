"""Which reader knows a model of trees, by the name of its type; and the readers of scikit-learn's own.

None of the libraries is imported here. A setting that makes trees mean something else than sums of leaves is
looked for by name: such a model is not read.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ssba.arrays import Matrix
from ssba.whitebox.catboost_reader import catboost_model
from ssba.whitebox.check_reading import NotReadable, the_users_code
from ssba.whitebox.lightgbm_reader import lightgbm_booster, lightgbm_model
from ssba.whitebox.nodes import Nodes, Rows, Shape, TreeSource, as_columns, in_column, joined, one_tree
from ssba.whitebox.structure import one_a_class
from ssba.whitebox.xgboost_reader import xgboost_booster, xgboost_model

Reader = Callable[[Any, Rows], TreeSource]
_BITS = 32


def read_trees(model: Any, rows: Rows) -> TreeSource:
    """Return the trees of a model; `rows` makes rows in its own form that hold every level of each column."""
    inner = one_a_class(model)
    if inner is not None:
        return _one_a_class(inner, rows)
    package = type(model).__module__.partition(".")[0]
    reader = _READERS.get((package, type(model).__name__))
    if reader is None:
        raise NotReadable(_reason_of(model))
    with the_users_code():
        return reader(model, rows)


def _reason_of(model: Any) -> str:
    name = type(model).__name__
    if name == "CalibratedClassifierCV":
        return "CalibratedClassifierCV bends the scores of the model inside it and cannot be opened"
    if name == "SVC":
        return "SVC is opened with a linear kernel and two classes only"
    if not hasattr(model, "predict"):
        return "a function cannot be opened, only a linear model or trees"
    return f"{name} is neither a linear model nor trees that can be opened"


def _forest(model: Any, _: Rows) -> TreeSource:
    trees = [one.tree_ for one in model.estimators_] if hasattr(model, "estimators_") else [model.tree_]
    if any(tree.n_outputs != 1 for tree in trees):
        raise NotReadable(f"{type(model).__name__} predicts several targets")
    classifies = hasattr(model, "classes_")
    parts = [
        _sklearn_tree(tree, _shares(tree.value[:, 0]) if classifies else tree.value[:, 0]) for tree in trees
    ]
    raw = model.predict_proba if classifies else model.predict
    return TreeSource(joined(parts), single=True, below=False, raw=as_columns(raw), averaged=True)


def _shares(counts: Matrix) -> Matrix:
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def _gradient_boosting(model: Any, _: Rows) -> TreeSource:
    if type(model.init_).__name__ not in ("DummyClassifier", "DummyRegressor", "str"):
        raise NotReadable("the boosting begins with what another model says of the row")
    stages = model.estimators_
    width = stages.shape[1]
    parts = [
        _sklearn_tree(one.tree_, in_column(one.tree_.value[:, 0, 0] * model.learning_rate, k, width))
        for stage in stages
        for k, one in enumerate(stage)
    ]
    raw = model.decision_function if hasattr(model, "classes_") else model.predict
    return TreeSource(joined(parts), single=True, below=False, raw=as_columns(raw), takes_missing=False)


def _sklearn_tree(tree: Any, value: Matrix) -> Nodes:
    missing = getattr(tree, "missing_go_to_left", np.zeros(tree.node_count))
    shape = Shape(tree.feature, tree.threshold, tree.children_left, tree.children_right, missing, {})
    return one_tree(shape, value)


def _hist_gradient_boosting(model: Any, _: Rows) -> TreeSource:
    predictors = model._predictors
    if not predictors:
        raise NotReadable("the histogram boosting has no trees")
    width = len(predictors[0])
    parts = [_hist_tree(predictor, k, width) for stage in predictors for k, predictor in enumerate(stage)]
    raw = model.decision_function if hasattr(model, "classes_") else model.predict
    source = TreeSource(joined(parts), single=False, below=False, raw=as_columns(raw))
    encoder = getattr(model, "_preprocessor", None)
    # Categories are moved to the front and recoded before the trees see them.
    return source if encoder is None else replace(source, inputs=as_columns(encoder.transform))


def _hist_tree(predictor: Any, column: int, width: int) -> Nodes:
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    by_level = np.flatnonzero(nodes["is_categorical"].astype(bool) & ~leaf)
    shape = Shape(
        feature=nodes["feature_idx"],
        threshold=nodes["num_threshold"],
        left=np.where(leaf, -1, nodes["left"].astype(np.int64)),
        right=np.where(leaf, -1, nodes["right"].astype(np.int64)),
        missing_left=nodes["missing_go_to_left"],
        sets={int(i): _set_bits(predictor.raw_left_cat_bitsets[nodes["bitset_idx"][i]]) for i in by_level},
    )
    return one_tree(shape, in_column(nodes["value"], column, width))


def _set_bits(words: Any) -> list[float]:
    return [
        float(code) for code in range(_BITS * len(words)) if int(words[code // _BITS]) >> code % _BITS & 1
    ]


def _one_a_class(inner: tuple[Any, ...], rows: Rows) -> TreeSource:
    """Read trees of which each ensemble scores one class, by its decision function or a probability."""
    if any(type(one).__name__ not in _SCORED for one in inner):
        names = sorted({type(one).__name__ for one in inner})
        raise NotReadable(f"OneVsRestClassifier of {' and '.join(names)} cannot be opened")
    found = [read_trees(one, rows) for one in inner]
    if any(one.nodes.sets for one in found):
        raise NotReadable("OneVsRestClassifier of trees that split categories cannot be opened")
    asks = [_score_of(one, alone=len(inner) == 1) for one in inner]
    return replace(
        found[0],
        nodes=joined([_of_class(one, k, len(inner)) for k, one in enumerate(found)]),
        raw=lambda rows: np.column_stack([ask(rows) for ask in asks]),
        # A mean of an ensemble is a sum of smaller leaves; ties are left to the model, as with other sums.
        averaged=False,
        takes_missing=all(one.takes_missing for one in found),
    )


def _of_class(source: TreeSource, column: int, width: int) -> Nodes:
    nodes = source.nodes
    toward = nodes.value[:, -1] / (len(nodes.roots) if source.averaged else 1)
    return replace(nodes, value=in_column(toward, column, width))


def _score_of(model: Any, *, alone: bool) -> Callable[[Any], Any]:
    """Return what OneVsRestClassifier compares between classes; of two classes, with zero."""
    if hasattr(model, "decision_function"):
        return lambda rows: np.ravel(model.decision_function(rows))
    return lambda rows: model.predict_proba(rows)[:, 1] - (0.5 if alone else 0.0)


def _sklearn(names: Iterable[str], reader: Reader) -> dict[tuple[str, str], Reader]:
    return {("sklearn", f"{name}{kind}"): reader for name in names for kind in ("Classifier", "Regressor")}


_MEANS = ("DecisionTree", "ExtraTree", "RandomForest", "ExtraTrees")
_READERS: dict[tuple[str, str], Reader] = {
    **_sklearn(_MEANS, _forest),
    **_sklearn(("GradientBoosting",), _gradient_boosting),
    **_sklearn(("HistGradientBoosting",), _hist_gradient_boosting),
    ("xgboost", "XGBClassifier"): xgboost_model,
    ("xgboost", "XGBRegressor"): xgboost_model,
    ("xgboost", "XGBRFClassifier"): xgboost_model,
    ("xgboost", "XGBRFRegressor"): xgboost_model,
    ("xgboost", "Booster"): xgboost_booster,
    ("lightgbm", "LGBMClassifier"): lightgbm_model,
    ("lightgbm", "LGBMRegressor"): lightgbm_model,
    ("lightgbm", "Booster"): lightgbm_booster,
    ("catboost", "CatBoostClassifier"): catboost_model,
    ("catboost", "CatBoostRegressor"): catboost_model,
}
# Beside means, sums whose decision function is the raw sum: XGBoost's and LightGBM's probabilities would tie.
_SCORED = frozenset(f"{name}Classifier" for name in (*_MEANS, "GradientBoosting", "HistGradientBoosting"))

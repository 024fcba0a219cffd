"""Reading the trees of scikit-learn, XGBoost and LightGBM, each with its own rule of comparison.

The name of a model's type says which library it is from; none of them is imported here. A setting that makes
trees mean something else than sums of leaves found by thresholds is looked for by name: such a model is not
read.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ssba.columns.features import is_missing
from ssba.whitebox.check_reading import the_users_code

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


@final
@dataclass(frozen=True)
class Nodes:
    """The nodes of all trees in one table.

    A row at node i goes to ``left[i]`` if its cell in column ``feature[i]`` is at most ``threshold[i]``,
    and to ``right[i]`` otherwise; a missing cell goes left where `missing_left` says so. Leaves have
    ``left == -1`` and add ``value[i]`` to the raw scores.
    """

    feature: Integers
    threshold: Vector
    left: Integers
    right: Integers
    missing_left: Mask
    value: Matrix
    roots: Integers


@final
@dataclass(frozen=True)
class TreeSource:
    """Trees as a library keeps them.

    `single` tells that rows are cast to 32-bit floats, `below` that a cell must be under the threshold to
    go left and not just at it, `raw` asks the model for its raw scores [n, columns] of rows in its own
    form, and `averaged` tells that these are means over the trees. `takes_missing` tells that
    `missing_left` can be relied on.
    """

    nodes: Nodes
    single: bool
    below: bool
    raw: Callable[[Any], Matrix]
    averaged: bool = False
    takes_missing: bool = True
    zero: float = 0.0
    """Cells at most this far from zero are read as zero."""
    vague: float = 0.0
    """How near to a tie probabilities, by which the label is told, may no longer tell raw scores apart."""
    precision: float = 2.0**-45
    """How exact probabilities are."""


def read_trees(model: Any) -> TreeSource | None:
    """Return the trees of a model, or None where it has none that we know how to read."""
    package = type(model).__module__.partition(".")[0]
    reader = _READERS.get((package, type(model).__name__))
    if reader is None:
        return None
    with the_users_code():
        return reader(model)


def _forest(model: Any) -> TreeSource | None:
    trees = [one.tree_ for one in model.estimators_] if hasattr(model, "estimators_") else [model.tree_]
    if any(tree.n_outputs != 1 for tree in trees):
        return None
    classifies = hasattr(model, "classes_")
    parts = [
        _sklearn_tree(tree, _shares(tree.value[:, 0]) if classifies else tree.value[:, 0]) for tree in trees
    ]
    raw = model.predict_proba if classifies else model.predict
    return TreeSource(_joined(parts), single=True, below=False, raw=_columns(raw), averaged=True)


def _shares(counts: Matrix) -> Matrix:
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def _gradient_boosting(model: Any) -> TreeSource | None:
    if type(model.init_).__name__ not in ("DummyClassifier", "DummyRegressor", "str"):
        # It begins with what another model says of the row.
        return None
    stages = model.estimators_
    width = stages.shape[1]
    parts = [
        _sklearn_tree(one.tree_, _in_column(one.tree_.value[:, 0, 0] * model.learning_rate, k, width))
        for stage in stages
        for k, one in enumerate(stage)
    ]
    raw = model.decision_function if hasattr(model, "classes_") else model.predict
    return TreeSource(_joined(parts), single=True, below=False, raw=_columns(raw), takes_missing=False)


def _sklearn_tree(tree: Any, value: Matrix) -> Nodes:
    missing = getattr(tree, "missing_go_to_left", np.zeros(tree.node_count))
    return Nodes(
        feature=np.asarray(tree.feature, dtype=np.int64),
        threshold=np.asarray(tree.threshold, dtype=np.float64),
        left=np.asarray(tree.children_left, dtype=np.int64),
        right=np.asarray(tree.children_right, dtype=np.int64),
        missing_left=np.asarray(missing, dtype=bool),
        value=np.asarray(value, dtype=np.float64),
        roots=np.zeros(1, dtype=np.int64),
    )


def _hist_gradient_boosting(model: Any) -> TreeSource | None:
    predictors = model._predictors
    # Categories are moved to the front and recoded before the trees see them.
    if not predictors or (model.is_categorical_ is not None and any(model.is_categorical_)):
        return None
    width = len(predictors[0])
    tables = [(predictor.nodes, k) for stage in predictors for k, predictor in enumerate(stage)]
    raw = model.decision_function if hasattr(model, "classes_") else model.predict
    parts = [_hist_tree(nodes, _in_column(nodes["value"], k, width)) for nodes, k in tables]
    return TreeSource(_joined(parts), single=False, below=False, raw=_columns(raw))


def _hist_tree(nodes: Any, value: Matrix) -> Nodes:
    leaf = nodes["is_leaf"].astype(bool)
    return Nodes(
        feature=nodes["feature_idx"].astype(np.int64),
        threshold=nodes["num_threshold"].astype(np.float64),
        left=np.where(leaf, -1, nodes["left"].astype(np.int64)),
        right=np.where(leaf, -1, nodes["right"].astype(np.int64)),
        missing_left=nodes["missing_go_to_left"].astype(bool),
        value=value,
        roots=np.zeros(1, dtype=np.int64),
    )


# Objectives whose raw sums are the value, or give the label by the highest of them.
_XGBOOST_OBJECTIVES = frozenset(
    [
        "binary:logistic",
        "multi:softprob",
        "multi:softmax",
        "reg:squarederror",
        "reg:squaredlogerror",
        "reg:absoluteerror",
        "reg:pseudohubererror",
    ]
)


def _xgboost(model: Any) -> TreeSource | None:
    booster = model.get_booster()
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    if learner["gradient_booster"]["name"] != "gbtree" or "c" in learner.get("feature_types", ()):
        return None
    # Another value than NaN may stand for a missing cell, and a loss of the user's own has no known link.
    if not is_missing(model.missing) or callable(model.objective):
        return None
    if learner["objective"]["name"] not in _XGBOOST_OBJECTIVES:
        return None
    kept = learner["gradient_booster"]["model"]
    trees, classes = kept["trees"], kept["tree_info"]
    if any(any(tree["split_type"]) or int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in trees):
        return None
    used = _used_trees(model, kept)
    if not used:
        return None
    width = max(classes) + 1
    parts = [_xgboost_tree(trees[i], classes[i], width) for i in range(used)]
    raw = _columns(lambda rows: model.predict(rows, output_margin=True))
    # Labels come from probabilities of 32 bits.
    return TreeSource(_joined(parts), single=True, below=True, raw=raw, vague=2.0**-20, precision=2.0**-20)


def _used_trees(model: Any, kept: Any) -> int:
    """After early stopping `predict` uses the rounds up to the best one."""
    try:
        best = int(model.best_iteration)
    except AttributeError:
        return len(kept["trees"])
    return int(kept["iteration_indptr"][best + 1])


def _xgboost_tree(tree: Any, column: int, width: int) -> Nodes:
    threshold = np.asarray(tree["split_conditions"], dtype=np.float32).astype(np.float64)
    left = np.asarray(tree["left_children"], dtype=np.int64)
    return Nodes(
        feature=np.asarray(tree["split_indices"], dtype=np.int64),
        threshold=threshold,
        left=left,
        right=np.asarray(tree["right_children"], dtype=np.int64),
        missing_left=np.asarray(tree["default_left"], dtype=bool),
        # XGBoost keeps a leaf's value where a split has its threshold.
        value=_in_column(np.where(left < 0, threshold, 0.0), column, width),
        roots=np.zeros(1, dtype=np.int64),
    )


# Objectives whose raw sums are the value, or give the label by the highest of them; "regression sqrt" is not.
_LIGHTGBM_OBJECTIVES = frozenset(
    ["regression", "regression_l1", "huber", "fair", "quantile", "mape", "binary", "multiclass"]
)
# With these `predict` leaves out trees, or stops adding them up where the label seems clear.
_LIGHTGBM_SHORTCUTS = ("pred_early_stop", "num_iteration_predict", "start_iteration_predict")
_UNSET = (None, False, 0, -1)


def _lightgbm(model: Any) -> TreeSource | None:
    booster = model.booster_
    dump = booster.dump_model(num_iteration=booster.best_iteration)
    settings = {**booster.params, **model.get_params()}
    if dump["average_output"] or any(settings.get(name, 0) not in _UNSET for name in _LIGHTGBM_SHORTCUTS):
        return None
    objective = str(dump.get("objective", "")).split()
    if not objective or objective[0] not in _LIGHTGBM_OBJECTIVES or "sqrt" in objective:
        return None
    width = dump["num_tree_per_iteration"]
    parts = [
        _lightgbm_tree(one["tree_structure"], k % width, width) for k, one in enumerate(dump["tree_info"])
    ]
    if not parts or any(part is None for part in parts):
        return None
    raw = _columns(lambda rows: model.predict(rows, raw_score=True))
    nodes = _joined([part for part in parts if part is not None])
    # Without missing cells in training LightGBM reads them as zero, which `missing_left` does not tell.
    zero = float(np.float32(1e-35))
    # Labels come from probabilities; of 64 bits.
    return TreeSource(
        nodes, single=False, below=False, raw=raw, takes_missing=False, zero=zero, vague=2.0**-45
    )


def _lightgbm_tree(root: Any, column: int, width: int) -> Nodes | None:
    order = [root]
    left: list[int] = []
    right: list[int] = []
    for node in order:  # grows while it is read
        if "left_child" not in node:
            if node.get("leaf_coeff"):
                # A linear model in the leaf.
                return None
            left.append(-1)
            right.append(-1)
            continue
        if node["decision_type"] != "<=" or node["missing_type"] == "Zero":
            # Sets of categories, and zeros that stand for missing cells.
            return None
        left.append(len(order))
        right.append(len(order) + 1)
        order += [node["left_child"], node["right_child"]]
    value = np.array([node.get("leaf_value", 0.0) for node in order])
    return Nodes(
        feature=np.array([node.get("split_feature", 0) for node in order], dtype=np.int64),
        threshold=np.array([node.get("threshold", 0.0) for node in order]),
        left=np.array(left, dtype=np.int64),
        right=np.array(right, dtype=np.int64),
        missing_left=np.array([bool(node.get("default_left", False)) for node in order]),
        value=_in_column(value, column, width),
        roots=np.zeros(1, dtype=np.int64),
    )


def _in_column(value: Any, column: int, width: int) -> Matrix:
    placed = np.zeros((len(value), width))
    placed[:, column] = value
    return placed


def _columns(ask: Callable[[Any], Any]) -> Callable[[Any], Matrix]:
    def raw(rows: Any) -> Matrix:
        answer = np.asarray(ask(rows), dtype=np.float64)
        return answer[:, None] if answer.ndim == 1 else answer

    return raw


def _joined(parts: Sequence[Nodes]) -> Nodes:
    """Return one table of several, with children and roots renumbered."""
    shifts = np.cumsum([0, *(len(part.left) for part in parts)])[:-1]
    moved = [
        replace(
            part,
            left=np.where(part.left < 0, -1, part.left + shift),
            right=np.where(part.left < 0, -1, part.right + shift),
            roots=part.roots + shift,
        )
        for part, shift in zip(parts, shifts, strict=True)
    ]

    def column(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in moved])

    return Nodes(*(column(name) for name in Nodes.__dataclass_fields__))


def _sklearn(names: Iterable[str], reader: Callable[[Any], TreeSource | None]) -> dict[Any, Any]:
    return {("sklearn", f"{name}{kind}"): reader for name in names for kind in ("Classifier", "Regressor")}


_READERS: dict[tuple[str, str], Callable[[Any], TreeSource | None]] = {
    **_sklearn(("DecisionTree", "ExtraTree", "RandomForest", "ExtraTrees"), _forest),
    **_sklearn(("GradientBoosting",), _gradient_boosting),
    **_sklearn(("HistGradientBoosting",), _hist_gradient_boosting),
    ("xgboost", "XGBClassifier"): _xgboost,
    ("xgboost", "XGBRegressor"): _xgboost,
    ("xgboost", "XGBRFClassifier"): _xgboost,
    ("xgboost", "XGBRFRegressor"): _xgboost,
    ("lightgbm", "LGBMClassifier"): _lightgbm,
    ("lightgbm", "LGBMRegressor"): _lightgbm,
}

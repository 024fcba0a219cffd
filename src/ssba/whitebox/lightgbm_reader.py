"""Reading LightGBM's trees from what it dumps of a model."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ssba.arrays import Matrix
from ssba.columns.frames import read_columns
from ssba.whitebox.check_reading import NotReadable
from ssba.whitebox.inputs import coded, dense, places
from ssba.whitebox.nodes import Nodes, Rows, Shape, TreeSource, as_columns, in_column, joined, one_tree

# Objectives whose raw sums are the value, or give the label by the highest of them; "regression sqrt" is not.
_OBJECTIVES = frozenset(
    ["regression", "regression_l1", "huber", "fair", "quantile", "mape", "binary", "multiclass"]
)
# With these `predict` leaves out trees, or stops adding them up where the label seems clear.
_SHORTCUTS = ("pred_early_stop", "num_iteration_predict", "start_iteration_predict")
_UNSET = (None, False, 0, -1)
# Numbers nearer to zero than this are zero to LightGBM.
_ZERO = float(np.float32(1e-35))


def lightgbm_model(model: Any, _: Rows) -> TreeSource:
    """Read a model with scikit-learn's methods."""
    settings = {**model.booster_.params, **model.get_params()}
    return _source(model.booster_, settings, lambda rows: model.predict(rows, raw_score=True))


def lightgbm_booster(booster: Any, _: Rows) -> TreeSource:
    """Read LightGBM's own booster."""
    return _source(booster, booster.params, lambda rows: booster.predict(rows, raw_score=True))


def _source(booster: Any, settings: Mapping[str, Any], ask: Callable[[Any], Any]) -> TreeSource:
    # After early stopping `predict` uses the rounds up to the best one.
    dump = booster.dump_model(num_iteration=booster.best_iteration)
    if dump["average_output"]:
        raise NotReadable("LightGBM averages the trees of this model instead of adding them up")
    shortcuts = [name for name in _SHORTCUTS if settings.get(name, 0) not in _UNSET]
    if shortcuts:
        raise NotReadable(f"LightGBM's setting {shortcuts[0]} leaves trees out of the sums")
    objective = str(dump.get("objective", "")).split() or ["of the user's own"]
    if objective[0] not in _OBJECTIVES or "sqrt" in objective:
        raise NotReadable(f"LightGBM's objective {' '.join(objective)} is not one that can be opened")
    width = dump["num_tree_per_iteration"]
    trees = [one["tree_structure"] for one in dump["tree_info"]]
    if not trees:
        raise NotReadable("the LightGBM model has no trees")
    return TreeSource(
        joined([_tree(root, k % width, width) for k, root in enumerate(trees)]),
        single=False,
        below=False,
        raw=as_columns(ask),
        inputs=_inputs(dump["pandas_categorical"] or []),
        zero=_ZERO,
        # Labels come from probabilities; of 64 bits.
        vague=2.0**-45,
    )


def _inputs(categories: Sequence[Sequence[Any]]) -> Callable[[Any], Matrix]:
    """Return how rows become numbers: a category of a frame by its place in the list of its training."""

    def inputs(rows: Any) -> Matrix:
        columns = read_columns(rows)
        categorical = [j for j, column in enumerate(columns) if column.dtype == "category"]
        return coded(columns, dict(zip(categorical, map(places, categories), strict=True)))

    return inputs if categories else dense


def _tree(root: Any, column: int, width: int) -> Nodes:
    order = [root]
    left: list[int] = []
    right: list[int] = []
    for node in order:  # grows while it is read
        if "left_child" not in node:
            if node.get("leaf_coeff"):
                raise NotReadable("the leaves of the LightGBM model are linear models")
            left.append(-1)
            right.append(-1)
            continue
        if node["decision_type"] not in ("<=", "==") or node["missing_type"] == "Zero":
            raise NotReadable("the LightGBM model reads zeros as missing cells")
        left.append(len(order))
        right.append(len(order) + 1)
        order += [node["left_child"], node["right_child"]]
    by_level = {i: node for i, node in enumerate(order) if node.get("decision_type") == "=="}
    shape = Shape(
        feature=[node.get("split_feature", 0) for node in order],
        threshold=[0.0 if i in by_level else node.get("threshold", 0.0) for i, node in enumerate(order)],
        left=left,
        right=right,
        missing_left=[_sends_missing_left(node) for node in order],
        sets={i: [float(code) for code in node["threshold"].split("||")] for i, node in by_level.items()},
    )
    return one_tree(shape, in_column([node.get("leaf_value", 0.0) for node in order], column, width))


def _sends_missing_left(node: Any) -> bool:
    """Tell where a missing cell goes: one that training never saw is zero, a missing category goes right."""
    if node.get("decision_type") != "<=":
        return False
    return bool(node["default_left"]) if node["missing_type"] == "NaN" else bool(node["threshold"] >= 0)

"""Reading XGBoost's trees from the JSON that it writes of a model."""

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from ssba.arrays import Matrix
from ssba.columns.features import is_missing
from ssba.columns.frames import read_columns
from ssba.whitebox.check_reading import NotReadable
from ssba.whitebox.inputs import coded, dense, places
from ssba.whitebox.nodes import Nodes, Rows, Shape, TreeSource, as_columns, in_column, joined, one_tree

# Objectives whose raw sums are the value, or give the label by the highest of them.
_OBJECTIVES = frozenset(
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


def xgboost_model(model: Any, _: Rows) -> TreeSource:
    """Read a model with scikit-learn's methods."""
    if not is_missing(model.missing):
        raise NotReadable(f"XGBoost reads {model.missing!r} as a missing cell")
    if callable(model.objective):
        raise NotReadable("the objective of the XGBoost model is a function, and its link is not known")
    learner = _learner(model.get_booster())
    try:
        # After early stopping `predict` uses the rounds up to the best one.
        rounds: int | None = int(model.best_iteration) + 1
    except AttributeError:
        rounds = None
    return _source(learner, rounds, lambda rows: model.predict(rows, output_margin=True))


def xgboost_booster(booster: Any, _: Rows) -> TreeSource:
    """Read XGBoost's own booster, which uses all of its rounds."""
    learner = _learner(booster)
    if learner["objective"]["name"] == "multi:softmax":
        raise NotReadable("an XGBoost Booster with objective multi:softmax answers with numbers of classes")
    return _source(learner, None, lambda rows: booster.inplace_predict(rows, predict_type="margin"))


def _learner(booster: Any) -> Any:
    return json.loads(bytes(booster.save_raw("json")))["learner"]


def _source(learner: Any, rounds: int | None, ask: Callable[[Any], Any]) -> TreeSource:
    kind, objective = learner["gradient_booster"]["name"], learner["objective"]["name"]
    if kind != "gbtree":
        raise NotReadable(f"XGBoost's booster {kind} is not a plain sum of trees")
    if objective not in _OBJECTIVES:
        raise NotReadable(f"XGBoost's objective {objective} is not one that can be opened")
    kept = learner["gradient_booster"]["model"]
    trees, classes = kept["trees"], kept["tree_info"]
    used = len(trees) if rounds is None else int(kept["iteration_indptr"][rounds])
    if not used:
        raise NotReadable("the XGBoost model has no trees")
    if any(int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in trees):
        raise NotReadable("the XGBoost model predicts several targets in one tree")
    width = max(classes) + 1
    nodes = joined([_tree(trees[i], classes[i], width) for i in range(used)])
    # Labels come from probabilities of 32 bits.
    return TreeSource(
        nodes,
        single=True,
        below=True,
        raw=as_columns(ask),
        inputs=_inputs(learner, kept),
        vague=2.0**-20,
        precision=2.0**-20,
    )


def _inputs(learner: Any, kept: Any) -> Callable[[Any], Matrix]:
    """Return how rows become numbers: categories of a frame by their place in the model's own list."""
    stored = kept.get("cats", {}).get("enc", [])
    categorical = [j for j, kind in enumerate(learner.get("feature_types", ())) if kind == "c"]
    # Without a list the model was trained on codes, and is asked with codes.
    readers = {j: places(_levels(stored[j])) for j in categorical if stored}
    return (lambda rows: coded(read_columns(rows), readers)) if readers else dense


def _levels(stored: Any) -> list[Any]:
    if "offsets" not in stored:
        return list(stored["values"])
    text = np.array(stored["values"], dtype=np.int8).tobytes()
    ends = stored["offsets"]
    return [text[begin:end].decode() for begin, end in pairwise(ends)]


def _tree(tree: Any, column: int, width: int) -> Nodes:
    threshold = np.asarray(tree["split_conditions"], dtype=np.float32).astype(np.float64)
    left = np.asarray(tree["left_children"], dtype=np.int64)
    right = np.asarray(tree["right_children"], dtype=np.int64)
    missing_left = np.asarray(tree["default_left"], dtype=bool)
    # A category in the set goes right, and any other left: the children are swapped.
    by_level = np.asarray(tree["split_type"], dtype=bool) & (left >= 0)
    shape = Shape(
        feature=tree["split_indices"],
        threshold=threshold,
        left=np.where(by_level, right, left),
        right=np.where(by_level, left, right),
        missing_left=missing_left ^ by_level,
        sets=_sets(tree),
    )
    # XGBoost keeps a leaf's value where a split has its threshold.
    return one_tree(shape, in_column(np.where(left < 0, threshold, 0.0), column, width))


def _sets(tree: Any) -> dict[int, list[float]]:
    begins, sizes = tree["categories_segments"], tree["categories_sizes"]
    return {
        node: tree["categories"][begin : begin + size]
        for node, begin, size in zip(tree["categories_nodes"], begins, sizes, strict=True)
    }

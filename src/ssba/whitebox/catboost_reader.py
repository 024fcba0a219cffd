"""Reading CatBoost's trees from the JSON that it exports, by way of a temporary file."""

import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, final

import numpy as np

from ssba.arrays import Matrix
from ssba.columns.frames import read_columns
from ssba.whitebox.check_reading import NotReadable
from ssba.whitebox.inputs import CellReader, coded, dense
from ssba.whitebox.nodes import Nodes, Rows, Shape, TreeSource, as_columns, joined, one_tree
from ssba.whitebox.scoring import Threshold

# Losses whose raw sums are the value, or give the label by the highest of them.
_TWO_CLASSES = ("Logloss", "CrossEntropy")
_LOSSES = frozenset([*_TWO_CLASSES, "MultiClass", "RMSE", "MAE", "Quantile", "MAPE"])


def catboost_model(model: Any, rows: Rows) -> TreeSource:
    """Read a model with scikit-learn's methods; every category that matters must occur in the rows."""
    loss = str(model.get_all_params().get("loss_function", "")).partition(":")[0]
    if loss not in _LOSSES:
        raise NotReadable(f"CatBoost's loss {loss} is not one that can be opened")
    exported = _exported(model, rows)
    features, scale = exported["features_info"], exported["scale_and_bias"][0]
    trees = exported.get("oblivious_trees") or exported.get("trees")
    if not trees:
        raise NotReadable("the CatBoost model has no trees")
    return TreeSource(
        joined([_tree(tree, features, scale) for tree in trees]),
        # CatBoost compares floats of 32 bits, and adds up in 64.
        single=True,
        below=False,
        raw=as_columns(partial(model.predict, prediction_type="RawFormulaVal")),
        inputs=_inputs(features),
        threshold=_threshold(model) if loss in _TWO_CLASSES else None,
        # Labels may come from probabilities; of 64 bits.
        vague=2.0**-45,
    )


def _exported(model: Any, rows: Rows) -> Any:
    """Return the model as JSON, with the hashes of the categories that occur in the rows."""
    categorical = model.get_cat_feature_indices()
    pool = sys.modules["catboost"].Pool(rows(), cat_features=categorical) if len(categorical) else None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json", pool=pool)
        return json.loads(path.read_text(encoding="utf-8"))


def _threshold(model: Any) -> Threshold | None:
    limit = float(model.get_probability_threshold())
    return None if limit == 0.5 else Threshold(None, limit, by_probability=True)


def _inputs(features: Any) -> Callable[[Any], Matrix]:
    """Return how rows become numbers: a category by the hash of its text."""
    hashes = {one["value"]: float(one["hash"]) for one in features.get("cat_features_hash", ())}
    categorical = [one["flat_feature_index"] for one in features.get("categorical_features", ())]
    readers: dict[int, CellReader] = dict.fromkeys(
        categorical, lambda cell: hashes.get(_written(cell), float("nan"))
    )
    return (lambda rows: coded(read_columns(rows), readers)) if readers else dense


def _written(cell: Any) -> str:
    """Return the text that CatBoost makes of a category; whole numbers come here as floats."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


@final
@dataclass(frozen=True)
class _Split:
    """What a node asks: a number, or whether a category is a certain one."""

    feature: int = 0
    border: float = 0.0
    level: float | None = None
    missing_left: bool = False


_LEAF = _Split()


def _split(split: Any, features: Any) -> _Split:
    kind = split["split_type"]
    if kind == "FloatFeature":
        one = _described(features["float_features"], split["float_feature_index"])
        border = float(np.float32(split["border"]))
        return _Split(one["flat_feature_index"], border, missing_left=one["nan_value_treatment"] != "AsTrue")
    if kind == "OneHotFeature":
        one = _described(features["categorical_features"], split["cat_feature_index"])
        return _Split(one["flat_feature_index"], level=float(split["value"] % 2**32))
    if kind == "OnlineCtr":
        raise NotReadable(
            "CatBoost with categorical features uses target statistics, which are not opened; train it with "
            "one_hot_max_size at least the number of levels to do without them"
        )
    raise NotReadable(f"CatBoost's splits of the kind {kind} are not opened")


def _described(features: Any, index: int) -> Any:
    return next(one for one in features if one["feature_index"] == index)


def _tree(tree: Any, features: Any, scale: float) -> Nodes:
    """Return one tree, whether all nodes of a level ask the same or each its own."""
    return _symmetric(tree, features, scale) if "leaf_values" in tree else _nested(tree, features, scale)


def _symmetric(tree: Any, features: Any, scale: float) -> Nodes:
    """Return a tree whose levels ask one split each; bit i of a leaf's place is split i, the root's last."""
    levels = [_split(one, features) for one in reversed(tree["splits"] or [])]
    leaves = 2 ** len(levels)
    asked = np.repeat(np.arange(len(levels)), 2 ** np.arange(len(levels)))
    asks = [levels[i] for i in asked] + [_LEAF] * leaves
    children = 1 + 2 * np.arange(leaves - 1)
    no_child = np.full(leaves, -1)
    # Whatever a split is true of goes right. Of categories that is turned around: the set goes left.
    turned = sum(leaves >> (i + 1) for i, split in enumerate(levels) if split.level is not None)
    value = np.reshape(tree["leaf_values"], (leaves, -1))[np.arange(leaves) ^ turned]
    shape = _shape(asks, np.append(children, no_child), np.append(children + 1, no_child))
    return one_tree(shape, scale * np.concatenate([np.zeros((leaves - 1, value.shape[1])), value]))


def _nested(tree: Any, features: Any, scale: float) -> Nodes:
    """Return a tree whose nodes ask a split each."""
    order = [tree]
    splits: list[_Split] = []
    left: list[int] = []
    right: list[int] = []
    for node in order:  # grows while it is read
        is_leaf = "split" not in node
        split = _LEAF if is_leaf else _split(node["split"], features)
        splits.append(split)
        left.append(-1 if is_leaf else len(order))
        right.append(-1 if is_leaf else len(order) + 1)
        if not is_leaf:
            order += [
                node[side] for side in (("left", "right") if split.level is None else ("right", "left"))
            ]
    width = max(np.size(node.get("value", 0.0)) for node in order)
    value = [np.broadcast_to(np.asarray(node.get("value", 0.0), dtype=float), width) for node in order]
    return one_tree(_shape(splits, left, right), scale * np.stack(value))


def _shape(splits: Sequence[_Split], left: Any, right: Any) -> Shape:
    return Shape(
        feature=[split.feature for split in splits],
        threshold=[split.border for split in splits],
        left=left,
        right=right,
        missing_left=[split.missing_left for split in splits],
        sets={i: [split.level] for i, split in enumerate(splits) if split.level is not None},
    )

"""How many nodes the trees of a model have, counted without reading them."""

import re
from collections.abc import Callable
from typing import Any

from ssba.whitebox.structure import one_a_class


def count_nodes(model: Any) -> int | None:
    """Return how many nodes a model's trees have; None where it is not of trees that can be read."""
    inner = one_a_class(model)
    if inner is not None:
        counts = [count_nodes(one) for one in inner]
        return None if None in counts else sum(one for one in counts if one is not None)
    package, name = type(model).__module__.partition(".")[0], type(model).__name__
    count = _COUNTS.get((package, name.removesuffix("Classifier").removesuffix("Regressor")))
    return None if count is None else count(model)


def _forest(model: Any) -> int:
    trees = model.estimators_ if hasattr(model, "estimators_") else [model]
    return sum(int(one.tree_.node_count) for one in trees)


def _gradient_boosting(model: Any) -> int:
    return sum(int(one.tree_.node_count) for one in model.estimators_.ravel())


def _hist_gradient_boosting(model: Any) -> int:
    return sum(len(one.nodes) for stage in model._predictors for one in stage)


def _xgboost_booster(booster: Any) -> int:
    # XGBoost writes how many nodes a tree has into its JSON, which is quick to make and slow to read.
    found = re.findall(rb'"num_nodes":"(\d+)"', bytes(booster.save_raw("json")))
    return sum(map(int, found))


def _lightgbm_booster(booster: Any) -> int:
    found = re.findall(r"^num_leaves=(\d+)$", booster.model_to_string(), flags=re.MULTILINE)
    return sum(2 * int(leaves) - 1 for leaves in found)


def _catboost(model: Any) -> int:
    return sum(2 * int(leaves) - 1 for leaves in model.get_tree_leaf_counts())


_COUNTS: dict[tuple[str, str], Callable[[Any], int]] = {
    **{("sklearn", name): _forest for name in ("DecisionTree", "ExtraTree", "RandomForest", "ExtraTrees")},
    ("sklearn", "GradientBoosting"): _gradient_boosting,
    ("sklearn", "HistGradientBoosting"): _hist_gradient_boosting,
    **{("xgboost", name): lambda model: _xgboost_booster(model.get_booster()) for name in ("XGB", "XGBRF")},
    ("xgboost", "Booster"): _xgboost_booster,
    ("lightgbm", "LGBM"): lambda model: _lightgbm_booster(model.booster_),
    ("lightgbm", "Booster"): _lightgbm_booster,
    ("catboost", "CatBoost"): _catboost,
}

"""The last step of a model, which answers, as layers: linear models, kernel machines, networks and trees."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, final

import numpy as np
import torch
from torch import nn

from ssba.arrays import Matrix
from ssba.twins.layers import Affine, Kernels, Link, LinkKind, Votes
from ssba.twins.trees import Trees
from ssba.whitebox.additive import is_linear
from ssba.whitebox.check_reading import NotReadable, the_users_code
from ssba.whitebox.inputs import dense
from ssba.whitebox.nodes import TreeSource
from ssba.whitebox.structure import one_a_class
from ssba.whitebox.tree_readers import read_trees

# Of the largest score: how far sums of leaves in 32 bits may be from the model's own.
_ACCURACY = 1e-4
_MACHINES = ("SVC", "NuSVC", "SVR", "NuSVR")
_ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "identity": nn.Identity,
    "logistic": nn.Sigmoid,
    "tanh": nn.Tanh,
    "relu": nn.ReLU,
}


@final
@dataclass(frozen=True)
class Head:
    """Raw scores, what they become, and the model's own method that gives the same (see `Twin.method`)."""

    raw: nn.Module
    link: LinkKind
    method: str | None = None
    classes: tuple[Any, ...] | None = None

    @property
    def layers(self) -> nn.Module:
        """The whole head as one layer."""
        return nn.Sequential(self.raw, Link(self.link))


def head_of(last: Any, rows: Any) -> Head:
    """Return the layers of an estimator; `rows` are some rows in its own form, which trees are tried on."""
    package, kind = type(last).__module__.partition(".")[0], type(last).__name__
    if one_a_class(last) is not None or package == "catboost":
        raise NotReadable("it is of no kind that is known")
    if package == "sklearn" and kind in _MACHINES:
        return _machine(last, kind)
    if package == "sklearn" and kind in ("MLPClassifier", "MLPRegressor"):
        return _network(last)
    return _linear(last, kind) if is_linear(last) else _trees(last, package, kind, rows)


def _linear(last: Any, kind: str) -> Head:
    coefficients = last.coef_.toarray() if hasattr(last.coef_, "toarray") else last.coef_
    weight = np.atleast_2d(coefficients).T
    raw = Affine(weight, np.broadcast_to(np.ravel(last.intercept_), weight.shape[1]).copy())
    if not hasattr(last, "classes_"):
        return Head(raw, "number")
    classes = _classes(last)
    if kind in ("LogisticRegression", "LogisticRegressionCV", "LinearDiscriminantAnalysis"):
        each_alone = len(classes) == 2 or "ovr" in (getattr(last, "multi_class", None), _liblinear(last))
        return Head(raw, "logistic" if each_alone else "softmax", "predict_proba", classes)
    if kind == "SGDClassifier" and last.loss == "log_loss":
        return Head(raw, "logistic", "predict_proba", classes)
    return Head(raw, "score", "decision_function", classes)


def _liblinear(last: Any) -> str | None:
    """Return that a solver tells each class from all others, where it does."""
    return "ovr" if getattr(last, "solver", None) == "liblinear" else None


def _machine(last: Any, kind: str) -> Head:
    if last.kernel not in ("linear", "poly", "rbf", "sigmoid"):
        named = "of the user's own" if callable(last.kernel) else repr(last.kernel)
        raise NotReadable(f"its kernel is {named}; the kernels linear, poly, rbf and sigmoid are known")
    dual, support = (
        np.asarray(one.toarray() if hasattr(one, "toarray") else one)
        for one in (last.dual_coef_, last.support_vectors_)
    )
    classes = _classes(last) if kind in ("SVC", "NuSVC") else None
    several = classes is not None and len(classes) > 2
    if several and last.decision_function_shape != "ovr":
        raise NotReadable(
            "its decision_function_shape is 'ovo', scores of pairs of classes; set it to 'ovr', which "
            "changes no label"
        )
    weight = _of_pairs(dual, last.n_support_) if several else dual.T
    raw: nn.Module = Kernels(
        support,
        Affine(weight, last.intercept_),
        kernel=last.kernel,
        gamma=float(last._gamma),
        coef0=float(last.coef0),
        degree=int(last.degree),
    )
    if classes is None:
        return Head(raw, "number")
    if several:
        raw = nn.Sequential(raw, Votes(len(classes), break_ties=bool(last.break_ties)))
    return Head(raw, "score", "decision_function", classes)


def _of_pairs(dual: Matrix, counts: Any) -> Matrix:
    """Return the weight of every support vector in the decision between each two classes.

    A support vector of class i has a coefficient against each other class: those before i stand in the rows
    of their own numbers, those behind it one row higher.
    """
    ends = np.cumsum([0, *counts])
    own = [slice(begin, end) for begin, end in pairwise(ends)]
    pairs = list(combinations(range(len(own)), 2))
    weight = np.zeros((dual.shape[1], len(pairs)))
    for k, (i, j) in enumerate(pairs):
        weight[own[i], k] = dual[j - 1, own[i]]
        weight[own[j], k] = dual[i, own[j]]
    return weight


def _network(last: Any) -> Head:
    layers: list[nn.Module] = []
    for weight, intercept in zip(last.coefs_, last.intercepts_, strict=True):
        layers += [Affine(weight, intercept), _ACTIVATIONS[last.activation]()]
    raw = nn.Sequential(*layers[:-1])
    if not hasattr(last, "classes_"):
        if last.out_activation_ != "identity":
            raise NotReadable(f"its loss puts {last.out_activation_} behind the last layer")
        return Head(raw, "number")
    return Head(
        raw, "logistic" if last.out_activation_ == "logistic" else "softmax", "predict_proba", _classes(last)
    )


def _trees(last: Any, package: str, kind: str, rows: Any) -> Head:
    source = read_trees(last, lambda: rows)
    if source.nodes.sets or source.inputs is not dense:
        raise NotReadable("its trees split categories, and only splits of numbers are known")
    offset = _offset(source, rows)
    link, scale = _tree_link(last, package, kind, source)
    raw: nn.Module = Trees(source, offset)
    if scale != 1.0:
        width = len(offset)
        raw = nn.Sequential(raw, Affine(scale * np.eye(width), np.zeros(width)))
    if link == "number":
        return Head(raw, link)
    if hasattr(last, "classes_"):
        return Head(raw, link, "predict_proba", _classes(last))
    return Head(raw, link, None, (0, 1) if len(offset) == 1 else tuple(range(len(offset))))


def _offset(source: TreeSource, rows: Any) -> Matrix:
    """Return what the model adds to the sums of its leaves, read off its own sums for some rows."""
    width = source.nodes.value.shape[1]
    if source.averaged:
        return np.zeros(width)
    bare = Trees(source, np.zeros(width))
    with the_users_code():
        own = source.raw(rows)
    apart = own - bare(torch.tensor(dense(rows))).numpy()
    offset = np.median(apart, axis=0)
    if np.abs(apart - offset).max() > _ACCURACY * max(1.0, float(np.abs(own).max())):
        raise NotReadable("its answers are not sums of the leaves of its trees (its loss may bend them)")
    return np.asarray(offset)


def _tree_link(last: Any, package: str, kind: str, source: TreeSource) -> tuple[LinkKind, float]:
    """Return how sums of leaves become answers, and what they are multiplied by before."""
    width = source.nodes.value.shape[1]
    if package == "lightgbm":
        return _lightgbm_link(getattr(last, "booster_", last))
    if package == "xgboost":
        objective = str(_xgboost_objective(last))
        if objective.startswith("reg:"):
            return "number", 1.0
        return ("logistic" if width == 1 else "softmax"), 1.0
    if not hasattr(last, "classes_"):
        return "number", 1.0
    if source.averaged:
        return "score", 1.0
    bent = kind == "GradientBoostingClassifier" and last.loss == "exponential"
    return ("logistic" if width == 1 else "softmax"), 2.0 if bent else 1.0


def _lightgbm_link(booster: Any) -> tuple[LinkKind, float]:
    # One tree is enough to be told what they were grown for.
    name, *settings = booster.dump_model(num_iteration=1)["objective"].split()
    if name == "multiclass":
        return "softmax", 1.0
    if name != "binary":
        return "number", 1.0
    given = dict(one.split(":") for one in settings if ":" in one)
    return "logistic", float(given.get("sigmoid", 1.0))


def _xgboost_objective(last: Any) -> Any:
    booster = last.get_booster() if hasattr(last, "get_booster") else last
    return json.loads(booster.save_config())["learner"]["objective"]["name"]


def _classes(last: Any) -> tuple[Any, ...]:
    return tuple(np.asarray(last.classes_).tolist())

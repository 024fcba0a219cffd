"""The smallest feasible change that flips a trained model's decision, in your units and constraints."""

from ssba import datasets
from ssba.answer.result import Counterfactual, Evidence, Explanation, Explanations, Status
from ssba.boundary.points import BoundarySet
from ssba.errors import (
    ArgumentError,
    ConstraintError,
    ModelError,
    SchemaError,
    SsbaError,
    SsbaWarning,
    TargetError,
)
from ssba.explain import Budget, Explainer
from ssba.problem.constraints import (
    Constraint,
    between,
    constraint,
    decrease,
    fixed,
    increase,
    may_fill,
    one_of,
    relation,
    transition,
    within,
)
from ssba.problem.features import boolean, categorical, integer, numeric, ordinal
from ssba.problem.targets import probability, value_between
from ssba.search.robust import ball, score_margin
from ssba.version import __version__

__all__ = [
    "ArgumentError",
    "BoundarySet",
    "Budget",
    "Constraint",
    "ConstraintError",
    "Counterfactual",
    "Evidence",
    "Explainer",
    "Explanation",
    "Explanations",
    "ModelError",
    "SchemaError",
    "SsbaError",
    "SsbaWarning",
    "Status",
    "TargetError",
    "__version__",
    "ball",
    "between",
    "boolean",
    "categorical",
    "constraint",
    "datasets",
    "decrease",
    "fixed",
    "increase",
    "integer",
    "may_fill",
    "numeric",
    "one_of",
    "ordinal",
    "probability",
    "relation",
    "score_margin",
    "transition",
    "value_between",
    "within",
]

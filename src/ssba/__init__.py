"""The smallest feasible change that flips a trained model's decision, in your units and constraints."""

from ssba import datasets
from ssba.answer.result import Counterfactual, Evidence, Explanation, Explanations, Status
from ssba.errors import (
    ArgumentError,
    BoundaryFileError,
    ConstraintError,
    ModelError,
    SchemaError,
    SsbaError,
    SsbaWarning,
    TargetError,
)
from ssba.explain import Budget, Explainer
from ssba.index.boundary_set import BoundarySet, Neighbours
from ssba.index.checking import Verified
from ssba.index.opening import boundary_info, repair_boundary
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
    "BoundaryFileError",
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
    "Neighbours",
    "SchemaError",
    "SsbaError",
    "SsbaWarning",
    "Status",
    "TargetError",
    "Verified",
    "__version__",
    "ball",
    "between",
    "boolean",
    "boundary_info",
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
    "repair_boundary",
    "score_margin",
    "transition",
    "value_between",
    "within",
]

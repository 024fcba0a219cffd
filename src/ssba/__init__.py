"""The smallest feasible change that flips a trained model's decision, in your units and constraints."""

from ssba import datasets
from ssba.answer import charts
from ssba.answer.certificate import Certificate, CertificateCheck
from ssba.answer.charts_tracks import Surroundings
from ssba.answer.cohort import Cohort
from ssba.answer.levers import Menu
from ssba.answer.plans import Plan, Step
from ssba.answer.prose import paragraph
from ssba.answer.ranges import Ranges
from ssba.answer.report import ReportParts, write_report
from ssba.answer.result import Counterfactual, Evidence, Explanation, Explanations, Status
from ssba.answer.trials import Trial
from ssba.answer.ways import Way
from ssba.answer.whynot import WhyNot
from ssba.errors import (
    ArgumentError,
    BoundaryFileError,
    ConstraintError,
    InternalError,
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
from ssba.problem.suggest import Suggestions, suggest_constraints
from ssba.problem.targets import probability, value_between
from ssba.search.robust import ball, score_margin
from ssba.version import __version__

__all__ = [
    "ArgumentError",
    "BoundaryFileError",
    "BoundarySet",
    "Budget",
    "Certificate",
    "CertificateCheck",
    "Cohort",
    "Constraint",
    "ConstraintError",
    "Counterfactual",
    "Evidence",
    "Explainer",
    "Explanation",
    "Explanations",
    "InternalError",
    "Menu",
    "ModelError",
    "Neighbours",
    "Plan",
    "Ranges",
    "ReportParts",
    "SchemaError",
    "SsbaError",
    "SsbaWarning",
    "Status",
    "Step",
    "Suggestions",
    "Surroundings",
    "TargetError",
    "Trial",
    "Verified",
    "Way",
    "WhyNot",
    "__version__",
    "ball",
    "between",
    "boolean",
    "boundary_info",
    "categorical",
    "charts",
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
    "paragraph",
    "probability",
    "relation",
    "repair_boundary",
    "score_margin",
    "suggest_constraints",
    "transition",
    "value_between",
    "within",
    "write_report",
]

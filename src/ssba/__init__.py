"""The smallest feasible change that flips a trained model's decision, in your units and constraints."""

from ssba import datasets
from ssba.columns.features import boolean, categorical, integer, numeric, ordinal
from ssba.constraints.constraint import (
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
from ssba.explainer import Budget, Explainer
from ssba.index.boundary_set import BoundarySet, Neighbours
from ssba.index.open_index import boundary_info, repair_boundary
from ssba.index.verify_index import Verified
from ssba.models.targets import probability, value_between
from ssba.results.certificate.document import Certificate, CertificateCheck
from ssba.results.cohort.summary import Cohort
from ssba.results.explanation import Counterfactual, Evidence, Explanation, Explanations, Status
from ssba.results.levers import Menu
from ssba.results.line_scan import Way
from ssba.results.plan import Plan, Step
from ssba.results.prose import paragraph
from ssba.results.ranges import Ranges
from ssba.results.trial import Trial
from ssba.results.why_not import WhyNot
from ssba.search.robust import ball, score_margin
from ssba.suggest.suggestions import Suggestions, suggest_constraints
from ssba.version import __version__
from ssba.views import charts
from ssba.views.charts.tracks import Surroundings
from ssba.views.report.page import ReportParts, write_report

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

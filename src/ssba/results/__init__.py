"""What a person gets: plain data with a JSON form, sentences and tables.

Every result has `to_dict`, `to_json` and `from_json`, and says what it found in `sentence`.
"""

from ssba.results.certificate import Certificate, CertificateCheck, Check
from ssba.results.cohort.summary import Cohort, ColumnUse, Group, Member
from ssba.results.column import Column
from ssba.results.column_table import ColumnTable
from ssba.results.constraint_check import Allowed, ConstraintCheck
from ssba.results.explanation import Counterfactual, Evidence, Explanation, Explanations, Obstacle, Status
from ssba.results.levers import Lever, LeverTable
from ssba.results.line_scan import Crossing, LineScan
from ssba.results.plan import Plan, Step
from ssba.results.prediction import Prediction
from ssba.results.prose import paragraph
from ssba.results.ranges import Interval, Ranges
from ssba.results.trial import Trial
from ssba.results.why_not import Binding, Relaxation, WhyNot

__all__ = [
    "Allowed",
    "Binding",
    "Certificate",
    "CertificateCheck",
    "Check",
    "Cohort",
    "Column",
    "ColumnTable",
    "ColumnUse",
    "ConstraintCheck",
    "Counterfactual",
    "Crossing",
    "Evidence",
    "Explanation",
    "Explanations",
    "Group",
    "Interval",
    "Lever",
    "LeverTable",
    "LineScan",
    "Member",
    "Obstacle",
    "Plan",
    "Prediction",
    "Ranges",
    "Relaxation",
    "Status",
    "Step",
    "Trial",
    "WhyNot",
    "paragraph",
]

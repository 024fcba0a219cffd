"""All charts of results, in one place. They draw what they are given and never call a model.

matplotlib loads on use. Each takes `ax=` and returns the axes it drew on.
"""

from ssba.views.charts.answers import parallel_chart
from ssba.views.charts.changes import change_chart
from ssba.views.charts.cohort import distance_chart, distances_by_prediction, frequency_chart
from ssba.views.charts.decision_map import Axis, DecisionMap, decision_map
from ssba.views.charts.plans import line_chart, plan_chart
from ssba.views.charts.tracks import DataContext

__all__ = [
    "Axis",
    "DataContext",
    "DecisionMap",
    "change_chart",
    "decision_map",
    "distance_chart",
    "distances_by_prediction",
    "frequency_chart",
    "line_chart",
    "parallel_chart",
    "plan_chart",
]

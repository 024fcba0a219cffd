"""All charts of results, in one place. They draw what they are given and never call a model.

matplotlib loads on use. Each takes `ax=` and returns the axes it drew on.
"""

from ssba.answer.charts_answers import parallel_chart
from ssba.answer.charts_changes import change_chart
from ssba.answer.charts_cohort import distance_chart, distances_by_prediction, frequency_chart
from ssba.answer.charts_plans import plan_chart, way_chart
from ssba.answer.charts_tracks import Surroundings
from ssba.answer.plots import Axis, DecisionMap, decision_map

__all__ = [
    "Axis",
    "DecisionMap",
    "Surroundings",
    "change_chart",
    "decision_map",
    "distance_chart",
    "distances_by_prediction",
    "frequency_chart",
    "parallel_chart",
    "plan_chart",
    "way_chart",
]

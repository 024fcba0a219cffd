"""All charts of results, in one place. They draw what they are given and never call a model.

Most are a `Picture`, which is SVG. Lines and maps are matplotlib's, which loads on use: these take `ax=` and
return the axes they drew on.
"""

from ssba.views.charts.answers import parallel_chart
from ssba.views.charts.changes import change_chart
from ssba.views.charts.cohort import distance_chart, distances_by_prediction, frequency_chart
from ssba.views.charts.decision_map import Axis, DecisionMap, decision_map
from ssba.views.charts.line import line_chart
from ssba.views.charts.plans import plan_chart
from ssba.views.charts.tracks import DataContext
from ssba.views.picture import Picture

__all__ = [
    "Axis",
    "DataContext",
    "DecisionMap",
    "Picture",
    "change_chart",
    "decision_map",
    "distance_chart",
    "distances_by_prediction",
    "frequency_chart",
    "line_chart",
    "parallel_chart",
    "plan_chart",
]

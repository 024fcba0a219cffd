"""Charts of results: `ssba.charts.change_chart(explanation)` and the like. They never ask a model."""

from ssba.views.charts import *  # noqa: F403
from ssba.views.charts import __all__ as __all__

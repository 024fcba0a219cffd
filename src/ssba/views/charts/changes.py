"""The change chart: from the value now to the proposed one, against the data."""

from typing import TYPE_CHECKING, Any

from ssba.views.charts.tracks import tracks_of
from ssba.views.picture import Picture
from ssba.views.svg import tracks_picture

if TYPE_CHECKING:
    from ssba.results.explanation import Explanation


def change_chart(
    explanation: "Explanation",
    data: Any = None,
    *,
    answer: int = 0,
    only_changes: bool = False,
    title: str = "",
) -> Picture:
    """Draw each column from its value now to the proposed one, against the data.

    A line a column, from the lowest value of the data to the highest: the data's distribution in grey, what
    the constraints allow in green, the query as a ring, the proposed value as a diamond. Columns that a
    constraint holds are marked as fixed.

    Parameters
    ----------
    explanation : Explanation
        The result; its bounded move is drawn where there is no counterfactual.
    data : frame or DataContext, optional
        The background rows; or a `DataContext`, which also knows the allowed ranges and what columns mean.
    answer : int
        Which of several counterfactuals.
    only_changes : bool
        Leave out the columns that stay.
    title : str
        Above the picture.

    Examples
    --------
    >>> from ssba.views.charts import DataContext, change_chart
    >>> from ssba.results import Counterfactual, Explanation, Status
    >>> row = Counterfactual({"chol": 240, "sex": "male"}, {"chol": (286, 240)}, 1.0, "well")
    >>> found = Explanation(Status.FOUND, {"chol": 286, "sex": "male"}, "ill", None, "'well'",
    ...                          constraints=("sex == x.sex",), counterfactuals=(row,))
    >>> data = {"chol": [180, 210, 260, 300], "sex": ["male", "female", "male", "male"]}
    >>> change_chart(found, DataContext(data, allowed={"chol": (200, 286)})).title
    'chol: 286 to 240; sex: male, fixed'
    """
    tracks = tracks_of(explanation, data, answer, only_changes)
    return tracks_picture(tracks, bool(explanation.counterfactuals), title)

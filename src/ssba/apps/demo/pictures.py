"""The demo's pictures: the model's decision over two columns, and an answer against the data."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import ssba
from ssba.apps.demo.study import DISEASE, HEALTHY, LEVERS, PLANE, Lever, Study, declare
from ssba.results import Explanation
from ssba.views.charts import DataContext, Picture, change_chart
from ssba.views.charts.decision_map import Axis, DecisionMap, Point, decision_map

if TYPE_CHECKING:
    import pandas as pd


def draw_map(study: Study, patient: int) -> bytes:
    """Draw the model's decision over two columns, as PNG."""
    from matplotlib.figure import Figure

    # A figure of its own, not pyplot's: no window system is asked for.
    figure = Figure(figsize=(8, 6.4), layout="constrained")
    decision_map(map_of(study, patient), figure.subplots())
    written = BytesIO()
    figure.savefig(written, dpi=150)
    return written.getvalue()


def draw_changes(study: Study, answer: Explanation) -> Picture:
    """Draw every column now and proposed, against all patients the model was trained on."""
    allowed = {name: lever.allowed(answer.query[name]) for name, lever in LEVERS.items()}
    around = DataContext(study.train, {**allowed, "exang": ("no", answer.query["exang"])}, study.meanings)
    return change_chart(answer, around)


def map_of(study: Study, patient: int) -> DecisionMap:
    """The model's decision over two columns, with the patient's other cells held."""
    plane = Plane(study.model, study.held_out.loc[[patient]])
    answer = study.explainer.explain(plane.row, study.picture_rules)
    proposed = answer.best or answer.bounded
    x, y = (axis_of(study, LEVERS[name], answer.query[name]) for name in PLANE)
    return DecisionMap(
        x,
        y,
        reached=(plane.predict(grid(x.values, y.values)) == HEALTHY).reshape(len(y.values), len(x.values)),
        query=position(answer.query),
        outcomes=(DISEASE, HEALTHY),
        answer=None if proposed is None else position(proposed.values),
        answer_reaches=answer.best is not None,
        boundary=boundary_points(study, plane, grid(spread(x.values), spread(y.values))),
        population=study.train[list(PLANE)].to_numpy(),
        title=f"Patient {patient}: the model's answer, all other findings held",
    )


@dataclass(frozen=True)
class Plane:
    """The model seen through the picture's two columns: a patient's other cells are filled in."""

    model: Any
    row: "pd.DataFrame"

    @property
    def classes_(self) -> Any:
        """The classes of the model behind."""
        return self.model.classes_

    def predict(self, pairs: "pd.DataFrame") -> NDArray[Any]:
        """What the model says about the patient with these values in the two columns."""
        rows = self.row.loc[self.row.index.repeat(len(pairs))].set_axis(pairs.index)
        return np.asarray(self.model.predict(rows.assign(**{name: pairs[name] for name in PLANE})))


def position(values: Mapping[str, Any]) -> Point:
    """Where a row lies in the picture."""
    across, upward = (values[name] for name in PLANE)
    return across, upward


def axis_of(study: Study, lever: Lever, now: float) -> Axis:
    """All legal values of a column, from the lowest to the highest patient."""
    column = study.heart.columns[lever.column]
    seen = study.heart.frame[lever.column]
    per_unit = 1 if column.kind == "integer" else 10
    # Counted in whole steps, so that 0.3 is not 0.30000000000000004.
    steps = np.arange(round(seen.min() * per_unit), round(seen.max() * per_unit) + 1)
    return Axis(column.meaning, steps / per_unit, column.unit, lever.allowed(now))


def grid(across: NDArray[Any], upward: NDArray[Any]) -> "pd.DataFrame":
    """All pairs of two columns' values, row by row of the picture."""
    import pandas as pd

    return pd.DataFrame(np.stack(np.meshgrid(across, upward), axis=-1).reshape(-1, 2), columns=list(PLANE))


def spread(values: NDArray[Any]) -> NDArray[Any]:
    """Twenty of the values, both ends among them."""
    return np.take(values, np.linspace(0, len(values) - 1, 20).astype(int))


def boundary_points(study: Study, plane: Plane, background: "pd.DataFrame") -> NDArray[Any]:
    """Points on the boundary of the model seen through two columns, so that they lie in the picture."""
    features = {name: declare(study.heart, name) for name in PLANE}
    explainer = ssba.Explainer(plane, background, HEALTHY, features=features, seed=study.seed)
    try:
        with warnings.catch_warnings():
            # Fewer pairs of rows than points is no fault here.
            warnings.simplefilter("ignore", ssba.SsbaWarning)
            return np.asarray(explainer.sample_boundary(400, progress=False).points)
    except ssba.errors.ModelError:
        # All of the picture lies on one side.
        return np.empty((0, 2))

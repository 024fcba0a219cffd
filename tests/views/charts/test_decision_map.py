"""Pictures: what they draw, where, and what they refuse. The Agg backend is set in conftest."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ssba import extras
from ssba.errors import ArgumentError
from ssba.views.charts.decision_map import Axis, DecisionMap, decision_map

VALUES = np.arange(0.0, 11.0)

# The model says yes where x + y >= 10: its boundary in this plane is the other diagonal.
FOUND = DecisionMap(
    Axis("dose", VALUES, "mg", allowed=(2, 6)),
    Axis("age", VALUES, "years"),
    reached=VALUES[None, :] + VALUES[:, None] >= 10,
    query=(2, 5),
    outcomes=("no", "yes"),
    answer=(5, 5),
    boundary=np.stack([VALUES, 10 - VALUES], axis=1),
    population=np.array([[1, 1], [2, 3], [9, 9]]),
    title="Row 7",
)
BOUNDED = replace(FOUND, answer=(4, 5), answer_reaches=False)


@pytest.fixture(autouse=True)
def _figures_are_closed() -> Iterator[None]:
    plt.close("all")
    yield
    plt.close("all")


def legend(ax: Axes) -> list[str]:
    shown = ax.get_legend()
    assert shown is not None
    return [text.get_text() for text in shown.get_texts()]


def drawn_as(ax: Axes, label: str) -> Any:
    (artist,) = [one for one in ax.get_children() if one.get_label() == label]
    return artist


def points_of(ax: Axes, label: str) -> list[list[float]]:
    artist = drawn_as(ax, label)
    assert isinstance(artist, PathCollection)
    return [list(point) for point in np.asarray(artist.get_offsets())]


def test_everything_given_is_drawn_once_and_named_in_the_legend() -> None:
    ax = decision_map(FOUND)
    assert sorted(legend(ax)) == [
        "allowed by the constraints",
        "boundary points",
        "counterfactual",
        "model says no",
        "model says yes",
        "query",
        "rows of the data",
    ]
    assert points_of(ax, "query") == [[2, 5]]
    assert points_of(ax, "counterfactual") == [[5, 5]]
    assert points_of(ax, "boundary points") == FOUND.boundary.tolist()
    assert points_of(ax, "rows of the data") == FOUND.population.tolist()


def test_sides_are_coloured_as_the_grid_says() -> None:
    ax = decision_map(FOUND)
    (sides,) = [one for one in ax.collections if isinstance(one, QuadMesh)]
    assert np.asarray(sides.get_array()).reshape(FOUND.reached.shape).tolist() == FOUND.reached.tolist()


def test_axes_and_title_carry_names_and_units() -> None:
    ax = decision_map(FOUND)
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title(loc="left")) == (
        "dose (mg)",
        "age (years)",
        "Row 7",
    )


def test_long_name_on_the_side_is_wrapped() -> None:
    ax = decision_map(replace(FOUND, y=Axis("a meaning " * 8, VALUES, "mm")))
    assert "\n" in ax.get_ylabel()
    assert ax.get_ylabel().endswith("(mm)")


def test_allowed_box_spans_the_constrained_column_and_all_of_the_free_one() -> None:
    box = drawn_as(decision_map(FOUND), "allowed by the constraints")
    assert isinstance(box, Rectangle)
    assert (box.get_xy(), box.get_width(), box.get_height()) == ((2, 0), 4, 10)


def test_allowed_box_ends_where_the_picture_ends() -> None:
    wide = replace(FOUND, x=replace(FOUND.x, allowed=(8, 99)))
    assert drawn_as(decision_map(wide), "allowed by the constraints").get_width() == 2


def test_bounded_move_is_marked_as_one_and_not_as_a_counterfactual() -> None:
    ax = decision_map(BOUNDED)
    assert points_of(ax, "bounded move") == [[4, 5]]
    assert "counterfactual" not in legend(ax)


def test_move_is_an_arrow_from_the_query() -> None:
    (arrow,) = decision_map(FOUND).texts
    assert getattr(arrow, "xy", None) == (5, 5)
    assert arrow.get_position() == (2, 5)


def test_bounded_move_that_stays_has_no_arrow() -> None:
    assert len(decision_map(replace(BOUNDED, answer=BOUNDED.query)).texts) == 0


def test_what_is_not_given_is_neither_drawn_nor_named() -> None:
    bare = DecisionMap(Axis("x", VALUES), Axis("y", VALUES), FOUND.reached, (2, 5), ("no", "yes"))
    ax = decision_map(bare)
    assert legend(ax) == ["model says no", "model says yes", "query"]
    assert ax.get_xlabel() == "x"


def test_side_that_does_not_occur_is_not_named() -> None:
    ax = decision_map(replace(FOUND, reached=np.zeros_like(FOUND.reached)))
    assert "model says yes" not in legend(ax)


def test_given_axes_are_drawn_on_and_returned() -> None:
    ax = Figure().subplots()
    assert decision_map(FOUND, ax) is ax
    assert plt.get_fignums() == []


def test_without_axes_a_new_figure_is_made() -> None:
    ax = decision_map(FOUND)
    assert plt.get_fignums() == [getattr(ax.figure, "number", None)]


@pytest.mark.parametrize("drawn", [FOUND, BOUNDED], ids=["found", "bounded"])
def test_picture_is_rendered_with_text_that_can_be_read(drawn: DecisionMap) -> None:
    ax = decision_map(drawn)
    assert ax.figure is not None
    ax.figure.canvas.draw()
    shown = ax.get_legend()
    assert shown is not None
    texts = [ax.xaxis.label, ax.yaxis.label, *ax.get_xticklabels(), *shown.get_texts()]
    assert min(float(text.get_fontsize()) for text in texts) >= 11


def test_importing_the_module_does_not_load_matplotlib() -> None:
    program = "import sys, ssba.views.charts.decision_map; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    with pytest.raises(ImportError, match=r"pip install 'ssba\[plot\]'"):
        decision_map(FOUND)


@pytest.mark.parametrize("values", [[1.0], [2.0, 1.0], [1.0, 1.0]], ids=["one", "falling", "repeated"])
def test_axis_refuses_values_that_span_nothing(values: list[float]) -> None:
    with pytest.raises(ArgumentError, match=r"Axis\('dose'\).*ascending"):
        Axis("dose", np.array(values))


def test_map_refuses_a_grid_of_another_shape() -> None:
    with pytest.raises(ArgumentError, match=r"reached has shape \(3, 11\).*y first: \(11, 11\)"):
        replace(FOUND, reached=FOUND.reached[:3])


def test_map_refuses_points_that_are_not_pairs() -> None:
    with pytest.raises(ArgumentError, match=r"boundary has shape \(4, 3\)"):
        replace(FOUND, boundary=np.zeros((4, 3)))
    with pytest.raises(ArgumentError, match=r"population has shape \(4,\)"):
        replace(FOUND, population=np.zeros(4))


def test_what_is_left_of_a_bounded_move_is_a_line_to_the_boundary() -> None:
    ax = decision_map(replace(BOUNDED, toward=(4.5, 5.5)))
    left = drawn_as(ax, "left to the boundary")
    assert [list(left.get_xdata()), list(left.get_ydata())] == [[4, 4.5], [5, 5.5]]


def test_answers_from_elsewhere_are_marked_and_named_once() -> None:
    others = {"method A": np.array([[7, 7], [8, 3]]), "method B": np.array([[9, 2]])}
    ax = decision_map(replace(FOUND, others=others))
    assert [name for name in legend(ax) if name.startswith("method")] == ["method A", "method B"]
    assert points_of(ax, "method A") == [[7, 7]]
    assert [8, 3] in [point for one in ax.collections for point in np.asarray(one.get_offsets()).tolist()]


def test_other_queries_are_joined_with_where_they_would_go() -> None:
    moves = np.array([[[1, 1], [5, 5]], [[2, 3], [4.5, 5.5]]])
    ax = decision_map(replace(FOUND, moves=moves))
    drawn = [np.stack([line.get_xdata(), line.get_ydata()], axis=1).tolist() for line in ax.lines]
    assert drawn == moves.tolist()
    assert legend(ax).count("distance of other queries") == 1


def test_map_refuses_others_and_moves_of_another_shape() -> None:
    with pytest.raises(ArgumentError, match=r"others\['A'\] has shape \(2,\)"):
        replace(FOUND, others={"A": np.zeros(2)})
    with pytest.raises(ArgumentError, match=r"moves has shape \(3, 2\).*\(n, 2, 2\)"):
        replace(FOUND, moves=np.zeros((3, 2)))

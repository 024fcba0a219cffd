"""What stops a bounded move, and the words for it."""

import numpy as np

import ssba

X = np.random.default_rng(4).normal(size=(400, 3))
WEIGHTS = np.array([1.0, 2.0, -0.5])
QUERY = np.array([-0.8, -0.3, 0.4])


def test_they_are_the_constraints_that_the_nearest_boundary_point_breaks() -> None:
    explainer = ssba.Explainer(
        lambda rows: rows[:, 0] > 2, X, target=True, distance=ssba.Distance(scale="none")
    )
    rules = ["x1 within 3", "x2 >= -5", "x0 <= 0.5", "x1 <= 9", "x2 <= 9", "x0 >= -3"]
    explanation = explainer.explain(QUERY, rules)
    (one,) = explanation.obstacles
    assert one.constraint == "x0 <= 0.5"
    assert one.relaxed is not None
    assert one.relaxed.startswith("let x0 go up to 2")
    assert (
        'stops it: "x0 <= 0.5" (the nearest boundary point takes all this: let x0 go' in explanation.sentence
    )
    assert "more" not in explanation.sentence


def test_without_a_boundary_point_they_are_those_that_are_tight_at_the_move() -> None:
    explainer = ssba.Explainer(lambda rows: rows @ WEIGHTS, X, ssba.value_between(low=100))
    explanation = explainer.explain(QUERY, ["x0 <= 0.5", "x0 >= -3", "x1 <= 0.25", "x2 == x.x2"])
    assert [one.constraint for one in explanation.obstacles] == ["x0 <= 0.5", "x1 <= 0.25", "x2 == x.x2"]


def test_the_distance_is_said_in_the_units_of_a_column() -> None:
    """What is left is 1.5 of x0; its scale is 2, so that the distance is 0.75."""
    explainer = ssba.Explainer(
        lambda rows: rows[:, 0] > 2,
        X,
        True,
        distance=ssba.Distance(scale={"x0": 2.0}),
        features={"x0": ssba.numeric(unit="mm")},
    )
    explanation = explainer.explain(QUERY, ["x0 <= 0.5"])
    assert (
        "stays at a distance of 0.75 from the boundary, as far as a change of x0 by 1.5 mm"
        in explanation.sentence
    )

"""Plausible answers lie where the data live, by a criterion that brute force confirms."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ssba
from ssba.errors import ArgumentError

RNG = np.random.default_rng(31)
# Two clouds; the straight way to the boundary leads through empty space.
LEFT = RNG.normal([0.0, 0.0], 0.35, size=(150, 2))
RIGHT = RNG.normal([3.0, 2.0], 0.35, size=(150, 2))
CLOUDS = np.concatenate([LEFT, RIGHT])


def beyond(rows: Any) -> Any:
    return np.asarray(rows)[:, 0] > 1.2


EXPLAINER = ssba.Explainer(beyond, CLOUDS, target=True, distance=ssba.Distance(scale="none"))


def apart(rows: Any, others: Any) -> Any:
    return np.sqrt(((rows[:, None, :] - others[None, :, :]) ** 2).sum(axis=2))


USUAL = float(np.quantile(np.sort(apart(RIGHT, RIGHT), axis=1)[:, 1], 0.95))


def row_of(answer: ssba.results.Counterfactual) -> Any:
    return np.array([list(answer.values.values())], dtype=float)


@pytest.mark.parametrize("query", [0, 5, 9, 40])
def test_answers_pass_the_criterion_by_brute_force(query: int) -> None:
    plain = EXPLAINER.explain(LEFT[query]).best
    plausible = EXPLAINER.explain(LEFT[query], plausible=True, k=2)
    assert plain is not None
    assert apart(row_of(plain), RIGHT).min() > USUAL
    assert plausible.counterfactuals
    for answer in plausible.counterfactuals:
        assert apart(row_of(answer), RIGHT).min() <= USUAL * (1 + 1e-9)
        assert beyond(row_of(answer))[0]
        assert answer.distance > plain.distance


def test_they_are_near_the_best_that_the_criterion_allows() -> None:
    """By brute force over a fine grid of rows."""
    axis = np.linspace(0.5, 4.5, 400)
    grid = np.stack(np.meshgrid(axis, axis - 1.0), axis=-1).reshape(-1, 2)
    allowed = grid[beyond(grid)]
    allowed = allowed[
        np.concatenate([apart(part, RIGHT).min(axis=1) for part in np.array_split(allowed, 40)]) <= USUAL
    ]
    best = EXPLAINER.explain(LEFT[0], plausible=True).best
    assert best is not None
    assert best.distance <= 1.03 * apart(LEFT[:1], allowed).min()


def test_every_answer_tells_its_distance_to_the_data() -> None:
    for options in ({}, {"plausible": True}):
        best = EXPLAINER.explain(LEFT[3], **options).best  # type: ignore[arg-type]
        assert best is not None
        assert best.distance_to_data == pytest.approx(apart(row_of(best), RIGHT).min())


def test_where_nothing_plausible_is_feasible_that_is_said() -> None:
    explanation = EXPLAINER.explain(LEFT[0], ["x1 <= 0"], plausible=True)
    assert explanation.status == "bounded"
    assert "with plausible=True" in explanation.sentence


def test_too_little_data_to_tell_by_is_refused() -> None:
    number = ssba.Explainer(lambda rows: rows[:, 0], CLOUDS, ssba.value_between(low=100))
    with pytest.raises(
        ssba.errors.ArgumentError, match=r"plausible=True needs at least 2 .*, but there are 0"
    ):
        number.explain(LEFT[0], ["x0 <= 200"], plausible=True)


def test_mixed_columns_and_scores() -> None:
    frame = pd.DataFrame(
        {
            "a": np.r_[RNG.normal(0, 0.3, 100), RNG.normal(2, 0.3, 100)],
            "n": np.r_[RNG.integers(0, 4, 100), RNG.integers(8, 12, 100)],
            "c": np.r_[RNG.choice(["u", "v"], 100), RNG.choice(["v", "w"], 100)],
        }
    )

    def chance(rows: pd.DataFrame) -> Any:
        return 1 / (1 + np.exp(-4 * (rows["a"].to_numpy() - 1) - (rows["n"].to_numpy() - 6) / 4))

    explainer = ssba.Explainer(chance, frame, target=ssba.probability(1, at_least=0.5))
    best = explainer.explain({"a": 0.0, "n": 2, "c": "u"}, plausible=True).best
    assert best is not None
    reached = frame[chance(frame) >= 0.5]
    scale = {"a": frame["a"].std(ddof=0), "n": frame["n"].std(ddof=0)}

    def to_rows(values: Any, rows: pd.DataFrame) -> Any:
        return np.sqrt(
            sum(((rows[name] - values[name]) / scale[name]) ** 2 for name in scale)
            + (rows["c"] != values["c"])
        ).to_numpy()

    own = [np.sort(to_rows(row, reached))[1] for _, row in reached.iterrows()]
    nearest = to_rows(best.values, reached).min()
    assert nearest <= np.quantile(own, 0.95) * (1 + 1e-9)
    assert best.distance_to_data == pytest.approx(nearest)


@pytest.mark.parametrize("given", [1, "yes", None])
def test_other_values_are_refused(given: Any) -> None:
    with pytest.raises(ssba.errors.ArgumentError, match=r"plausible is .*; give True or False"):
        EXPLAINER.explain(LEFT[0], plausible=given)


def test_repeated_rows_do_not_make_the_data_any_denser() -> None:
    repeated = ssba.Explainer(
        beyond, np.repeat(CLOUDS, 4, axis=0), target=True, distance=ssba.Distance(scale="none")
    )
    once = EXPLAINER.explain(LEFT[0], plausible=True).best
    several = repeated.explain(LEFT[0], plausible=True).best
    assert once is not None
    assert several is not None
    assert several.distance == pytest.approx(once.distance, rel=0.02)
    assert 0 < apart(row_of(several), RIGHT).min() <= USUAL * (1 + 1e-9)


@pytest.mark.filterwarnings("error")
def test_a_scaler_and_a_plane_are_given_no_undefined_cells_where_rows_repeat() -> None:
    rows = np.repeat(CLOUDS, 3, axis=0)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(rows, beyond(rows))
    found = ssba.Explainer(model, rows, target=True).explain(LEFT[0], plausible=True)
    assert found.best is not None
    assert found.best.distance_to_data is not None
    assert found.best.distance_to_data > 0


def test_one_row_however_often_it_occurs_is_too_few() -> None:
    rows = np.concatenate([LEFT, np.repeat(RIGHT[:1], 50, axis=0)])
    with pytest.raises(ArgumentError, match="at least 2 different background rows"):
        ssba.Explainer(beyond, rows, target=True).explain(LEFT[0], plausible=True)

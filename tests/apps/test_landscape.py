"""The map: rows where their values are, sides as the model says, and a projection that keeps distances."""

import numpy as np
import pytest
from tests.apps.projects import PATIENT, heart, loans
from tests.support import every

import ssba
from ssba.apps.landscape import boundary_rows
from ssba.apps.page_requests import MapRequest
from ssba.apps.service import Service
from ssba.errors import ArgumentError


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(heart())


def test_over_two_columns_rows_lie_at_their_values(service: Service) -> None:
    found = service.place(MapRequest(row=PATIENT, columns=("chol", "sex"), points=({"chol": 200},)))
    table = heart().rows
    level = ["female", "male"].index(table["sex"][PATIENT])
    assert found.query == pytest.approx((table["chol"][PATIENT], level))
    assert found.points == ((200.0, float(level)),)
    assert len(found.rows) == len(table)
    for spot in found.rows[::50]:
        assert spot.at == (table["chol"][spot.row], ["female", "male"].index(table["sex"][spot.row]))
    across, up = found.axes
    assert (across.columns, across.low, across.high) == (("chol",), table["chol"].min(), table["chol"].max())
    assert (up.levels, up.low, up.high) == (("female", "male"), -0.5, 1.5)
    assert len(found.boundary) > 100


def test_sides_are_what_the_model_says_of_the_query_with_two_other_values(service: Service) -> None:
    sides = service.place(MapRequest(row=PATIENT, columns=("oldpeak", "ca"), surroundings=False)).sides
    assert sides is not None
    assert list(sides.up) == [0.0, 1.0, 2.0, 3.0]
    row = heart().rows.iloc[[PATIENT]]
    seen = []
    for j, vessels in enumerate(sides.up):
        for i in range(0, len(sides.across), 9):
            said = heart().model.predict(row.assign(ca=float(vessels), oldpeak=sides.across[i]))[0]
            assert sides.reached[j][i] == (said == "no disease")
            seen.append(said)
    assert len(set(seen)) == 2


def test_missing_cells_have_no_place(service: Service) -> None:
    missing = int(np.flatnonzero(heart().rows["ca"].isna())[0])
    found = service.place(MapRequest(row=missing, columns=("age", "ca")))
    assert found.query is None
    assert missing not in [one.row for one in found.rows]
    assert service.place(MapRequest(row=missing)).query is not None


def test_of_two_columns_the_projection_is_the_metric_turned() -> None:
    service = Service(loans())
    found = service.place(MapRequest(row=3, points=({"income": 80},)))
    assert [one.id for one in found.rows[:2]] == ["c000", "c001"]
    income, debt = service.columns
    assert found.query is not None
    rows = loans().rows
    for spot in found.rows[::20]:
        assert spot.at is not None
        wanted = np.hypot(
            (rows["income"][spot.row] - rows["income"][3]) / income.scale,
            (rows["debt"][spot.row] - rows["debt"][3]) / debt.scale,
        )
        assert np.hypot(spot.at[0] - found.query[0], spot.at[1] - found.query[1]) == pytest.approx(wanted)
    (moved,) = found.points
    assert moved is not None
    assert np.hypot(moved[0] - found.query[0], moved[1] - found.query[1]) == pytest.approx(
        (80 - rows["income"][3]) / income.scale
    )
    assert found.sides is None
    assert every(set(axis.columns) == {"income", "debt"} for axis in found.axes)


def test_an_unknown_column_is_refused(service: Service) -> None:
    with pytest.raises(ArgumentError, match="did you mean 'chol'"):
        service.place(MapRequest(row=1, columns=("chl", "age")))


def test_where_the_model_says_one_thing_there_is_no_boundary() -> None:
    target = ssba.value_between(5, 6)
    explainer = ssba.Explainer(lambda rows: np.zeros(len(rows)), loans().rows, target)
    assert boundary_rows(explainer, None) == []

"""Proposed kinds and constraints: what a person would propose, readable by ssba, and never applied."""

import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import every

import ssba
from ssba.columns.space import build_space
from ssba.constraints.constraint import check, constraint, holds
from ssba.suggest.suggestions import Suggestion, Suggestions, suggest_constraints

ROWS = 400
_rng = np.random.default_rng(0)
_systolic = _rng.normal(130, 18, ROWS).round()
CLINIC = pd.DataFrame(
    {
        "patient_id": np.arange(1000, 1000 + ROWS),
        "age": _rng.integers(18, 90, ROWS),
        "Gender": _rng.choice(["f", "m"], ROWS),
        "height_cm": _rng.normal(170, 9, ROWS).round(),
        "systolic": _systolic,
        "diastolic": (_systolic - _rng.uniform(15, 60, ROWS)).round(),
        "pain": _rng.choice(["none", "mild", "severe"], ROWS),
        "smoker": _rng.choice(["yes", "no"], ROWS),
        "visits_gp": _rng.integers(0, 30, ROWS),
        "visits_er": _rng.integers(0, 9, ROWS),
        "lactate": _rng.normal(size=ROWS),
        "site": "north",
    }
)
CLINIC["visits"] = CLINIC["visits_gp"] + CLINIC["visits_er"]
CLINIC["age_months"] = 12 * CLINIC["age"]


def about(proposed: Suggestions, column: str) -> Suggestion:
    return next(one for one in proposed.columns if one.column == column)


def link_texts(proposed: Suggestions) -> set[str]:
    return {text for link in proposed.links for text in link.texts}


@pytest.fixture(scope="module")
def proposed() -> Suggestions:
    return suggest_constraints(CLINIC)


class TestColumns:
    @pytest.mark.parametrize(
        ("column", "kind", "texts"),
        [
            ("age", "integer", ("age >= x.age",)),
            ("Gender", "categorical", ("Gender == x.Gender",)),
            ("height_cm", "integer", ("height_cm == x.height_cm",)),
            ("pain", "ordinal", ()),
            ("smoker", "boolean", ()),
            ("systolic", "integer", ("systolic within 15%",)),
            ("lactate", "numeric", ("lactate within 0.98",)),
        ],
    )
    def test_kind_and_constraints(
        self, proposed: Suggestions, column: str, kind: str, texts: tuple[str, ...]
    ) -> None:
        one = about(proposed, column)
        assert (one.kind, one.constraints) == (kind, texts)

    def test_every_constraint_has_a_reason(self, proposed: Suggestions) -> None:
        assert every(one.reasons for one in proposed.columns if one.constraints)
        assert "only grows with time" in about(proposed, "age").reasons[0]

    def test_identifiers_and_constants_are_flagged_and_held(self, proposed: Suggestions) -> None:
        assert about(proposed, "patient_id").flag == "identifier"
        assert about(proposed, "site").flag == "constant"
        assert "patient_id == x.patient_id" in proposed.texts
        assert "patient_id is an identifier" in proposed.sentence

    def test_units_and_order_are_declared(self, proposed: Suggestions) -> None:
        assert proposed.features["height_cm"] == ssba.integer(unit="cm")
        assert proposed.features["pain"] == ssba.ordinal(["none", "mild", "severe"])
        assert "age" not in proposed.features

    def test_height_may_grow_where_there_are_children(self) -> None:
        young = suggest_constraints(CLINIC.assign(age=CLINIC["age"] - 14))
        assert about(young, "height_cm").constraints == ("height_cm >= x.height_cm",)

    def test_what_grows_but_has_no_order_is_held(self) -> None:
        levels = pd.DataFrame({"education": ["a", "b", "c"] * 10, "prior_events": [0, 1, 2] * 10})
        proposed = suggest_constraints(levels)
        assert proposed.texts == ("education == x.education", "prior_events >= x.prior_events")
        assert "no order" in about(proposed, "education").reasons[0]

    def test_a_column_that_cannot_be_read_is_told_and_left_alone(self) -> None:
        tags: Any = [{1}] * ROWS
        odd = CLINIC[["age"]].assign(seen=pd.Timedelta(days=1), tags=tags)
        proposed = suggest_constraints(odd)
        assert about(proposed, "seen").flag == about(proposed, "tags").flag == "unreadable"
        assert "convert" in about(proposed, "seen").reasons[0]
        assert proposed.texts == ("age >= x.age",)

    def test_one_of_a_kind_is_told_as_one(self) -> None:
        held = suggest_constraints(pd.DataFrame({"age": [40, 50]}), columns=["age"])
        assert held.sentence == "1 constraint is proposed for 1 column of 2 rows."

    def test_only_the_wished_columns_are_looked_at(self) -> None:
        some = suggest_constraints(CLINIC, columns=["diastolic", "systolic"])
        assert [one.column for one in some.columns] == ["diastolic", "systolic"]
        assert link_texts(some) == {"systolic >= diastolic"}


class TestLinks:
    def test_one_above_the_other_a_sum_and_a_line(self, proposed: Suggestions) -> None:
        assert link_texts(proposed) == {
            "systolic >= diastolic",
            "visits == visits_gp + visits_er",
            "age_months == 12 * age",
        }

    def test_one_hot_columns_are_one_category(self) -> None:
        color = _rng.integers(0, 3, 60)
        frame = pd.DataFrame({f"color_{name}": (color == i).astype(int) for i, name in enumerate("rgb")})
        proposed = suggest_constraints(frame)
        assert proposed.texts == ("color_r + color_g + color_b == 1",)
        assert proposed.features["color_r"] == ssba.integer(low=0, high=1)

    def test_links_between_held_columns_are_left_out(self) -> None:
        year = np.repeat(np.arange(1950, 2000), 2)
        born = pd.DataFrame({"birth_year": year, "birth_weight": 1.5 * year})
        assert suggest_constraints(born).links == ()
        free = suggest_constraints(born.rename(columns={"birth_weight": "weight"}))
        assert link_texts(free) == {"weight == 1.5 * birth_year"}


class TestAsText:
    def test_it_prints_for_review(self, proposed: Suggestions) -> None:
        page = repr(proposed)
        assert "nothing is applied" in page
        assert every(text in page for text in proposed.texts)
        assert every(one.column in page for one in proposed.columns)

    def test_texts_are_as_ssba_writes_them(self, proposed: Suggestions) -> None:
        assert [constraint(text).text for text in proposed.texts] == list(proposed.texts)

    def test_json(self, proposed: Suggestions) -> None:
        document = json.loads(json.dumps(proposed.to_dict(), allow_nan=False))
        assert document == proposed.to_dict()
        assert document["columns"][1]["constraints"] == ["age >= x.age"]

    def test_what_a_person_does_not_agree_with_is_dropped(self, proposed: Suggestions) -> None:
        left = proposed.without("systolic", "age >= x.age")
        assert set(proposed.texts) - set(left.texts) == {
            "systolic within 15%",
            "systolic >= diastolic",
            "age >= x.age",
        }
        assert "systolic" not in left.features

    def test_dropping_what_is_not_there_is_refused(self, proposed: Suggestions) -> None:
        with pytest.raises(ssba.errors.SchemaError, match=r"'systolc' \(did you mean 'systolic'\?\)"):
            proposed.without("systolc")


class TestData:
    def test_all_frame_libraries_give_the_same(self, proposed: Suggestions) -> None:
        table = pa.Table.from_pandas(CLINIC)
        for frame in (pl.from_arrow(table), table):
            assert suggest_constraints(frame) == proposed

    def test_arrays_have_numbered_columns(self) -> None:
        numbers = suggest_constraints(_rng.uniform(10, 20, size=(50, 2)))
        assert [one.column for one in numbers.columns] == ["x0", "x1"]
        assert every(text.startswith(("x0 within", "x1 within")) for text in numbers.texts)

    def test_the_data_is_not_changed(self) -> None:
        before = CLINIC.copy()
        suggest_constraints(CLINIC)
        pd.testing.assert_frame_equal(CLINIC, before)

    def test_no_rows_are_refused(self) -> None:
        with pytest.raises(ssba.errors.SchemaError, match="data is empty"):
            suggest_constraints(CLINIC.iloc[:0])

    def test_an_unknown_column_is_refused(self) -> None:
        with pytest.raises(
            ssba.errors.SchemaError, match=r"columns: unknown column 'agee' \(did you mean 'age'\?\)"
        ):
            suggest_constraints(CLINIC, columns=["agee"])

    def test_a_name_instead_of_a_list_is_refused(self) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match="columns is 'age'; give a list of column names"):
            suggest_constraints(CLINIC, columns="age")


def fits(proposed: Suggestions, data: pd.DataFrame) -> None:
    """Every text fits the columns as declared, and every row meets the constraints of its columns."""
    space, Z = build_space(data, proposed.features)
    linked = link_texts(proposed)
    for text in proposed.texts:
        read = constraint(text)
        check(read, space.by_name)
        rows = [space.row_values(z) for z in Z[:5]]
        assert text in linked or all(holds(read, row, row, space.by_name) for row in rows)


def test_the_explainer_takes_all_of_it(proposed: Suggestions) -> None:
    fits(proposed, CLINIC)
    dropped = ["patient_id", "site"]
    left = proposed.without(*dropped)
    data = CLINIC.drop(columns=dropped)
    explainer = ssba.Explainer(
        lambda rows: rows["systolic"] + rows["visits"] > 150, data, target=False, features=left.features
    )
    high = data[data["systolic"] + data["visits"] > 160].iloc[0]
    answer = explainer.explain(high, left.texts).best
    assert answer is not None
    assert answer.values["visits"] == answer.values["visits_gp"] + answer.values["visits_er"]
    assert answer.values["systolic"] >= answer.values["diastolic"]
    assert answer.values["height_cm"] == high["height_cm"]


def test_the_explainer_takes_one_column_following_another() -> None:
    base = np.sort(_rng.uniform(0, 10, 200)).round(2)
    data = pd.DataFrame({"dose": base, "response": np.exp(base / 3).round(3), "other": _rng.normal(size=200)})
    proposed = suggest_constraints(data)
    assert [link.kind for link in proposed.links] == ["follows"]
    explainer = ssba.Explainer(lambda rows: rows["dose"] > 5, data, target=True, features=proposed.features)
    query = data.iloc[60]
    answer = explainer.explain(query, [text for link in proposed.links for text in link.texts]).best
    assert answer is not None
    assert answer.values["response"] >= query["response"]


NAMES = ["age", "sex", "n", "max HR", "if", "größe `x`", "type", "temp_max", "temp_min", "height"]
CELLS: Any = {
    "whole": st.integers(-50, 200),
    "tenths": st.integers(-50, 200).map(lambda n: n / 10),
    "real": st.floats(-1e6, 1e6, allow_nan=False),
    "text": st.sampled_from(["low", "high", "medium", "it's", 'a "b"', "c\\d"]),
    "truth": st.booleans(),
    "digit": st.integers(0, 1),
}


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    rows = draw(st.integers(1, 40))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True))
    kinds = [draw(st.sampled_from(sorted(CELLS))) for _ in names]
    return pd.DataFrame(
        {
            name: draw(st.lists(CELLS[kind], min_size=rows, max_size=rows))
            for name, kind in zip(names, kinds, strict=True)
        }
    )


@settings(max_examples=60)
@given(tables())
def test_whatever_the_data_the_texts_are_read_back_and_fit(data: pd.DataFrame) -> None:
    fits(suggest_constraints(data), data)

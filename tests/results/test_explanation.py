"""Result objects: what they hold, and that their JSON form loses nothing."""

import dataclasses
import importlib
import json
import pickle
from importlib import resources
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from tests.support import every

import ssba

_rng = np.random.default_rng(1)
FRAME = pd.DataFrame(
    {
        "größe <cm>": _rng.normal(170, 10, size=200).round(1),
        "n": _rng.integers(0, 9, size=200),
        "kind": _rng.choice(["früh", "spät & müde", "nie"], size=200),
        "ok": _rng.random(200) < 0.5,
        "gap": np.where(_rng.random(200) < 0.1, np.nan, _rng.normal(size=200)),
    }
)
QUERY: dict[str, Any] = {"größe <cm>": 160.0, "n": 2, "kind": "nie", "ok": False, "gap": None}


def model(rows: pd.DataFrame) -> Any:
    tall = (rows["größe <cm>"] - 165) / 10 + rows["n"] / 4 + (rows["kind"] == "früh") + 0.3 * rows["ok"]
    return np.where(tall > 1.2, "groß", "klein")


def explainer(**settings: Any) -> ssba.Explainer:
    units = {"größe <cm>": ssba.numeric(step=0.1, unit="cm")}
    return ssba.Explainer(model, FRAME, target="groß", features=units, **settings)


def explanations() -> dict[str, ssba.results.Explanation]:
    """One real explanation of every status."""
    mine = explainer()
    fixed = [ssba.fixed(name) for name in QUERY if name != "ok"]
    far = ["n <= 3", "`größe <cm>` <= 161", "kind == 'nie'"]
    return {
        "found": mine.explain(QUERY, ["kind in {'nie', 'spät & müde'}"], k=3),
        "bounded": mine.explain(QUERY, fixed),
        "infeasible": mine.explain(QUERY, ["n >= 7", "n <= 3"]),
        "already_there": mine.explain({**QUERY, "größe <cm>": 190.0}),
        "out_of_budget": mine.explain(QUERY, far, budget=ssba.Budget(rows=1)),
    }


EXPLANATIONS = explanations()
SCHEMA = json.loads(
    resources.files("ssba.results").joinpath("results.schema.json").read_text(encoding="utf-8")
)
FORM = SCHEMA["$defs"]["Explanation"]


def schema_errors(document: Any) -> list[str]:
    jsonschema = importlib.import_module("jsonschema")
    validator = jsonschema.Draft202012Validator({**SCHEMA, "$ref": "#/$defs/Explanation"})
    return [error.message for error in validator.iter_errors(document)]


@pytest.mark.parametrize("status", EXPLANATIONS)
class TestEveryStatus:
    def test_is_what_the_case_is_about(self, status: str) -> None:
        assert EXPLANATIONS[status].status == status
        assert EXPLANATIONS[status].status is ssba.results.Status(status)

    def test_json_round_trip_loses_nothing(self, status: str) -> None:
        before = EXPLANATIONS[status]
        after = ssba.results.Explanation.from_json(before.to_json())
        assert after == before
        assert after.to_json(indent=2) == before.to_json(indent=2)
        assert type(after) is type(before)
        assert after.sentence == before.sentence
        assert type(after.status) is ssba.results.Status

    def test_a_pickle_loses_nothing(self, status: str) -> None:
        before = EXPLANATIONS[status]
        after = pickle.loads(pickle.dumps(before))  # noqa: S301
        assert after == before
        assert after.to_json() == before.to_json()

    def test_json_fits_the_schema(self, status: str) -> None:
        assert schema_errors(json.loads(EXPLANATIONS[status].to_json())) == []

    def test_the_dict_itself_fits_the_schema(self, status: str) -> None:
        assert schema_errors(EXPLANATIONS[status].to_dict()) == []

    def test_it_cannot_be_changed(self, status: str) -> None:
        with pytest.raises(dataclasses.FrozenInstanceError):
            EXPLANATIONS[status].seed = 5  # type: ignore[misc]

    def test_it_tells_how_it_was_made(self, status: str) -> None:
        explanation = EXPLANATIONS[status]
        assert explanation.versions["ssba"] == ssba.__version__
        assert set(explanation.versions) >= {"numpy", "python"}
        assert len(explanation.model_fingerprint) == 16
        assert explanation.seed == 0
        assert explanation.seconds >= 0
        assert (explanation.rows_used == 0) == (status == "infeasible")
        assert explanation.units == {"größe <cm>": "cm"}


class TestCounterfactual:
    def test_changes_are_exactly_what_differs(self) -> None:
        explanation = EXPLANATIONS["found"]
        for answer in explanation.counterfactuals:
            differs = {name for name, value in answer.values.items() if value != explanation.query[name]}
            assert set(answer.changes) == differs
            for name, (before, after) in answer.changes.items():
                assert (before, after) == (explanation.query[name], answer.values[name])

    def test_a_missing_cell_is_none_and_null(self) -> None:
        explanation = EXPLANATIONS["found"]
        assert explanation.query["gap"] is None
        assert json.loads(explanation.to_json())["query"]["gap"] is None

    def test_best_is_the_nearest_or_none(self) -> None:
        assert EXPLANATIONS["found"].best is EXPLANATIONS["found"].counterfactuals[0]
        assert every(one.best is None for status, one in EXPLANATIONS.items() if status != "found")


class TestJson:
    def test_non_ascii_text_survives(self) -> None:
        read = json.loads(EXPLANATIONS["found"].to_json())
        assert "größe <cm>" in read["query"]
        assert read["counterfactuals"][0]["prediction"] == "groß"

    @pytest.mark.parametrize(
        "labels",
        [
            np.array([3, 7]),
            np.array([3, 7], dtype=np.uint8),
            np.array(["no", "yes"]),
            np.array([False, True]),
            np.array([0.0, 1.0]),
            np.array(["no", "yes"], dtype=object),
        ],
    )
    def test_numpy_labels_become_plain_ones(self, labels: Any) -> None:
        data = FRAME[["n", "gap"]].fillna(0.0)
        mine = ssba.Explainer(lambda rows: labels[(rows["n"] > 4).to_numpy().astype(int)], data)
        explanation = mine.explain({"n": 2, "gap": 0.5})
        assert type(explanation.prediction) in (int, str, bool, float)
        assert ssba.results.Explanation.from_json(explanation.to_json()) == explanation
        assert schema_errors(json.loads(explanation.to_json())) == []

    def test_scores_and_numbers_survive(self) -> None:
        data = _rng.normal(size=(100, 2))
        logistic = LogisticRegression().fit(data, data[:, 0] > 0)
        for mine in (
            ssba.Explainer(logistic, data),
            ssba.Explainer(lambda rows: rows[:, 0], data, ssba.value_between(low=1)),
        ):
            explanation = mine.explain([-1.0, 0.0])
            assert type(explanation.score) is float
            assert ssba.results.Explanation.from_json(explanation.to_json()) == explanation

    def test_another_version_is_refused_by_name(self) -> None:
        newer = json.loads(EXPLANATIONS["found"].to_json()) | {"schema": 3}
        with pytest.raises(ssba.errors.ArgumentError, match=r"version 3.*reads 2"):
            ssba.results.Explanation.from_json(json.dumps(newer))

    @pytest.mark.parametrize(
        "document",
        [
            "",
            "{",
            "null",
            "[]",
            "5",
            '"found"',
            "{}",
            '{"schema": 2}',
            '{"schema": 2, "kind": "explanation"}',
            '{"schema": 2, "kind": "explanation", "status": "lost"}',
            '{"schema": 2, "kind": "explanation", "status": "found", "counterfactuals": 5}',
            '{"schema": 2, "schema": 2}',
            '{"schema": NaN}',
        ],
    )
    def test_anything_else_is_refused_with_an_error_of_ours(self, document: str) -> None:
        with pytest.raises(ssba.errors.ArgumentError):
            ssba.results.Explanation.from_json(document)

    def test_something_that_is_no_text_is_refused(self) -> None:
        garbage: list[Any] = [None, 5, {}, [], b"\xff"]
        for document in garbage:
            with pytest.raises(ssba.errors.ArgumentError):
                ssba.results.Explanation.from_json(document)


CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
)


@given(
    query=st.dictionaries(st.text(max_size=6), CELLS, min_size=1, max_size=5),
    label=CELLS,
    after=CELLS,
    score=st.none() | st.floats(0, 1),
)
def test_any_cells_and_names_survive_json(
    query: dict[str, Any], label: Any, after: Any, score: float | None
) -> None:
    name = next(iter(query))
    answer = ssba.results.Counterfactual(
        {**query, name: after}, {name: (query[name], after)}, 0.5, label, score
    )
    explanation = ssba.results.Explanation(
        status=ssba.results.Status.FOUND,
        query=query,
        prediction=label,
        score=score,
        target="another",
        counterfactuals=(answer,),
    )
    assert ssba.results.Explanation.from_json(explanation.to_json()) == explanation
    assert schema_errors(json.loads(explanation.to_json())) == []


class TestSchema:
    def test_it_is_a_schema_of_the_version_written(self) -> None:
        importlib.import_module("jsonschema").Draft202012Validator.check_schema(SCHEMA)
        assert FORM["properties"]["schema"]["const"] == EXPLANATIONS["found"].to_dict()["schema"]

    @pytest.mark.parametrize(
        "change",
        [
            {"schema": 1},
            {"kind": "plan"},
            {"status": "lost"},
            {"stopped": "bored"},
            {"counterfactuals": {}},
            {"rows_used": 1.5},
            {"surprise": 1},
            {"query": []},
            {"options": {}},
            {"budget": None},
            {"goal": {"kind": "reach"}},
            {"columns": [{}]},
        ],
    )
    def test_it_refuses_what_is_not_an_explanation(self, change: dict[str, Any]) -> None:
        assert schema_errors(json.loads(EXPLANATIONS["found"].to_json()) | change)

    def test_it_names_every_field(self) -> None:
        fields = {field.name for field in dataclasses.fields(ssba.results.Explanation)}
        assert set(FORM["properties"]) == {*fields, "schema", "kind", "sentence"}
        # The form of the user's rows, and their label, stand in the explanation, once for all its answers.
        inner = {field.name for field in dataclasses.fields(ssba.results.Counterfactual)}
        assert set(SCHEMA["$defs"]["Counterfactual"]["properties"]) == inner - {"layout", "row_label"}

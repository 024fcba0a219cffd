"""Every result has the published JSON form, and reads back equal from it and from a pickle."""

import importlib
import json
import pickle
from importlib import resources
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support import every

import ssba
from ssba.json_form import JsonForm, kind_of
from ssba.results.schemas import DOCUMENTS, results_schema

jsonschema = importlib.import_module("jsonschema")
_SCHEMA = resources.files("ssba.results").joinpath("results.schema.json")
SCHEMA = json.loads(_SCHEMA.read_text(encoding="utf-8"))
_rng = np.random.default_rng(1)
DATA = pd.DataFrame(
    {
        "chol": _rng.normal(240, 40, 200).round(),
        "rate": _rng.integers(90, 190, 200),
        "sex": _rng.choice(["male", "female"], 200),
    }
)
QUERY = {"chol": 286, "rate": 138, "sex": "male"}


def model(rows: Any) -> Any:
    return np.where(rows["rate"] - 0.4 * rows["chol"] > 40, "well", "ill")


def made_results() -> dict[str, JsonForm]:
    """One result of every kind, under the name of its class."""
    explainer = ssba.Explainer(model, DATA, "well", features={"chol": ssba.numeric(step=1, unit="mg/dl")})
    found = explainer.explain(QUERY, ["sex == x.sex"], k=2, margin=0.1)
    bounded = explainer.explain(QUERY, ["sex == x.sex", "rate == x.rate", "chol within 5%"])
    assert (found.status, bounded.status) == ("found", "bounded")
    certificate = explainer.certificate(found)
    many = explainer.explain_many(DATA[:20])
    made: list[JsonForm] = [
        explainer.columns,
        explainer.predict(QUERY),
        explainer.check_constraints(QUERY, ["sex == x.sex", "chol within 5%"]),
        found,
        many,
        many.cohort(by="sex"),
        found.options,
        explainer.plan(found),
        explainer.ranges(found, n_samples=100),
        explainer.why_not(bounded),
        explainer.levers(found, 2),
        explainer.try_values(found, {"chol": 250}),
        explainer.scan_line(QUERY, {**QUERY, "rate": 180}),
        certificate,
        explainer.check_certificate(certificate),
    ]
    return {type(one).__name__: one for one in made}


RESULTS = made_results()


def test_the_file_is_what_the_classes_say() -> None:
    assert results_schema() == SCHEMA, "python -m ssba.results.schemas writes it"


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_every_kind_of_result_is_tried_here() -> None:
    assert set(RESULTS) == {one.__name__ for one in DOCUMENTS} | {"Explanations"}


def test_every_public_result_that_can_be_written_is_a_document() -> None:
    public = [getattr(ssba.results, name) for name in ssba.results.__all__]
    writable = {one for one in public if isinstance(one, type) and issubclass(one, JsonForm)}
    assert writable == {type(one) for one in RESULTS.values()} - {ssba.Options}


@pytest.mark.parametrize("name", RESULTS)
class TestEveryResult:
    def test_it_has_the_published_form_and_no_part_can_be_left_out(self, name: str) -> None:
        form = jsonschema.Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{name}"})
        written = json.loads(json.dumps(RESULTS[name].to_dict(), allow_nan=False))
        form.validate(written)
        for field in written:
            assert not form.is_valid({key: value for key, value in written.items() if key != field})
        assert not form.is_valid({**written, "surprise": 1})

    def test_it_names_its_kind_and_version(self, name: str) -> None:
        written = RESULTS[name].to_dict()
        assert written["kind"] == kind_of(type(RESULTS[name]))
        assert written["schema"] == type(RESULTS[name]).schema_version

    def test_it_reads_back_equal_from_its_json(self, name: str) -> None:
        before = RESULTS[name]
        for indent in (None, 2):
            after = type(before).from_json(before.to_json(indent=indent))
            assert after == before
            assert after.to_json() == before.to_json()
            assert repr(after) == repr(before)
        assert type(before).from_dict(before.to_dict()) == before

    def test_it_reads_back_equal_from_a_pickle(self, name: str) -> None:
        before = RESULTS[name]
        after = pickle.loads(pickle.dumps(before))  # noqa: S301
        assert after == before
        assert after.to_json() == before.to_json()

    def test_it_is_not_read_as_another_kind_or_version(self, name: str) -> None:
        made = type(RESULTS[name])
        written = RESULTS[name].to_dict()
        for other in ({"kind": "soup"}, {"schema": 99}):
            with pytest.raises(
                ssba.errors.ArgumentError, match=f"this is not the JSON of the kind '{kind_of(made)}'"
            ):
                made.from_dict({**written, **other})

    def test_what_is_no_json_is_refused(self, name: str) -> None:
        made = type(RESULTS[name])
        for text in ("", "{", "[]", "null", "[" * 100_000, '{"schema": NaN}', '{"kind": 1, "kind": 1}'):
            with pytest.raises(
                ssba.errors.ArgumentError, match=f"this is not the JSON of the kind '{kind_of(made)}'"
            ):
                made.from_json(text)


def test_what_many_explanations_share_is_written_once() -> None:
    written = RESULTS["Explanations"].to_dict()
    assert {"columns", "layout", "model", "options"} <= set(written["shared"])
    assert len(written["items"]) == 20
    assert every("columns" not in one and "query" in one for one in written["items"])

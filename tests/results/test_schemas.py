"""Every document that further questions give has the published form."""

import importlib
import json
from importlib import resources
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ssba
from ssba.results.schemas import advice_schema

jsonschema = importlib.import_module("jsonschema")
_SCHEMA = resources.files("ssba.results").joinpath("advice.schema.json")
SCHEMA = json.loads(_SCHEMA.read_text(encoding="utf-8"))
_rng = np.random.default_rng(1)
DATA = pd.DataFrame(
    {
        "chol": _rng.normal(240, 40, 200).round(),
        "rate": _rng.integers(90, 190, 200),
        "sex": _rng.choice(["male", "female"], 200),
    }
)


def model(rows: Any) -> Any:
    return np.where(rows["rate"] - 0.4 * rows["chol"] > 40, "well", "ill")


@pytest.fixture(scope="module")
def documents() -> dict[str, Any]:
    explainer = ssba.Explainer(model, DATA, "well")
    query = {"chol": 286, "rate": 138, "sex": "male"}
    found = explainer.explain(query, ["sex == x.sex"])
    bounded = explainer.explain(query, ["sex == x.sex", "rate == x.rate", "chol within 5%"])
    assert (found.status, bounded.status) == ("found", "bounded")
    return {
        "Plan": found.plan().to_dict(),
        "Ranges": found.ranges(samples=100).to_dict(),
        "WhyNot": bounded.why_not().to_dict(),
        "Menu": found.levers(2).to_dict(),
        "Trial": found.try_values({"chol": 250}).to_dict(),
        "Way": explainer.path(query, {**query, "rate": 180}).to_dict(),
        "Cohort": explainer.explain_many(DATA[:20]).cohort(by="sex").to_dict(),
        "CertificateCheck": found.certificate().check(explainer).to_dict(),
        "Certificate": found.certificate().to_dict(),
    }


def test_the_file_is_what_the_classes_say() -> None:
    assert advice_schema() == SCHEMA, "python -m ssba.results.schemas writes it"


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize(
    "name", ["Plan", "Ranges", "WhyNot", "Menu", "Trial", "Way", "Cohort", "CertificateCheck", "Certificate"]
)
def test_documents_have_their_form(name: str, documents: dict[str, Any]) -> None:
    form = jsonschema.Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{name}"})
    written = json.loads(json.dumps(documents[name], allow_nan=False))
    form.validate(written)
    for field in written:
        assert not form.is_valid({key: value for key, value in written.items() if key != field})

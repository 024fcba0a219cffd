"""Certificates as documents: nothing is lost, and what was altered shows."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression

import ssba
from ssba.results.certificate.checks import own_checks
from ssba.results.certificate.document import Certificate, Check, sealed

_rng = np.random.default_rng(0)
DATA = pd.DataFrame(
    {
        "größe": _rng.normal(170, 10, 300).round(1),
        "n": _rng.integers(0, 9, 300),
        "kind": _rng.choice(["früh", "spät & müde", "nie"], 300),
        "ok": _rng.random(300) < 0.5,
        "pain": _rng.choice(["none", "mild", "severe"], 300),
        "gap": np.where(_rng.random(300) < 0.1, np.nan, _rng.normal(size=300)),
    }
)
QUERY: dict[str, Any] = {"größe": 160.0, "n": 2, "kind": "nie", "ok": False, "pain": "mild", "gap": None}
FEATURES = {"größe": ssba.numeric(step=0.1, unit="cm"), "pain": ssba.ordinal(["none", "mild", "severe"])}


def model(rows: pd.DataFrame) -> Any:
    tall = (rows["größe"] - 165) / 10 + rows["n"] / 4 + (rows["kind"] == "früh") + 0.3 * rows["ok"]
    return np.where(tall > 1.2, "groß", "klein")


EXPLAINER = ssba.Explainer(model, DATA, target="groß", features=FEATURES, weights={"n": 2.0})


def certificate(
    constraints: Any = (), query: Any = QUERY, explainer: ssba.Explainer = EXPLAINER, **wishes: Any
) -> Certificate:
    return explainer.explain(query, constraints, **wishes).certificate()


CERTIFICATES = {
    "found": certificate(["kind == x.kind", "n within 3"], k=3),
    "bounded": certificate([ssba.fixed(name) for name in QUERY if name != "ok"]),
    "infeasible": certificate(["n >= 7", "n <= 3"]),
    "already_there": certificate(query={**QUERY, "größe": 190.0}),
}
FOUND = CERTIFICATES["found"]


def forged(edit: Any, original: Certificate = FOUND) -> Certificate:
    """The certificate after an edit by someone who knows how to seal it anew."""
    content = copy.deepcopy(original.document)
    edit(content)
    return sealed(content)


def failing(checks: list[Check]) -> list[str]:
    return [one.name for one in checks if not one.passed]


@pytest.mark.parametrize("status", CERTIFICATES)
class TestEveryStatus:
    def test_is_what_the_case_is_about(self, status: str) -> None:
        assert CERTIFICATES[status].explanation.status == status

    def test_json_round_trip_loses_nothing(self, status: str) -> None:
        before = CERTIFICATES[status]
        after = Certificate.from_json(before.to_json())
        assert after == before
        assert after.is_sealed
        assert after.to_json(indent=None) == before.to_json(indent=None)
        assert after.explanation == before.explanation

    def test_it_holds_by_itself(self, status: str) -> None:
        assert failing(own_checks(CERTIFICATES[status])) == []


class TestContent:
    def test_it_holds_what_an_audit_asks_for(self) -> None:
        document = json.loads(FOUND.to_json())
        assert document["format"] == 1
        assert document["model"] == {"name": "model", "fingerprint": FOUND.explanation.model_fingerprint}
        assert document["target"] == {"form": "label", "label": "groß"}
        assert document["explanation"]["constraints"] == ["kind == x.kind", "n within 3"]
        assert [one["name"] for one in document["columns"]] == list(QUERY)
        assert document["columns"][1]["weight"] == 2.0
        assert len(document["sha256"]) == 64

    @pytest.mark.parametrize("target", [None, 1, ssba.probability(1, at_least=0.7)], ids=str)
    def test_settings_rebuild_the_explainer(self, target: Any) -> None:
        rows = _rng.normal(size=(200, 2))
        trained = LogisticRegression().fit(rows, rows[:, 0] > 0)
        trained.classes_ = np.array([0, 1])
        explainer = ssba.Explainer(trained, rows, target, distance="l1", scale="mad", seed=3)
        made = certificate(query=[-1.0, 0.0], explainer=explainer)
        read = Certificate.from_json(made.to_json())
        again = ssba.Explainer(trained, rows, **read.settings)
        assert again.explain([-1.0, 0.0]).counterfactuals == made.explanation.counterfactuals

    def test_targets_of_regressors_keep_their_open_end(self) -> None:
        rows = _rng.normal(size=(200, 2))
        explainer = ssba.Explainer(
            LinearRegression().fit(rows, rows[:, 0]), rows, ssba.value_between(high=-0.5)
        )
        read = Certificate.from_json(certificate(query=[1.0, 0.0], explainer=explainer).to_json())
        assert read.settings["target"] == ssba.value_between(high=-0.5)

    def test_it_tells_what_it_is(self) -> None:
        assert "status found toward 'groß'" in FOUND.sentence
        assert FOUND.sha256[:12] in repr(FOUND)


class TestAltered:
    def test_an_edit_breaks_the_seal(self) -> None:
        text = FOUND.to_json().replace("'groß'", "'klein'")
        assert failing(own_checks(Certificate.from_json(text))) == ["seal"]

    def test_spaces_and_order_do_not(self) -> None:
        document = dict(reversed(list(FOUND.to_dict().items())))
        assert Certificate.from_json(json.dumps(document, indent=7)).is_sealed

    def test_a_shorter_distance_is_recomputed(self) -> None:
        def edit(content: Any) -> None:
            content["explanation"]["counterfactuals"][0]["distance"] *= 0.999

        assert failing(own_checks(forged(edit))) == ["answer 1, distance"]

    def test_another_value_differs_from_the_listed_changes(self) -> None:
        def edit(content: Any) -> None:
            content["explanation"]["counterfactuals"][0]["values"]["ok"] ^= True

        assert set(failing(own_checks(forged(edit)))) == {"answer 1, changes", "answer 1, distance"}

    def test_a_broken_constraint_is_named(self) -> None:
        def edit(content: Any) -> None:
            content["explanation"]["constraints"].append("größe <= 100")

        checks = own_checks(forged(edit))
        assert failing(checks) == [f"answer {n}, constraints" for n in (1, 2, 3)]
        assert any("größe <= 100" in one.seen for one in checks)

    @pytest.mark.parametrize("text", ["n <=", "zz >= 3", "kind >= 2", 7])
    def test_a_constraint_that_cannot_be_read_fails(self, text: Any) -> None:
        made = forged(lambda content: content["explanation"]["constraints"].append(text))
        assert "answer 1, constraints" in failing(own_checks(made))

    def test_a_status_that_does_not_fit_fails(self) -> None:
        def edit(content: Any) -> None:
            content["explanation"]["counterfactuals"] = []

        assert failing(own_checks(forged(edit))) == ["status"]

    @pytest.mark.parametrize("value", [None, "tall", [1], {"a": 1}, True, 1e308, 10**400])
    def test_cells_of_any_type_fail_without_an_error(self, value: Any) -> None:
        def edit(content: Any) -> None:
            content["explanation"]["counterfactuals"][0]["values"]["größe"] = value

        assert "answer 1, changes" in failing(own_checks(forged(edit)))

    @pytest.mark.parametrize("query", [None, 7, [], {"n": 2}])
    def test_a_query_of_any_form_fails_without_an_error(self, query: Any) -> None:
        def edit(content: Any) -> None:
            content["explanation"]["query"] = query

        assert {"answer 1, changes", "answer 1, distance"} <= set(failing(own_checks(forged(edit))))


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner: Any = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in inner:
        if isinstance(one, dict | list):
            yield from leaves(one, (*path, key))
        else:
            yield (*path, key)


@given(
    st.sampled_from(sorted(leaves(FOUND.document), key=repr)), st.sampled_from([None, "x", 0.5, -3, [], {}])
)
def test_whatever_is_altered_is_refused_or_shows(path: tuple[Any, ...], other: Any) -> None:
    document = copy.deepcopy(FOUND.to_dict())
    place = document
    for key in path[:-1]:
        place = place[key]
    if place[path[-1]] == other:
        return
    place[path[-1]] = other
    try:
        read = Certificate.from_json(json.dumps(document))
    except ssba.ArgumentError:
        return
    assert "seal" in failing(own_checks(read))


class TestRefused:
    @pytest.mark.parametrize(
        "text",
        ["", "{", "[]", "7", "null", '"text"', "{}", '{"format": 1}', "[" * 100_000, '{"format": NaN}'],
        ids=["empty", "open", "list", "number", "null", "text", "bare", "nothing more", "deep", "nan"],
    )
    def test_what_is_no_certificate(self, text: str) -> None:
        with pytest.raises(ssba.ArgumentError, match="this is no certificate"):
            Certificate.from_json(text)

    def test_a_later_format(self) -> None:
        with pytest.raises(ssba.ArgumentError, match="its format is 2; this version of ssba reads 1"):
            Certificate.from_json(json.dumps({**FOUND.to_dict(), "format": 2}))

    def test_a_name_that_stands_twice(self) -> None:
        text = FOUND.to_json().replace('"format": 1,', '"format": 1, "format": 1,')
        with pytest.raises(ssba.ArgumentError, match="a name stands twice"):
            Certificate.from_json(text)

    @pytest.mark.parametrize("part", ["explanation", "columns", "target", "request", "model"])
    def test_a_missing_part(self, part: str) -> None:
        document = {name: value for name, value in FOUND.to_dict().items() if name != part}
        with pytest.raises(ssba.ArgumentError, match=f"its part '{part}' is missing"):
            Certificate.from_json(json.dumps(document))

    @pytest.mark.parametrize(
        ("name", "value"),
        [("scale", 0), ("scale", "wide"), ("weight", None), ("kind", "blob"), ("levels", [])],
    )
    def test_a_column_of_no_kind_or_scale(self, name: str, value: Any) -> None:
        document = FOUND.to_dict()
        columns = [{**one, name: value} if one["name"] == "kind" else one for one in document["columns"]]
        with pytest.raises(ssba.ArgumentError, match="column 'kind'"):
            Certificate.from_json(json.dumps({**document, "columns": columns}))

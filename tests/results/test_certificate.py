"""Certificates as documents: nothing is lost, and what was altered shows."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression

import ssba
from ssba.results.certificate import Certificate, Check, certified, digest_of, own_checks
from ssba.results.explanation import Explanation

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


EXPLAINER = ssba.Explainer(
    model, DATA, target="groß", features=FEATURES, distance=ssba.Distance(weights={"n": 2.0})
)


def certificate(
    constraints: Any = (), query: Any = QUERY, explainer: ssba.Explainer = EXPLAINER, **options: Any
) -> Certificate:
    return explainer.certificate(explainer.explain(query, constraints, **options))


CERTIFICATES = {
    "found": certificate(["kind == x.kind", "n within 3"], k=3),
    "bounded": certificate([ssba.fixed(name) for name in QUERY if name != "ok"]),
    "infeasible": certificate(["n >= 7", "n <= 3"]),
    "already_there": certificate(query={**QUERY, "größe": 190.0}),
}
FOUND = CERTIFICATES["found"]


def altered(edit: Any, original: Certificate = FOUND) -> Certificate:
    """The certificate after an edit of its JSON form."""
    document = json.loads(original.to_json())
    edit(document["explanation"])
    return Certificate.from_json(json.dumps(document))


def forged(edit: Any, original: Certificate = FOUND) -> Certificate:
    """The certificate after an edit by someone who knows how to make a digest."""
    return certified(altered(edit, original).explanation)


def failing(checks: list[Check]) -> list[str]:
    return [one.name for one in checks if not one.passed]


@pytest.mark.parametrize(
    ("constraints", "seen"),
    [
        ([], "there are none"),
        (["ok == x.ok"], "the only one is met"),
        (["ok == x.ok", "n <= 8"], "all 2 are met"),
    ],
)
def test_constraints_that_are_met_are_counted(constraints: list[str], seen: str) -> None:
    checks = {one.name: one.seen for one in own_checks(certificate(constraints))}
    assert checks["answer 1, constraints"] == seen


@pytest.mark.parametrize("status", CERTIFICATES)
class TestEveryStatus:
    def test_is_what_the_case_is_about(self, status: str) -> None:
        assert CERTIFICATES[status].explanation.status == status

    def test_json_round_trip_loses_nothing(self, status: str) -> None:
        before = CERTIFICATES[status]
        after = Certificate.from_json(before.to_json())
        assert after == before
        assert after.is_intact
        assert after.to_json() == before.to_json()

    def test_it_holds_by_itself(self, status: str) -> None:
        assert failing(own_checks(CERTIFICATES[status])) == []


class TestContent:
    def test_it_holds_what_an_audit_asks_for(self) -> None:
        document = json.loads(FOUND.to_json())
        assert (document["schema"], document["kind"]) == (1, "certificate")
        shown = document["explanation"]
        assert (shown["model"], len(shown["model_fingerprint"])) == ("model", 16)
        assert shown["goal"] == {"kind": "reach", "label": "groß"}
        assert shown["constraints"] == ["kind == x.kind", "n within 3"]
        assert shown["options"]["k"] == 3
        assert [one["name"] for one in shown["columns"]] == list(QUERY)
        assert shown["columns"][1]["weight"] == 2.0
        assert len(document["sha256"]) == 64

    def test_the_digest_is_that_of_the_explanation(self) -> None:
        assert FOUND.sha256 == digest_of(FOUND.explanation)
        assert len({one.sha256 for one in CERTIFICATES.values()}) == len(CERTIFICATES)
        again = Explanation.from_json(FOUND.explanation.to_json())
        assert digest_of(again) == FOUND.sha256

    @pytest.mark.parametrize(
        "target",
        [None, 1, ssba.probability(1, at_least=0.7), ssba.probability(0, at_most=0.2)],
        ids=str,
    )
    def test_settings_rebuild_the_explainer(self, target: Any) -> None:
        rows = _rng.normal(size=(200, 2))
        trained = LogisticRegression().fit(rows, rows[:, 0] > 0)
        trained.classes_ = np.array([0, 1])
        explainer = ssba.Explainer(trained, rows, target, distance=ssba.Distance("l1", scale="mad"), seed=3)
        made = certificate(query=[-1.0, 0.0], explainer=explainer)
        read = Certificate.from_json(made.to_json())
        again = ssba.Explainer(trained, rows, **read.settings)
        assert made.explanation.counterfactuals
        assert again.explain([-1.0, 0.0]).counterfactuals == made.explanation.counterfactuals

    def test_targets_of_regressors_keep_their_open_end(self) -> None:
        rows = _rng.normal(size=(200, 2))
        trained = LinearRegression().fit(rows, rows[:, 0])
        explainer = ssba.Explainer(trained, rows, ssba.value_between(high=-0.5))
        read = Certificate.from_json(certificate(query=[1.0, 0.0], explainer=explainer).to_json())
        assert read.settings["target"] == ssba.value_between(high=-0.5)

    def test_a_change_is_certified_as_the_interval_it_was_for_the_query(self) -> None:
        rows = _rng.normal(size=(200, 2))
        trained = LinearRegression().fit(rows, rows[:, 0])
        explainer = ssba.Explainer(trained, rows, ssba.value_change(at_least=1))
        read = Certificate.from_json(certificate(query=[0.5, 0.0], explainer=explainer).to_json())
        assert read.settings["target"].low == pytest.approx(1.5)
        assert explainer.check_certificate(read).passed

    def test_it_tells_what_it_is(self) -> None:
        assert "status found toward 'groß'" in FOUND.sentence
        assert FOUND.sha256[:12] in repr(FOUND)


class TestAltered:
    def test_an_edit_does_not_fit_the_digest(self) -> None:
        def edit(explanation: Any) -> None:
            explanation["target"] = "'klein'"

        assert failing(own_checks(altered(edit))) == ["digest"]

    def test_spaces_and_order_do(self) -> None:
        document = dict(reversed(list(FOUND.to_dict().items())))
        document["explanation"] = dict(reversed(list(document["explanation"].items())))
        assert Certificate.from_json(json.dumps(document, indent=7)).is_intact

    def test_a_shorter_distance_is_recomputed(self) -> None:
        def edit(explanation: Any) -> None:
            explanation["counterfactuals"][0]["distance"] *= 0.999

        assert failing(own_checks(altered(edit))) == ["digest", "answer 1, distance"]
        assert failing(own_checks(forged(edit))) == ["answer 1, distance"]

    def test_another_value_differs_from_the_listed_changes(self) -> None:
        def edit(explanation: Any) -> None:
            explanation["counterfactuals"][0]["values"]["ok"] ^= True

        assert set(failing(own_checks(forged(edit)))) == {"answer 1, changes", "answer 1, distance"}

    def test_a_broken_constraint_is_named(self) -> None:
        def edit(explanation: Any) -> None:
            explanation["constraints"].append("größe <= 100")

        checks = own_checks(forged(edit))
        assert failing(checks) == [f"answer {n}, constraints" for n in (1, 2, 3)]
        assert any("größe <= 100" in one.seen for one in checks)

    @pytest.mark.parametrize("text", ["n <=", "zz >= 3", "kind >= 2"])
    def test_a_constraint_that_cannot_be_read_fails(self, text: str) -> None:
        made = forged(lambda explanation: explanation["constraints"].append(text))
        assert "answer 1, constraints" in failing(own_checks(made))

    def test_a_status_that_does_not_fit_fails(self) -> None:
        def edit(explanation: Any) -> None:
            explanation["counterfactuals"] = []

        assert failing(own_checks(altered(edit))) == ["digest", "status"]
        assert failing(own_checks(forged(edit))) == ["status"]

    @pytest.mark.parametrize("value", [None, "tall", [1], {"a": 1}, True, 1e308, 10**400])
    def test_cells_of_any_type_fail_without_an_error(self, value: Any) -> None:
        def edit(explanation: Any) -> None:
            explanation["counterfactuals"][0]["values"]["größe"] = value

        assert "answer 1, changes" in failing(own_checks(forged(edit)))

    def test_a_query_without_all_columns_fails_without_an_error(self) -> None:
        def edit(explanation: Any) -> None:
            explanation["query"] = {"n": 2}

        assert {"answer 1, changes", "answer 1, distance"} <= set(failing(own_checks(forged(edit))))


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner: Any = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in inner:
        if isinstance(one, dict | list):
            yield from leaves(one, (*path, key))
        else:
            yield (*path, key)


# What is written for other readers' sake is worked out anew when a document is read.
_DERIVED = "sentence"
_LEAVES = [path for path in leaves(FOUND.to_dict()) if _DERIVED not in path]


@given(st.sampled_from(sorted(_LEAVES, key=repr)), st.sampled_from([None, "x", 0.5, -3, [], {}]))
def test_whatever_is_altered_is_refused_or_shows(path: tuple[Any, ...], other: Any) -> None:
    document = copy.deepcopy(FOUND.to_dict())
    place = document
    for key in path[:-1]:
        place = place[key]
    assume(place[path[-1]] != other)
    place[path[-1]] = other
    try:
        read = Certificate.from_json(json.dumps(document))
    except ssba.errors.ArgumentError:
        return
    assert "digest" in failing(own_checks(read))


class TestRefused:
    @pytest.mark.parametrize(
        "text",
        ["", "{", "[]", "7", "null", '"text"', "{}", '{"schema": 1}', "[" * 100_000, '{"schema": NaN}'],
        ids=["empty", "open", "list", "number", "null", "text", "bare", "nothing more", "deep", "nan"],
    )
    def test_what_is_no_certificate(self, text: str) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match="this is not the JSON of the kind 'certificate'"):
            Certificate.from_json(text)

    def test_a_later_version(self) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match="schema version 2; this version of ssba reads 1"):
            Certificate.from_json(json.dumps({**FOUND.to_dict(), "schema": 2}))

    def test_a_name_that_stands_twice(self) -> None:
        text = FOUND.to_json().replace('"schema": 1,', '"schema": 1, "schema": 1,', 1)
        with pytest.raises(ssba.errors.ArgumentError, match="it has a duplicate name"):
            Certificate.from_json(text)

    @pytest.mark.parametrize("part", ["columns", "goal", "options", "model", "budget", "constraints"])
    def test_a_missing_part(self, part: str) -> None:
        with pytest.raises(
            ssba.errors.ArgumentError, match=f"this is not the JSON of the kind 'certificate'.*{part}"
        ):
            altered(lambda explanation: explanation.pop(part))

    @pytest.mark.parametrize(
        ("part", "value"),
        [
            ("query", None),
            ("query", []),
            ("constraints", [7]),
            ("options", {}),
            ("columns", 3),
            ("status", "lost"),
        ],
    )
    def test_a_part_of_another_form(self, part: str, value: Any) -> None:
        with pytest.raises(ssba.errors.ArgumentError, match="this is not the JSON of the kind 'certificate'"):
            altered(lambda explanation: explanation.update({part: value}))

    @pytest.mark.parametrize(
        ("name", "value"),
        [("scale", 0), ("scale", "wide"), ("weight", None), ("kind", "blob"), ("levels", [])],
    )
    def test_a_column_of_no_kind_or_scale(self, name: str, value: Any) -> None:
        def edit(explanation: Any) -> None:
            explanation["columns"][2][name] = value

        with pytest.raises(ssba.errors.ArgumentError, match="this is not the JSON of the kind 'certificate'"):
            altered(edit)

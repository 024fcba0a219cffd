"""The service: what it answers is what the library answers, and what it refuses it refuses by name."""

import json
import threading
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError
from tests.apps.projects import PATIENT, STUCK, WELL, Slow, heart, loans
from tests.support import every

import ssba
from ssba.apps.limits import Cancelled, Limits, Meter
from ssba.apps.requests import (
    CertificateRequest,
    CheckRequest,
    CohortRequest,
    ExplainRequest,
    LeversRequest,
    PlanRequest,
    PredictRequest,
    RangesRequest,
    RowsRequest,
    TryRequest,
    WhyNotRequest,
)
from ssba.apps.service import Service
from ssba.errors import ArgumentError, ConstraintError, ModelError, SchemaError, StoppedError, TargetError
from ssba.results import Certificate, Cohort, Explanation, LeverTable, Plan, Ranges, Trial, WhyNot

SERVICE = Service(heart(), workers=2)
LOANS = Service(loans())
EXPLAINER = heart().explainer()
RULES = heart().settings.constraints
BUDGET = ssba.Budget(15_000, 30.0)


def of_library(**asked: Any) -> Explanation:
    return EXPLAINER.explain(heart().rows.iloc[PATIENT], RULES, budget=BUDGET, **asked)


def same(reply: dict[str, Any], result: Any) -> bool:
    """Tell whether a reply holds a result, but for the time it took and the label of a Series."""
    apart = {"seconds": 0, "row_label": None}
    return {**reply, **apart} == {**json.loads(result.to_json()), **apart}


class TestExplain:
    def test_it_is_what_the_library_answers(self) -> None:
        reply = SERVICE.explain(ExplainRequest(row=PATIENT))
        assert same(reply.explanation, of_library())
        assert reply.sentence == of_library().sentence
        assert "not medical advice" in reply.caution

    def test_options_constraints_budget_and_target_are_passed_on(self) -> None:
        request = ExplainRequest.model_validate(
            {
                "row": PATIENT,
                "constraints": ["trestbps == x.trestbps"],
                "target": "probability:no disease>=0.45",
                "options": {"k": 2, "margin": {"kind": "score_margin", "amount": 0.01}},
                "budget": {"rows": 4000},
            }
        )
        wanted = EXPLAINER.toward(ssba.probability("no disease", at_least=0.45)).explain(
            heart().rows.iloc[PATIENT],
            [*RULES, "trestbps == x.trestbps"],
            options=ssba.Options(k=2, margin=ssba.score_margin(0.01)),
            budget=ssba.Budget(4000),
        )
        assert wanted.status == "found"
        assert same(SERVICE.explain(request).explanation, wanted)

    def test_the_projects_constraints_can_be_left_out(self) -> None:
        free = SERVICE.explain(ExplainRequest(row=PATIENT, project_constraints=False)).explanation
        assert free["constraints"] == []
        assert free["counterfactuals"][0]["distance"] < of_library().answers[0].distance

    def test_a_row_can_be_named_by_its_values_or_given(self) -> None:
        row = heart().rows.iloc[PATIENT]
        where = {"chol": int(row["chol"]), "thalach": int(row["thalach"])}
        given = EXPLAINER.predict(row).values
        labelled = {**given, "diagnosis": "disease"}
        for asked in ({"where": where}, {"values": given}, {"values": labelled}):
            assert same(SERVICE.explain(ExplainRequest.model_validate(asked)).explanation, of_library())

    def test_values_can_be_set(self) -> None:
        reply = SERVICE.explain(ExplainRequest(row=PATIENT, set={"chol": 200}))
        assert reply.explanation["query"]["chol"] == 200

    def test_a_value_beyond_the_data_is_predicted_with_a_note(self) -> None:
        request = PredictRequest.model_validate({"row": PATIENT, "set": {"age": 500, "oldpeak": -1.5}})
        assert SERVICE.predict(request).sentence.endswith(
            " The age of 500 is outside the data's 29 to 77 years."
            " The oldpeak of -1.5 is outside the data's 0 to 6.2 mm."
        )
        assert SERVICE.predict(PredictRequest(row=PATIENT, set={"age": 77})).sentence.endswith(
            "'no disease'."
        )

    def test_without_an_answer_there_is_the_bounded_move(self) -> None:
        reply = SERVICE.explain(ExplainRequest(row=STUCK))
        assert reply.explanation["status"] == "bounded"
        assert reply.explanation["bounded"]["changes"]

    @pytest.mark.parametrize(
        ("asked", "error", "said"),
        [
            ({"row": 303}, ArgumentError, "row 303 is not in the data, whose 303 rows are 0 to 302"),
            ({"where": {"age": 67}}, ArgumentError, "9 rows of the data have age = 67: 1, 2, 71"),
            ({"where": {"age": 7}}, ArgumentError, "no row of the data has age = 7"),
            ({"where": {"aeg": 7}}, SchemaError, "did you mean 'age'"),
            ({"row": 6, "set": {"chol": "much"}}, SchemaError, "column 'chol': 'much' is not a number"),
            ({"row": 6, "set": {"choll": 2}}, SchemaError, "choll"),
            ({"values": {"age": 50}}, SchemaError, "sex"),
            ({"row": 6, "constraints": ["chol <"]}, ConstraintError, "chol <"),
            ({"row": 6, "target": "well"}, TargetError, "its classes: 'disease', 'no disease'"),
            ({"row": 6, "target": "value:1..2"}, TargetError, "value"),
            ({"row": 6, "target": "probability:no disease"}, TargetError, "is not understood"),
        ],
    )
    def test_what_does_not_fit_is_refused_by_name(self, asked: Any, error: Any, said: str) -> None:
        with pytest.raises(error, match=said):
            SERVICE.explain(ExplainRequest.model_validate(asked))
        # An explainer that was in use is back.
        assert SERVICE.predict(PredictRequest(row=WELL)).prediction["reached"]


class TestAdvice:
    def test_a_plan_of_a_row_and_of_its_explanation_are_the_same(self) -> None:
        first = SERVICE.plan(PlanRequest(row=PATIENT, max_step={"thalach": 10}))
        wanted = EXPLAINER.plan(of_library(), max_step={"thalach": 10})
        assert Plan.from_dict(first.plan) == wanted
        assert first.sentence == wanted.sentence
        again = SERVICE.plan(PlanRequest(explanation=first.explanation, max_step={"thalach": 10}))
        assert again.plan == first.plan

    def test_why_not_levers_and_trials(self) -> None:
        number = LOANS.rows(RowsRequest(reached=False)).rows[0].row
        held = ("income == x.income", "debt >= x.debt")
        why = LOANS.why_not(WhyNotRequest(row=number, constraints=held))
        assert why.explanation["status"] == "bounded"
        assert WhyNot.from_dict(why.why_not).relaxations
        assert "reaches 'granted'" in why.sentence
        levers = LOANS.levers(LeversRequest(row=number, max_columns=1))
        assert LeverTable.from_dict(levers.levers).levers
        assert "Columns that can reach 'granted'" in levers.sentence
        trial = LOANS.try_values(TryRequest(row=number, try_values={"debt": 0}))
        assert Trial.from_dict(trial.trial).values["debt"] == 0

    def test_ranges_and_a_certificate_of_an_explanation_from_before(self) -> None:
        found = SERVICE.explain(ExplainRequest(row=PATIENT))
        assert found.evidence == of_library().evidence.sentence
        ranges = SERVICE.ranges(RangesRequest(explanation=found.explanation))
        assert Ranges.from_dict(ranges.ranges) == EXPLAINER.ranges(of_library())
        made = SERVICE.certificate(CertificateRequest(explanation=found.explanation)).certificate
        assert EXPLAINER.check_certificate(Certificate.from_dict(made)).passed

    def test_an_explanation_that_was_tampered_with_is_refused(self) -> None:
        sent = SERVICE.explain(ExplainRequest(row=PATIENT)).explanation
        best = sent["counterfactuals"][0]
        for wrong in ({"score": 0.99}, {"prediction": "disease"}, {"distance": 0.1}):
            forged = {**sent, "counterfactuals": [{**best, **wrong}]}
            with pytest.raises(ArgumentError, match="does not hold"):
                SERVICE.plan(PlanRequest(explanation=forged))
        greedy = {**sent, "budget": {"rows": 10**12, "seconds": None}}
        with pytest.raises(ArgumentError, match=r"budget.rows is 1,000,000,000,000"):
            SERVICE.plan(PlanRequest(explanation=greedy))

    def test_an_explanation_of_something_else_is_refused(self) -> None:
        other = LOANS.explain(ExplainRequest(row=0)).explanation
        with pytest.raises(ArgumentError, match="another model"):
            SERVICE.plan(PlanRequest(explanation=other))
        with pytest.raises(ArgumentError, match="not the JSON"):
            SERVICE.plan(PlanRequest(explanation={"kind": "explanation"}))

    def test_constraints_are_checked_with_the_projects_own(self) -> None:
        reply = SERVICE.check_constraints(CheckRequest(row=PATIENT, constraints=("chol >= 300",)))
        assert reply.check["clash"] == ["0.8 * x.chol <= chol <= x.chol", "chol >= 300"]

    def test_a_report_is_a_page(self) -> None:
        page = SERVICE.report(ExplainRequest(row=PATIENT))
        assert page.startswith("<!DOCTYPE html>")
        assert "serum cholesterol" in page
        assert "Heart patients" in page


class TestRows:
    def test_pages_follow_each_other(self) -> None:
        first = SERVICE.rows(RowsRequest(limit=3))
        second = SERVICE.rows(RowsRequest(limit=3, offset=3))
        assert [one.row for one in (*first.rows, *second.rows)] == [0, 1, 2, 3, 4, 5]
        assert first.total == second.total == 303
        assert first.rows[0].values["diagnosis"] == "no disease"

    def test_rows_are_found_by_text_and_by_values(self) -> None:
        found = SERVICE.rows(RowsRequest(search="TYPICAL", where={"sex": "male", "age": "63"}))
        assert found.total > 0
        assert every(one.values["age"] == 63 and "typical" in str(one.values["cp"]) for one in found.rows)

    def test_rows_that_need_a_change_are_those_the_model_puts_elsewhere(self) -> None:
        need = SERVICE.rows(RowsRequest(reached=False, limit=200))
        said = heart().model.predict(heart().rows)
        assert [one.row for one in need.rows] == [i for i, label in enumerate(said) if label != "no disease"]
        assert every(one.prediction == "disease" for one in need.rows)
        assert need.total + SERVICE.rows(RowsRequest(reached=True)).total == 303

    def test_rows_are_sorted_by_the_score_of_the_target(self) -> None:
        lowest = SERVICE.rows(RowsRequest(sort="score", limit=200)).rows
        scores = heart().model.predict_proba(heart().rows)[:, 1]
        assert [one.score for one in lowest] == pytest.approx(sorted(scores)[:200])
        (highest,) = SERVICE.rows(RowsRequest(sort="-score", limit=1)).rows
        assert highest.score == pytest.approx(scores.max())

    def test_missing_cells_are_null_and_can_be_asked_for(self) -> None:
        found = SERVICE.rows(RowsRequest(where={"thal": None}))
        assert found.total == 2
        assert every(one.values["thal"] is None for one in found.rows)

    def test_a_number_that_no_float_can_hold_is_in_no_row(self) -> None:
        assert SERVICE.rows(RowsRequest(where={"age": 10**400})).total == 0

    def test_a_page_beyond_the_end_is_empty(self) -> None:
        assert SERVICE.rows(RowsRequest(offset=400)).rows == ()


class TestNames:
    def test_people_read_names_and_programs_read_classes(self) -> None:
        number = LOANS.rows(RowsRequest(reached=False)).rows[0].row
        reply = LOANS.explain(ExplainRequest(row=number))
        assert reply.explanation["prediction"] == 0
        assert "from refused to granted" in reply.sentence
        assert "predicts refused" in LOANS.predict(PredictRequest(row=number)).sentence
        assert "from refused to granted" in LOANS.plan(PlanRequest(row=number)).sentence

    def test_a_target_is_a_name_or_a_class(self) -> None:
        for target in ("refused", 0, "0", "other"):
            granted = LOANS.rows(RowsRequest(reached=True)).rows[0].row
            reply = LOANS.explain(ExplainRequest(row=granted, target=target))
            assert reply.explanation["counterfactuals"][0]["prediction"] == 0

    def test_rows_are_named_by_their_id_which_the_model_does_not_take(self) -> None:
        reply = LOANS.explain(ExplainRequest(where={"customer": "c007"}))
        assert set(reply.explanation["query"]) == {"income", "debt"}
        assert LOANS.describe().id == "customer"


class TestCohort:
    def test_it_is_what_the_library_says_about_all_rows_together(self) -> None:
        told: list[tuple[int, int]] = []
        request = CohortRequest(rows=tuple(range(20)), by="region", options=ssba.Options(evidence=0))
        reply, _ = LOANS.cohort(request, done=lambda *far: told.append(far))
        explainer, rows = loans().explainer(), loans().rows.iloc[:20]
        regions = list(loans().table["region"].iloc[:20])
        wanted = explainer.explain_many(rows, budget=BUDGET, evidence=0).cohort(by=regions)
        assert Cohort.from_dict(reply.cohort).sentence == reply.sentence == wanted.sentence
        assert told == [(0, 20), (16, 20), (20, 20)]

    def test_all_rows_that_need_a_change_are_meant_by_default(self) -> None:
        numbers = LOANS.cohort_rows(CohortRequest())
        assert len(numbers) == LOANS.rows(RowsRequest(reached=False)).total > 0

    def test_rows_can_be_chosen_by_text_and_values(self) -> None:
        numbers = LOANS.cohort_rows(CohortRequest(where={"region": "north"}))
        need = LOANS.rows(RowsRequest(reached=False, where={"region": "north"}, limit=200)).rows
        assert numbers == [one.row for one in need]
        with pytest.raises(ArgumentError, match="but not both"):
            LOANS.cohort_rows(CohortRequest(rows=(1,), search="north"))

    def test_a_row_or_column_that_is_not_there_is_refused_at_once(self) -> None:
        with pytest.raises(ArgumentError, match="row 999"):
            SERVICE.cohort(CohortRequest(rows=(1, 999)))
        with pytest.raises(SchemaError, match="did you mean 'sex'"):
            SERVICE.cohort(CohortRequest(rows=(1,), by="sxe"))


class TestLimits:
    def test_a_request_stops_at_its_rows(self) -> None:
        with pytest.raises(StoppedError, match="more than the 20 model rows"):
            SERVICE.explain(ExplainRequest(row=STUCK), Meter(Limits(rows=20)))
        assert SERVICE.explain(ExplainRequest(row=PATIENT)).explanation["status"] == "found"

    def test_a_cancelled_request_stops_at_its_next_model_call(self) -> None:
        meter = Meter()
        slow = Slow()
        service = Service(replace(loans(), model=slow))
        slow.during = lambda calls: meter.cancel()
        before = slow.calls
        with pytest.raises(Cancelled):
            service.explain(ExplainRequest(where={"customer": "c007"}), meter)
        assert slow.calls == before + 1

    def test_a_request_that_asks_no_model_stops_as_well(self) -> None:
        meter = Meter()
        meter.cancel()
        request = CheckRequest(row=PATIENT, constraints=("chol <= 100", "chol >= 200"))
        with pytest.raises(Cancelled):
            SERVICE.check_constraints(request, meter)
        with pytest.raises(StoppedError, match="longer than the 0 seconds"):
            SERVICE.check_constraints(request, Meter(Limits(seconds=0.0)))

    def test_progress_is_reported_in_rows(self) -> None:
        told: list[int] = []
        meter = Meter(report=told.append)
        SERVICE.explain(ExplainRequest(row=PATIENT), meter)
        assert told == sorted(told)
        assert told[-1] == meter.rows > 0


class TestManyAtOnce:
    def test_two_requests_are_worked_on_at_once_and_a_third_waits(self) -> None:
        together = threading.Barrier(2, timeout=20)
        project = replace(loans(), model=Slow())
        service = Service(project, workers=2)
        met: list[int] = []

        def wait(calls: int) -> None:
            if not met:
                together.wait()
                met.append(calls)

        # Both must be inside a model call at the same time, else the barrier breaks.
        service.predict(PredictRequest(row=0))
        project.model.during = wait
        threads = [threading.Thread(target=service.predict, args=(PredictRequest(row=i),)) for i in range(3)]
        for one in threads:
            one.start()
        for one in threads:
            one.join(timeout=20)
        assert met
        assert not together.broken

    def test_requests_do_not_wait_for_a_cohort(self) -> None:
        project = replace(loans(), model=Slow())
        service, inside, go_on = Service(project, workers=1), threading.Event(), threading.Event()
        service.predict(PredictRequest(row=0))

        def wait(calls: int) -> None:
            if threading.current_thread() is not threading.main_thread():
                inside.set()
                go_on.wait(20)

        project.model.during = wait
        cohort = threading.Thread(target=service.cohort, args=(CohortRequest(rows=(0, 1)),))
        cohort.start()
        assert inside.wait(20)
        assert service.predict(PredictRequest(row=1)).prediction["prediction"] in (0, 1)
        go_on.set()
        cohort.join(20)
        assert not cohort.is_alive()

    def test_a_request_that_waits_for_an_explainer_can_be_cancelled(self) -> None:
        service, inside, go_on = Service(replace(loans(), model=Slow())), threading.Event(), threading.Event()

        def wait(calls: int) -> None:
            inside.set()
            go_on.wait(20)

        service.project.model.during = wait
        first = threading.Thread(target=service.predict, args=(PredictRequest(row=0),))
        first.start()
        assert inside.wait(20)
        meter = Meter()
        meter.cancel()
        with pytest.raises(Cancelled):
            service.predict(PredictRequest(row=1), meter)
        go_on.set()
        first.join(20)

    def test_the_answer_does_not_depend_on_what_was_asked_before(self) -> None:
        fresh = Service(heart()).explain(ExplainRequest(row=PATIENT)).explanation
        used = SERVICE.explain(ExplainRequest(row=PATIENT)).explanation
        assert {**fresh, "seconds": 0} == {**used, "seconds": 0}


def test_it_says_what_it_is_about() -> None:
    told = SERVICE.describe()
    assert (told.rows, told.target, told.classes) == (303, "'no disease'", ("disease", "no disease"))
    assert told.meanings["chol"] == "serum cholesterol"
    assert [one["name"] for one in told.columns["items"]] == list(heart().rows.columns)
    assert json.loads(told.model_dump_json())["constraints"] == list(RULES)


class TestRequests:
    def test_exactly_one_way_names_the_row(self) -> None:
        with pytest.raises(ValidationError, match="exactly one of row, where, values; none of them is given"):
            ExplainRequest()
        with pytest.raises(ValidationError, match="row and values are given"):
            ExplainRequest(row=1, values={})
        with pytest.raises(ValidationError, match="row, where, values, explanation; none"):
            PlanRequest()

    @pytest.mark.parametrize(
        ("asked", "said"),
        [
            ({"row": -1}, "greater than or equal to 0"),
            ({"row": 1, "kk": 3}, "Extra inputs"),
            ({"row": 1, "options": {"kk": 3}}, "did you mean 'k'"),
            ({"row": 1, "options": {"k": 0}}, "k"),
            ({"row": 1, "options": []}, "give an object"),
            ({"row": 1, "options": {"margin": {"kind": "cube"}}}, "cube"),
            ({"row": 1, "options": {"margin": {"kind": {}}}}, 'margin is {"kind": {}}'),
            ({"row": 1, "budget": {"row": 3}}, "give rows or seconds"),
            ({"row": 1, "budget": {"rows": 0}}, "rows"),
            ({"row": 1, "set": {"chol": [1]}}, "set"),
            ({"row": 1, "set": {"chol": float("nan")}}, "finite"),
        ],
    )
    def test_what_is_not_understood_is_refused(self, asked: Any, said: str) -> None:
        with pytest.raises(ValidationError, match=said):
            ExplainRequest.model_validate(asked)

    def test_options_may_be_those_that_a_result_holds(self) -> None:
        wanted = ssba.Options(k=3, margin=ssba.ball(0.5))
        assert ExplainRequest.model_validate({"row": 1, "options": wanted.to_dict()}).options == wanted

    def test_a_request_survives_json(self) -> None:
        request = ExplainRequest(row=1, options=ssba.Options(k=2), budget=ssba.Budget(rows=5))
        assert ExplainRequest.model_validate_json(request.model_dump_json()) == request


def test_an_explainer_that_could_not_be_made_leaves_its_place() -> None:
    failing = False

    def during(calls: int) -> None:
        if failing:
            raise OSError("the model is away")

    service = Service(replace(loans(), model=Slow(during)), workers=2)
    service.predict(PredictRequest(row=1))
    failing = True
    for _ in range(3):
        with pytest.raises(ModelError):
            service.predict(PredictRequest(row=1))
    failing = False
    assert service.predict(PredictRequest(row=1)).prediction

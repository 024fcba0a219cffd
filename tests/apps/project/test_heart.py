"""The packaged project: everything in it fits, and it has patients of every sort to show."""

from tests.apps.projects import PATIENT, STUCK, WELL, heart

import ssba
from ssba.apps.project.heart import heart_model


def test_its_data_are_the_packaged_patients_with_their_diagnosis() -> None:
    assert heart().table.shape == (303, 14)
    assert heart().settings.labels == "diagnosis"


def test_the_model_is_the_same_every_time() -> None:
    rows = heart().rows
    assert (heart_model().predict_proba(rows) == heart().model.predict_proba(rows)).all()


def test_there_is_a_patient_of_every_sort() -> None:
    explainer, rules = heart().explainer(), heart().settings.constraints
    ended = {n: explainer.explain(heart().rows.iloc[n], rules).status for n in (PATIENT, STUCK, WELL)}
    assert ended == {PATIENT: "found", STUCK: "bounded", WELL: "already_there"}


def test_constraints_read_as_they_are_written() -> None:
    assert [ssba.constraint(text).text for text in heart().settings.constraints] == list(
        heart().settings.constraints
    )

"""Settings as they are without a file."""

from tests.apps.projects import heart, loans


def test_only_the_heart_patients_are_told_that_nothing_is_medical_advice() -> None:
    assert loans().settings.caution == "This explains the model: it does not say what causes what."
    assert heart().settings.caution == (
        "This explains the model: it does not say what causes what, and it is not medical advice."
    )

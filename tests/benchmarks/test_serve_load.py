"""The load benchmark itself, with few clients for a moment."""

import pytest
from benchmarks.serve_load import run


@pytest.mark.slow
def test_clients_get_answers_or_503_and_nothing_else() -> None:
    seen = run(clients=20, seconds=3)
    assert seen.wrong == 0, (seen.statuses, seen.errors)
    assert seen.statuses["200"] == len(seen.answered) > 0

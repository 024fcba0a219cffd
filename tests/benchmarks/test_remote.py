"""The harness of `python -m benchmarks.remote`: what it counts adds up."""

import pytest
from benchmarks import remote


@pytest.mark.slow
def test_a_table_is_printed_for_labels_and_for_scores(capsys: pytest.CaptureFixture[str]) -> None:
    remote.main(n_queries=2)
    printed = capsys.readouterr().out
    for read in remote.TARGETS:
        assert f"| 2 heart patients, an endpoint of {read} | requests | rows |" in printed
    rows = [line.split(" | ") for line in printed.splitlines() if line.startswith("| all with")]
    alone, together = rows[:2]
    # Shared calls ask about the same rows, in fewer requests.
    assert alone[2] == together[2]
    assert int(together[1].replace(",", "")) < int(alone[1].replace(",", ""))

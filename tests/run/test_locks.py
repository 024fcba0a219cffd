"""The lock of an output."""

from pathlib import Path

import pytest

from ssba.errors import ArgumentError
from ssba.run.locks import held

pytest.importorskip("fcntl")


def test_second_run_is_refused_until_the_first_has_ended(tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    with held(out):
        with pytest.raises(ArgumentError, match="another run of ssba is at work on it"), held(out):
            pass
        with held(tmp_path / "other.parquet"):
            pass
    with held(out):
        pass
    assert list(tmp_path.iterdir()) == []


def test_file_that_a_killed_run_left_holds_up_nobody(tmp_path: Path) -> None:
    (tmp_path / ".out.parquet.lock").touch()
    with held(tmp_path / "out.parquet"):
        pass
    assert list(tmp_path.iterdir()) == []

from pathlib import Path

import pytest
from tests.loans import Command, write_loans


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small project."""
    return write_loans(tmp_path_factory.mktemp("loans"))


@pytest.fixture
def ssba_command(project: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command `ssba` with that project."""
    return Command(project, capsys)

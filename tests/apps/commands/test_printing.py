"""What commands show while one waits."""

import sys
import time
from io import StringIO

import pytest

from ssba.apps.commands import printing
from ssba.apps.commands.printing import waiting


class Terminal(StringIO):
    """What is shown on a terminal."""

    def isatty(self) -> bool:
        return True


def shown(stream: StringIO, monkeypatch: pytest.MonkeyPatch) -> str:
    """Wait for something until the sign says so, or for a moment where none is to be expected."""
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with waiting() as meter:
        meter(1200)
        for _ in range(500 if stream.isatty() else 5):
            if "1,200 rows" in stream.getvalue():
                break
            time.sleep(0.02)
    assert meter.rows == 1200
    return stream.getvalue()


def test_terminal_shows_how_many_rows_were_asked_and_is_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "PATIENCE", 0)
    text = shown(Terminal(), monkeypatch)
    assert "asking the model: 1,200 rows so far" in text
    # The last that happens is that the line is erased, and the cursor is there again.
    assert "\x1b[2K" in text[text.rindex("rows so far") :]
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


def test_nothing_is_shown_in_a_pipe_or_before_patience_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "PATIENCE", 0)
    assert shown(StringIO(), monkeypatch) == ""
    monkeypatch.setattr(printing, "PATIENCE", 3600)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with waiting():
        pass
    assert terminal.getvalue() == ""


def test_no_color_leaves_colours_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "PATIENCE", 0)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in shown(Terminal(), monkeypatch)

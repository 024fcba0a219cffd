"""Worker processes: one thread each, and no life of their own."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.worker_tasks import send_half_a_result

from ssba.processes import BrokenProcessPool, first_futures, windowed, workers

_SOURCE = """
import sys, time
from pathlib import Path
from ssba.processes import workers

def rest(folder):
    import os
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(1000)

if __name__ == "__main__":
    with workers(2, print) as crew:
        for _ in range(2):
            crew.submit(rest, sys.argv[1])
        time.sleep(1000)
"""


def nothing() -> None:
    """Begin without anything to do."""


def test_pieces_are_done_and_the_environment_is_as_before() -> None:
    before = dict(os.environ)
    with workers(2, nothing) as crew:
        found = list(windowed(range(5), partial(crew.submit, abs), first_futures, 2))
        threads = crew.submit(os.getenv, "OMP_NUM_THREADS").result()
        assert len(crew.pids) in (1, 2)
    assert sorted(found) == [0, 1, 2, 3, 4]
    assert threads == before.get("OMP_NUM_THREADS", "1")
    assert dict(os.environ) == before


def test_workers_that_are_killed_break_the_pool_and_nothing_is_waited_for() -> None:
    with workers(1, nothing) as crew:
        resting = crew.submit(time.sleep, 1000)
        while not crew.pids:
            time.sleep(0.01)
        crew.kill()
        with pytest.raises(BrokenProcessPool):
            resting.result()


def test_one_that_is_killed_while_it_sends_a_result_is_not_waited_for(tmp_path: Path) -> None:
    sign = tmp_path / "sending"
    with workers(1, nothing) as crew:
        crew.submit(send_half_a_result, sign)
        while not sign.exists():
            time.sleep(0.01)
        crew.kill()
        closing = threading.Thread(target=crew.close, daemon=True)
        closing.start()
        closing.join(60)
        assert not closing.is_alive()


def test_they_end_when_the_process_that_started_them_is_killed(tmp_path: Path) -> None:
    script, folder = tmp_path / "script.py", tmp_path / "begun"
    script.write_text(_SOURCE)
    folder.mkdir()
    started = subprocess.Popen([sys.executable, str(script), str(folder)])
    wait_until(lambda: len(list(folder.iterdir())) == 2)
    started.send_signal(signal.SIGKILL)
    started.wait()
    wait_until(lambda: not any(is_running(int(one.name)) for one in folder.iterdir()))


def test_what_is_typed_in_is_told_from_a_script(tmp_path: Path) -> None:
    source = "from ssba.processes import is_typed_in; print(is_typed_in())"
    script = tmp_path / "script.py"
    script.write_text(source)
    said = [
        subprocess.run([sys.executable, *given], check=True, capture_output=True, text=True).stdout.strip()
        for given in (["-c", source], [str(script)])
    ]
    assert said == ["True", "False"]


def is_running(pid: int) -> bool:
    """Tell whether there is a process that has not ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for something that comes about; a test that waits in vain fails in the end."""
    ends = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < ends, "waited in vain"
        time.sleep(0.05)

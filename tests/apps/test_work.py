"""The desk: few requests at once, some waiting, the others refused, and nothing done for nobody."""

import threading
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from ssba.apps.limits import Busy, Cancelled, Closed, Limits, Meter
from ssba.apps.work import Desk


def run(test: Callable[[], Any]) -> None:
    anyio.run(test)


def test_an_answer_comes_back_and_so_does_an_error() -> None:
    async def test() -> None:
        desk = Desk()
        assert await desk.run(lambda meter: 7, Meter()) == 7
        with pytest.raises(ZeroDivisionError):
            await desk.run(lambda meter: 1 / 0, Meter())
        assert desk.taken == 0

    run(test)


def test_beyond_those_that_may_wait_a_request_is_refused() -> None:
    async def test() -> None:
        desk, go_on = Desk(workers=1, waiting=1), threading.Event()
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(desk.run, lambda meter: go_on.wait(20), Meter())
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(Busy, match="try again in 2 s") as refused:
                await desk.run(lambda meter: None, Meter())
            assert refused.value.retry_after == 2
            go_on.set()
        assert desk.taken == 0
        assert await desk.run(lambda meter: "free again", Meter()) == "free again"

    run(test)


def test_light_work_waits_for_no_other() -> None:
    async def test() -> None:
        desk, go_on = Desk(workers=1, waiting=5), threading.Event()
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(desk.run, lambda meter: go_on.wait(20), Meter())
            await anyio.wait_all_tasks_blocked()
            assert await desk.run(lambda meter: "at once", Meter(), light=True) == "at once"
            assert desk.taken == 3
            go_on.set()

    run(test)


def test_no_more_work_at_once_than_there_are_workers() -> None:
    at_once, most, lock = 0, 0, threading.Lock()

    def work(meter: Meter) -> None:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        threading.Event().wait(0.01)
        with lock:
            at_once -= 1

    async def test() -> None:
        desk = Desk(workers=2, waiting=20)
        async with anyio.create_task_group() as group:
            for _ in range(12):
                group.start_soon(desk.run, work, Meter())

    run(test)
    assert most == 2


def test_work_that_nobody_waits_for_is_cancelled() -> None:
    begun, ended = threading.Event(), threading.Event()

    def work(meter: Meter) -> None:
        begun.set()
        while not meter.is_cancelled:
            threading.Event().wait(0.001)
        ended.set()

    async def test() -> None:
        desk, meter = Desk(workers=1), Meter()
        async with anyio.create_task_group() as group:
            group.start_soon(desk.run, work, meter)
            await anyio.to_thread.run_sync(begun.wait, 20)
            group.cancel_scope.cancel()
        assert meter.is_cancelled
        assert desk.taken == 0

    run(test)
    assert ended.wait(20)


def waits_for(event: threading.Event) -> Callable[[Meter], str]:
    def work(meter: Meter) -> str:
        while not event.wait(0.01):
            meter(1)
        return "done"

    return work


def test_work_runs_in_a_thread_of_its_own_and_its_answer_comes_back() -> None:
    async def main() -> Any:
        return await Desk().run(lambda meter: threading.current_thread(), Meter())

    assert anyio.run(main) is not threading.current_thread()


def test_a_cancelled_caller_stops_the_work_and_its_place_is_free_only_then() -> None:
    async def main() -> None:
        desk, meter, ended = Desk(workers=1, waiting=0), Meter(), threading.Event()

        def work(meter: Meter) -> None:
            try:
                waits_for(threading.Event())(meter)
            finally:
                assert desk.taken == 1
                ended.set()

        with anyio.move_on_after(0.05):
            await desk.run(work, meter)
        assert meter.is_cancelled
        assert ended.is_set()
        assert desk.taken == 0

    anyio.run(main)


def test_work_that_ended_by_itself_is_not_cancelled() -> None:
    meter = Meter()
    anyio.run(Desk().run, lambda meter: None, meter)
    assert not meter.is_cancelled


def test_closing_stops_what_runs_and_refuses_what_comes() -> None:
    async def main() -> None:
        desk = Desk(workers=1)

        async def ask() -> None:
            with pytest.raises(Cancelled):
                await desk.run(waits_for(threading.Event()), Meter())

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            desk.close()
        with pytest.raises(Closed, match="stopping"):
            await desk.run(lambda meter: None, Meter())

    anyio.run(main)


def test_time_in_line_is_not_counted_and_who_left_the_line_is_not_begun() -> None:
    async def main() -> None:
        desk, free, begun = Desk(workers=1), threading.Event(), threading.Event()
        meters = [Meter(), Meter(Limits(seconds=0.02)), Meter()]

        async def leave() -> None:
            with pytest.raises(Cancelled):
                await desk.run(lambda meter: begun.set(), meters[2])

        async with anyio.create_task_group() as group:
            group.start_soon(desk.run, waits_for(free), meters[0])
            group.start_soon(desk.run, lambda meter: meter(1), meters[1])
            group.start_soon(leave)
            await anyio.sleep(0.1)
            meters[2].cancel()
            free.set()
        assert meters[1].rows == 1
        assert not begun.is_set()

    anyio.run(main)

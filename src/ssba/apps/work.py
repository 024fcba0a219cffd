"""The desk in front of a service: requests of many clients, few at a time, none waiting without end."""

from collections.abc import Callable
from typing import TypeVar

from anyio import CapacityLimiter, create_task_group, sleep_forever, to_thread
from anyio.lowlevel import checkpoint_if_cancelled

from ssba.apps.limits import Busy, Closed, Meter

Answer = TypeVar("Answer")


class Desk:
    """Runs requests in threads: as many at once as the service has workers, and some more may wait.

    A request keeps its place until its thread has ended, also when nobody waits for it any more: else
    clients that come and go could pile up threads behind a slow model.

    Parameters
    ----------
    workers : int
        How many searches are worked on at once, and how many requests beside them that search nothing.
    waiting : int
        How many more may wait; beyond that a request is refused with `Busy`.

    Attributes
    ----------
    rows : int
        How many rows the requests that ended asked the model about.
    """

    def __init__(self, workers: int = 2, waiting: int = 32) -> None:
        self._limiter = CapacityLimiter(workers)
        self._light = CapacityLimiter(workers)
        self._places = workers + waiting
        self._meters: list[Meter] = []
        self.rows = 0
        self.is_closed = False

    @property
    def taken(self) -> int:
        """How many requests are worked on or wait."""
        return len(self._meters)

    async def run(self, work: Callable[[Meter], Answer], meter: Meter, *, light: bool = False) -> Answer:
        """Run a piece of work and return its answer; where the caller is cancelled, the work stops soon.

        Light work, which searches nothing, has as many places of its own, so that it waits for no search.
        """
        if self.is_closed:
            raise Closed
        if self.taken >= self._places:
            raise Busy(retry_after=max(1, round(self.taken / self._limiter.total_tokens)))
        self._meters.append(meter)
        try:
            return await self._run_to_the_end(work, meter, self._light if light else self._limiter)
        finally:
            self._meters = [one for one in self._meters if one is not meter]
            self.rows += meter.rows

    def close(self) -> None:
        """Cancel all work, and take no more."""
        self.is_closed = True
        for meter in self._meters:
            meter.cancel()

    async def _run_to_the_end(
        self, work: Callable[[Meter], Answer], meter: Meter, limiter: CapacityLimiter
    ) -> Answer:
        ended = False

        def begin() -> Answer:
            meter.start()
            return work(meter)

        async def pass_on_cancellation() -> None:
            try:
                await sleep_forever()
            finally:
                if not ended:
                    meter.cancel()

        # An error is carried out of the task group, which would wrap it in an ExceptionGroup.
        failure: Exception | None = None
        async with create_task_group() as beside:
            beside.start_soon(pass_on_cancellation)
            try:
                answer = await to_thread.run_sync(begin, limiter=limiter)
            except Exception as error:
                failure = error
            ended = True
            beside.cancel_scope.cancel()
        # A caller that was cancelled ends as such, not with what its work made of it.
        await checkpoint_if_cancelled()
        if failure is not None:
            raise failure
        return answer

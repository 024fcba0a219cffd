"""The desk in front of a service: requests of many clients, few at a time, none waiting without end."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from anyio import CapacityLimiter, get_cancelled_exc_class, to_thread

from ssba.apps.limits import Meter
from ssba.errors import SsbaError

Answer = TypeVar("Answer")


class Busy(SsbaError):
    """Too many requests are waiting; it tells after how many seconds to try again."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"too many requests are waiting; try again in {retry_after} s")
        self.retry_after = retry_after


class Desk:
    """Runs requests in threads: as many at once as the service has workers, and some more may wait.

    Parameters
    ----------
    workers : int
        How many requests are worked on at once.
    waiting : int
        How many more may wait; beyond that a request is refused with `Busy`.
    """

    def __init__(self, workers: int = 2, waiting: int = 32) -> None:
        self._limiter = CapacityLimiter(workers)
        self._places = workers + waiting
        self.taken = 0

    async def run(self, work: Callable[[Meter], Answer], meter: Meter) -> Answer:
        """Run a piece of work and return its answer; where the caller is cancelled, the work stops soon."""
        if self.taken >= self._places:
            raise Busy(retry_after=max(1, round(self.taken / self._limiter.total_tokens)))
        self.taken += 1
        try:
            return await to_thread.run_sync(
                partial(work, meter), limiter=self._limiter, abandon_on_cancel=True
            )
        except get_cancelled_exc_class():
            meter.cancel()
            raise
        finally:
            self.taken -= 1

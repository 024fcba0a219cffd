"""Wall-clock seconds of calls, all warm."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

Answer = TypeVar("Answer")


def timed(call: Callable[[], Answer]) -> tuple[float, Answer]:
    begun = time.perf_counter()
    answer = call()
    return time.perf_counter() - begun, answer


def median_seconds(calls: Sequence[Callable[[], Any]], repeats: int) -> float:
    """The median over all calls and repeats, after each call was made once to warm up."""
    for call in calls:
        call()
    return statistics.median(timed(call)[0] for _ in range(repeats) for call in calls)


def medians_in_turn(ways: Mapping[str, Sequence[Callable[[], Any]]], repeats: int) -> dict[str, float]:
    """The same for several ways to do the same calls, which take turns: what disturbs one disturbs all."""
    turns = list(zip(*ways.values(), strict=True))
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(repeats + 1):
        for calls in turns:
            for way, call in zip(ways, calls, strict=True):
                taken, _ = timed(call)
                if turn:
                    seconds[way].append(taken)
    return {way: statistics.median(listed) for way, listed in seconds.items()}

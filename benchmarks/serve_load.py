"""Many clients at once against `ssba serve`: nothing but answers and 503, and memory that stays.

Run it with ``python -m benchmarks.serve_load``; the server is a process of its own, on loopback, with the
packaged heart patients. Clients that are told to come again later do so sooner than they are told.
"""

import argparse
import random
import re
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx2

_ROWS = 303
_PAUSE = 0.25


@dataclass
class Seen:
    """What the clients saw."""

    statuses: Counter[str] = field(default_factory=Counter)
    answered: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    memory: list[float] = field(default_factory=list)

    @property
    def wrong(self) -> int:
        """How much came that is neither an answer nor 503."""
        return sum(self.errors.values()) + sum(
            number for status, number in self.statuses.items() if status not in ("200", "503")
        )


@contextmanager
def server() -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Run `ssba serve` in a process of its own, and give its address."""
    program = "from ssba.apps.cli import main; main()"
    running = subprocess.Popen(
        [sys.executable, "-c", program, "serve", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert running.stdout is not None
        (url,) = re.findall(r"http://\S+", running.stdout.readline())
        yield running, url
    finally:
        running.terminate()
        running.communicate(timeout=30)


def question(draw: random.Random) -> tuple[str, str, Any]:
    """Draw a request: most ask for a prediction, some for rows, some for the smallest change."""
    kind = draw.random()
    row = draw.randrange(_ROWS)
    if kind < 0.6:
        return "POST", "/api/predict", {"row": row}
    if kind < 0.8:
        return "POST", "/api/rows", {"offset": row, "limit": 5}
    if kind < 0.85:
        return "GET", "/api/schema", None
    return "POST", "/api/explain", {"row": row, "budget": {"rows": 2000}}


async def ask(client: httpx2.AsyncClient, draw: random.Random, seen: Seen, until: float) -> None:
    """Ask one question after the other."""
    while time.monotonic() < until:
        method, path, body = question(draw)
        begun = time.perf_counter()
        try:
            reply = await client.request(method, path, json=body)
        except httpx2.HTTPError as error:
            seen.errors[type(error).__name__] += 1
            continue
        spent = time.perf_counter() - begun
        seen.statuses[str(reply.status_code)] += 1
        if reply.status_code == 503:
            seen.refused.append(spent)
            await anyio.sleep(_PAUSE)
        else:
            seen.answered.append(spent)


async def load(url: str, process: int, clients: int, seconds: float) -> Seen:
    """Let clients ask for some time; memory is looked at when half of it has passed, and at the end."""
    seen = Seen()
    limits = httpx2.Limits(max_connections=clients, max_keepalive_connections=clients)
    async with httpx2.AsyncClient(base_url=url, timeout=120.0, limits=limits) as client:
        # The first of each kind makes what later ones share.
        for path, body in (("/api/rows", {"reached": False}), ("/api/explain", {"row": 1})):
            (await client.post(path, json=body)).raise_for_status()
        seen.memory.append(resident(process))
        until = time.monotonic() + seconds
        async with anyio.create_task_group() as group:
            for number in range(clients):
                group.start_soon(ask, client, random.Random(number), seen, until)
            await anyio.sleep(seconds / 2)
            seen.memory.append(resident(process))
        seen.memory.append(resident(process))
    return seen


def resident(process: int) -> float:
    """Return the memory of a process, in MiB; not a number where the system does not tell."""
    status = Path(f"/proc/{process}/status")
    if not status.exists():
        return float("nan")
    found = re.search(r"VmRSS:\s+(\d+) kB", status.read_text(encoding="ascii"))
    return int(found.group(1)) / 1024 if found else float("nan")


def run(clients: int, seconds: float) -> Seen:
    """Start a server, load it, and return what came of it."""
    with server() as (running, url):
        return anyio.run(load, url, running.pid, clients, seconds)


def percentiles(times: Sequence[float]) -> str:
    if len(times) < 2:
        return "none"
    cuts = statistics.quantiles(times, n=100)
    return f"p50 {1000 * cuts[49]:,.0f} ms, p99 {1000 * cuts[98]:,.0f} ms"


def main() -> None:
    """Print what came back, how soon, and how much memory the server had."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args()
    seen = run(given.clients, given.seconds)
    total = sum(seen.statuses.values())
    print(f"{given.clients} clients, {given.seconds:g} s: {total:,} replies, {total / given.seconds:,.0f}/s")
    print(f"by status: {dict(sorted(seen.statuses.items()))}; errors: {dict(seen.errors) or 'none'}")
    print(f"answered: {percentiles(seen.answered)}; refused with 503: {percentiles(seen.refused)}")
    start, middle, end = seen.memory
    print(
        f"memory of the server: {start:.0f} MiB at the start, {middle:.0f} at half time, {end:.0f} at the end"
    )
    if seen.wrong:
        raise SystemExit(f"{seen.wrong} replies were neither answers nor 503")


if __name__ == "__main__":
    main()

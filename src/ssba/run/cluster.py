"""A Ray cluster: the one that this process has joined already, one at an address, or one of this machine."""

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from ssba.errors import ModelError, ServiceError

_SECONDS = 10.0
"""How long a cluster may take to answer."""


@contextmanager
def joined(address: str | None) -> Iterator[Any]:
    """Join a cluster, and leave it at the end unless this process had joined it before; gives Ray itself."""
    # Ray would ask about this, and report how it is used.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray: Any = import_module("ray")
    is_ours = not ray.is_initialized()
    if is_ours:
        _join(ray, address)
    try:
        with telling():
            yield ray
    finally:
        if is_ours:
            ray.shutdown()


@contextmanager
def telling() -> Iterator[None]:
    """Tell what Ray failed with in one line."""
    # Ray itself is looked for when it has failed, and was loaded then.
    try:
        yield
    except Exception as error:
        ray = sys.modules.get("ray")
        if ray is None or not isinstance(error, ray.exceptions.RayError):
            raise
        lines = str(error).strip().splitlines()
        raise ModelError(f"the Ray cluster failed: {lines[-1] if lines else type(error).__name__}") from None


def _join(ray: Any, address: str | None) -> None:
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is None:
        with on_loopback():
            ray.init("local", include_dashboard=False, **quiet)
        return
    try:
        _knock(address)
        ray.init(address, **quiet)
    except (OSError, ValueError, RuntimeError) as error:
        raise ServiceError(
            f"no Ray cluster can be joined at {address!r} ({type(error).__name__}: "
            f"{str(error).strip().partition(chr(10))[0]:.200}); start one with `ray start --head`, give its "
            "address, or leave address out for a cluster of this machine alone"
        ) from None


def _knock(address: str) -> None:
    """Raise at once where nobody listens; Ray itself goes on knocking for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=_SECONDS).close()


@contextmanager
def on_loopback() -> Iterator[None]:
    """Have a cluster of this machine listen to this machine alone.

    By default Ray does so on macOS and Windows only; whoever reaches its ports can run code.
    """
    constants: Any = import_module("ray._private.ray_constants")
    before = getattr(constants, "ENABLE_RAY_CLUSTER", None)
    constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before

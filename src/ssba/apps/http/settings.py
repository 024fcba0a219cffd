"""What a server is started with, and what may not be: an open door without a lock."""

import ipaddress
from dataclasses import dataclass, field

from ssba.apps.limits import Limits
from ssba.errors import ArgumentError

SHORTEST_TOKEN = 16

# Paths beside those of the API itself.
HEALTH, METRICS, MCP = "/healthz", "/metrics", "/mcp"
PAGE, PAGE_FILES = "/", "/page/"


@dataclass(frozen=True)
class ServeSettings:
    """Where a server listens, whom it answers, and how much at once.

    Parameters
    ----------
    host : str
        The address to listen at. One that other machines can reach needs a token.
    token : str, optional
        What every request must show as ``Authorization: Bearer TOKEN``.
    allowed_hosts : tuple of str
        Further names that clients may call the server by, such as that of a reverse proxy.
    workers, waiting : int
        How many requests are worked on at once, and how many more may wait.
    max_body : int
        Bytes of one request's body.
    jobs : int
        How many cohorts may wait while one is worked on, and as many finished ones are kept.
    job_limits : Limits
        What one cohort may spend.
    log_values : bool
        Whether logs may contain what was asked, with values of rows.
    """

    host: str = "127.0.0.1"
    token: str | None = field(default=None, repr=False)
    allowed_hosts: tuple[str, ...] = ()
    workers: int = 2
    waiting: int = 32
    max_body: int = 1 << 20
    jobs: int = 16
    job_limits: Limits = field(default_factory=lambda: Limits(rows=50_000_000, seconds=3600.0))
    log_values: bool = False

    def __post_init__(self) -> None:
        if self.token is not None:
            _check_token(self.token)
        elif not self.is_loopback:
            raise ArgumentError(
                f"--host {self.host} can be reached from other machines, so that it needs --token (or the "
                f"variable SSBA_TOKEN) with at least {SHORTEST_TOKEN} characters; 127.0.0.1 needs none"
            )

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        address = as_address(self.host)
        return address is not None and address.is_loopback

    def allows_host(self, name: str) -> bool:
        """Tell whether a client may call the server by this name.

        A name that is not known may be one that somebody else's page was pointed here with (DNS rebinding).
        That cannot be done with an address, so that a server at all addresses may be called by any of them.

        >>> settings = ServeSettings()
        >>> settings.allows_host("localhost"), settings.allows_host("elsewhere.example")
        (True, False)
        """
        known = {"localhost", self.host.lower(), *(one.lower() for one in self.allowed_hosts)}
        if name.lower() in known:
            return True
        address, own = as_address(name), as_address(self.host)
        if address is None:
            return False
        return address.is_loopback or (own is not None and own.is_unspecified)


def as_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Read an IP address; None for a name.

    >>> as_address("::1"), as_address("example.org")
    (IPv6Address('::1'), None)
    """
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _check_token(token: str) -> None:
    if len(token) < SHORTEST_TOKEN:
        raise ArgumentError(
            f"the token has {len(token)} characters; give at least {SHORTEST_TOKEN}, such as "
            "`python -c 'import secrets; print(secrets.token_urlsafe())'` prints"
        )
    if not token.isascii() or not token.isprintable() or " " in token:
        raise ArgumentError("the token has signs that a header cannot hold; give letters and digits")

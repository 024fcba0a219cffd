"""Where a remote model is: what may be shown of it, and the words for whatever goes wrong there."""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, final
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from ssba.errors import ArgumentError, ModelError

_BEGINNING = 200
"""How much of a reply a message shows."""
_SHORTEST_SECRET = 4
_HIDDEN = "***"


@final
@dataclass(frozen=True)
class Address:
    """An endpoint and the headers that are sent there; only `shown` ever appears in a text."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    shown: str

    def error(self, came: str, expected: str, fix: str, reply: str = "") -> ModelError:
        """Word a failure, with the beginning of the reply; what was sent in confidence is blotted out."""
        seen = f" The reply begins: {self.beginning(reply)!r}." if reply.strip() else ""
        return ModelError(
            f"{self.shown} {self._without_secrets(came)}; expected {expected}.{seen} Likely fix: {fix}."
        )

    def beginning(self, reply: str) -> str:
        """Return the first characters of a reply in one line."""
        # Some servers repeat the request in their error page. Cut last, lest half of a secret remain.
        text = " ".join(self._without_secrets(reply[: 50 * _BEGINNING]).split())
        return text if len(text) <= _BEGINNING else f"{text[:_BEGINNING]}..."

    def _without_secrets(self, text: str) -> str:
        for secret in sorted(self._secrets(), key=len, reverse=True):
            text = text.replace(secret, _HIDDEN)
        return text

    def _secrets(self) -> set[str]:
        found = {*_header_secrets(self.headers), *_url_secrets(urlsplit(self.url))}
        return {one for one in found if len(one) >= _SHORTEST_SECRET}


def address(url: Any, headers: Any) -> Address:
    """Check a URL and the headers for it, or refuse them without repeating what may be secret."""
    parts = _split(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        shown = _shown(parts) if parts.hostname else str(url).partition("?")[0].rpartition("@")[2]
        raise ArgumentError(
            f"url is {shown!r:.80}; give the whole address of the endpoint, such as "
            "'https://models.example/predict'"
        )
    return Address(url, _checked_headers(headers), _shown(parts))


def _split(url: Any) -> SplitResult:
    if not isinstance(url, str):
        raise ArgumentError(f"url is of type {type(url).__name__}; give the address of the endpoint as text")
    import httpx2

    try:
        httpx2.URL(url)
        parts = urlsplit(url)
        _ = parts.port  # read when asked for
    except (httpx2.InvalidURL, ValueError) as error:
        reason = "its port is not a number" if "port" in str(error).lower() else "it is not a valid address"
        raise ArgumentError(f"url cannot be read: {reason}; check it for typing errors") from None
    return parts


def without_secrets(url: str) -> str:
    """Return an address without user, password, query and fragment.

    >>> without_secrets("https://me:secret@models.example:8080/predict?key=1234")
    'https://models.example:8080/predict'
    """
    return _shown(urlsplit(url))


def _shown(parts: SplitResult) -> str:
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _checked_headers(headers: Any) -> dict[str, str]:
    if headers is None:
        return {}
    wanted = "give a mapping of text, such as {'Authorization': 'Bearer ...'}"
    if not isinstance(headers, Mapping):
        raise ArgumentError(f"headers is of type {type(headers).__name__}; {wanted}")
    for name, value in headers.items():
        if not isinstance(name, str) or not isinstance(value, str):
            kind = type(value if isinstance(name, str) else name).__name__
            raise ArgumentError(f"headers holds {name!r:.80} with a part of type {kind}; {wanted}")
        if not _is_sendable(name) or not name or not _is_sendable(value):
            raise ArgumentError(
                f"headers: {name!r:.80} or its value has characters that no header may have, such as the "
                "end of a line; a value that was read from a file may need .strip()"
            )
    return dict(headers)


def _is_sendable(text: str) -> bool:
    return text.isascii() and text.isprintable() and text == text.strip()


def _header_secrets(headers: Mapping[str, str]) -> Iterator[str]:
    for value in headers.values():
        yield value
        # "Bearer abc": the first word is no secret, the others are.
        yield from value.split()[1:]


def _url_secrets(parts: SplitResult) -> Iterator[str]:
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    if password:
        yield from (password, unquote(password))
        yield b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode()
    for _, value in parse_qsl(parts.query):
        yield value
    yield parts.query

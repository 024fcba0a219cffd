"""What a server may be started with."""

import pytest

from ssba.apps.http.settings import ServeSettings
from ssba.errors import ArgumentError

TOKEN = "a-long-enough-token"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.4.5", "localhost", "::1"])
def test_this_machine_alone_needs_no_token(host: str) -> None:
    assert ServeSettings(host=host).is_loopback


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "models.example", ""])
def test_other_addresses_need_one(host: str) -> None:
    with pytest.raises(ArgumentError, match="--token"):
        ServeSettings(host=host)
    assert not ServeSettings(host=host, token=TOKEN).is_loopback


def test_a_short_token_is_refused() -> None:
    with pytest.raises(ArgumentError, match="15 characters; give at least 16"):
        ServeSettings(token="x" * 15)


@pytest.mark.parametrize("token", ["sixteen letters and", "sixteen-letters-é", "sixteen-letters-\n"])
def test_a_token_that_no_header_holds_is_refused(token: str) -> None:
    with pytest.raises(ArgumentError, match="signs"):
        ServeSettings(token=token)


def test_the_token_is_not_shown() -> None:
    assert TOKEN not in repr(ServeSettings(token=TOKEN))


def test_a_server_at_all_addresses_is_called_by_any_address_but_no_foreign_name() -> None:
    settings = ServeSettings(host="0.0.0.0", token=TOKEN, allowed_hosts=("Models.example",))
    assert settings.allows_host("192.168.1.7")
    assert settings.allows_host("models.EXAMPLE")
    assert not settings.allows_host("evil.example")

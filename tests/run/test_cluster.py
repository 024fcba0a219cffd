"""Joining a Ray cluster; that one is left running, and on which address, is in test_on_ray.py."""

import pytest

from ssba.errors import ModelError, ServiceError
from ssba.run.cluster import joined, telling

ray = pytest.importorskip("ray")


def test_an_address_at_which_nobody_listens_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with (
        pytest.raises(
            ServiceError, match=r"no Ray cluster can be joined at '127\.0\.0\.1:1' .*ray start --head"
        ),
        joined("127.0.0.1:1"),
    ):
        pass


def test_what_ray_fails_with_is_told_in_one_line_and_other_errors_stay_what_they_are() -> None:
    with pytest.raises(ModelError, match=r"^the Ray cluster failed: disk full$"), telling():
        raise ray.exceptions.RaySystemError("many words\ndisk full")
    with pytest.raises(KeyError), telling():
        raise KeyError("x")

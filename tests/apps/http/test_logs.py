"""Lines of JSON, in which values of rows stand only where somebody asked for them."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from ssba.apps.http.logs import JsonLines


@pytest.fixture(params=[False, True])
def lines(request: pytest.FixtureRequest) -> Iterator[tuple[bool, logging.Logger, io.StringIO]]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines(request.param))
    logger = logging.getLogger("test of lines")
    logger.addHandler(handler)
    yield request.param, logger, stream
    logger.removeHandler(handler)


def test_errors_are_told_by_type_and_place(lines: tuple[bool, logging.Logger, io.StringIO]) -> None:
    with_values, logger, stream = lines
    try:
        try:
            raise KeyError("chol 233")
        except KeyError as error:
            raise ValueError("the row with chol 233") from error
    except ValueError:
        logger.exception("a tool failed")
    (line,) = stream.getvalue().splitlines()
    said = json.loads(line)
    assert said["message"] == "a tool failed"
    assert [one["type"] for one in said["failure"]] == ["ValueError", "KeyError"]
    assert "test_errors_are_told_by_type_and_place" in said["failure"][0]["at"][-1]
    assert ("233" in line) == with_values

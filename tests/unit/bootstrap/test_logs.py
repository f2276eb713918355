"""Log lines."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from vedette.bootstrap.logs import configure_logs


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """Where logs go; logging is as before afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield io.StringIO()
    root.handlers, root.level = handlers, level
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


def _lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_one_json_object_with_what_the_request_bound(stream: io.StringIO) -> None:
    configure_logs("info", "json", stream)
    structlog.contextvars.bind_contextvars(request_id="r1")
    structlog.get_logger("vedette.test").info("stored", events=3)
    (line,) = _lines(stream)
    assert (line["event"], line["events"], line["request_id"]) == ("stored", 3, "r1")
    assert (line["level"], line["logger"]) == ("info", "vedette.test")
    assert line["timestamp"].endswith("Z")


def test_standard_loggers_and_uvicorn_come_out_alike(stream: io.StringIO) -> None:
    configure_logs("info", "json", stream)
    for name in ("uvicorn.error", "some.library"):
        logging.getLogger(name).warning("it is %s", "late")
    logging.getLogger("uvicorn.access").info("one line a request is too many")
    assert [line["event"] for line in _lines(stream)] == ["it is late", "it is late"]


def test_a_traceback_stays_within_its_line(stream: io.StringIO) -> None:
    configure_logs("info", "json", stream)
    try:
        raise ValueError("odd")
    except ValueError:
        structlog.get_logger().exception("failed")
    (line,) = _lines(stream)
    assert "ValueError: odd" in line["exception"]


def test_what_is_below_the_level_is_not_written(stream: io.StringIO) -> None:
    configure_logs("warning", "json", stream)
    structlog.get_logger().info("hidden")
    logging.getLogger("library").info("hidden")
    assert stream.getvalue() == ""


def test_secrets_are_not_written(stream: io.StringIO) -> None:
    configure_logs("info", "json", stream)
    structlog.get_logger().info("request", **{"X-Auth-Token": "abc", "password": "abc"})
    assert "abc" not in stream.getvalue()


def test_people_get_text_without_colours_off_a_terminal(stream: io.StringIO) -> None:
    configure_logs("info", "console", stream)
    structlog.get_logger().info("stored", events=3)
    assert "stored" in stream.getvalue()
    assert "events=3" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


def test_configuring_again_replaces(stream: io.StringIO) -> None:
    configure_logs("info", "json", io.StringIO())
    configure_logs("info", "json", stream)
    structlog.get_logger().info("once")
    assert len(_lines(stream)) == 1

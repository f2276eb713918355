"""Log lines."""

import io
import json
import logging
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from vedette.bootstrap.logs import QueuedStream, configure_logs
from vedette.settings.catalogue import LogFormat


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


def test_secrets_within_values_are_not_written(stream: io.StringIO) -> None:
    configure_logs("info", "json", stream)
    given: dict[str, Any] = {
        "sent": {"client_secret": "abc", "name": "kept", "more": [{"Set-Cookie": "abc"}]},
        "headers": [(b"cookie", b"abc"), ("x-auth-token", "abc"), ("accept", "kept-too")],
        "pairs": {"a": ({"password": "abc"},)},
    }
    before = repr(given)
    structlog.get_logger().info("request", **given)
    logging.getLogger("library").warning("sent", extra={"body": given})
    text = stream.getvalue()
    assert "abc" not in text
    assert "kept" in text
    assert "kept-too" in text
    assert repr(given) == before


def test_values_that_hold_themselves_are_written(stream: io.StringIO) -> None:
    configure_logs("info", "json", stream)
    ring: dict[str, Any] = {"password": "abc"}
    ring["again"] = [ring]
    structlog.get_logger().info("odd", ring=ring)
    (line,) = _lines(stream)
    assert line["ring"]["password"] == "***"


def test_people_get_text_without_colours_off_a_terminal(stream: io.StringIO) -> None:
    configure_logs("info", "console", stream)
    structlog.get_logger().info("stored", events=3)
    assert "stored" in stream.getvalue()
    assert "events=3" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


@pytest.mark.parametrize("form", ["console", "json"])
def test_an_exception_shows_no_value_of_a_variable(stream: io.StringIO, form: LogFormat) -> None:
    configure_logs("info", form, stream)
    password = os.urandom(8).hex()
    try:
        int("odd" if password else "")
    except ValueError:
        structlog.get_logger().exception("failed")
    assert "ValueError: invalid literal" in stream.getvalue()
    assert password not in stream.getvalue()


def test_configuring_again_replaces(stream: io.StringIO) -> None:
    configure_logs("info", "json", io.StringIO())
    configure_logs("info", "json", stream)
    structlog.get_logger().info("once")
    assert len(_lines(stream)) == 1


@pytest.mark.usefixtures("stream")
def test_a_reader_that_hangs_keeps_nobody_waiting_and_losses_are_counted() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading) as lines, os.fdopen(writing, "w") as pipe:
        queue = QueuedStream(pipe, chars_max=300_000)
        configure_logs("info", "json", queue)
        began = time.monotonic()
        for number in range(20_000):  # of 100 characters each; a pipe takes 64 KiB
            structlog.get_logger("vedette.test").info("line", number=number)
        assert time.monotonic() - began < 20
        read: list[dict[str, Any]] = []
        thread = threading.Thread(target=lambda: read.extend(map(json.loads, lines)))
        thread.start()
        while not any("lost" in one["event"] for one in read):
            time.sleep(0.05)
        structlog.get_logger("vedette.test").info("line", number=20_000)
        queue.close()
        pipe.close()
        thread.join()
    lost = [one["lines"] for one in read if "lost" in one["event"]]
    numbers = [one["number"] for one in read if one["event"] == "line"]
    assert numbers == sorted(numbers)
    assert (numbers[0], numbers[-1]) == (0, 20_000)
    assert len(numbers) + sum(lost) == 20_001


class Refusing(io.StringIO):
    """A full disk, for a while."""

    is_full = True

    def write(self, text: str, /) -> int:
        if self.is_full:
            raise OSError(28, "No space left on device")
        return super().write(text)


@pytest.mark.usefixtures("stream")
def test_a_log_that_cannot_be_written_goes_on_when_it_can() -> None:
    target = Refusing()
    queue = QueuedStream(target)
    configure_logs("info", "json", queue)
    structlog.get_logger().info("on a full disk")
    while queue.lost == 0:
        time.sleep(0.01)
    target.is_full = False
    structlog.get_logger().info("with room")
    queue.close()
    assert _lines(target)[0]["event"] == "with room"

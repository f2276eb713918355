"""A server whose wall clock is set: nothing is deleted, and senders keep their data."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fault.senders import Sender, check_stored_once, drain, lasting_token
from tests.support.commands import done
from tests.support.forked import Forked
from tests.support.prepared_data import prepare
from tests.support.served import STOP_S, Server, listening, wait_for
from tests.support.set_clock import serve_with_set_clock

DAY_S = 86_400


@contextmanager
def running(data: Path, offset: Path) -> Iterator[Server]:
    prepare(data, ())
    words = (str(data), str(offset))
    process = Forked(words, {}, data / "server.log", serve_with_set_clock)
    try:
        yield listening(data, process)
        process.terminate()
        assert process.wait(STOP_S) == 0
    finally:
        process.kill()
        process.wait()


def set_ahead(offset: Path, days: float) -> None:
    offset.with_suffix(".new").write_text(str(days * DAY_S))
    offset.with_suffix(".new").rename(offset)


def confirm(data: Path) -> None:
    done("clock", "confirm", "--data", data)


def status(server: Server) -> tuple[int, str]:
    with server.client() as client:
        answer = client.get("/readyz")
        return answer.status_code, answer.json()["checks"]["clock"]


@pytest.mark.parametrize("days", [40, -2])
def test_while_the_clock_is_in_doubt_telemetry_is_refused_with_503_and_nothing_is_lost(
    tmp_path: Path, days: int
) -> None:
    offset = tmp_path / "offset"
    set_ahead(offset, 0)
    sender = Sender("clock.example", numbered=True)
    with running(tmp_path, offset) as server:
        token = lasting_token(server)
        server = replace(server, ingest_token=token)
        drain([sender], server)
        set_ahead(offset, days)
        with server.sender() as client:
            answer = client.post("/_bulk", content=sender.body)
        assert (answer.status_code, answer.json()["reason"]) == (503, "clock_in_doubt")
        assert "retry-after" in answer.headers
        assert status(server)[0] == 503
        assert "40.00 days" in status(server)[1] or "2.00 days" in status(server)[1]
    with running(tmp_path, offset) as server:
        server = replace(server, ingest_token=token)
        assert status(server)[0] == 503  # a restart does not hide the jump
        set_ahead(offset, 0)
        assert status(server) == (200, "ok")
        drain([sender], server)
    with running(tmp_path, offset) as server:
        check_stored_once([sender], server)


def test_a_time_that_an_operator_confirms_is_taken_up_by_the_running_server(
    tmp_path: Path,
) -> None:
    offset = tmp_path / "offset"
    set_ahead(offset, 0)
    with running(tmp_path, offset) as server:
        set_ahead(offset, 0.5)
        assert status(server)[0] == 503
        confirm(tmp_path)
        assert wait_for(lambda: status(server), (200, "ok")) == (200, "ok")
    assert "the clock was confirmed" in (tmp_path / "server.log").read_text()
    with running(tmp_path, offset) as server:
        assert status(server) == (200, "ok")

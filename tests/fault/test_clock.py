"""A server whose wall clock is set: nothing is deleted, and senders keep their data."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.fault.senders import Sender, check_stored_once, drain, lasting_token
from tests.support.commands import done
from tests.support.forked import Forked
from tests.support.prepared_data import prepare
from tests.support.served import STOP_S, Server, listening, wait_for
from tests.support.set_clock import serve_with_set_clock

DAY_S = 86_400
BAN_ENDS_S = 5
"""Interval (s) at which the server looks for expired bans."""


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


MD5 = "0123456789abcdef0123456789abcdef"


def ban_is_enabled(server: Server) -> bool:
    with server.analyst() as client:
        (ban,) = client.get("/api/v1/banning/blacklist").json()
        return bool(ban["enabled"])


def test_a_ban_does_not_end_by_a_clock_that_is_in_doubt(tmp_path: Path) -> None:
    offset = tmp_path / "offset"
    set_ahead(offset, 0)
    with running(tmp_path, offset) as server:
        ends = datetime.now(UTC) + timedelta(hours=1)
        with server.analyst() as client:
            body = {"md5hash": MD5, "text": "for an hour", "expires": ends.isoformat()}
            assert client.post("/api/v1/banning/blacklist", json=body).status_code == 200
        set_ahead(offset, 0.5)
        assert status(server)[0] == 503
        wait_until_looked(tmp_path)
        set_ahead(offset, 0)
        assert ban_is_enabled(server)
        set_ahead(offset, 0.5)
        confirm(tmp_path)
        assert wait_for(lambda: ban_is_enabled(server), False) is False


def wait_until_looked(data: Path) -> None:
    """Until jobs that run every five seconds had their turn while the clock is in doubt."""
    log = data / "server.log"
    assert wait_for(lambda: "the clock is in doubt" in log.read_text(), True)
    time.sleep(2 * BAN_ENDS_S)


def test_a_token_that_expired_by_a_clock_in_doubt_costs_its_sender_nothing(tmp_path: Path) -> None:
    offset = tmp_path / "offset"
    set_ahead(offset, 0)
    sender = Sender("token.example", numbered=True)
    with running(tmp_path, offset) as server:
        server = replace(server, ingest_token=lasting_token(server))
        set_ahead(offset, 400)
        assert status(server)[0] == 503
        with server.sender() as client:
            answer = client.post("/_bulk", content=sender.body)
        assert (answer.status_code, answer.json()["reason"]) == (503, "clock_in_doubt")
        with replace(server, ingest_token="0" * 40).sender() as client:
            assert client.post("/_bulk", content=sender.body).status_code == 401
        set_ahead(offset, 0)
        drain([sender], server)
        check_stored_once([sender], server)

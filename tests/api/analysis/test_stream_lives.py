"""Lifetime, owner and persistence of streams (docs/process-analysis.md#streams)."""

import time
from pathlib import Path

import httpx
import pytest

from tests.api.analysis.conftest import Analysed, Stream, launch_analysed
from tests.support.served import hire, start_server, wait_for
from vedette.model.principal import Role


def test_an_unused_stream_expires_and_says_so_and_a_persistent_one_does_not(own: Analysed) -> None:
    ends, stays = own.stream(), own.stream(persistent=True)
    for _ in range(3):
        time.sleep(1.5)
        assert own.client.get(ends.path).status_code == 200, "it is used, so it lives"
    gone = wait_for(lambda: _after(own.client, ends, 3.5), 404, 30)
    assert gone == 404
    answer = own.client.get(ends.path)
    assert answer.json()["reason"] == "stream_expired"
    assert "expired" in answer.json()["message"]
    for change in (own.client.post(ends.path), own.client.patch(ends.path, json={"criteria": {}})):
        assert (change.status_code, change.json()["reason"]) == (404, "stream_expired")
    assert own.client.get(stays.path).status_code == 200


def _after(client: httpx.Client, stream: Stream, seconds: float) -> int:
    time.sleep(seconds)
    return client.get(stream.path).status_code


def test_streams_survive_a_restart(tmp_path: Path) -> None:
    for analysed in launch_analysed(tmp_path):
        stream = analysed.stream(persistent=False)
        stream.filter({"event_type": ["filemod", "regmod"]}, rows=0)
        before = stream.read(rows=1, seek="", by=1)
    for server in start_server(tmp_path):
        with server.analyst() as client:
            again = Stream(client, before).read(rows=1)
    assert again == before


@pytest.fixture
def other(analysed: Analysed) -> str:
    return hire(analysed.server, f"reader-{time.monotonic_ns()}", {1: Role.VIEWER})


def test_a_stream_of_another_user_does_not_exist(analysed: Analysed, other: str) -> None:
    stream = analysed.stream()
    with analysed.server.client(**{"X-Auth-Token": other}) as client:
        for answer in (
            client.get(stream.path),
            client.patch(stream.path, json={"criteria": {}}),
            client.post(stream.path),
        ):
            assert answer.status_code == 404
            assert stream.body["stream_id"] in answer.json()["message"]
    assert analysed.client.get(stream.path).status_code == 200


def test_each_read_sees_what_its_reader_may_see_now(analysed: Analysed) -> None:
    nobody = hire(analysed.server, "blind", {})
    asked = {"process_id": analysed.id, "segment_id": 1}
    with analysed.server.client(**{"X-Auth-Token": nobody}) as client:
        for answer in (
            client.post("/api/v6/process/stream", json=asked),
            client.get(f"/api/v6/process/{analysed.id}/1/bulk"),
            client.get(f"/api/v6/process/{analysed.id}/metadata"),
            client.get(f"/api/v6/process/{analysed.id}/1/verify"),
            client.get(f"/api/v6/process/{analysed.id}/1/segment"),
        ):
            assert answer.status_code == 404
            assert analysed.id in answer.json()["message"]

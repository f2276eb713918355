"""A change of many alerts is of those that were counted, while others are being written."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.forms import in_form
from tests.support.noise import RULE, noise
from tests.support.served import Server, serving, wait_for

BULK = "/api/v1/alerts"
QUERY = "q=Noise"
ROUNDS = in_form(10, 100)


@pytest.fixture
def noisy(tmp_path: Path) -> Iterator[Server]:
    """Host after host makes an alert, without a pause."""
    stop = threading.Event()

    def write(client: httpx.Client) -> None:
        at = 0
        while not stop.is_set():
            at += 1
            assert client.post("/api/v1/ingest", json=[noise(str(at))]).is_success

    with serving(tmp_path) as server, server.analyst() as client, server.sender() as sender:
        assert client.post("/api/v1/sigma", json={"text": RULE}).is_success
        writer = threading.Thread(target=write, args=[sender])
        writer.start()
        try:
            yield server
        finally:
            stop.set()
            writer.join()


def test_what_was_counted_is_what_changes_while_alerts_are_written(noisy: Server) -> None:
    with noisy.analyst() as client:
        assert wait_for(lambda: counted(client)["alerts"] > 0, True, 60.0)
        numbers = []
        for at in range(ROUNDS):
            found = counted(client)
            numbers.append(found["alerts"])
            status = ("Resolved", "Unresolved")[at % 2]
            body = {"query": QUERY, "snapshot": found["snapshot"], "expected": found["alerts"]}
            answer = client.post(BULK, json={**body, "requested_status": status})
            assert answer.status_code == 200, answer.text
        assert numbers[-1] > numbers[0]


def counted(client: httpx.Client) -> dict[str, Any]:
    found: dict[str, Any] = client.post(BULK, json={"query": QUERY, "dry_run": True}).json()
    return found

"""A server killed between storing a block and noting it: the block is not stored twice."""

import time
from pathlib import Path
from typing import Any

from sqlalchemy import delete

from tests.fault.crash import forked
from tests.support.sensor import PlayedSensor, enrol, secret_of, session
from tests.support.served import Server, listening, state_of
from vedette.clock import SystemClock
from vedette.state.db.schema_fleet import SENSOR_QUEUE


def counts(server: Server, sensor: PlayedSensor) -> dict[str, Any]:
    asked = {"q": f"hostname:{sensor.hostname} path:/usr/bin/curl"}
    with server.analyst() as client:
        (row,) = client.get("/api/v1/process", params=asked).json()["results"]
    return {name: row[name] for name in ("filemod_count", "netconn_count", "modload_count")}


def test_a_block_that_was_stored_and_not_noted_is_known_again(tmp_path: Path) -> None:
    block = session(SystemClock().now_us() - 3600 * 1_000_000)
    with forked(tmp_path) as process:
        server = listening(tmp_path, process)
        with server.client() as client:
            sensor = enrol(client, "killed-between.example", secret_of(server))
            assert sensor.send(block, 1).status_code == 200
        stored = counts(server, sensor)
        process.kill()
        process.wait()
        with state_of(server) as database, database.writing() as connection:
            connection.execute(delete(SENSOR_QUEUE))
    with forked(tmp_path) as process:
        server = listening(tmp_path, process)
        with server.client() as client:
            sensor.client = client
            answer = sensor.send(block, 1)
            assert answer.json() == {"acknowledged": 1, "expected": 2, "rejected": []}
        time.sleep(0.2)
        assert counts(server, sensor) == stored
        with state_of(server) as database, database.reading() as connection:
            assert len(connection.execute(SENSOR_QUEUE.select()).all()) == 1

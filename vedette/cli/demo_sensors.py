"""Simulated sensors of a demo, on the hosts with alerts, so that a new user can isolate these hosts
and sees the effect within seconds."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from http.client import HTTPException
from pathlib import Path
from typing import Final

import httpx

from vedette.bootstrap.local_access import LocalAccess
from vedette.cli.options import open_state
from vedette.cli.server_process import api_client
from vedette.errors import VedetteError
from vedette.limits import Limit
from vedette.simulate.bulk_client import Target
from vedette.simulate.fleet import SITES
from vedette.simulate.sensor import SimulatedSensor
from vedette.state.policy.groups import DEFAULT_GROUP_ID
from vedette.state.sensors import enrolment

DEMO_SENSORS: Limit[int] = 8
"""Simulated sensors of a demo: the hosts of its six attacks. Their load is negligible."""

DEMO_CHECKIN_S: Limit[float] = 3.0
"""Seconds between rounds of check-ins of a demo, so that a new user sees a host become isolated."""


_FILE: Final = "demo-sensors.json"


@contextmanager
def simulated_sensors(data: Path, access: LocalAccess) -> Iterator[None]:
    """Runs the sensors during the block. Stores their keys in the data directory, readable by its
    owner only."""
    ended = threading.Event()
    thread = threading.Thread(target=_work, args=(data, access, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(timeout=2 * DEMO_CHECKIN_S)


def _work(data: Path, access: LocalAccess, ended: threading.Event) -> None:
    certificate = Path(access.certificate) if access.certificate else None
    target = Target(access.url, "", certificate)
    try:
        sensors = _enrolled(data, access, target)
        while not ended.wait(DEMO_CHECKIN_S):
            connection = target.connection()
            for one in sensors:
                one.check_in(connection)
            connection.close()
    except (VedetteError, OSError, HTTPException, httpx.HTTPError):
        return  # the demo continues without them; the console shows their hosts as offline


def _enrolled(data: Path, access: LocalAccess, target: Target) -> list[SimulatedSensor]:
    path = data / _FILE
    if path.exists():
        return [SimulatedSensor(**one) for one in json.loads(path.read_text())]
    with open_state(data, None) as database:
        secret = enrolment.current_secret(database, DEFAULT_GROUP_ID)
    sensors, connection = _hosts(access), target.connection()
    for one in sensors:
        one.enrol(connection, secret)
    connection.close()
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(json.dumps([asdict(one) for one in sensors]))
    return sensors


def _hosts(access: LocalAccess) -> list[SimulatedSensor]:
    """Returns a sensor for each host with the most severe alerts."""
    with api_client(access) as client:
        query: dict[str, str | int] = {"rows": 200, "sort": "alert_severity desc"}
        found = client.get("/api/v2/alert", params=query).json()["results"]
    hosts = dict.fromkeys((one["hostname"], one["os_type"]) for one in found if one["hostname"])
    ahead = {site.code: 60 * site.utc_offset_hours for site in SITES}
    return [
        SimulatedSensor(name, os_type, utc_offset_min=ahead.get(name.partition("-")[0], 0))
        for name, os_type in hosts
    ][:DEMO_SENSORS]

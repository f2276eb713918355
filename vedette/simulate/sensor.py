"""A simulated sensor: enrolls, checks in and executes its orders, so that hosts of a simulated
fleet can be isolated. It sends no events; the fleet's logs report its host."""

import json
import time
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any, Final

from vedette.errors import UnavailableError

VERSION: Final = "1.0.0"


@dataclass(slots=True)
class SimulatedSensor:
    """The sensor of one host; `credential` is `ID:KEY`, "" before enrollment."""

    hostname: str
    os_type: str
    credential: str = ""
    is_isolating: bool = False
    restarted: bool = False
    utc_offset_min: int = 0
    """UTC offset of the host's time zone in minutes, positive east of UTC."""

    def enrol(self, connection: HTTPConnection, secret: str) -> None:
        """Enrolls with the secret of a sensor group. Raises UnavailableError if the server
        refuses."""
        host = {"hostname": self.hostname, "machine_id": self.hostname, "os_type": self.os_type}
        body = {"secret": secret, "sensor_version": VERSION, "host": host}
        answer = _post(connection, "/sensor/v1/enrol", body, {})
        self.credential = f"{answer['sensor_id']}:{answer['key']}"

    def check_in(self, connection: HTTPConnection) -> None:
        """Reports the actions since the last check-in, and executes its orders."""
        said = {
            **{"clock_us": time.time_ns() // 1_000, "sensor_version": VERSION},
            "utc_offset_min": self.utc_offset_min,
            **{"health_status": 100, "health_message": "Healthy (simulated)"},
            **{"is_isolating": self.is_isolating, "restarted": self.restarted},
        }
        key = {"Authorization": f"Sensor {self.credential}"}
        orders = _post(connection, "/sensor/v1/checkin", said, key)
        self.is_isolating, self.restarted = bool(orders["isolate"]), bool(orders["restart"])


def _post(
    connection: HTTPConnection, path: str, body: dict[str, Any], headers: dict[str, str]
) -> dict[str, Any]:
    kind = {"Content-Type": "application/json"}
    connection.request("POST", path, json.dumps(body).encode(), headers | kind)
    answer = connection.getresponse()
    text = answer.read()
    if answer.status != 200:
        raise UnavailableError(f"{path}: {answer.status} {text[:200]!r}")
    return dict(json.loads(text))

"""Who the sensor is to the server: enrolled once with the group's secret, then known by a key.

A key that the server no longer accepts is replaced by enrolling again, at most once in a while.
"""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

from .. import SENSOR_VERSION
from ..host import host
from ..host.durable_files import write_durably
from ..settings import Settings
from .https_client import Client, ServerAwayError

_AGAIN_S = 60.0


class Identity:
    """Safe for threads: whoever is refused asks for a new key, one at a time."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self._path, self._settings = path, settings
        self._lock = threading.Lock()
        self.sensor_id, self._key = 0, ""
        self._enrolled_at = -_AGAIN_S
        self.refused = ""
        """Why the server does not want us, empty when it does."""
        try:
            saved = json.loads(path.read_bytes())
            if saved["server_url"] == settings.server_url:
                self.sensor_id, self._key = int(saved["sensor_id"]), str(saved["key"])
        except (OSError, ValueError, KeyError, TypeError):
            pass

    def credential(self, client: Client) -> str:
        """`id:key`, after enrolling if that has not happened. ServerAwayError when it fails."""
        with self._lock:
            if not self._key:
                self._enrol(client)
            return f"{self.sensor_id}:{self._key}"

    def lost(self, credential: str) -> None:
        """The server refused this credential: the next one who asks enrols again."""
        with self._lock:
            if credential == f"{self.sensor_id}:{self._key}":
                self._key = ""

    def _enrol(self, client: Client) -> None:
        wait_s = self._enrolled_at + _AGAIN_S - time.monotonic()
        if wait_s > 0:
            raise ServerAwayError(self.refused or "the key was refused", wait_s)
        self._enrolled_at = time.monotonic()
        body = {
            "secret": self._settings.group_secret,
            "host": host.facts(self._settings.hostname),
            "sensor_version": SENSOR_VERSION,
        }
        try:
            answer = client.post("/sensor/v1/enrol", body)
        except ServerAwayError:
            self._enrolled_at = -_AGAIN_S  # it was not refused: ask again as others do
            raise
        if answer.status != 200:
            self.refused = f"enrolment refused: {answer.body.get('message', answer.status)}"
            raise ServerAwayError(self.refused, _AGAIN_S)
        self.refused = ""
        self.sensor_id, self._key = int(answer.body["sensor_id"]), str(answer.body["key"])
        saved = {
            "server_url": self._settings.server_url,
            "sensor_id": self.sensor_id,
            "key": self._key,
        }
        write_durably(self._path, json.dumps(saved).encode())

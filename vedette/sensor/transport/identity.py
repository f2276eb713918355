"""Enrollment: the sensor's id and key, and the key that verifies updates.

A sensor enrolls once with the group's secret and then authenticates with its own key. If the server
rejects the key, the sensor enrolls again and proves with `previous_key` that it is the same sensor.
If an administrator must approve first, the sensor retries with growing pauses; events wait in the
queue meanwhile.

The update key comes from the settings or, if they have none, from the first enrollment answer that
contains one, over the connection whose certificate is pinned. After that it never changes, neither
by a check-in nor by another enrollment. A sensor that enrolled before such keys existed gets its
key by enrolling again with its current key (`ensure_update_key`), when an update is offered.
"""

from __future__ import annotations

import base64
import json
import logging
import threading
import time
from pathlib import Path
from typing import Any

from .. import SENSOR_VERSION, ed25519
from ..durable_files import write_durably
from ..host import host
from ..limits import ENROL_S, ENROL_S_MAX, UPDATE_RETRY_S
from ..settings import Settings
from .https_client import BackOff, Client, Response, ServerUnavailableError

_log = logging.getLogger("vedette-sensor")
_APPROVAL_NEEDED = "reenrolment_pending"
"""Reason in an enrollment answer that an administrator must approve."""


class Identity:
    """Identity of the sensor. Thread-safe: one thread enrolls while the others wait."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self._path, self._settings = path, settings
        self._lock = threading.Lock()
        self.sensor_id, self._key, self._previous_key = 0, "", ""
        self._update_key: bytes | None = None
        self._back_off = BackOff(2 * ENROL_S, ENROL_S_MAX)  # a pause is at least half of the value
        self._enrol_at = self._update_key_at = 0.0
        self.refused = ""
        """Why the server refused the last enrollment; "" if it did not."""
        try:
            saved = json.loads(path.read_bytes())
            if saved["server_url"] == settings.server_url:
                self.sensor_id, self._key = int(saved["sensor_id"]), str(saved["key"])
                self._update_key = ed25519.decode_key(saved.get("update_public_key"))
        except (OSError, ValueError, KeyError, TypeError):
            pass

    @property
    def update_key(self) -> bytes | None:
        """The Ed25519 public key for updates. The key in the settings takes precedence."""
        return self._settings.update_public_key or self._update_key

    def credential(self, client: Client) -> str:
        """Returns `id:key`, after enrolling if there is none. Raises ServerUnavailableError if that
        fails."""
        with self._lock:
            if not self._key:
                self._enrol(client)
            return f"{self.sensor_id}:{self._key}"

    def invalidate(self, credential: str) -> None:
        """Call when the server rejected this credential. The next call of `credential` enrolls
        again."""
        with self._lock:
            if self._key and credential == f"{self.sensor_id}:{self._key}":
                self._key, self._previous_key = "", self._key

    def ensure_update_key(self, client: Client) -> bytes | None:
        """Returns the update key. Without one, requests it by enrolling again with the current key,
        at most once an hour. The current key stays valid if the server refuses. Raises
        ServerUnavailableError."""
        with self._lock:
            now = time.monotonic()
            if self.update_key is None and self._key and now >= self._update_key_at:
                self._update_key_at = now + UPDATE_RETRY_S
                answer = self._post(client, self._key)
                if answer.status == 200:
                    self._take(answer.body)
            return self.update_key

    def _enrol(self, client: Client) -> None:
        wait_s = self._enrol_at - time.monotonic()
        if wait_s > 0:
            raise ServerUnavailableError(self.refused or "the key was refused", wait_s)
        answer = self._post(client, self._previous_key)
        if answer.status != 200:
            self._refuse(answer)
        self.refused = ""
        self._back_off.succeeded()
        self._enrol_at = time.monotonic() + ENROL_S
        self._take(answer.body)
        _log.info("enrolled as sensor %s", self.sensor_id)

    def _post(self, client: Client, previous_key: str) -> Response:
        body = {
            "secret": self._settings.group_secret,
            "host": host.facts(self._settings.hostname),
            "sensor_version": SENSOR_VERSION,
        }
        if previous_key:
            body["previous_key"] = previous_key
        return client.post("/sensor/v1/enrol", body)

    def _refuse(self, answer: Response) -> None:
        pause_s = self._back_off.pause_s()
        self._enrol_at = time.monotonic() + pause_s
        why = answer.body.get("message") or answer.status
        if answer.body.get("reason") == _APPROVAL_NEEDED:
            self.refused = f"enrolment waits for an administrator's approval: {why}"
        else:
            self.refused = f"enrolment refused: {why}"
        _log.warning("%s; retrying in %.0f s", self.refused, pause_s)
        raise ServerUnavailableError(self.refused, pause_s)

    def _take(self, body: dict[str, Any]) -> None:
        """Stores id and key from an enrollment answer, and its update key if there is none yet."""
        try:
            self.sensor_id, self._key = int(body["sensor_id"]), str(body["key"])
        except (KeyError, TypeError, ValueError) as error:
            raise ServerUnavailableError(
                f"an enrolment answer without id and key: {error}"
            ) from error
        offered = ed25519.decode_key(body.get("update_public_key"))
        if self.update_key is None:
            self._update_key = offered
        elif offered is not None and offered != self.update_key:
            _log.warning("the server offers a different update key; keeping the first")
        saved = {
            "server_url": self._settings.server_url,
            "sensor_id": self.sensor_id,
            "key": self._key,
        }
        if self._update_key is not None:
            saved["update_public_key"] = base64.b64encode(self._update_key).decode()
        write_durably(self._path, json.dumps(saved).encode())

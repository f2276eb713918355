"""Uploads the blocks of the queue, oldest first, until the server acknowledges each."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ..limits import UPLOAD_IDLE_S, UPLOAD_REFUSALS_MAX
from .disk_queue import DiskQueue
from .https_client import BackOff, Client, ServerUnavailableError
from .identity import Identity

_HEADERS = {"Content-Type": "application/x-ndjson", "Content-Encoding": "gzip"}


class Uploader:
    """The upload thread. `run` returns when `stopping` is set."""

    def __init__(
        self,
        queue: DiskQueue,
        identity: Identity,
        client: Client,
        stopping: threading.Event,
        when_idle: Callable[[Client, str], bool],
    ) -> None:
        """`when_idle` sends something else and returns whether there was anything."""
        self._queue, self._identity, self._client = queue, identity, client
        self._stopping, self._when_idle = stopping, when_idle
        self._back_off = BackOff()
        self._refusals = 0
        self.acknowledged = 0
        self.rejected = 0
        """Number of events that the server rejected."""
        self.problem = ""

    def run(self) -> None:
        while not self._stopping.is_set():
            try:
                busy = self.step()
                self.problem = ""
                self._back_off.succeeded()
                if not busy:
                    self._stopping.wait(UPLOAD_IDLE_S)
            except ServerUnavailableError as error:
                self.problem = str(error)
                self._stopping.wait(self._back_off.pause_s(error.retry_after_s))
            except OSError as error:  # the disk of the queue
                self.problem = f"the queue cannot be read: {error}"
                self._stopping.wait(self._back_off.pause_s())
        self._client.close()

    def step(self) -> bool:
        """Sends a block, or something else. Returns False if there was nothing to send."""
        found = self._queue.oldest()
        credential = self._identity.credential(self._client)
        if found is None:
            return self._when_idle(self._client, credential)
        self._send(*found, credential)
        return True

    def _send(self, number: int, content: bytes, credential: str) -> None:
        path = f"/sensor/v1/events?epoch={self._queue.epoch}&sequence={number}"
        answer = self._client.request("POST", path, content, _HEADERS, credential)
        if answer.status == 200:
            self._refusals = 0
            self.acknowledged += 1
            self.rejected += len(answer.body.get("rejected") or ())
            self._queue.sent(number)
        elif answer.status in {401, 403}:
            self._identity.invalidate(credential)
            raise ServerUnavailableError(f"the server answers {answer.status}")
        elif answer.status == 409:  # other blocks were stored under these numbers: a restored disk
            self._queue.renumber()
        else:
            self._refuse(number, answer.status)

    def _refuse(self, number: int, status: int) -> None:
        """Drops a block that the server rejects repeatedly, so that it does not delay the next
        ones."""
        self._refusals += 1
        if self._refusals >= UPLOAD_REFUSALS_MAX:
            self._refusals = 0
            self._queue.drop(number)
        raise ServerUnavailableError(f"the server refuses a block: {status}")

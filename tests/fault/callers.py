"""Requests that read and write everything, each from a thread of its own: many at once, while what
the server needs hangs."""

import threading
from collections.abc import Callable

import httpx

from tests.support.served import Server
from tests.support.sysmon import story

CALLERS = 60
"""More at once than the web framework has threads."""


class Caller(threading.Thread):
    """One request that reads or writes the store, the state or files, or writes a line to the
    log."""

    def __init__(self, server: Server, number: int) -> None:
        super().__init__()
        self._sender, self._analyst = server.sender(), server.analyst()
        """Made before: reading certificates takes a core that other machines would not take."""
        self._number = number
        self.failed = ""
        """An answer that is no success, and does not say that something is unavailable either."""

    def run(self) -> None:
        calls: tuple[Callable[[], httpx.Response], ...] = (
            self._ingest,
            lambda: self._call("POST", "/api/group", {"name": f"slow {self._number}"}),
            lambda: self._call("GET", f"/api/v1/process?q=cmdline:{self._number}"),
            lambda: self._call("PUT", "/api/v1/me/preferences", {"theme": "dark"}),
            lambda: self._call("POST", "/api/v1/storage/events/new_partition", None),
            lambda: self._call("POST", "/api/v1/session", {"username": "admin", "password": "no"}),
        )
        answer = calls[self._number % len(calls)]()
        if answer.status_code >= 500 and answer.status_code != 503:
            self.failed = answer.text

    def _ingest(self) -> httpx.Response:
        records = story(f"slow-{self._number}.example").records
        with self._sender as sender:
            return sender.post("/api/v1/ingest", json=records)

    def _call(self, method: str, path: str, body: object = None) -> httpx.Response:
        with self._analyst as client:
            return client.request(method, path, json=body)

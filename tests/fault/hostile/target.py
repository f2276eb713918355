"""The server under attack, and what an attacker may hold of it."""

import random
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from urllib.parse import urlsplit

import httpx

FINE = frozenset({429, 503})
"""Refusals that say to come again."""


@dataclass(frozen=True)
class Target:
    """`token` is an analyst's, `ingest_token` a sender's, `secret` a group's for enrolment, and
    `other_token` that of a user who sees one other group only."""

    url: str
    certificate: Path
    token: str
    ingest_token: str
    secret: str
    other_token: str
    source: str | None = None
    """The address that connections come from."""

    def client(self, **headers: str) -> httpx.Client:
        context = ssl.create_default_context(cafile=str(self.certificate))
        carried = httpx.HTTPTransport(verify=context, local_address=self.source)
        return httpx.Client(base_url=self.url, headers=headers, transport=carried, timeout=30)

    def connect(self, timeout_s: float = 5.0) -> socket.socket:
        """A TCP connection without TLS."""
        where = urlsplit(self.url)
        source = (self.source, 0) if self.source else None
        return socket.create_connection((where.hostname, where.port or 0), timeout_s, source)

    @contextmanager
    def stream(self, timeout_s: float = 5.0) -> Iterator[ssl.SSLSocket]:
        """A TLS connection. Raises OSError where the server refuses it."""
        context = ssl.create_default_context(cafile=str(self.certificate))
        plain = self.connect(timeout_s)
        try:
            secure = context.wrap_socket(plain, server_hostname=urlsplit(self.url).hostname)
        except OSError:
            plain.close()
            raise
        with secure:
            yield secure


@dataclass
class Seen:
    """Answers of the server to all attackers. Thread-safe."""

    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    """Results that no attack may cause: a 500 from a bug, or a successful attack."""
    _lock: Lock = field(default_factory=Lock)

    def status(self, attack: str, number: int, what: object = "") -> None:
        with self._lock:
            self.statuses[attack, number] += 1
            if number >= 500 and number not in FINE:
                self.broken.append(f"{attack}: {number} for {str(what)[:300]!r}")

    def answer(self, attack: str, answer: httpx.Response, what: object = "") -> None:
        self.status(attack, answer.status_code, f"{what} -> {answer.text[:200]}")

    def disconnected(self, attack: str) -> None:
        """The server ended a connection, which it may."""
        self.status(attack, 0)

    def failed(self, text: str) -> None:
        with self._lock:
            self.broken.append(text)


@dataclass(frozen=True)
class Attack:
    """Attack that one thread repeats until `goes_on` returns false."""

    target: Target
    seen: Seen
    goes_on: Callable[[], bool]
    random: random.Random
    folder: Path
    """Where the attacker keeps files."""

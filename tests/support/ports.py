"""Ports for servers that are told theirs before they start."""

import secrets
import socket
from contextlib import suppress

_RANGE = range(10_000, 32_768)
"""Below those that the kernel gives to whoever connects or asks for any: what it said is free would
be another's by the time the server listens there."""


def free_port() -> int:
    """Returns a loopback port on which nobody listens."""
    while True:
        port = secrets.choice(_RANGE)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port

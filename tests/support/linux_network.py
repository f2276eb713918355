"""Two machines in one: a network namespace on the other end of a cable (veth)."""

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from secrets import token_hex

import pytest

from tests.support.linux_sensor import program


@dataclass(frozen=True)
class Cable:
    """`inside` is an address in the namespace, `outside` two on this side."""

    namespace: str
    inside: str
    outside: tuple[str, str]

    @property
    def enter(self) -> list[str]:
        """Words before a command that is to run inside."""
        return [program("ip"), "netns", "exec", self.namespace]


@contextmanager
def cable() -> Iterator[Cable]:
    """A new namespace with a cable to this one, removed at the end."""
    name = f"v{token_hex(3)}"
    made = Cable(name, "198.18.7.2", ("198.18.7.1", "198.18.7.9"))
    done = subprocess.run([program("ip"), "netns", "add", name], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"cannot make a network namespace: {done.stderr!r}")
    try:
        _ip("link", "add", f"{name}o", "type", "veth", "peer", "name", f"{name}i", "netns", name)
        for address in made.outside:
            _ip("addr", "add", f"{address}/24", "dev", f"{name}o")
        _ip("link", "set", f"{name}o", "up")
        _ip("-n", name, "addr", "add", f"{made.inside}/24", "dev", f"{name}i")
        _ip("-n", name, "link", "set", f"{name}i", "up")
        _ip("-n", name, "link", "set", "lo", "up")
        yield made
    finally:
        subprocess.run([program("ip"), "netns", "del", name], check=False, capture_output=True)
        subprocess.run([program("ip"), "link", "del", f"{name}o"], check=False, capture_output=True)


@contextmanager
def entered(host: Cable) -> Iterator[None]:
    """The calling thread, and the programs that it starts, are in the namespace meanwhile."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/thread-self/ns/net") as before, open(f"/run/netns/{host.namespace}") as inside:
        assert libc.setns(inside.fileno(), 0) == 0, os.strerror(ctypes.get_errno())
        try:
            yield
        finally:
            assert libc.setns(before.fileno(), 0) == 0, os.strerror(ctypes.get_errno())


def _ip(*words: str) -> None:
    done = subprocess.run([program("ip"), *words], capture_output=True, text=True, check=False)
    assert not done.returncode, f"ip {' '.join(words)}: {done.stderr}"

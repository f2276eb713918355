"""Workers that are stopped, not dead, and workers that end while the server is idle."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.fault.crash import forked
from tests.fault.senders import Sender, check_stored_once, drain, sending
from tests.fault.test_kill import workers
from tests.support.children import is_running
from tests.support.served import Server, listening, wait_for
from vedette.limits import WORKER_STALL_S

REPLACED_S = WORKER_STALL_S + 30
"""A stopped worker is replaced within this time, on a busy machine."""
PAUSE_S = 0.3
"""After each batch of a sender: a part of them meets the stopped worker all the same."""


@contextmanager
def a_server(data: Path) -> Iterator[tuple[Server, int]]:
    """A server, and the id of its process."""
    with forked(data) as process:
        yield listening(data, process), process.pid


def is_ready(client: httpx.Client) -> bool:
    return client.get("/readyz").status_code == 200


def test_a_stopped_worker_is_replaced_under_load_and_nothing_is_lost(tmp_path: Path) -> None:
    senders = [Sender(f"stopped-{n}.example", numbered=n % 2 == 0) for n in range(3)]
    with a_server(tmp_path) as (server, pid):
        with sending(senders, server, PAUSE_S), server.client() as client:
            before = workers(pid)
            os.kill(before[-1], signal.SIGSTOP)
            is_replacing = wait_for(lambda: is_ready(client), False, REPLACED_S, pause_max_s=0.05)
            assert is_replacing is False
            assert wait_for(lambda: is_running(before[-1]), False, REPLACED_S) is False
            assert wait_for(lambda: is_ready(client), True, REPLACED_S) is True
        drain(senders, server)
        assert set(workers(pid)).isdisjoint(before)
        check_stored_once(senders, server)


def test_a_worker_that_ends_on_an_idle_server_is_replaced_before_a_record_comes(
    tmp_path: Path,
) -> None:
    sender = Sender("idle.example", numbered=True)
    with a_server(tmp_path) as (server, pid):
        drain([sender], server)
        before = workers(pid)
        os.kill(before[-1], signal.SIGKILL)
        assert wait_for(lambda: set(workers(pid)).isdisjoint(before), True) is True
        with server.client() as client:
            assert wait_for(lambda: is_ready(client), True) is True
        drain([sender], server)
        assert sender.sent_again == 0, "no sender notices"
        check_stored_once([sender], server)


def test_a_stopped_worker_does_not_keep_the_server_from_stopping(tmp_path: Path) -> None:
    with forked(tmp_path) as process:
        listening(tmp_path, process)
        stopped = workers(process.pid)
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        process.terminate()
        assert process.wait(REPLACED_S) == 0
        assert not any(map(is_running, stopped))

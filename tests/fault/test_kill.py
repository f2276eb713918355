"""`kill -9` at random moments under load: everything acknowledged is there, nothing twice."""

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

from tests.fault.crash import forked
from tests.fault.rounds import rounds, seeded
from tests.fault.senders import Sender, check_stored_once, drain, lasting_token, sending
from tests.support.children import children, is_running
from tests.support.served import listening, wait_for
from vedette.bootstrap.ingest_workers import worker_count

ROUNDS = 2


def test_what_was_acknowledged_survives_kills_and_is_stored_once(tmp_path: Path) -> None:
    dice, count = seeded(), rounds(ROUNDS)
    senders = [Sender(f"killed-{n}.example", numbered=n % 2 == 0) for n in range(4)]
    token = ""
    for _ in range(count):
        with forked(tmp_path) as process:
            server = listening(tmp_path, process)
            token = token or lasting_token(server)
            with sending(senders, replace(server, ingest_token=token)):
                time.sleep(dice.uniform(0.0, 1.5))
                process.kill()
        with forked(tmp_path):
            time.sleep(dice.uniform(0.0, 2.0))
    with forked(tmp_path) as process:
        server = listening(tmp_path, process)
        drain(senders, replace(server, ingest_token=token))
        assert sum(sender.sent_again for sender in senders) >= count
        assert all(sender.batch > count for sender in senders)
        check_stored_once(senders, server)


def test_what_was_acknowledged_survives_the_end_of_a_worker(
    tmp_path: Path,
) -> None:
    dice = seeded()
    senders = [Sender(f"orphaned-{n}.example", numbered=n % 2 == 0) for n in range(3)]
    with forked(tmp_path) as process:
        server = listening(tmp_path, process)
        with sending(senders, server):
            for _ in range(rounds(ROUNDS)):
                pids = workers(process.pid)
                time.sleep(dice.uniform(0.2, 0.9))
                os.kill(dice.choice(pids), signal.SIGKILL)
                wait_for(lambda: set(workers(process.pid)).isdisjoint(pids), True)  # noqa: B023
        drain(senders, server)
        check_stored_once(senders, server)


def test_workers_end_with_their_server(tmp_path: Path) -> None:
    with forked(tmp_path) as process:
        server = listening(tmp_path, process)
        pids = workers(process.pid)
        for pid in pids:
            for number in (signal.SIGTERM, signal.SIGINT):
                os.kill(pid, number)
        drain([Sender(f"signalled-{n}.example", numbered=True) for n in range(2)], server)
        assert workers(process.pid) == pids, "signals to stop are meant for the server"
        process.kill()
        assert wait_for(lambda: any(map(is_running, pids)), False) is False


def workers(server_pid: int) -> list[int]:
    """All of them, once they are there."""
    found: list[int] = []

    def are_all() -> bool:
        found[:] = children("vedette.bootstrap.ingest_workers", server_pid)
        return len(found) == worker_count()

    assert wait_for(are_all, True)
    return found

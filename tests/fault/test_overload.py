"""Overload: what does not fit the queue is refused with 429; nothing is lost or stored twice."""

import time
from pathlib import Path

from tests.fault.crash import forked
from tests.fault.rounds import rounds, seeded
from tests.fault.senders import Sender, check_stored_once, drain, sending
from tests.support.served import listening

LIMITS = ("queue_bytes_max=60000", "commit_bytes_max=60000", "commit_wait_ms=100")
SMALL_QUEUE = [word for limit in LIMITS for word in ("--set", limit)]
"""Room for one batch of a sender and a half."""


def test_what_a_full_queue_refuses_is_stored_once_when_it_comes_again(tmp_path: Path) -> None:
    dice = seeded()
    senders = [Sender(f"busy-{n}.example", numbered=n % 2 == 0) for n in range(8)]
    with forked(tmp_path, *SMALL_QUEUE) as process:
        server = listening(tmp_path, process)
        for _ in range(rounds(2)):
            with sending(senders, server):
                time.sleep(dice.uniform(0.5, 2.0))
            with server.analyst() as client:
                assert client.get("/readyz").status_code == 200
        drain(senders, server)
        assert sum(sender.sent_again for sender in senders) > len(senders)
        check_stored_once(senders, server)

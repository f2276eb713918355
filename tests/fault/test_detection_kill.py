"""`kill -9` at random moments while rules, a feed and a watchlist find something: each alert that
is due exists exactly once, and a receiver is told of each at least once."""

import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from tests.fault.crash import forked
from tests.fault.detected import (
    DUE,
    Starter,
    publish_feed,
    received_ids,
    stored_alerts,
    wait_until_reported,
    watch,
)
from tests.fault.rounds import rounds, seeded
from tests.fault.senders import drain, lasting_token, sending
from tests.support.receivers import http_receiver
from tests.support.served import listening

ROUNDS = 1
"""Number of rounds, with two kills each."""
LONG = 50
FLAGS = ("--set", "egress_allow=127.0.0.1,::1")
FOLLOWED_S = 6.0
"""In which every job looks again."""


def test_every_alert_is_made_once_and_every_message_arrives(tmp_path: Path) -> None:
    dice = seeded()
    senders = [Starter(f"kill-{n}", numbered=True) for n in range(2)]
    token = ""
    publish_feed(tmp_path)
    with http_receiver() as receiver:
        for _ in range(rounds(ROUNDS, LONG)):
            with forked(tmp_path, *FLAGS) as process:
                server = listening(tmp_path, process)
                if not token:
                    token = lasting_token(server)
                    watch(server, receiver)
                with sending(senders, replace(server, ingest_token=token)):
                    time.sleep(dice.uniform(0.0, 2.0))
                    process.kill()
            with forked(tmp_path, *FLAGS) as process:
                # It catches up with what the one before did not come to.
                listening(tmp_path, process)
                time.sleep(dice.uniform(0.0, 3.0))
        with forked(tmp_path, *FLAGS) as process:
            server = listening(tmp_path, process)
            drain(senders, replace(server, ingest_token=token))
            hosts = [one.host_of(batch) for one in senders for batch in range(one.batch)]
            wait_until_reported(server, len(hosts) * DUE.total())
            time.sleep(FOLLOWED_S)
            process.terminate()
            process.wait(60)
        received = received_ids(receiver)
    due = Counter({(*key, host): count for host in hosts for key, count in DUE.items()})
    found = stored_alerts(tmp_path)
    alerts = Counter(found.values())
    assert (due - alerts, alerts - due) == (Counter(), Counter())
    assert set(received) == set(found)
    print(f"{len(hosts)} hosts, {alerts.total()} alerts, {received.total()} messages")
    assert [one.refused for one in senders] == [[], []]
    assert len(hosts) > 2 * ROUNDS

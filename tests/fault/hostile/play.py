"""Plays the whole corpus against a server, every attacker in a thread of its own."""

import os
import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from tests.fault.hostile import archives, connections, requests
from tests.fault.hostile.target import Attack, Seen, Target

ATTACKERS: Final[tuple[Callable[[Attack], None], ...]] = (
    requests.send_bodies,
    requests.send_bodies,
    requests.send_queries,
    requests.send_queries,
    requests.send_queries,
    requests.send_names,
    requests.flood_enrolments,
    connections.break_heads,
    connections.hold_half_requests,
    connections.drip,
    connections.flood,
    connections.read_nothing,
    archives.import_archives,
)

_NICE: Final = 10
"""Attackers are other machines, whose work takes no turn at the server's cores. So each has an
address of its own, too, as has whoever asks whether the server is well."""


def play(target: Target, folder: Path, seconds: float, seed: int) -> Seen:
    """All attackers for so many seconds; returns when the last one has noticed the end."""
    requests.bodies()  # both take seconds to make, and are kept
    archives.hostile_archives()
    seen = Seen()
    ends = time.monotonic() + seconds

    def work(attacker: Callable[[Attack], None], number: int) -> None:
        os.setpriority(os.PRIO_PROCESS, 0, _NICE)  # 0: the calling thread on Linux
        room = folder / f"attacker-{number}"
        room.mkdir()
        own = replace(target, source=f"127.0.0.{2 + number}")
        attack = Attack(
            own, seen, lambda: time.monotonic() < ends, random.Random(seed + number), room
        )
        try:
            attacker(attack)
        except Exception as error:  # noqa: BLE001 - an attacker that ends early is a failure
            seen.failed(f"{attacker.__name__} ended: {error!r}")

    threads = [
        threading.Thread(target=work, args=(attacker, number))
        for number, attacker in enumerate(ATTACKERS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seen

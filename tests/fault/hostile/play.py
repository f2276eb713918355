"""Plays the whole corpus against a server, every attacker in a thread of its own. Attackers are
other machines: their work takes no core from the server, and each has an address of its own, as has
whoever asks whether the server is well."""

import multiprocessing
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Final

from tests.fault.hostile import archives, connections, requests
from tests.fault.hostile.target import Attack, Seen, Target
from tests.support.cores import come_last

ATTACKERS: Final[tuple[Callable[[Attack], None], ...]] = (
    requests.send_bodies,
    requests.send_bodies,
    requests.send_queries,
    requests.send_queries,
    requests.send_queries,
    requests.send_names,
    requests.flood_enrolments,
    connections.break_heads,
    connections.send_without_end,
    connections.send_without_end,
    connections.hold_half_requests,
    connections.drip,
    connections.flood,
    connections.read_nothing,
    archives.import_archives,
)


def play(target: Target, folder: Path, seconds: float, seed: int) -> Seen:
    """All attackers for so many seconds, in a process of their own; returns when the last one has
    noticed the end."""
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawned, initializer=come_last) as process:
        statuses, broken = process.submit(_played, target, folder, seconds, seed).result()
    return Seen(statuses, broken)


def _played(
    target: Target, folder: Path, seconds: float, seed: int
) -> tuple[Counter[tuple[str, int]], list[str]]:
    requests.bodies()  # both take seconds to make, and are kept
    archives.hostile_archives()
    seen = Seen()
    ends = time.monotonic() + seconds

    def work(attacker: Callable[[Attack], None], number: int) -> None:
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
    return seen.statuses, seen.broken

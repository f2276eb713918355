"""Normaliser of Sysmon for Windows and Linux: docs/telemetry-events.md,
with the facts of docs/telemetry-formats.md#real-world-data.

`LEARN` and `MAKE` are tables by event id. A maker takes event data, the host context and the event
time, and returns outcomes, or None if the event names no process; the record is then stored as a
record. Makers convert all values before they emit metadata of processes, so a value of a wrong type
(caught in windows.py) loses nothing.
"""

from vedette.ingest.normalise.sysmon import crossproc, file, learn, lifetime, network, registry
from vedette.ingest.normalise.sysmon.learn import learn_pair, learn_subject
from vedette.ingest.normalise.sysmon.subject import Learn, Make

__all__ = ["LEARN", "MAKE", "PAIRS", "learn_pair", "learn_subject"]

LEARN: dict[int, Learn] = {
    1: learn.learn_start,
    3: learn.learn_connection,
    5: learn.learn_end,
    6: learn.learn_driver,
    7: learn.learn_module,
    22: learn.learn_query,
    27: learn.learn_file,
    29: learn.learn_file,
}
"""Learner by event id. Adds to the host context, given the event's time."""

PAIRS = frozenset({8, 10})
"""Event ids that name two processes and need no other learning. All other events name a single
process."""

MAKE: dict[int, Make] = {
    1: lifetime.start,
    2: file.time_changed,
    3: network.connected,
    5: lifetime.end,
    6: file.driver_loaded,
    7: file.module_loaded,
    8: crossproc.thread_created,
    10: crossproc.opened,
    11: file.created,
    12: registry.key_changed,
    13: registry.value_set,
    14: registry.key_renamed,
    15: file.stream_created,
    17: network.pipe_created,
    18: network.pipe_connected,
    22: network.queried,
    23: file.deleted,
    25: lifetime.tampered,
    26: file.deleted,
    27: file.executable_blocked,
    28: file.shredding_blocked,
    29: file.executable_written,
}
"""Maker by event id. Other ids are stored as records (4, 9, 16, 19-21, 24, 255)."""

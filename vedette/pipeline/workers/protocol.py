"""What the server and a process that prepares commits say to each other, as MessagePack.

The server gives orders. Only `Prepare` is answered, with `Done` or `Failed`; before that the
process may ask `Question`s, one at a time, and waits for each answer. Only what is sent `Ahead`
may come between.

Where several processes prepare, each asks once in every commit `AskWhose` it has met. The answer
may be that the commit is shared out anew: then `Prepare` is not answered, and comes again.
"""

from typing import Any

from msgspec import Struct

from vedette.ingest.normalise.normaliser import Keep
from vedette.model.host import HostProcess, SensorRef
from vedette.model.ingress_filter import IngressFilter
from vedette.pipeline.batch.segment_assigner import SegmentPlace
from vedette.pipeline.submission import Receipt, Submission
from vedette.pipeline.workers.ownership import Met


class Begin(Struct, tag=True):
    """The first order: with which memory to begin."""

    keep: Keep
    processes_remembered: int
    now_us: int
    is_empty: bool
    """Whether nothing is stored, and nobody else stores (`SegmentAssigner.begin_empty`)."""
    processes: int
    """How many processes share the hosts, and the memory that may be used for them."""


class WithoutPartitions(Struct, tag=True):
    unmounted: list[int]


class Restore(Struct, tag=True):
    """What was stored before, as `Seen` takes it."""

    records: list[tuple[int, list[int]]]
    kept: list[tuple[int, list[int]]]
    requests: list[tuple[str, list[int]]]


class Forget(Struct, tag=True):
    """After a commit that failed; `durable` are those that did not. What was sent `Ahead` is of no
    commit any more."""

    durable: list[int]


class Ahead(Struct, tag=True):
    """What the process gets of a submission of a later commit, as soon as it has come."""

    number: int
    submission: Submission


class Prepare(Struct, tag=True):
    seq: int
    now_us: int
    window_ms: int
    partition_ms: int
    durable: list[int]
    """Commits that were stored since the last order."""
    filters: list[IngressFilter] | None = None
    """Where they changed."""
    ahead: list[int] = []
    """The submissions, by the numbers they were sent `Ahead` with."""
    mine: list[int] | None = None
    """Where this was shared out by sensors, not by guesses: those that are new of the process."""
    submissions: list[Submission] = []
    """What it gets then, in place of what was sent ahead."""


class Resolve(Struct, tag=True):
    """Question: the sensors of hosts, by name with their system; answered by `Resolved`."""

    hosts: dict[str, str]
    group_id: int
    now_us: int


class Resolved(Struct, tag=True):
    sensors: dict[str, SensorRef]


class AskCodes(Struct, tag=True):
    """Question: the codes of channels; answered by `Codes`."""

    names: list[str]


class Codes(Struct, tag=True):
    codes: dict[str, int]


class AskProcesses(Struct, tag=True):
    """Question: what is stored of processes; answered by `Processes`."""

    process_ids: list[str]


class Processes(Struct, tag=True):
    found: dict[str, tuple[dict[str, Any], list[SegmentPlace]]]


class AskHeardOf(Struct, tag=True):
    """Question: which processes are stored; answered by `HeardOfProcesses`."""


class HeardOfProcesses(Struct, tag=True):
    hashes: bytes | None
    """A serialized bitmap of their hashes; None for what `Hearsay.heard_of` says."""


class AskHosts(Struct, tag=True):
    """Question: the processes of hosts; answered by `HostProcesses`."""

    sensor_ids: list[int]


class HostProcesses(Struct, tag=True):
    found: list[HostProcess]


class AskWhose(Struct, tag=True):
    """Question: which of the sensors met are the process's own; answered by `Whose`."""

    met: Met


class Whose(Struct, tag=True):
    mine: list[int] | None
    """None: the commit comes again, shared out in another way."""


class Done(Struct, tag=True):
    """A commit, or a process's portion of it: its tables as Arrow IPC, and what is to be noted
    when it is stored."""

    aside: list[tuple[str, bytes]]
    segments: list[bytes]
    receipts: list[Receipt]
    seen: list[tuple[int, str, str]]
    """Sensors of the commit, with the address of the host and what is new of its type."""
    looked_at: int
    hits: dict[str, int]
    """What `Sieve.counts` gave."""


class Failed(Struct, tag=True):
    """Instead of an answer, from either side."""

    message: str
    reason: str = ""
    """Of an UnavailableError; "" for a fault of ours, which was logged where it happened."""


Question = Resolve | AskCodes | AskProcesses | AskHeardOf | AskHosts
Answer = Resolved | Codes | Processes | HeardOfProcesses | HostProcesses | Whose | Failed
Order = Begin | WithoutPartitions | Restore | Forget | Ahead | Prepare
FromServer = Order | Answer
FromPreparer = Done | Failed | AskWhose | Question

"""Protocol between the server and a worker process: all messages, as typed structs.

The server sends orders. `ProcessCommit` is answered with `Processed` or `Failed`; the other orders
have no answer. While it processes, a worker may send one `Lookup` at a time and waits for its
answer; only `Deliver` and `Ping` may arrive in between.

With several workers, each sends one `ClaimSensors` in every commit. If the answer is that the
commit is distributed again, that `ProcessCommit` has no answer and another one follows.

Messages are encoded as MessagePack (`socket_channel.py`); the transport is behind `MessageChannel`.
"""

from typing import Any

from msgspec import Struct

from vedette.ingest.normalise.normaliser import Keep
from vedette.model.findings.detection import RuleCost
from vedette.model.host import HostProcess, SensorRef
from vedette.model.ingress_filter import FilterCounts, IngressFilter
from vedette.model.privacy import Privacy
from vedette.pipeline.batch.segment_assigner import SegmentPlace
from vedette.pipeline.submission import Receipt, Submission
from vedette.pipeline.workers.ownership import UnownedSensors
from vedette.pipeline.workers.refusal_pieces import RefusalPiece


class Begin(Struct, tag=True):
    """The first order: the configuration of the worker."""

    keep: Keep
    process_cache_size: int
    """Processes that all workers together may hold metadata of."""
    now_us: int
    is_empty: bool
    """Nothing is stored, and no other server stores anything: lookups can be skipped."""
    workers: int
    """How many workers divide the hosts, and the memory for them."""
    shares_hosts: bool = False
    """Other servers have hosts too."""


class WithoutPartitions(Struct, tag=True):
    """Order: these partitions (opening times, ms) are detached; nothing may be written to them."""

    unmounted: list[int]


class Restore(Struct, tag=True):
    """Order: keys of stored records, for deduplication (`Deduplicator.restore_...`)."""

    records: list[tuple[int, list[int]]]
    kept: list[tuple[int, list[int]]]
    requests: list[tuple[str, list[int]]]


class Reset(Struct, tag=True):
    """Order after a failed commit: drop state that may describe rows that were not stored, and all
    delivered submissions. `durable` are commits that were stored."""

    durable: list[int]


class ForgetSlots(Struct, tag=True):
    """Order: drop all that is known of hosts in these slots (`state/servers/slots.py`). `durable`
    are commits that were stored."""

    slots: list[int]
    durable: list[int]


class Deliver(Struct, tag=True):
    """Order: a worker's portion of a submission, sent as soon as it arrives so that the worker can
    decode it before its commit begins."""

    number: int
    """Of the submission, from 1."""
    submission: Submission


class Ping(Struct, tag=True):
    """Order: report progress (`progress.py`), which shows that the worker is responding."""


class Rules(Struct):
    """Rules to judge events by, as one generation of the stored ones."""

    generation: int
    encoded: bytes
    """Of `detect/judged_rule.py`."""


class ProcessCommit(Struct, tag=True):
    """Order: process one commit."""

    seq: int
    now_us: int
    window_ms: int
    partition_ms: int
    durable: list[int]
    """Commits that became durable since the previous order."""
    expire_names: bool = False
    """Host names have to be resolved again: one belongs to another sensor now."""
    filters: list[IngressFilter] | None = None
    """Ingress filters, if they changed."""
    rules: Rules | None = None
    """Detection rules, if they changed."""
    privacy: Privacy | None = None
    """What sensor groups hide, if it changed."""
    delivered: list[int] = []
    """Numbers of the delivered submissions that the commit consists of."""
    granted: list[int] | None = None
    """Where the commit was distributed by ownership: the sensors that are new of this worker."""
    submissions: list[Submission] = []
    """The worker's portions in that case, in place of `delivered`."""
    numbers: list[int] = []
    """Numbers of `submissions`, for progress reports."""


class LookupSensors(Struct, tag=True):
    """Lookup: the sensors of hosts, given as name and operating system. Unknown hosts are
    registered in `group_id`."""

    hosts: dict[str, str]
    group_id: int
    now_us: int


class SensorsFound(Struct, tag=True):
    """Answer to `LookupSensors`; names that cannot be a host's are missing."""

    sensors: dict[str, SensorRef]


class LookupChannelCodes(Struct, tag=True):
    """Lookup: the numeric codes of event log channels, for senders of a sensor group."""

    names: list[str]
    group_id: int


class ChannelCodesFound(Struct, tag=True):
    """Answer to `LookupChannelCodes`."""

    codes: dict[str, int]


class LookupProcesses(Struct, tag=True):
    """Lookup: stored metadata and segments of processes."""

    process_ids: list[str]


class ProcessesFound(Struct, tag=True):
    """Answer to `LookupProcesses`; processes that are not stored are missing."""

    found: dict[str, tuple[dict[str, Any], list[SegmentPlace]]]


class LookupProcessHashes(Struct, tag=True):
    """Lookup: the hashes of all stored processes."""


class ProcessHashesFound(Struct, tag=True):
    """Answer to `LookupProcessHashes`."""

    hashes: bytes | None
    """A serialised roaring bitmap; None where `ProcessHashes.process_hashes` gives None."""


class LookupHostProcesses(Struct, tag=True):
    """Lookup: the recent processes of hosts, to restore their context."""

    sensor_ids: list[int]


class HostProcessesFound(Struct, tag=True):
    """Answer to `LookupHostProcesses`."""

    found: list[HostProcess]


class ClaimSensors(Struct, tag=True):
    """Lookup: which of these sensors the worker owns (`ownership.py`)."""

    unowned: UnownedSensors


class SensorsOwned(Struct, tag=True):
    """Answer to `ClaimSensors`."""

    granted: list[int] | None
    """None: the commit is distributed again."""


class Processed(Struct, tag=True):
    """Answer to `ProcessCommit`: the worker's part of the commit, its tables as Arrow IPC."""

    small_tables: list[tuple[str, bytes]]
    """Rows of every table but `segment`, by table."""
    segments: list[bytes]
    receipts: list[Receipt]
    """Without their refusals."""
    refusals: list[RefusalPiece]
    seen: list[tuple[int, str, str, str, str]]
    """Sensors of the commit, each with its host's address, and the host type and the SID where they
    changed, else ""."""
    filtered: FilterCounts
    """What the ingress filters did."""
    costs: list[RuleCost] = []
    """What rules cost and found."""


class Failed(Struct, tag=True):
    """Answer of either side that could not do what was asked."""

    message: str
    reason: str = ""
    """Of an UnavailableError; "" for an internal error, logged where it happened."""


Lookup = (
    LookupSensors | LookupChannelCodes | LookupProcesses | LookupProcessHashes | LookupHostProcesses
)
LookupAnswer = (
    SensorsFound
    | ChannelCodesFound
    | ProcessesFound
    | ProcessHashesFound
    | HostProcessesFound
    | SensorsOwned
    | Failed
)
Order = Begin | WithoutPartitions | Restore | Reset | ForgetSlots | Deliver | Ping | ProcessCommit
FromServer = Order | LookupAnswer
FromWorker = Processed | Failed | ClaimSensors | Lookup

"""Protocol between the server and a worker process: all messages, as typed structs.

The server sends orders. A worker answers `ProcessCommit` with `Processed` or `Failed`; the other
orders have no answer. While it processes, a worker may send one `Lookup` at a time and waits for
its answer; only `Deliver` and `Ping` may arrive in between.

With several workers, each sends one `ClaimSensors` in every commit. If the answer is that the
commit is distributed again, that `ProcessCommit` has no answer and another one follows.

Messages are encoded as MessagePack (`socket_channel.py`); `MessageChannel` abstracts the transport.
"""

from typing import Any

from msgspec import Struct

from vedette.ingest.normalise.normaliser import Keep
from vedette.model.findings.detection import RuleCost
from vedette.model.host import HostProcess, SensorRef
from vedette.model.ingress_filter import FilterCounts
from vedette.model.privacy import Privacy
from vedette.pipeline.batch.segment_assigner import SegmentPlace
from vedette.pipeline.submission import Receipt, Submission
from vedette.pipeline.workers.ownership import UnownedSensors
from vedette.pipeline.workers.refusal_pieces import RefusalPiece
from vedette.record.objects.ingress_filter import IngressFilter


class Begin(Struct, tag=True):
    """The first order: the configuration of the worker."""

    keep: Keep
    process_cache_size: int
    """Processes whose metadata all workers together may cache."""
    now_us: int
    is_empty: bool
    """Nothing is stored, and no other server stores anything: lookups can be skipped."""
    workers: int
    """Number of workers that share the hosts, and the memory for them."""
    shares_hosts: bool = False
    """Whether other servers have hosts too."""


class WithoutPartitions(Struct, tag=True):
    """Order: these partitions (opening times, ms) are detached; nothing may be written to them."""

    unmounted: list[int]


class Restore(Struct, tag=True):
    """Order: add keys of stored records, for deduplication (`Deduplicator.restore_...`)."""

    records: list[tuple[int, list[int]]]
    kept: list[tuple[int, list[int]]]
    requests: list[tuple[str, list[int]]]


class Reset(Struct, tag=True):
    """Order after a failed commit: drop state that may describe rows that were not stored, and all
    delivered submissions. `durable` lists commits that were stored."""

    durable: list[int]


class ForgetSlots(Struct, tag=True):
    """Order: drop all state of hosts in these slots (`state/servers/slots.py`). `durable` lists
    commits that were stored."""

    slots: list[int]
    durable: list[int]


class Deliver(Struct, tag=True):
    """Order: a worker's portion of a submission, sent as soon as it arrives so that the worker can
    decode it before its commit begins."""

    number: int
    """Number of the submission, starting at 1."""
    submission: Submission


class Ping(Struct, tag=True):
    """Order: report progress (`progress.py`), which shows that the worker is responding."""


class Rules(Struct):
    """The rules to evaluate on events, as one generation of the stored rules."""

    generation: int
    encoded: bytes
    """Rules encoded by `detect/judged_rule.py`."""


class ProcessCommit(Struct, tag=True):
    """Order: process one commit."""

    seq: int
    now_us: int
    window_ms: int
    partition_ms: int
    durable: list[int]
    """Commits that became durable since the previous order."""
    expire_names: bool = False
    """Whether host names must be resolved again, because a name has moved to another sensor."""
    filters: list[IngressFilter] | None = None
    """Ingress filters, if they changed."""
    rules: Rules | None = None
    """Detection rules, if they changed."""
    privacy: Privacy | None = None
    """Privacy settings of sensor groups, if they changed."""
    delivered: list[int] = []
    """Numbers of the delivered submissions in the commit."""
    granted: list[int] | None = None
    """If the commit was distributed by ownership: the new sensors of this worker."""
    submissions: list[Submission] = []
    """The worker's portions in that case, in place of `delivered`."""
    numbers: list[int] = []
    """Numbers of `submissions`, for progress reports."""


class LookupSensors(Struct, tag=True):
    """Lookup: the sensors of hosts, given as name and operating system, within the reach of a
    credential. Unknown hosts are registered in `group_id`."""

    hosts: dict[str, str]
    group_id: int
    now_us: int
    any_group: bool = False
    sensor_id: int = 0


class SensorsFound(Struct, tag=True):
    """Answer to `LookupSensors`; invalid host names are missing."""

    sensors: dict[str, SensorRef]


class LookupChannelCodes(Struct, tag=True):
    """Lookup: the numeric codes of event log channels, for senders of a sensor group."""

    names: list[str]
    group_id: int


class ChannelCodesFound(Struct, tag=True):
    """Answer to `LookupChannelCodes`: code by channel name."""

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
    """Answer to `LookupProcessHashes`: the hashes as a bitmap."""

    hashes: bytes | None
    """A serialized roaring bitmap; None if `ProcessHashes.process_hashes` returns None."""


class LookupHostProcesses(Struct, tag=True):
    """Lookup: the recent processes of hosts, to restore their context."""

    sensor_ids: list[int]


class HostProcessesFound(Struct, tag=True):
    """Answer to `LookupHostProcesses`: the processes of the hosts."""

    found: list[HostProcess]


class ClaimSensors(Struct, tag=True):
    """Lookup: which of these sensors the worker owns (`ownership.py`)."""

    unowned: UnownedSensors


class SensorsOwned(Struct, tag=True):
    """Answer to `ClaimSensors`: the sensors that the worker now owns."""

    granted: list[int] | None
    """None: the commit is distributed again."""


class Processed(Struct, tag=True):
    """Answer to `ProcessCommit`: the worker's part of the commit, its tables as Arrow IPC."""

    small_tables: list[tuple[str, bytes]]
    """(table, rows) for every table except `segment`."""
    segments: list[bytes]
    receipts: list[Receipt]
    """Receipts without their refusals."""
    refusals: list[RefusalPiece]
    seen: list[tuple[int, str, str, str, str]]
    """(sensor, address, host type, SID, network adapters) of the commit's sensors; "" for a value
    that did not change."""
    filtered: FilterCounts
    """Counts of the ingress filters."""
    costs: list[RuleCost] = []
    """Costs and hits of the rules."""
    arrived: dict[str, int] = {}
    """Number of events by class (`detect/views/sources.py`)."""


class Failed(Struct, tag=True):
    """Answer of either side that could not execute an order or a lookup."""

    message: str
    reason: str = ""
    """Reason of an UnavailableError; "" for an internal error, which the sender has logged."""


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

"""Input and output of the write path: a `Submission`, and the `Receipt` for it."""

from enum import IntEnum
from typing import Final

import xxhash
from msgspec import Struct, field


class Outcome(IntEnum):
    """Outcome of one record. A rejected record must not be sent again as it is; all others are
    acknowledged."""

    EVENTS = 0
    """Stored as events or metadata of processes."""
    RECORD = 1
    """Stored in the record table."""
    DUPLICATE = 2
    """Stored before: identified by its record number, or with its whole request."""
    NOT_KEPT = 3
    """Of a channel and id that the settings do not keep."""
    FILTERED = 4
    """Dropped whole by an ingress filter."""
    REJECTED = 5
    """Cannot be stored; `Receipt.refusals` gives the reason."""


NO_OUTCOME = 255
"""Placeholder until the outcome of a record is known; greater than any `Outcome`."""


_KEY_MASK: Final = (1 << 63) - 1


def request_key(identity: bytes, sender: int = 0) -> int:
    """63-bit key that identifies a request when it is sent again. `sender` is mixed in, so that
    only the same sender can repeat the request; 0 where any sender can."""
    return xxhash.xxh3_64_intdigest(identity, seed=sender) & _KEY_MASK


class Submission(Struct):
    """Records of one request, still encoded."""

    records: list[bytes]
    """One JSON text a record, in the order of the request."""
    group_id: int
    """Sensor group of the credential; new hosts join it."""
    request_key: int
    """63-bit key of (credential, body), or of (file content, part): identifies records without
    a number of their own when the request is sent again."""
    byte_count: int
    """Bytes of the records, for the queue's bound."""
    in_sequence: bool = False
    """Whether it is a part of an ordered import: its records are learned from after those of
    the parts before it, whichever parts share a commit."""
    host: str = ""
    """The host of all records, whatever they say, when the credential belongs to one host;
    "" for senders of many hosts."""
    comms_ip: str = ""
    """Network address of the host; "" where a shipper or a relay may have sent."""
    reported_elsewhere: list[int] = []
    """Positions of texts whose outcome another worker reports, since several workers got them
    (`pipeline/workers/host_sharding.py`); this worker stores only the records of its hosts."""
    peer_ip: str = ""
    """Network address that the request came from: that of a host, or of a shipper or relay."""
    any_group: bool = False
    """Whether the sender may write for hosts of every group: a global administrator, or an import
    by the operator. Otherwise records of hosts in another group are rejected."""
    parts: list[int] = []
    """In a cluster, the part of the request that each text belongs to (`request_parts.py`)."""


class Refusal(Struct):
    """A rejected record, with the reason."""

    position: int
    """Index into `Submission.records`."""
    reason: str
    message: str


HostCounts = dict[str, tuple[int, int, int]]
"""By host name: records, and the earliest and latest time of their events, epoch us (0: none)."""


class Receipt(Struct):
    """The result of a submission, returned once everything accepted is durable."""

    outcomes: bytearray
    """An `Outcome` for every record, in order."""
    refusals: list[Refusal] = field(default_factory=list)
    """In the order of the records."""
    tally: dict[tuple[str, int, int], int] = field(default_factory=dict)
    """Records by (channel, event id, outcome)."""
    conflicts: int = 0
    """Stored records whose number was used by a record with other content before."""
    hosts: HostCounts = field(default_factory=dict)
    """Hosts of the records that were not rejected; only for parts of an import."""
    elsewhere: dict[int, list[int]] = field(default_factory=dict)
    """In a cluster, by position of the text, the sensors in it that another server has: nothing of
    their records was stored here."""

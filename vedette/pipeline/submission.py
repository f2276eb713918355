"""Input and output of the write path: a `Submission`, and its `Receipt`."""

from collections.abc import Sequence
from enum import IntEnum
from typing import Final

import xxhash
from msgspec import Struct, field


class Outcome(IntEnum):
    """Outcome of one record. The sender must not repeat a rejected record unchanged; all other
    outcomes are acknowledgments."""

    EVENTS = 0
    """Stored as events or metadata of processes."""
    RECORD = 1
    """Stored in the record table."""
    DUPLICATE = 2
    """Already stored: identified by its record number, or with its whole request."""
    NOT_KEPT = 3
    """Its channel and id are not kept by the settings."""
    FILTERED = 4
    """Dropped whole by an ingress filter."""
    REJECTED = 5
    """Cannot be stored; `Receipt.refusals` gives the reason."""


NO_OUTCOME = 255
"""Placeholder until the outcome of a record is set; greater than any `Outcome`."""


_KEY_MASK: Final = (1 << 63) - 1


def request_key(identity: bytes, sender: int = 0) -> int:
    """Returns the 63-bit key that identifies a request when it is sent again. `sender` is mixed in,
    so that only the same sender can repeat the request; 0 allows any sender."""
    return xxhash.xxh3_64_intdigest(identity, seed=sender) & _KEY_MASK


class Submission(Struct):
    """Records of one request, still encoded."""

    records: list[bytes]
    """One JSON text per record, in the order of the request."""
    group_id: int
    """Sensor group of the credential; new hosts join it."""
    request_key: int
    """63-bit key of (credential, body), or of (file content, part): identifies records without a
    number of their own when the request is sent again."""
    byte_count: int
    """Bytes of the records, for the bound of the queue."""
    in_sequence: bool = False
    """True for a part of an ordered import: context is learned from its records after those of
    the earlier parts, regardless of which parts share a commit."""
    host: str = ""
    """The host of all records, overriding their content, if the credential belongs to one host; ""
    for senders of many hosts."""
    comms_ip: str = ""
    """Network address of the host; "" if a shipper or a relay may have sent the request."""
    reported_elsewhere: list[int] = []
    """Positions of texts whose outcome another worker reports, because several workers received
    them (`pipeline/workers/host_sharding.py`); this worker stores only the records of its hosts."""
    peer_ip: str = ""
    """Network address that sent the request: a host, a shipper or a relay."""
    any_group: bool = False
    """Whether the sender may write for hosts of every group: a global administrator, or an import
    by the operator. Otherwise its records are of hosts of its own group."""
    parts: list[int] = []
    """In a cluster, the part of the request that each text belongs to (`request_parts.py`)."""
    sensor_id: int = 0
    """The sensor of `host`, if the credential belongs to it: hosts of several groups may have its
    name. 0 for senders of many hosts."""

    def keys(self, names: Sequence[bytes]) -> list[bytes]:
        """Returns estimated host names made unique by the reach of the credential: senders of two
        groups that name the same host mean two hosts. Empty names stay empty."""
        if self.sensor_id:
            return [b"#%d" % self.sensor_id] * len(names)
        if self.any_group:
            return list(names)
        return [name and b"%d %b" % (self.group_id, name) for name in names]


class Refusal(Struct):
    """A rejected record, with the reason."""

    position: int
    """Index into `Submission.records`."""
    reason: str
    message: str


HostCounts = dict[str, tuple[int, int, int]]
"""Maps host name to (records, earliest and latest time of their events in epoch us, 0: none)."""


class Receipt(Struct):
    """The result of a submission, returned once everything accepted is durable."""

    outcomes: bytearray
    """An `Outcome` for every record, in order."""
    refusals: list[Refusal] = field(default_factory=list)
    """Rejected records, in the order of the records."""
    tally: dict[tuple[str, int, int], int] = field(default_factory=dict)
    """Maps (channel, event id, outcome) to the number of records."""
    conflicts: int = 0
    """Stored records whose number a record with other content had used before."""
    hosts: HostCounts = field(default_factory=dict)
    """Hosts of the records that were not rejected; only for parts of an import."""
    elsewhere: dict[int, list[int]] = field(default_factory=dict)
    """In a cluster: maps text position to the sensors in it that belong to another server. None of
    their records was stored here."""

"""What a request hands to the write path, and what it gets back."""

from enum import IntEnum
from typing import Final

import xxhash
from msgspec import Struct, field


class Outcome(IntEnum):
    """What became of one record. All but the last are acknowledged, which is told apart."""

    EVENTS = 0
    """Stored as events or metadata of processes."""
    RECORD = 1
    """Stored in the record table."""
    DUPLICATE = 2
    """Stored before: recognised by its record id, or with its whole request."""
    NOT_KEPT = 3
    """Of a channel and id that the settings do not keep."""
    FILTERED = 4
    """Dropped whole by an ingress filter."""
    REJECTED = 5
    """Cannot be taken; `Receipt.errors` says why."""


NO_OUTCOME = 255
"""In place of an `Outcome`, until a record is told of."""


_KEY_MASK: Final = (1 << 63) - 1


def request_key(told: bytes, sender: int = 0) -> int:
    """63 bits of what makes a request the same when it comes again. `sender` is for requests that
    are the same only when this one sends them; 0 for those that are, whoever does."""
    return xxhash.xxh3_64_intdigest(told, seed=sender) & _KEY_MASK


class Submission(Struct):
    """Records of one request, still encoded."""

    records: list[bytes]
    """One JSON text a record, in the order of the request."""
    group_id: int
    """Sensor group of the credential; hosts seen for the first time join it."""
    request_key: int
    """63-bit key of (credential, body), or of (file content, part): what makes a re-sent
    request known for records without an id of their own."""
    byte_count: int
    """Bytes of the records, for the queue's bound."""
    in_sequence: bool = False
    """Whether it is a part of an ordered import: what is learned from it then does not depend
    on which parts share a commit."""
    host: str = ""
    """The host that all records are of, when the sender may speak of no other; whatever the
    records say. "" for senders that speak of many."""
    comms_ip: str = ""
    """Where the host itself sends from; "" where a shipper or a relay may have sent."""
    guests: list[int] = []
    """Positions of texts that another process answers for
    (`pipeline/workers/host_sharding.py`): of these only what is of
    the hosts of this one counts."""


class Refusal(Struct):
    """Why one record was rejected."""

    position: int
    """Index into `Submission.records`."""
    reason: str
    message: str


class Receipt(Struct):
    """The answer for a whole submission: given only once everything accepted is durable."""

    outcomes: bytearray
    """An `Outcome` for every record, in order."""
    refusals: list[Refusal] = field(default_factory=list)
    """In the order of the records, once the submission is prepared."""
    tally: dict[tuple[str, int, int], int] = field(default_factory=dict)
    """Records by (channel, event id, outcome)."""

"""The contract of what forwarders read: records in the order in which they became known."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from vedette.forwarder.record_files import Forwarded
from vedette.state.jobs.forwarders import Forwarder


@dataclass(frozen=True, slots=True)
class Chunk:
    """Records of a stream after a position. `until` is its position when they all were sent."""

    records: Iterable[Forwarded]
    until: int
    has_more: bool
    """Whether it is worth to read on at once."""


class RecordSource(Protocol):
    """The records of one type. Safe to share between threads."""

    def newest(self) -> int:
        """The position behind all that there is: where new streams begin."""
        ...

    def at_time(self, time_us: int) -> int:
        """The position before the records that were made at a time, epoch microseconds, or later.
        Raises BadRequestError where they cannot be produced any more."""
        ...

    def read(self, forwarder: Forwarder, after: int) -> Chunk:
        """The next records that a forwarder wants, a bounded number. Never one that another, not
        yet visible, could come before. Raises VedetteError."""
        ...

    def check(self, query: str) -> None:
        """Raises QueryError, BadRequestError for a query that these records do not take."""
        ...

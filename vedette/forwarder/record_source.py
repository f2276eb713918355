"""The interface of sources: records in the order in which they became known."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from vedette.forwarder.record_files import Forwarded
from vedette.state.jobs.forwarders import Forwarder


@dataclass(frozen=True, slots=True)
class Chunk:
    """Records of a stream after a position. `until` is the position of the stream when all of them
    were sent."""

    records: Iterable[Forwarded]
    until: int
    has_more: bool
    """Whether to continue reading at once."""


class RecordSource(Protocol):
    """The records of one type. Safe to share between threads."""

    def newest(self) -> int:
        """Returns the position after all existing records, where new streams begin."""
        ...

    def at_time(self, time_us: int) -> int:
        """Returns the position before the records that were made at a time (epoch microseconds) or
        later. Raises BadRequestError if these records can no longer be produced."""
        ...

    def read(self, forwarder: Forwarder, after: int) -> Chunk:
        """Returns the next records that a forwarder wants, a limited number of them. Never returns
        a record if another one that is not visible yet could precede it. Raises VedetteError."""
        ...

    def check(self, query: str) -> None:
        """Raises QueryError or BadRequestError for a query that cannot be used for these
        records."""
        ...

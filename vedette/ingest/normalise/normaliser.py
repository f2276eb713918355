"""What a family of senders offers to the write path, and which records are kept.

The pipeline calls `learn` on every record of a batch of one host first and `normalise` on each
of them afterwards: so the order of the records within a batch does not matter.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from vedette.ingest.context.host_context import HostContext
from vedette.ingest.record import Record
from vedette.model.event import Outcome


@dataclass(frozen=True, slots=True)
class Keep:
    """Which records that are no process events are kept: whole channels, and single ids.

    Everything else is answered and tallied as "not kept".
    """

    channels: frozenset[str] = frozenset()
    ids: frozenset[tuple[str, int]] = field(default_factory=frozenset)

    @classmethod
    def of(cls, channels: Iterable[str], ids: Iterable[tuple[str, Iterable[int]]]) -> "Keep":
        """From whole channels and from (channel, its ids) pairs."""
        pairs = frozenset((channel, event_id) for channel, some in ids for event_id in some)
        return cls(frozenset(channels), pairs)

    def keeps(self, channel: str, event_id: int) -> bool:
        return channel in self.channels or (channel, event_id) in self.ids


@dataclass(frozen=True, slots=True)
class Normaliser:
    """The two functions of one family; neither raises on any well-formed `Record`."""

    learn: Callable[[Record, HostContext], None]
    normalise: Callable[[Record, HostContext, Keep], list[Outcome]]
    """An empty list means that the record is not kept."""

"""Interface of a normaliser, and the selection of records to store.

The pipeline calls `learn` for every record of a host in a batch before it calls `normalise` for
any, so the result does not depend on the order of records within a batch.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from vedette.ingest.context.host_context import HostContext
from vedette.ingest.record import Record
from vedette.model.event import Outcome


@dataclass(frozen=True, slots=True)
class Keep:
    """Selection of records that are stored although they have no process events: complete channels
    and single event ids. All other such records are acknowledged and counted as "not kept"."""

    channels: frozenset[str] = frozenset()
    ids: frozenset[tuple[str, int]] = field(default_factory=frozenset)

    @classmethod
    def of(cls, channels: Iterable[str], ids: Iterable[tuple[str, Iterable[int]]]) -> "Keep":
        """Builds a selection from complete channels and (channel, event ids) pairs."""
        pairs = frozenset((channel, event_id) for channel, some in ids for event_id in some)
        return cls(frozenset(channels), pairs)

    def keeps(self, channel: str, event_id: int) -> bool:
        return channel in self.channels or (channel, event_id) in self.ids


@dataclass(frozen=True, slots=True)
class Normaliser:
    """The two functions of a source family. Neither raises for a well-formed `Record`."""

    learn: Callable[[Record, HostContext], None]
    normalise: Callable[[Record, HostContext, Keep], list[Outcome]]
    """Returns [] for a record that is not stored."""

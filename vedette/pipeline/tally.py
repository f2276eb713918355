"""Notes on a receipt what became of each record."""

from typing import Final

from vedette.ingest.record import Record, RecordError
from vedette.pipeline.submission import Outcome, Receipt, Refusal

# Plain numbers: an enumeration costs more to compare than a record to fold.
EVENTS: Final = int(Outcome.EVENTS)
RECORD: Final = int(Outcome.RECORD)
DUPLICATE: Final = int(Outcome.DUPLICATE)
NOT_KEPT: Final = int(Outcome.NOT_KEPT)
FILTERED: Final = int(Outcome.FILTERED)
REJECTED: Final = int(Outcome.REJECTED)


class Tally:
    """Writes on one receipt. Records come in the order of their texts."""

    __slots__ = ("_last", "_outcomes", "_receipt", "_tally")

    def __init__(self, receipt: Receipt) -> None:
        self._receipt = receipt
        self._outcomes = receipt.outcomes
        self._tally = receipt.tally
        self._last = -1

    def tell(self, record: Record, position: int, outcome: int) -> None:
        """A text that held several records is told by the best of them."""
        outcomes = self._outcomes
        if position != self._last:
            self._last = position
            outcomes[position] = outcome
        elif outcome < outcomes[position]:
            outcomes[position] = outcome
        entry = (record.channel, record.event_id, outcome)
        tally = self._tally
        tally[entry] = tally.get(entry, 0) + 1

    def refuse(self, record: Record, position: int, error: RecordError) -> None:
        self._receipt.refusals.append(Refusal(position, error.reason, error.message))
        self.tell(record, position, REJECTED)


def refuse(
    receipt: Receipt, position: int, error: RecordError, channel: str, event_id: int
) -> None:
    """Notes a record that was refused before it was told of."""
    receipt.outcomes[position] = REJECTED
    receipt.refusals.append(Refusal(position, error.reason, error.message))
    entry = (channel, event_id, REJECTED)
    receipt.tally[entry] = receipt.tally.get(entry, 0) + 1

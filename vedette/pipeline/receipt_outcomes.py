"""Writes the outcomes of records to a receipt."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from vedette.ingest.record import Record, RecordError
from vedette.pipeline.submission import HostCounts, Outcome, Receipt, Refusal

# Plain integers: comparing an enumeration costs more than folding a record.
EVENTS: Final = int(Outcome.EVENTS)
RECORD: Final = int(Outcome.RECORD)
DUPLICATE: Final = int(Outcome.DUPLICATE)
NOT_KEPT: Final = int(Outcome.NOT_KEPT)
FILTERED: Final = int(Outcome.FILTERED)
REJECTED: Final = int(Outcome.REJECTED)


def note_outcomes(
    receipt: Receipt, records: Sequence[Record], positions: Sequence[int], outcomes: Sequence[int]
) -> None:
    """Adds the outcomes of records, given in the order of their texts. A text with several records
    gets the best of their outcomes."""
    noted = receipt.outcomes
    if len(set(positions)) == len(positions) == len(noted):
        noted[:] = bytes(outcomes)
    else:
        last = -1
        for position, outcome in zip(positions, outcomes, strict=True):
            noted[position] = min(noted[position], outcome) if position == last else outcome
            last = position
    entries = [
        (record.channel, record.event_id, outcome)
        for record, outcome in zip(records, outcomes, strict=True)
    ]
    tally = receipt.tally
    for entry, count in Counter(entries).items():
        tally[entry] = tally.get(entry, 0) + count


def note_refusal(
    receipt: Receipt, position: int, error: RecordError, channel: str, event_id: int
) -> None:
    """Adds a rejected record for which `note_outcomes` will not be called."""
    receipt.outcomes[position] = REJECTED
    receipt.refusals.append(Refusal(position, error.reason, error.message))
    entry = (channel, event_id, REJECTED)
    receipt.tally[entry] = receipt.tally.get(entry, 0) + 1


def note_hosts(
    receipt: Receipt, hosts: Sequence[str], records: Sequence[Record], outcomes: Sequence[int]
) -> None:
    """Adds the hosts of records that were not rejected."""
    found: dict[str, list[int]] = {}
    for host, record, outcome in zip(hosts, records, outcomes, strict=True):
        if outcome == REJECTED:
            continue
        times = found.get(host)
        if times is None:
            times = found[host] = []
        times.append(record.time_us)
    for host, times in found.items():
        known = [time_us for time_us in times if time_us]
        first_us, last_us = min(known, default=0), max(known, default=0)
        merge_hosts(receipt.hosts, {host: (len(times), first_us, last_us)})


def merge_hosts(into: HostCounts, added: HostCounts) -> None:
    """Adds counts and extends the time ranges; a time of 0 is unknown."""
    for host, (count, first_us, last_us) in added.items():
        before, earliest_us, latest_us = into.get(host, (0, 0, 0))
        first_us = min(earliest_us or first_us, first_us or earliest_us)
        into[host] = before + count, first_us, max(latest_us, last_us)

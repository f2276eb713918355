"""Hosts and time span of imported records, as the records state them.

Common envelopes are read without decoding. Files of other formats usually come from a single host
or a few: their first records are decoded and then every `IMPORT_DECODED_EVERY`th, because decoding
all would double the work of an import.
"""

from collections.abc import Iterable
from typing import Any

from vedette.cli.printing import time_text
from vedette.importer.scan.header_scan import envelope
from vedette.ingest.decode import decode
from vedette.ingest.record import RecordError
from vedette.limits import Limit

IMPORT_HOSTS_MAX: Limit[int] = 10_000
"""Hosts that the summary of an import lists."""

IMPORT_DECODED_FIRST: Limit[int] = 1_000
"""Records without a common envelope that an import decodes for its summary of hosts and times
before it takes samples only. Decoding all would double its work."""

IMPORT_DECODED_EVERY: Limit[int] = 50
"""Interval of decoded records after the first ones."""


class Contents:
    """Hosts and times seen so far; times in epoch microseconds, 0 for none."""

    def __init__(self) -> None:
        self.hosts: set[str] = set()
        """At most `IMPORT_HOSTS_MAX` hosts."""
        self.first_us = 0
        self.last_us = 0
        self._others = 0
        """Number of records without a common envelope."""

    def add(self, records: Iterable[bytes]) -> None:
        """Scans the records of a chunk."""
        others = self._others
        for record in records:
            if (seen := envelope(record)) is not None:
                self._note(*seen)
                continue
            others += 1
            if others <= IMPORT_DECODED_FIRST or not others % IMPORT_DECODED_EVERY:
                self._add_decoded(record)
        self._others = others

    def body(self) -> dict[str, Any]:
        """Returns the hosts and the time span for JSON output."""
        return {
            "hosts": sorted(self.hosts),
            "first": time_text(self.first_us),
            "last": time_text(self.last_us),
        }

    def _add_decoded(self, record: bytes) -> None:
        try:
            found = decode(record)
        except RecordError:
            return  # the server rejects it with the reason
        for one in found:
            self._note(one.time_us, one.host)

    def _note(self, time_us: int, host: str) -> None:
        if time_us > 0:
            self.first_us = min(self.first_us, time_us) if self.first_us else time_us
            self.last_us = max(self.last_us, time_us)
        if len(self.hosts) < IMPORT_HOSTS_MAX:
            self.hosts.add(host)

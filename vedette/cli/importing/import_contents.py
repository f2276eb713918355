"""Hosts and time span of imported records, as the records state them.

Common envelopes are read without decoding. Of other formats, whose files come from one host or a
few, the first records are decoded and then every `IMPORT_DECODED_EVERY`th: decoding all would
double the work of an import.
"""

from collections.abc import Iterable
from typing import Any

from vedette import limits
from vedette.cli.printing import time_text
from vedette.importer.scan.header_scan import envelope
from vedette.ingest.decode import decode
from vedette.ingest.record import RecordError


class Contents:
    """Hosts and times seen so far; times in epoch microseconds, 0 for none."""

    def __init__(self) -> None:
        self.hosts: set[str] = set()
        """`IMPORT_HOSTS_MAX` at most."""
        self.first_us = 0
        self.last_us = 0
        self._others = 0
        """Records without a common envelope."""

    def add(self, records: Iterable[bytes]) -> None:
        """Scan the records of one chunk."""
        for record in records:
            seen = envelope(record)
            if seen is not None:
                self._note(*seen)
            elif self._is_sampled():
                self._add_decoded(record)

    def body(self) -> dict[str, Any]:
        """For programs."""
        return {
            "hosts": sorted(self.hosts),
            "first": time_text(self.first_us),
            "last": time_text(self.last_us),
        }

    def _is_sampled(self) -> bool:
        self._others += 1
        is_early = self._others <= limits.IMPORT_DECODED_FIRST
        return is_early or not self._others % limits.IMPORT_DECODED_EVERY

    def _add_decoded(self, record: bytes) -> None:
        try:
            found = decode(record)
        except RecordError:
            return  # the server rejects it, with the reason
        for one in found:
            self._note(one.time_us, one.host)

    def _note(self, time_us: int, host: str) -> None:
        if time_us > 0:
            self.first_us = min(self.first_us, time_us) if self.first_us else time_us
            self.last_us = max(self.last_us, time_us)
        if len(self.hosts) < limits.IMPORT_HOSTS_MAX:
            self.hosts.add(host)

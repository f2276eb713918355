"""Cache of files that were executed or loaded on a host: each is reported once.

`learn` merges to the earliest time and the greatest value of each field, so the order in a batch
does not matter; `tell` reports a file again only after a change.
"""

from vedette.ingest.context.process_state import shared
from vedette.ingest.hashes import Hashes
from vedette.model.event import BinarySeen, Outcome


class Image:
    """One path with one content (hashes)."""

    __slots__ = ("field_count", "first_us", "hashes", "path", "status", "told", "values")

    def __init__(self, path: str, hashes: Hashes, time_us: int) -> None:
        self.path = path
        self.hashes = hashes
        self.first_us = time_us
        self.values: dict[str, str] = {}
        self.status: object = None
        self.field_count = 0
        """Signature status and number of fields of the event that `values` were read from last."""
        self.told = not hashes.any_known()

    def seen(self, time_us: int) -> None:
        """Notes another sighting."""
        if time_us < self.first_us:
            self.first_us = time_us
            self.told = not self.hashes.any_known()

    def learn(self, values: dict[str, str]) -> None:
        """Merges version and signature fields."""
        for name, value in values.items():
            if value > self.values.get(name, ""):
                self.values[name] = shared(value)
                self.told = not self.hashes.any_known()

    def tell(self, out: list[Outcome]) -> None:
        """Appends a BinarySeen, unless nothing changed since the last."""
        if not self.told:
            self.told = True
            found = self.hashes
            out.append(
                BinarySeen(
                    self.first_us,
                    found.md5,
                    found.sha256,
                    found.sha1,
                    self.path,
                    dict(self.values),
                )
            )

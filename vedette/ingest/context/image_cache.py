"""Cache of the executed or loaded files of a host. Each file is reported once.

`learn` merges to the earliest time and the greatest value of each field, so the order within a
batch does not matter. `report` reports a file again only after a change.
"""

from vedette.ingest.context.process_state import interned
from vedette.ingest.hashes import Hashes
from vedette.model.event import BinarySeen, Outcome


class Image:
    """A path with a content, identified by hashes."""

    __slots__ = ("field_count", "first_us", "hashes", "is_reported", "path", "status", "values")

    def __init__(self, path: str, hashes: Hashes, time_us: int) -> None:
        self.path = path
        self.hashes = hashes
        self.first_us = time_us
        self.values: dict[str, str] = {}
        self.status: object = None
        self.field_count = 0
        """Signature status and number of fields of the event that `values` were last read from."""
        self.is_reported = not hashes.any_known()

    def seen(self, time_us: int) -> None:
        """Records a sighting at `time_us`."""
        if time_us < self.first_us:
            self.first_us = time_us
            self.is_reported = not self.hashes.any_known()

    def learn(self, values: dict[str, str]) -> None:
        """Merges version and signature fields."""
        for name, value in values.items():
            if value > self.values.get(name, ""):
                self.values[name] = interned(value)
                self.is_reported = not self.hashes.any_known()

    def report(self, out: list[Outcome]) -> None:
        """Appends a BinarySeen if anything changed since the last report."""
        if not self.is_reported:
            self.is_reported = True
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

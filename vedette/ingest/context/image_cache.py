"""A file that was executed or loaded on a host, so that it is reported once and not each time.

What is reported does not depend on the order in a batch: `learn` keeps the earliest time and the
best of every value, `tell` reports when something changed.
"""

from vedette.ingest.context.process_state import shared
from vedette.ingest.hashes import Hashes
from vedette.model.event import BinarySeen, Outcome


class Image:
    """One path with one content."""

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
        """Once more, at this time."""
        if time_us < self.first_us:
            self.first_us = time_us
            self.told = not self.hashes.any_known()

    def learn(self, values: dict[str, str]) -> None:
        """Takes what is new of the version and signature fields."""
        for name, value in values.items():
            if value > self.values.get(name, ""):
                self.values[name] = shared(value)
                self.told = not self.hashes.any_known()

    def tell(self, out: list[Outcome]) -> None:
        """Appends what was seen, unless it was told before."""
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

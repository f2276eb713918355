"""The files that are delivered, and the interface of destinations."""

from dataclasses import dataclass
from typing import Any, Protocol

from vedette.errors import VedetteError


class DeliveryError(VedetteError):
    """It is not certain that the file arrived, so it is sent again. `after_s` is the number of
    seconds that the destination asks to wait, 0 if it does not ask."""

    reason = "not_delivered"

    def __init__(self, message: str, after_s: float = 0.0) -> None:
        super().__init__(message)
        self.after_s = after_s


@dataclass(frozen=True, slots=True)
class Content:
    """Content of a file. `body` is the content as it is stored or sent."""

    body: bytes
    media_type: str
    suffix: str
    """Suffix of the file's name."""
    encoding: str = ""
    """Encoding of the body, as HTTP names it."""


class FileBody(Protocol):
    """The body of a file while records are added to it."""

    def add(self, record: dict[str, Any]) -> int:
        """Adds a record and returns its approximate size in bytes of JSON."""
        ...

    def close(self) -> Content: ...


class Destination(Protocol):
    """The place that a forwarder sends to. Used by one thread at a time."""

    def deliver(self, path: str, content: Content) -> None:
        """Stores a file, and replaces a file with the same path. Returns when it is durable; raises
        DeliveryError."""
        ...

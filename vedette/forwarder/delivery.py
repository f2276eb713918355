"""What is delivered, and the contract of destinations."""

from dataclasses import dataclass
from typing import Any, Protocol

from vedette.errors import VedetteError


class DeliveryError(VedetteError):
    """Nobody may assume that it arrived: it is sent again. `after_s` is what the destination asks
    to wait, 0 if nothing."""

    reason = "not_delivered"

    def __init__(self, message: str, after_s: float = 0.0) -> None:
        super().__init__(message)
        self.after_s = after_s


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a file: `body` as it is stored or sent."""

    body: bytes
    media_type: str
    suffix: str
    """Of its name."""
    encoding: str = ""
    """Of the body, as HTTP names it."""


class FileBody(Protocol):
    """The body of a file that grows."""

    def add(self, record: dict[str, Any]) -> int:
        """How many bytes of JSON the record has, about."""
        ...

    def close(self) -> Content: ...


class Destination(Protocol):
    """Where a forwarder sends to. Used by one thread at a time."""

    def deliver(self, path: str, content: Content) -> None:
        """Puts a file there, in the place of one with the same path. Returns when it is durable;
        raises DeliveryError."""
        ...

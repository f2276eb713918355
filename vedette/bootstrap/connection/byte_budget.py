"""Byte budgets of a connection: limits on what a client may send besides the current request.

The parser accepts chunk framing and trailer fields of any length, and continues to read a body
after its response. So every received byte counts against a budget, however it is parsed: a head
(`HeadBudget`), a body with its framing (`BodyBudget`), or ignored bytes (`IgnoredBudget`). Pure
counting; the protocol decides how to refuse.
"""

from vedette import limits
from vedette.limits import Limit

HEADS_BYTES_MAX: Limit[int] = 64 * 1024 * 1024
"""Bytes of all incomplete request heads together: 4,096 clients could each send
`REQUEST_LINE_BYTES_MAX`."""

SMALL_HEAD_BYTES_MAX: Limit[int] = 8 * 1024
"""Size of a head up to which it is accepted regardless of other heads; usual heads have 1 kB."""

BODY_GRACE_S: Limit[float] = 30.0
"""Time (s) that any body may take."""

BODY_BYTES_A_SECOND_MIN: Limit[int] = 1_024
"""Minimum average rate of a body that takes longer; a modem is four times as fast."""

CHUNK_GAP_BYTES_MAX: Limit[int] = 16 * 1024
"""Bytes of chunk framing between two body bytes; a chunk size has 10. A trailer, which is refused,
ends here even if its first field never ends."""

CHUNK_FRAMING_BYTES_FREE: Limit[int] = 64 * 1024
"""Bytes of chunk framing allowed for any body. Above it, framing may have as many bytes as the body
(chunks of 5 bytes). Each chunk costs the event loop half a microsecond."""


class HeadBudget:
    """Counts the bytes of the request line and headers, including preceding empty lines."""

    all_bytes = 0
    """Bytes of incomplete heads of all connections of this process."""

    def __init__(self) -> None:
        self.bytes = 0

    def add(self, byte_count: int) -> None:
        self.bytes += byte_count
        HeadBudget.all_bytes += byte_count

    def release(self) -> None:
        """Releases the head's bytes; the next head starts at 0. Idempotent."""
        HeadBudget.all_bytes -= self.bytes
        self.bytes = 0

    @property
    def is_too_large(self) -> bool:
        return self.bytes > limits.REQUEST_LINE_BYTES_MAX

    @property
    def is_over_share(self) -> bool:
        """Whether this head is large while incomplete heads of all connections exceed their
        limit."""
        is_large = self.bytes > SMALL_HEAD_BYTES_MAX
        return is_large and HeadBudget.all_bytes > HEADS_BYTES_MAX


class BodyBudget:
    """Counts bytes and time of a body. Framing covers chunk sizes, extensions and trailers."""

    def __init__(self, now_s: float) -> None:
        self._body_bytes = 0
        self._framing_bytes = 0
        self._gap_bytes = 0
        """Framing since the last body byte."""
        self.due_s = now_s + BODY_GRACE_S
        """Time at which the body is too slow. Each byte extends it by its share at the minimum
        rate, but never beyond the grace period from now: bytes sent early do not buy time for
        later."""

    def add(self, sent_bytes: int, body_bytes: int, now_s: float) -> None:
        """Counts received bytes, `body_bytes` of them body."""
        framing_bytes = sent_bytes - body_bytes
        self._body_bytes += body_bytes
        self._framing_bytes += framing_bytes
        self._gap_bytes = 0 if body_bytes else self._gap_bytes + framing_bytes
        extended_s = self.due_s + body_bytes / BODY_BYTES_A_SECOND_MIN
        self.due_s = min(extended_s, now_s + BODY_GRACE_S)

    def restart(self, now_s: float) -> None:
        """Restarts the grace period after a time in which the server did not read."""
        self.due_s = now_s + BODY_GRACE_S

    @property
    def is_over_framing(self) -> bool:
        return (
            self._gap_bytes > CHUNK_GAP_BYTES_MAX
            or self._framing_bytes > CHUNK_FRAMING_BYTES_FREE + self._body_bytes
        )


class IgnoredBudget:
    """Counts bytes that are read and ignored so that the client can read its response: the rest of
    a body that was answered early, and data after the last request of a connection."""

    def __init__(self) -> None:
        self._bytes = 0
        self._ends_s = 0.0
        """0 before `begin`."""

    def begin(self, now_s: float) -> None:
        """Restarts the count, with a new deadline."""
        self._bytes, self._ends_s = 0, now_s + limits.IGNORED_DEADLINE_S

    def add(self, byte_count: int) -> None:
        self._bytes += byte_count

    @property
    def is_spent(self) -> bool:
        return self._bytes > limits.IGNORED_AFTER_ANSWER_BYTES_MAX

    def is_overdue(self, now_s: float) -> bool:
        return bool(self._ends_s) and now_s > self._ends_s

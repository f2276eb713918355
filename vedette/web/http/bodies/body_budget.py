"""Memory limit for request bodies: a budget of bytes that all requests share.

The server charges a body as its bytes arrive and charges its inflated size in addition. It credits
them when the request ends (`middleware`), or earlier once nothing references the body
(`telemetry_request`). No request waits for memory: a body that does not fit is refused with 429 and
Retry-After, so that slow clients cannot block others.
"""

from threading import Lock

from anyio import CapacityLimiter

from vedette import limits
from vedette.errors import BusyError
from vedette.limits import Limit

CONCURRENT_DECODES_MAX: Limit[int] = 4
"""Threads that inflate and parse bodies other than bulk telemetry, so that bulk telemetry never
delays a check-in."""


class BodyBudget:
    """Counts bytes in flight. Thread-safe."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._lock = Lock()
        self.decoders = CapacityLimiter(CONCURRENT_DECODES_MAX)
        """Limits the threads that inflate and parse bodies other than bulk telemetry."""

    @property
    def bytes_in_flight(self) -> int:
        return self._bytes

    def charge(self, byte_count: int, request_bytes: int) -> None:
        """Adds `byte_count` bytes; `request_bytes` is the request's total including them.

        Raises BusyError and charges nothing if they do not fit. An eighth of the budget is reserved
        for small requests.
        """
        reserve = 0 if request_bytes <= limits.SMALL_BODY_BYTES_MAX else self._bytes_max // 8
        with self._lock:
            if self._bytes + byte_count > self._bytes_max - reserve:
                raise BusyError("request-body memory is exhausted; retry later")
            self._bytes += byte_count

    def credit(self, byte_count: int) -> None:
        with self._lock:
            self._bytes -= byte_count


class BodyLease:
    """The bytes charged for a single request. Not thread-safe: only one thread handles a request at
    a time."""

    def __init__(self, budget: BodyBudget) -> None:
        self._budget = budget
        self._bytes = 0

    @property
    def decoders(self) -> CapacityLimiter:
        return self._budget.decoders

    def charge(self, byte_count: int) -> None:
        """Adds bytes. Raises BusyError."""
        self._budget.charge(byte_count, self._bytes + byte_count)
        self._bytes += byte_count

    def credit(self, byte_count: int) -> None:
        self._budget.credit(byte_count)
        self._bytes -= byte_count

    def release(self) -> None:
        """Credits all bytes of the request. Idempotent."""
        held, self._bytes = self._bytes, 0
        self._budget.credit(held)

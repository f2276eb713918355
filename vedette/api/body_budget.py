"""Memory bound for request bodies: one budget of bytes that all requests share.

A body is charged as its bytes arrive, once more for what it inflates to, and credited when its
request ends (`middleware`) or as soon as the body is no longer referenced (`telemetry_request`).
Nothing waits: a body that does not fit is refused with 429 and Retry-After, so that slow clients
which hold bytes cannot make others queue up behind them.
"""

from threading import Lock

from anyio import CapacityLimiter

from vedette import limits
from vedette.errors import BusyError


class BodyBudget:
    """Counts bytes in flight. Safe to share between threads."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._lock = Lock()
        self.decoders = CapacityLimiter(limits.CONCURRENT_DECODES_MAX)
        """Threads that inflate and parse bodies which are not bulk telemetry."""

    @property
    def bytes_in_flight(self) -> int:
        return self._bytes

    def charge(self, byte_count: int, request_bytes: int) -> None:
        """Add bytes of a request that holds `request_bytes` with them.

        Raises BusyError, and then charges nothing.
        """
        reserve = 0 if request_bytes <= limits.SMALL_BODY_BYTES_MAX else self._bytes_max // 8
        with self._lock:
            if self._bytes + byte_count > self._bytes_max - reserve:
                raise BusyError("other requests hold the memory for bodies: send it again later")
            self._bytes += byte_count

    def credit(self, byte_count: int) -> None:
        with self._lock:
            self._bytes -= byte_count


class BodyLease:
    """The bytes of one request. Not shared: a request is in one thread at a time."""

    def __init__(self, budget: BodyBudget) -> None:
        self._budget = budget
        self._bytes = 0

    @property
    def decoders(self) -> CapacityLimiter:
        return self._budget.decoders

    def charge(self, byte_count: int) -> None:
        """Raises BusyError."""
        self._budget.charge(byte_count, self._bytes + byte_count)
        self._bytes += byte_count

    def credit(self, byte_count: int) -> None:
        self._budget.credit(byte_count)
        self._bytes -= byte_count

    def release(self) -> None:
        """Credit everything. Idempotent."""
        held, self._bytes = self._bytes, 0
        self._budget.credit(held)

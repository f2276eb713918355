"""Rate limits by key: a token bucket per key, which holds the requests of a minute.

Servers of a cluster exchange their counts once per second and subtract them from their own buckets.
Together they can exceed the limit only by the requests of that second.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from itertools import islice
from threading import Lock
from typing import Final

from vedette.limits import Limit

CHANGES_PER_MINUTE_MAX: Limit[int] = 1_200
"""Changes per user and minute, except for global administrators. A script that resolves alerts
makes 20 per second."""

OWN_CHANGES_PER_MINUTE_MAX: Limit[int] = 120
"""Changes per user and minute to the user's own data (preferences, saved searches, tokens), and
audited exports. Nobody makes two per second by hand."""

RATES_KEPT_MAX: Limit[int] = 20_000
"""Callers and addresses with a bucket in memory. A flood from many addresses must not exhaust the
memory."""


FAILURES: Final = "failures of "
"""Prefix of the keys that count failed authentications per network address."""

CHANGES: Final = CHANGES_PER_MINUTE_MAX, "changes of "
OWN_CHANGES: Final = OWN_CHANGES_PER_MINUTE_MAX, "own changes of "
"""Changes per minute of a user, with the prefix of their keys. `OWN_CHANGES` covers changes that
need no role, such as saved searches and tokens."""

_MINUTE_US = 60_000_000


class RequestRates:
    """Token buckets by key. Evicts the keys that were idle longest, which resets their buckets to
    full. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._buckets: OrderedDict[str, tuple[float, int]] = OrderedDict()
        self._unshared: OrderedDict[str, int] = OrderedDict()
        """Requests by key that this server admitted and has not shared yet."""
        self._of_others: dict[tuple[str, str], int] = {}
        """Total of each (key, server) at the last exchange, for other servers."""
        self._knows_all = False
        """Whether `_of_others` was complete at the last exchange."""

    def take(self, key: str, per_minute: int, now_us: int) -> bool:
        """Takes a token of `key`. Returns whether the request is within the limit; always True if
        `per_minute` is 0."""
        if not per_minute:
            return True
        with self._lock:
            left = self._left(key, per_minute, now_us)
            is_allowed = left >= 1
            self._buckets.pop(key, None)
            self._buckets[key] = (left - 1 if is_allowed else left, now_us)
            if is_allowed:
                self._unshared[key] = self._unshared.pop(key, 0) + 1
            for kept in (self._buckets, self._unshared):
                if len(kept) > RATES_KEPT_MAX:
                    kept.popitem(last=False)
        return is_allowed

    def unshared(self) -> dict[str, int]:
        """Returns the requests admitted since the last `note_shared`, by key."""
        with self._lock:
            return dict(self._unshared)

    def note_shared(self, shared: Mapping[str, int]) -> None:
        """Subtracts counts that other servers have received."""
        with self._lock:
            for key, count in shared.items():
                left = self._unshared.get(key, 0) - count
                if left > 0:
                    self._unshared[key] = left
                else:
                    self._unshared.pop(key, None)

    def note_others(
        self,
        totals: Mapping[tuple[str, str], int],
        per_minute: Callable[[str], int],
        now_us: int,
    ) -> None:
        """Applies the totals of other servers by (key, server); `totals` must contain all that are
        in use.

        Subtracts from the local buckets what was added since the last exchange. If there are more
        than RATES_KEPT_MAX totals, some are dropped and not charged at the next exchange, because
        their increase cannot be computed.
        """
        with self._lock:
            for of, total in totals.items():
                if more := self._more(of, total):
                    self._charge(of[0], more, per_minute(of[0]), now_us)
            known = {of: totals[of] for of in self._of_others if of in totals}
            new = (of for of in totals if of not in known)
            added = islice(new, max(0, RATES_KEPT_MAX - len(known)))
            self._of_others = known | {of: totals[of] for of in added}
            self._knows_all = len(totals) <= RATES_KEPT_MAX

    def _left(self, key: str, per_minute: int, now_us: int) -> float:
        left, taken_us = self._buckets.get(key, (float(per_minute), now_us))
        filled = max(0, now_us - taken_us) * per_minute / _MINUTE_US
        return min(float(per_minute), left + filled)

    def _charge(self, key: str, count: int, per_minute: int, now_us: int) -> None:
        """Charges a bucket without marking it as recently used, because this server did not use
        it."""
        if not per_minute:
            return
        left = self._left(key, per_minute, now_us)
        self._buckets[key] = max(0.0, left - count), now_us
        if len(self._buckets) > RATES_KEPT_MAX:
            self._buckets.popitem(last=False)

    def _more(self, of: tuple[str, str], total: int) -> int:
        before = self._of_others.get(of)
        if before is None:
            return total if self._knows_all else 0
        return total - before if total >= before else total  # its count restarted

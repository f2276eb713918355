"""How many requests a key may make: a token bucket for each, which holds a minute's worth.

Servers of a cluster exchange once a second what they let through, and take it from their own
buckets: all together let through what one may, and what they do in that second.
"""

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock

from vedette.limits import RATES_KEPT_MAX

_MINUTE_US = 60_000_000


class RequestRates:
    """Buckets by key. Keys that were idle longest are forgotten, which fills their buckets.
    Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._buckets: OrderedDict[str, tuple[float, int]] = OrderedDict()
        self._let_through: OrderedDict[str, int] = OrderedDict()
        """By key, all that this server has let through."""
        self._changed: set[str] = set()
        self._of_others: OrderedDict[tuple[str, str], int] = OrderedDict()
        """By key and server, all that another one had let through at the last exchange."""
        self._has_exchanged = False
        self._owed: dict[str, int] = {}
        """By key, what others let through since the last request here."""

    def take(self, key: str, per_minute: int, now_us: int) -> bool:
        """Whether `key` may make one more request now; always, where `per_minute` is 0."""
        if not per_minute:
            return True
        with self._lock:
            left, taken_us = self._buckets.pop(key, (float(per_minute), now_us))
            filled = max(0, now_us - taken_us) * per_minute / _MINUTE_US
            left = min(float(per_minute), left + filled)
            left = max(0.0, left - self._owed.pop(key, 0))
            is_allowed = left >= 1
            self._buckets[key] = (left - 1 if is_allowed else left, now_us)
            if is_allowed:
                self._let_through[key] = self._let_through.pop(key, 0) + 1
                self._changed.add(key)
            for kept in (self._buckets, self._let_through):
                if len(kept) > RATES_KEPT_MAX:
                    kept.popitem(last=False)
        return is_allowed

    def changed(self) -> dict[str, int]:
        """All that was let through, by key, of the keys that changed since the last call."""
        with self._lock:
            changed, self._changed = self._changed, set()
            return {key: self._let_through[key] for key in changed if key in self._let_through}

    def note_others(self, totals: Mapping[tuple[str, str], int]) -> None:
        """What other servers have let through, by key and server."""
        with self._lock:
            for of, total in totals.items():
                more = total - self._of_others.pop(of, 0)
                self._of_others[of] = total
                if more > 0 and self._has_exchanged:
                    self._owed[of[0]] = self._owed.get(of[0], 0) + more
            self._has_exchanged = True  # what was before this server began is nobody's debt
            while len(self._of_others) > RATES_KEPT_MAX:
                self._of_others.popitem(last=False)
            while len(self._owed) > RATES_KEPT_MAX:
                self._owed.pop(next(iter(self._owed)))

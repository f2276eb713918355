"""How many requests a key may make: a token bucket for each, which holds a minute's worth.

Servers of a cluster exchange once a second what they let through, and take it from their own
buckets: all together let through what one may, and what they do in that second.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from itertools import islice
from threading import Lock
from typing import Final

from vedette.limits import RATES_KEPT_MAX

FAILURES: Final = "failures of "
"""What keys of addresses begin with: their failures are counted."""

_MINUTE_US = 60_000_000


class RequestRates:
    """Buckets by key. Keys that were idle longest are forgotten, which fills their buckets.
    Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._buckets: OrderedDict[str, tuple[float, int]] = OrderedDict()
        self._unshared: OrderedDict[str, int] = OrderedDict()
        """By key, what this server has let through and not shared with the others."""
        self._of_others: dict[tuple[str, str], int] = {}
        """By key and server, what another one had let through at the last exchange."""
        self._knows_all = False
        """Whether `_of_others` is all that the others had shared then."""

    def take(self, key: str, per_minute: int, now_us: int) -> bool:
        """Whether `key` may make one more request now; always, where `per_minute` is 0."""
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
        """What was let through since the last `note_shared`, by key."""
        with self._lock:
            return dict(self._unshared)

    def note_shared(self, shared: Mapping[str, int]) -> None:
        """Others know of this much."""
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
        """What other servers have let through, by key and server: all that are in use.

        What they did since the last exchange is taken from the buckets here. Of more than
        RATES_KEPT_MAX some are not kept, and cost nothing the next time: it is not known
        how much of theirs is new."""
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
        """A bucket stays where it is among those that were idle: it was not used here."""
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
        return total - before if total >= before else total  # its count was begun anew

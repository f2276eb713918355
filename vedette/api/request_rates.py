"""How many requests a key may make: a token bucket for each, which holds a minute's worth."""

from collections import OrderedDict

from vedette.limits import RATES_KEPT_MAX

_MINUTE_US = 60_000_000


class RequestRates:
    """Buckets by key, for the event loop alone. Keys that were idle longest are forgotten, which
    fills their buckets."""

    def __init__(self) -> None:
        self._buckets: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def take(self, key: str, per_minute: int, now_us: int) -> bool:
        """Whether `key` may make one more request now; always, where `per_minute` is 0."""
        if not per_minute:
            return True
        left, taken_us = self._buckets.pop(key, (float(per_minute), now_us))
        filled = max(0, now_us - taken_us) * per_minute / _MINUTE_US
        left = min(float(per_minute), left + filled)
        is_allowed = left >= 1
        self._buckets[key] = (left - 1 if is_allowed else left, now_us)
        if len(self._buckets) > RATES_KEPT_MAX:
            self._buckets.popitem(last=False)
        return is_allowed

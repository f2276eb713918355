"""Limits of requests that several servers keep together."""

from vedette.web.http.request_rates import RATES_KEPT_MAX, RequestRates

NOW_US = 1_700_000_000_000_000


def spend(rates: RequestRates, wanted: int, now_us: int = NOW_US) -> int:
    return sum(rates.take("token", 10, now_us) for _ in range(wanted))


def note(rates: RequestRates, totals: dict[tuple[str, str], int], now_us: int = NOW_US) -> None:
    rates.note_others(totals, lambda _: 10, now_us)


class Counts:
    """Counts that servers report, with the behavior of `state/servers/request_counts.py`."""

    def __init__(self) -> None:
        self.totals: dict[tuple[str, str], int] = {}

    def exchange(self, *servers: RequestRates, now_us: int = NOW_US) -> None:
        for n, one in enumerate(servers):
            unshared = one.unshared()
            one.note_shared(unshared)
            for key, count in unshared.items():
                self.totals[key, str(n)] = self.totals.get((key, str(n)), 0) + count
        for n, one in enumerate(servers):
            others = {of: many for of, many in self.totals.items() if of[1] != str(n)}
            note(one, others, now_us)


def test_what_one_server_lets_through_is_gone_at_the_others() -> None:
    one, two, counts = RequestRates(), RequestRates(), Counts()
    counts.exchange(one, two)
    assert spend(one, 7) == 7
    counts.exchange(one, two)
    assert spend(two, 10) == 3
    counts.exchange(one, two)
    assert spend(one, 10) == 0


def test_debts_are_paid_within_a_minute() -> None:
    one, two, counts = RequestRates(), RequestRates(), Counts()
    counts.exchange(one, two)
    spend(one, 10)
    counts.exchange(one, two)
    assert spend(two, 10) == 0
    assert spend(two, 20, NOW_US + 60_000_000) == 10


def test_what_was_before_a_server_began_is_not_its_debt() -> None:
    one = RequestRates()
    note(one, {("token", "old"): 5_000})
    assert spend(one, 20) == 10


def flood() -> dict[tuple[str, str], int]:
    """Returns counts of another server that fill the memory of keys."""
    return {(f"address {n}", "other"): 1 for n in range(RATES_KEPT_MAX)}


def test_a_total_that_was_forgotten_does_not_come_back_as_a_debt() -> None:
    one = RequestRates()
    note(one, flood() | {("token", "other"): 5_000})  # too many: some are not remembered
    note(one, flood() | {("token", "other"): 5_000})
    note(one, {("token", "other"): 5_000})
    assert spend(one, 20) == 10


def test_a_flood_of_keys_makes_nobody_forget_who_was_counted_before_it() -> None:
    one = RequestRates()
    note(one, {("token", "other"): 5_000})
    note(one, flood() | {("token", "other"): 5_000})
    note(one, flood() | {("token", "other"): 5_004})
    assert spend(one, 20) == 6


def test_a_key_that_was_idle_is_counted_from_its_first_request_on() -> None:
    one, two, counts = RequestRates(), RequestRates(), Counts()
    counts.exchange(one, two)
    assert spend(one, 7) == 7
    counts.exchange(one, two)
    counts.totals.clear()  # idle for minutes: its row is gone
    later_us = NOW_US + 600_000_000
    counts.exchange(one, two, now_us=later_us)
    assert spend(one, 2, later_us) == 2
    counts.exchange(one, two, now_us=later_us)
    assert spend(two, 20, later_us) == 8


def test_what_could_not_be_told_is_told_the_next_time() -> None:
    one, two, counts = RequestRates(), RequestRates(), Counts()
    counts.exchange(one, two)
    spend(one, 3)
    assert one.unshared() == {"token": 3}  # and the state database does not answer
    spend(one, 1)
    counts.exchange(one, two)
    assert spend(two, 20) == 6


def test_what_others_let_through_long_ago_is_forgiven_with_time() -> None:
    one, two, counts = RequestRates(), RequestRates(), Counts()
    counts.exchange(one, two)
    for minute in range(60):
        now_us = NOW_US + minute * 60_000_000
        assert spend(one, 5, now_us) == 5
        counts.exchange(one, two, now_us=now_us)
    assert spend(two, 20, now_us) == 5

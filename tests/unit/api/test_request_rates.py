"""Limits of requests that several servers keep together."""

from vedette.api.request_rates import RequestRates

NOW_US = 1_700_000_000_000_000


def spend(rates: RequestRates, wanted: int, now_us: int = NOW_US) -> int:
    return sum(rates.take("token", 10, now_us) for _ in range(wanted))


def exchange(*servers: RequestRates) -> None:
    totals = {("token", str(n)): one.changed().get("token", -1) for n, one in enumerate(servers)}
    for n, one in enumerate(servers):
        others = {of: count for of, count in totals.items() if of[1] != str(n) and count >= 0}
        one.note_others(others)


def test_what_one_server_lets_through_is_gone_at_the_others() -> None:
    one, two = RequestRates(), RequestRates()
    exchange(one, two)
    assert spend(one, 7) == 7
    exchange(one, two)
    assert spend(two, 10) == 3
    exchange(one, two)
    assert spend(one, 10) == 0


def test_debts_are_paid_within_a_minute() -> None:
    one, two = RequestRates(), RequestRates()
    exchange(one, two)
    spend(one, 10)
    exchange(one, two)
    assert spend(two, 10) == 0
    assert spend(two, 20, NOW_US + 60_000_000) == 10


def test_what_was_before_a_server_began_is_not_its_debt() -> None:
    one = RequestRates()
    one.note_others({("token", "old"): 5_000})
    assert spend(one, 20) == 10

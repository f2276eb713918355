"""Followers of commits stay behind them where replicas may."""

from vedette.servers.shared_numbers import Delayed


def test_a_number_is_told_after_the_delay() -> None:
    numbers = Delayed(15.0)
    assert numbers.older(7, 100.0) is None
    assert numbers.older(8, 110.0) is None
    assert numbers.older(8, 114.9) is None
    assert numbers.older(9, 115.0) == 7
    assert numbers.older(9, 124.9) == 7
    assert numbers.older(9, 125.0) == 8
    assert numbers.older(9, 200.0) == 9
    assert numbers.older(9, 201.0) == 9


def test_a_number_that_was_told_is_never_taken_back() -> None:
    numbers = Delayed(1.0)
    found = [numbers.older(100 + second // 3, float(second)) for second in range(60)]
    known = [one for one in found if one is not None]
    assert known == sorted(known)
    assert known[-1] >= 118


def test_without_a_delay_it_is_told_at_once() -> None:
    numbers = Delayed(0.0)
    assert [numbers.older(one, 5.0) for one in (3, 3, 4)] == [3, 3, 4]

"""Leases of jobs, on both databases."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import select

from vedette.clock import DrivenClock
from vedette.state.db.database import Database
from vedette.state.db.schema import LEASE
from vedette.state.jobs.leases import Leases, end_holder

NOW_US = 1_700_000_000_000_000


def test_one_server_of_many_holds_a_lease(another: Callable[[], Database]) -> None:
    servers = [Leases(another(), DrivenClock(NOW_US)) for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        held = list(threads.map(lambda leases: leases.hold("job", 10), servers))
    assert held.count(True) == 1


def test_the_holder_renews_and_others_wait_until_it_ends(another: Callable[[], Database]) -> None:
    clock = DrivenClock(NOW_US)
    one, two = Leases(another(), clock), Leases(another(), clock)
    assert one.hold("job", 10)
    clock.advance(9)
    assert one.hold("job", 10)
    assert not two.hold("job", 10)
    assert two.hold("other job", 10)
    clock.advance(11)
    assert two.hold("job", 10)
    assert not one.hold("job", 10)


def test_a_lease_that_is_kept_is_written_again_when_half_of_it_is_over(
    another: Callable[[], Database],
) -> None:
    clock = DrivenClock(NOW_US)
    database = another()
    one, two = Leases(database, clock), Leases(another(), clock)
    ends = []
    for _ in range(4):
        assert one.keep("job", 10)
        assert not two.keep("job", 10)
        with database.reading() as connection:
            ends.append(connection.scalar(select(LEASE.c.until_us)) - NOW_US)
        clock.advance(2)
    assert ends == [10_000_000, 10_000_000, 10_000_000, 16_000_000]


def test_a_lease_that_was_taken_away_is_not_kept(another: Callable[[], Database]) -> None:
    clock = DrivenClock(NOW_US)
    one, two = Leases(another(), clock), Leases(another(), clock)
    assert one.keep("job", 10)
    one.release("job")
    clock.advance(1)
    assert two.keep("job", 10)
    assert not one.keep("job", 10)


def test_the_leases_of_a_server_that_ended_are_free_at_once_and_no_others(
    another: Callable[[], Database], engine_name: str
) -> None:
    clock = DrivenClock(NOW_US)
    gone, runs, new = another(), another(), another()
    assert Leases(gone, clock).hold("of the one that ended", 1_000)
    assert Leases(gone, clock).hold("another of it", 1_000)
    assert Leases(runs, clock).hold("of one that runs", 1_000)
    end_holder(new, gone.name)
    clock.advance(1)
    free = [
        Leases(new, clock).hold(name, 10)
        for name in ("of the one that ended", "another of it", "of one that runs")
    ]
    # With SQLite there is one server: whoever held a lease has ended.
    assert free == [True, True, engine_name == "sqlite"]


def test_a_name_that_no_server_has_frees_nothing(another: Callable[[], Database]) -> None:
    clock = DrivenClock(NOW_US)
    runs, new = another(), another()
    assert Leases(runs, clock).hold("job", 1_000)
    if runs.name:
        for name in ("", "%", runs.name[:-1], f"{runs.name}/"):
            end_holder(new, name)
        clock.advance(1)
        assert not Leases(new, clock).hold("job", 10)

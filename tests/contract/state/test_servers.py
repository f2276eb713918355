"""Servers on one state database: leases, slots of hosts, numbers of commits, counts of requests."""

import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select, update

from tests.support.served import wait_for
from vedette.clock import SystemClock
from vedette.errors import UnavailableError
from vedette.limits import HOST_SLOTS, SERVER_GRACE_S
from vedette.servers.membership import Membership
from vedette.state.db.database import Database, time_us
from vedette.state.jobs.leases import Leases
from vedette.state.servers import commit_numbers, request_counts, server_list, slots
from vedette.state.servers.commit_numbers import LeaseLostError
from vedette.state.servers.server_list import Introduction
from vedette.state.servers.tables import SERVER


def register(database: Database, name: str) -> str:
    one = Introduction(name, f"https://{name}:8443", "", "1", "0030", 1)
    server_list.register(database, one, 10)
    return name


def skip_sqlite(database: Database) -> None:
    if not database.name:
        pytest.skip("SQLite has one server")


def let_expire(database: Database, server_id: str) -> None:
    """Its lease ended before the time of grace."""
    with database.writing() as connection:
        ended_us = time_us(connection) - (SERVER_GRACE_S + 1) * 1_000_000
        connection.execute(update(SERVER).where(SERVER.c.id == server_id).values(until_us=ended_us))


def test_the_clock_of_the_database_tells_the_time(database: Database) -> None:
    with database.reading() as connection:
        assert abs(time_us(connection) - SystemClock().now_us()) < 5_000_000


def test_slots_belong_to_one_server_each(another: Callable[[], Database]) -> None:
    databases = [another() for _ in range(4)]
    slots.ensure_slots(databases[0])
    for number, database in enumerate(databases):
        register(database, f"server-{number}")
    with ThreadPoolExecutor(4) as threads:
        claimed = list(
            threads.map(
                lambda number: slots.claim(databases[number], f"server-{number}", 40), range(4)
            )
        )
    given = [slot for some in claimed for slot in some]
    assert len(given) == len(set(given)) <= HOST_SLOTS
    held = {one.slot: one.server_id for one in slots.all_slots(databases[0]) if one.server_id}
    assert held == {slot: f"server-{n}" for n, some in enumerate(claimed) for slot in some}


def test_a_server_that_is_not_among_the_others_gets_no_slots(database: Database) -> None:
    slots.ensure_slots(database)
    assert slots.claim(database, "nobody", 10) == []


def test_what_a_server_had_is_free_when_its_lease_is_over(database: Database) -> None:
    skip_sqlite(database)
    slots.ensure_slots(database)
    commit_numbers.number_above(database, 0)
    dead, alive = register(database, "dead.1"), register(database, "alive.1")
    claimed = slots.claim(database, dead, 5)
    seq = commit_numbers.begin(database, dead)
    assert server_list.end_expired(database) == []
    let_expire(database, dead)
    assert server_list.end_expired(database) == [dead]
    assert slots.claim(database, alive, 5) == claimed
    assert [one.epoch for one in slots.all_slots(database)[:5]] == [3] * 5
    assert commit_numbers.settled(database) == seq
    assert server_list.renew(database, dead, "", 10) is None


def test_jobs_of_a_server_that_has_ended_go_to_others_at_once(
    another: Callable[[], Database],
) -> None:
    ours, others = another(), another()
    skip_sqlite(ours)
    register(ours, f"{ours.name}.1")
    assert Leases(ours, SystemClock()).hold("job", 60)
    waiting = Leases(others, SystemClock())
    assert not waiting.hold("job", 60)
    let_expire(others, f"{ours.name}.1")
    assert server_list.end_expired(others)
    assert waiting.hold("job", 60)


def test_locks_of_a_server_that_has_ended_are_let_go(another: Callable[[], Database]) -> None:
    paused, others = another(), another()
    skip_sqlite(paused)
    register(paused, f"{paused.name}.1")
    with pytest.raises(UnavailableError, match="terminat"):
        _lock_while_ended(paused, others)


def _lock_while_ended(paused: Database, others: Database) -> None:
    with paused.exclusive("follower"):
        let_expire(others, f"{paused.name}.1")
        server_list.end_expired(others)
        with others.exclusive("follower"):
            pass


def test_a_server_that_is_stopped_in_the_middle_of_a_commit_is_ended_all_the_same(
    another: Callable[[], Database],
) -> None:
    paused, others = another(), another()
    skip_sqlite(paused)
    commit_numbers.number_above(others, 0)
    dead, alive = register(paused, f"{paused.name}.1"), register(others, "alive.1")
    commit_numbers.begin(paused, dead)
    assert commit_numbers.begin(others, alive) == 2, "no lock is left behind"
    with pytest.raises(UnavailableError, match="terminat"):
        _change_while_ended(paused, others, dead)
    assert [one.id for one in server_list.running(others)] == [alive]


def _change_while_ended(paused: Database, others: Database, dead: str) -> None:
    let_expire(others, dead)
    with paused.writing() as connection:
        own = select(SERVER.c.id).where(SERVER.c.id == dead)
        connection.execute(own.with_for_update()).all()
        assert server_list.end_expired(others) == [dead]


def test_no_commit_begins_under_a_lease_that_is_over(database: Database) -> None:
    skip_sqlite(database)
    commit_numbers.number_above(database, 0)
    server_id = register(database, "late")
    let_expire(database, server_id)
    with pytest.raises(LeaseLostError):
        commit_numbers.begin(database, server_id)
    with pytest.raises(LeaseLostError):
        commit_numbers.begin(database, "unknown")


def test_a_lease_that_nobody_ended_can_be_renewed_late(database: Database) -> None:
    skip_sqlite(database)
    commit_numbers.number_above(database, 0)
    server_id = register(database, "slow")
    let_expire(database, server_id)
    assert server_list.renew(database, server_id, "", 10) is not None
    assert commit_numbers.begin(database, server_id) == 1


def test_followers_wait_for_the_oldest_open_commit(database: Database) -> None:
    skip_sqlite(database)
    commit_numbers.number_above(database, 41)
    one, two = register(database, "one"), register(database, "two")
    assert commit_numbers.settled(database) == 41
    first, second = commit_numbers.begin(database, one), commit_numbers.begin(database, two)
    assert (first, second) == (42, 43)
    commit_numbers.end(database, [second])
    assert commit_numbers.settled(database) == 41
    commit_numbers.end(database, [first])
    assert commit_numbers.settled(database) == 43
    commit_numbers.number_above(database, 7)
    assert commit_numbers.begin(database, one) == 44


def test_a_follower_never_sees_a_number_before_all_lower_ones_are_open_or_over(
    another: Callable[[], Database],
) -> None:
    reader, writers = another(), [another() for _ in range(3)]
    skip_sqlite(reader)
    commit_numbers.number_above(reader, 0)
    servers = [register(reader, f"server-{number}") for number in range(3)]
    over: set[int] = set()

    def write(number: int) -> None:
        for _ in range(12):
            seq = commit_numbers.begin(writers[number], servers[number])
            over.add(seq)  # "stored", before it is said
            commit_numbers.end(writers[number], [seq])

    with ThreadPoolExecutor(3) as threads:
        done = [threads.submit(write, number) for number in range(3)]
        while not all(one.done() for one in done):
            settled = commit_numbers.settled(reader)
            assert over >= set(range(1, settled + 1))
            time.sleep(0.001)
        for one in done:
            one.result()
    assert commit_numbers.settled(reader) == 36


def test_servers_tell_each_other_how_many_requests_they_let_through(database: Database) -> None:
    assert request_counts.exchange(database, "one", {"token": 7}) == {}
    assert request_counts.exchange(database, "two", {"token": 2}) == {("token", "one"): 7}
    assert request_counts.exchange(database, "one", {}) == {("token", "two"): 2}
    request_counts.exchange(database, "one", {"token": 3})
    assert request_counts.exchange(database, "two", {}) == {("token", "one"): 10}


def test_a_server_keeps_its_lease_while_it_starts(database: Database) -> None:
    """However long that takes: others would end its connections in the middle."""
    skip_sqlite(database)
    one = Introduction("", "https://starting:8443", "", "1", "0030", 1)
    membership = Membership(database, one, lambda: "", lease_s=2)
    membership.begin()
    try:
        until_s = time.monotonic() + 2 + 2 * SERVER_GRACE_S
        while time.monotonic() < until_s:
            assert server_list.end_expired(database) == []
            time.sleep(0.2)
        assert [row.id for row in server_list.running(database)] == [membership.id]
    finally:
        membership.close()
    assert server_list.running(database) == []


class Hosts:
    """Notes when slots are taken; nothing is stored."""

    def __init__(self) -> None:
        self.taken_s: dict[int, float] = {}

    def take_slots(self, taken: Collection[int]) -> None:
        self.taken_s.update(dict.fromkeys(taken, time.monotonic()))

    def drop_slots(self, dropped: Collection[int]) -> None:
        pass

    def between_commits(self, order: Callable[[], None]) -> None:
        order()


def test_hosts_are_read_back_once_every_replica_has_what_was_stored_before(
    database: Database,
) -> None:
    skip_sqlite(database)
    one = Introduction("", "https://taking:8443", "", "1", "0030", 1)
    membership = Membership(database, one, lambda: "", lease_s=10, settle_s=3.0)
    membership.begin()
    hosts, began_s = Hosts(), time.monotonic()
    try:
        membership.start(hosts, hosts, lambda: None)
        assert wait_for(lambda: len(hosts.taken_s), HOST_SLOTS, 60)
        assert min(hosts.taken_s.values()) - began_s >= 3.0
    finally:
        membership.close()

"""Whoever takes a partition away waits until no other server writes to it."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager

import pytest
from sqlalchemy import update

from tests.support.served import wait_for
from vedette.bootstrap.background_jobs import PARTITIONS_FOLLOWED_S
from vedette.errors import UnavailableError
from vedette.servers.membership import Membership
from vedette.servers.partition_changes import PartitionChanges
from vedette.state.db.database import Database
from vedette.state.servers import commit_numbers, server_list
from vedette.state.servers.server_list import Introduction
from vedette.state.servers.tables import SERVER
from vedette.state.start import newest_revision

MOMENT_S = 1.0
"""In which somebody who does not wait is done."""


@contextmanager
def joined(database: Database) -> Iterator[tuple[PartitionChanges, Membership]]:
    if not database.name:
        pytest.skip("SQLite has one server")
    one = Introduction("", "https://one:8443", "", "1", newest_revision(), 1)
    membership = Membership(database, one, lambda: "", lease_s=60)
    membership.begin()
    commit_numbers.number_above(database, 0)
    try:
        yield PartitionChanges(database, membership), membership
    finally:
        membership.close()


@contextmanager
def announced(by: PartitionChanges) -> Iterator["Future[None]"]:
    """A change that is under way."""
    before = by.announced()
    with ThreadPoolExecutor(1) as threads:
        change = threads.submit(by.announce_and_wait)
        assert wait_for(by.announced, before + 1, 60) == before + 1
        yield change


def is_over(change: "Future[None]", within_s: float = MOMENT_S) -> bool:
    return bool(wait([change], within_s).done)


def test_a_change_waits_for_every_server_however_late_it_looks(
    another: Callable[[], Database],
) -> None:
    with ExitStack() as held:
        (first, _), (second, _), (third, _) = (
            held.enter_context(joined(another())) for _ in range(3)
        )
        second.note_followed(second.announced())
        with announced(first) as change:
            assert not is_over(change, 2 * PARTITIONS_FOLLOWED_S + MOMENT_S)
            second.note_followed(second.announced())
            assert not is_over(change)
            third.note_followed(third.announced())
            assert is_over(change, 60)
            change.result()


def test_what_a_server_has_seen_before_a_change_is_not_enough(
    another: Callable[[], Database],
) -> None:
    with joined(another()) as (first, _), joined(another()) as (second, _):
        seen = second.announced()
        with announced(first) as change:
            second.note_followed(seen)
            assert not is_over(change)
            second.note_followed(seen + 1)
            assert is_over(change, 60)


def test_a_change_waits_for_no_server_that_was_ended(another: Callable[[], Database]) -> None:
    with joined(another()) as (first, _), ExitStack() as held:
        database = another()
        _, gone = held.enter_context(joined(database))
        with announced(first) as change:
            assert not is_over(change)
            server_list.leave(database, gone.id)
            assert is_over(change, 60)


def test_a_server_that_begins_anew_says_it_again(another: Callable[[], Database]) -> None:
    database = another()
    with joined(database) as (follower, membership):
        follower.note_followed(3)
        before, (row,) = membership.id, server_list.running(database)
        assert row.partition_change == 3
        with database.writing() as connection:  # as others leave it when they have ended it
            own = update(SERVER).where(SERVER.c.id == before)
            connection.execute(own.values(id=f"{before}-anew", partition_change=None))
        membership._id = f"{before}-anew"
        follower.note_followed(3)
        assert server_list.running(database)[0].partition_change == 3


def test_a_commit_that_was_begun_before_is_waited_for(another: Callable[[], Database]) -> None:
    database = another()
    with joined(another()) as (first, _), joined(database) as (second, writing):
        seq = commit_numbers.begin(database, writing.id)
        with announced(first) as change:
            second.note_followed(second.announced())
            assert not is_over(change)
            commit_numbers.end(database, [seq])
            assert is_over(change, 60)


def test_a_change_that_a_server_never_follows_is_refused_and_says_which(
    another: Callable[[], Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vedette.servers.partition_changes.PARTITIONS_FOLLOW_WAIT_S", MOMENT_S)
    with joined(another()) as (first, _), joined(another()) as (_, silent):
        with pytest.raises(UnavailableError) as refused:
            first.announce_and_wait()
        assert silent.id in refused.value.message

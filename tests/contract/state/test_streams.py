"""Streams as rows, on both databases."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from vedette.errors import ConflictError, NotFoundError
from vedette.state.accounts import users
from vedette.state.db.database import Database
from vedette.state.jobs import streams
from vedette.state.jobs.streams import STREAM_TOMBSTONE_S, Stream
from vedette.state.shares.quota_list import STREAMS
from vedette.state.start import FirstCredentials

NOW_US = 1_700_000_000_000_000
TTL_S = 100
SECOND_US = 1_000_000
NEW = Stream(
    id="",
    process_id="00000001-0000-0000-0000-000000000001",
    is_persistent=False,
    criteria=(("event_type", ("filemod", "regmod")),),
    ref_segment_id=1_700_000_000_000,
    segment_id=1_700_000_300_000,
    segment_offset=5,
)


@pytest.fixture
def owner(first: FirstCredentials) -> str:
    return first.username


def made(database: Database, owner: str, **changes: bool) -> Stream:
    return streams.create(database, owner, replace(NEW, **changes), TTL_S, NOW_US)


def test_a_stream_is_what_was_made_on_every_server(
    another: Callable[[], Database], owner: str
) -> None:
    stream = made(another(), owner)
    assert streams.load(another(), owner, stream.id, TTL_S, NOW_US) == stream
    assert replace(stream, id="", used_us=0) == NEW


def test_ids_are_not_given_twice(database: Database, owner: str) -> None:
    assert made(database, owner).id != made(database, owner).id


def test_of_two_changes_of_one_version_the_second_does_not_happen(
    another: Callable[[], Database], owner: str
) -> None:
    stream = made(another(), owner)
    one, two = another(), another()
    assert streams.save(one, replace(stream, segment_offset=7), TTL_S, NOW_US)
    assert not streams.save(two, replace(stream, segment_offset=9), TTL_S, NOW_US)
    now = streams.load(two, owner, stream.id, TTL_S, NOW_US)
    assert (now.segment_offset, now.version) == (7, 1)
    assert streams.save(two, replace(now, segment_offset=9), TTL_S, NOW_US)


def test_an_unused_stream_expires_and_use_keeps_it(database: Database, owner: str) -> None:
    stream = made(database, owner)
    later_us = NOW_US + TTL_S * SECOND_US
    streams.touch(
        database, streams.load(database, owner, stream.id, TTL_S, later_us), TTL_S, later_us
    )
    again_us = later_us + TTL_S * SECOND_US
    assert streams.load(database, owner, stream.id, TTL_S, again_us)
    dead_us = again_us + 6 * SECOND_US
    with pytest.raises(NotFoundError, match="expired") as raised:
        streams.load(database, owner, stream.id, TTL_S, dead_us)
    assert raised.value.reason == "stream_expired"
    assert not streams.save(database, stream, TTL_S, dead_us)


def test_a_moment_after_a_use_another_is_not_written_down(database: Database, owner: str) -> None:
    stream = made(database, owner)
    streams.touch(database, stream, TTL_S, NOW_US + SECOND_US)
    assert streams.load(database, owner, stream.id, TTL_S, NOW_US).used_us == NOW_US


def test_the_dead_are_kept_for_a_while_and_then_removed(database: Database, owner: str) -> None:
    stream, stays = made(database, owner), made(database, owner, is_persistent=True)
    gone_us = NOW_US + (TTL_S + 6 + STREAM_TOMBSTONE_S) * SECOND_US
    assert streams.remove_dead(database, TTL_S, gone_us - 10 * SECOND_US) == 0
    assert streams.remove_dead(database, TTL_S, gone_us) == 1
    with pytest.raises(NotFoundError, match="not found"):
        streams.load(database, owner, stream.id, TTL_S, gone_us)
    assert streams.load(database, owner, stays.id, TTL_S, gone_us).is_persistent


def test_a_stream_belongs_to_its_user_and_goes_with_them(database: Database, owner: str) -> None:
    users.add(database, users.NewUser("guest"), NOW_US)
    stream = streams.create(database, "guest", NEW, TTL_S, NOW_US)
    with pytest.raises(NotFoundError, match=stream.id):
        streams.load(database, owner, stream.id, TTL_S, NOW_US)
    users.remove(database, "guest")
    users.add(database, users.NewUser("guest"), NOW_US)
    with pytest.raises(NotFoundError, match=stream.id):
        streams.load(database, "guest", stream.id, TTL_S, NOW_US)


def test_a_user_has_no_more_streams_than_the_limit(
    database: Database, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "STREAMS", replace(STREAMS, most=2))
    stream = made(database, owner)
    made(database, owner, is_persistent=True)
    with pytest.raises(ConflictError, match="2 streams"):
        made(database, owner)
    streams.remove(database, stream)
    assert made(database, owner)
    later_us = NOW_US + (TTL_S + 6) * SECOND_US
    assert streams.create(database, owner, NEW, TTL_S, later_us), "the expired do not count"

"""Ingress filters and their rates, on both databases."""

import pytest

from vedette.errors import ConflictError, NotFoundError
from vedette.model.ingress_filter import FilterCounts
from vedette.record.objects.ingress_filter import IngressFilter
from vedette.state.db.database import Database
from vedette.state.policy import filter_counts, filters

NOW_US = 1_700_000_000_000_000
MINUTE_US = 60 * 1_000_000


def test_a_filter_comes_back_as_it_was_given(database: Database) -> None:
    given = IngressFilter(
        "a-1",
        "noise",
        priority=-3,
        os_mask=4,
        is_global=False,
        group_ids=(1, 2),
        path_filters=("/x/*", "^/y"),
        descendant_filtering_level=-1,
        netconn_filters=("é",),
    )
    filters.add(database, [given], 7, NOW_US)
    kept = filters.get(database, "a-1")
    assert (kept.create_us, kept.create_user_id, kept.modify_user_id) == (NOW_US, 7, 7)
    assert (kept.path_filters, kept.group_ids, kept.netconn_filters) == (
        given.path_filters,
        (1, 2),
        ("é",),
    )
    assert (kept.is_global, kept.descendant_filtering_level, kept.priority) == (False, -1, -3)


def test_every_change_raises_the_version_and_a_refused_one_does_not(database: Database) -> None:
    assert filters.version(database) == 0
    filters.add(database, [IngressFilter("a")], 1, NOW_US)
    with pytest.raises(ConflictError):
        filters.add(database, [IngressFilter("b"), IngressFilter("a")], 1, NOW_US)
    assert filters.version(database) == 1
    filters.change(database, {"a": {"enabled": False}}, 2, NOW_US + 5)
    version, (kept,) = filters.load(database)
    assert (version, kept.enabled, kept.modify_us, kept.modify_user_id) == (2, False, NOW_US + 5, 2)
    filters.remove(database, "a")
    assert filters.load(database) == (3, [])


def test_of_several_changes_all_are_made_or_none(database: Database) -> None:
    filters.add(database, [IngressFilter("a")], 1, NOW_US)
    with pytest.raises(NotFoundError):
        filters.change(database, {"a": {"priority": 9}, "b": {"priority": 9}}, 1, NOW_US)
    assert filters.get(database, "a").priority == 0


def test_the_highest_priority_comes_first(database: Database) -> None:
    given = [IngressFilter("low", priority=-1), IngressFilter("b"), IngressFilter("a")]
    filters.add(database, [*given, IngressFilter("high", priority=2)], 1, NOW_US)
    assert [one.id for one in filters.load(database)[1]] == ["high", "a", "b", "low"]


def test_rates_add_up_over_servers_and_a_quarter_of_an_hour(database: Database) -> None:
    for counts, minute in (
        (FilterCounts(100, {"a": 10}), 0),
        (FilterCounts(100, {"a": 30, "b": 1}), 1),
        (FilterCounts(100), 15),
    ):
        filter_counts.add(database, counts, NOW_US + minute * MINUTE_US)
        if minute == 1:
            found = filter_counts.hit_rates(database, NOW_US + MINUTE_US)
            assert found == {"a": 0.2, "b": 0.005}
    found = filter_counts.hit_rates(database, NOW_US + 15 * MINUTE_US)
    assert found == {"a": 0.15, "b": 0.005}
    assert filter_counts.hit_rates(database, NOW_US + 60 * MINUTE_US) == {}


def test_what_was_dropped_adds_up_by_the_hour_for_a_day(database: Database) -> None:
    hour_us = 60 * MINUTE_US
    filters.add(database, [IngressFilter("a"), IngressFilter("b")], 7, NOW_US)
    for counts, hour in (
        (FilterCounts(0, {}, {"a": 2}, {"a": 100}), 0),  # two servers in one hour
        (FilterCounts(9, {}, {"a": 3, "b": 1}, {"a": 50}), 0),
        (FilterCounts(9, {}, {"a": 5}, {"a": 7}), 2),
    ):
        filter_counts.add(database, counts, NOW_US + hour * hour_us)
    found = filter_counts.activity(database, NOW_US + 2 * hour_us)
    dropped = found["a"].dropped
    assert (dropped.events, dropped.byte_count) == (10, 157)
    assert (dropped.events_by_hour[-3:], dropped.bytes_by_hour[-3:]) == ((5, 0, 5), (150, 0, 7))
    assert len(dropped.events_by_hour) == len(filter_counts.hours_until(NOW_US)) == 24
    assert (found["b"].dropped.events, found["b"].dropped.byte_count) == (1, 0)
    late = filter_counts.dropped_by(database, NOW_US + 24 * hour_us)
    assert (late["a"].events, "b" in late) == (5, False)
    filters.remove(database, ["a"])
    assert filter_counts.activity(database, NOW_US + 2 * hour_us).keys() == {"b"}


def test_a_filter_whose_time_has_come_is_switched_off_and_has_no_end_left(
    database: Database,
) -> None:
    due = IngressFilter("due", path_filters=('"expires_us": 1',), expires_us=NOW_US + 5)
    later = IngressFilter("later", expires_us=NOW_US + MINUTE_US)
    never = IngressFilter("never", name='"expires_us": 1')
    filters.add(database, [due, later, never], 7, NOW_US)
    assert filters.end_expired(database, NOW_US + 4) == 0
    assert filters.version(database) == 1
    assert filters.end_expired(database, NOW_US + 5) == 1
    ended = filters.get(database, "due")
    assert (ended.enabled, ended.expires_us, ended.modify_user_id) == (False, 0, 0)
    assert filters.version(database) == 2  # servers and sensors learn of it
    assert {one.id for one in filters.load(database)[1] if one.enabled} == {"later", "never"}
    filters.change(database, {"due": {"enabled": True}}, 7, NOW_US + 6)
    assert filters.end_expired(database, NOW_US + 7) == 0

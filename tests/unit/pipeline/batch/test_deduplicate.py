"""A record is stored once, however often it is sent."""

from vedette.limits import SEEN_HOURS
from vedette.pipeline.batch.deduplicate import RECORD_ID_MAX, Deduplicator, record_key

HOUR_US = 3_600_000_000


def test_a_record_without_a_usable_number_has_no_key() -> None:
    assert record_key(3, 0) == 0
    assert record_key(3, -5) == 0
    assert record_key(3, RECORD_ID_MAX + 1) == 0


def test_the_same_number_in_two_channels_is_two_records() -> None:
    assert record_key(1, 77) != record_key(2, 77)


def test_a_record_is_known_before_its_commit_is_durable() -> None:
    seen = Deduplicator(0)
    seen.begin(1, 0)
    seen.add_records(5, {record_key(1, 9)})
    assert seen.known_among(5, [record_key(1, 9), record_key(1, 8)]) == {record_key(1, 9)}
    assert not seen.known_among(6, [record_key(1, 9)])


def test_what_a_failed_commit_brought_is_forgotten() -> None:
    seen = Deduplicator(0)
    seen.begin(1, 0)
    seen.add_records(5, {9})
    seen.add_request("segment", 4)
    seen.forget_pending()
    assert not seen.known_among(5, [9])
    assert not seen.has_request("segment", 4)


def test_a_durable_record_is_known_for_a_day_and_forgotten_after_two() -> None:
    seen = Deduplicator(0)
    seen.begin(1, 0)
    seen.add_records(5, {9})
    seen.add_request("record", 4)
    seen.durable(1)
    seen.begin(2, SEEN_HOURS * HOUR_US + 1)
    assert seen.known_among(5, [9]) == {9}
    assert seen.has_request("record", 4)
    seen.begin(3, 2 * SEEN_HOURS * HOUR_US + 2)
    assert not seen.known_among(5, [9])
    assert not seen.has_request("record", 4)


def test_a_request_is_known_by_the_table_it_went_to() -> None:
    seen = Deduplicator(0)
    seen.restore_requests("segment", [4])
    assert seen.has_request("segment", 4)
    assert not seen.has_request("record", 4)


def test_records_without_a_key_are_never_known() -> None:
    seen = Deduplicator(0)
    seen.restore_records(5, [0, 9])
    assert seen.known_among(5, [0, 9]) == {9}

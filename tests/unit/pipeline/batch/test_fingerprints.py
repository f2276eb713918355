"""The content of records is compared within bounded memory."""

import pytest

from vedette.ingest.record import Record
from vedette.pipeline.batch.deduplicate import Deduplicator, record_key
from vedette.pipeline.batch.fingerprints import FingerprintSet, fingerprint

SENSOR, KEY = 5, record_key(3, 77)


def record(time_s: int = 1_700_000_000, event_id: int = 11, us: int = 0) -> Record:
    return Record("windows", "a", time_s * 1_000_000 + us, "Security", event_id)


def test_the_event_and_its_second_are_compared_and_nothing_that_shippers_change() -> None:
    same = fingerprint(KEY, record())
    assert fingerprint(KEY, record(us=999_999)) == same
    assert fingerprint(KEY, record(time_s=1_700_000_001)) != same
    assert fingerprint(KEY, record(event_id=12)) != same


def test_a_number_without_a_known_fingerprint_is_no_conflict() -> None:
    seen = Deduplicator(0)
    seen.restore_records(SENSOR, [KEY])
    assert not seen.is_conflict(SENSOR, KEY, 1)


@pytest.mark.parametrize("is_durable", [False, True])
def test_a_conflict_is_known_before_and_after_its_commit_is_durable(is_durable: bool) -> None:
    seen = Deduplicator(0)
    seen.begin(1, 0)
    seen.add_records(SENSOR, {KEY})
    seen.add_fingerprints(SENSOR, {7})
    if is_durable:
        seen.durable(1)
    assert seen.is_conflict(SENSOR, KEY, 8)
    assert not seen.is_conflict(SENSOR, KEY, 7)
    assert not seen.is_conflict(SENSOR + 1, KEY, 8)


def test_the_oldest_fingerprints_are_evicted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vedette.pipeline.batch.fingerprints.CONFLICT_FINGERPRINTS_MAX", 20)
    prints = FingerprintSet()
    for n in range(100):
        prints.add(SENSOR, [n], {n})
    kept = [n for n in range(100) if prints.has_key(SENSOR, n)]
    assert kept == [n for n in range(100) if prints.has(SENSOR, n)]
    assert kept == list(range(100 - len(kept), 100))
    assert 10 <= len(kept) <= 20


def test_few_conflicts_among_close_numbers_are_missed() -> None:
    prints = FingerprintSet()
    keys = [record_key(3, n) for n in range(1, 20_000)]
    prints.add(SENSOR, keys, {fingerprint(key, record()) for key in keys})
    others = [fingerprint(key, record(time_s=1_700_009_999)) for key in keys]
    missed = sum(prints.has(SENSOR, one) for one in others)
    assert missed < len(keys) / 128

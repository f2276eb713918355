"""Sightings of a binary that must be written again."""

from vedette.ingest.fold import BinarySighting
from vedette.model.event import BinarySeen
from vedette.pipeline.batch.binary_sightings import BINARY_LAST_SEEN_STEP_US, SightingDeduplicator

NOW_US = 1_700_000_000_000_000
KEY = (1, "aa" * 16)


def sighting(path: str = "c:\\a.exe", at_us: int = NOW_US, **values: str) -> BinarySighting:
    seen = BinarySeen(at_us, KEY[1], "", "", path, values)
    return BinarySighting(1, seen, at_us, {path})


def is_new(deduplicator: SightingDeduplicator, one: BinarySighting) -> bool:
    return bool(deduplicator.new({KEY: one}))


def test_a_binary_is_new_once() -> None:
    deduplicator = SightingDeduplicator()
    assert is_new(deduplicator, sighting())
    assert not is_new(deduplicator, sighting(at_us=NOW_US + 1))


def test_a_new_path_or_a_later_hour_is_new() -> None:
    deduplicator = SightingDeduplicator()
    is_new(deduplicator, sighting())
    assert is_new(deduplicator, sighting("c:\\b.exe"))
    assert is_new(deduplicator, sighting(at_us=NOW_US + BINARY_LAST_SEEN_STEP_US))
    assert not is_new(
        deduplicator, sighting("c:\\b.exe", at_us=NOW_US + BINARY_LAST_SEEN_STEP_US + 1)
    )


def test_a_signature_that_is_reported_later_is_new() -> None:
    deduplicator = SightingDeduplicator()
    is_new(deduplicator, sighting(file_version="1.0"))
    assert is_new(deduplicator, sighting(digsig_result="Signed"))
    assert not is_new(deduplicator, sighting(digsig_result="Signed", file_version="1.0"))
    deduplicator.reset()
    assert is_new(deduplicator, sighting(digsig_result="Signed"))

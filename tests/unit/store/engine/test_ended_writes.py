"""The number of ended writes, by which background jobs notice changes of telemetry."""

from vedette.store.engine.process_cache import ProcessCache


def test_a_write_counts_once_it_has_ended() -> None:
    cache = ProcessCache(0)
    before = cache.writes_ended
    with cache.writing():
        assert cache.writes_ended == before
    assert cache.writes_ended == before + 1

"""What of a binary is worth writing again."""

from vedette.ingest.fold import BinarySighting
from vedette.model.event import BinarySeen
from vedette.pipeline.batch.binary_sightings import LAST_SEEN_STEP_US, SightingDeduplicator

NOW_US = 1_700_000_000_000_000
KEY = (1, "aa" * 16)


def sighting(path: str = "c:\\a.exe", at_us: int = NOW_US, **values: str) -> BinarySighting:
    seen = BinarySeen(at_us, KEY[1], "", "", path, values)
    return BinarySighting(1, seen, at_us, {path})


def is_news(news: SightingDeduplicator, one: BinarySighting) -> bool:
    return bool(news.new({KEY: one}))


def test_a_binary_is_news_once() -> None:
    news = SightingDeduplicator()
    assert is_news(news, sighting())
    assert not is_news(news, sighting(at_us=NOW_US + 1))


def test_a_new_path_or_a_later_hour_is_news() -> None:
    news = SightingDeduplicator()
    is_news(news, sighting())
    assert is_news(news, sighting("c:\\b.exe"))
    assert is_news(news, sighting(at_us=NOW_US + LAST_SEEN_STEP_US))
    assert not is_news(news, sighting("c:\\b.exe", at_us=NOW_US + LAST_SEEN_STEP_US + 1))


def test_a_signature_that_is_told_later_is_news() -> None:
    news = SightingDeduplicator()
    is_news(news, sighting(file_version="1.0"))
    assert is_news(news, sighting(digsig_result="Signed"))
    assert not is_news(news, sighting(digsig_result="Signed", file_version="1.0"))
    news.forget()
    assert is_news(news, sighting(digsig_result="Signed"))

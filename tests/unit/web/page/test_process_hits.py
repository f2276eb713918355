"""Hits of feeds and watchlists on the processes of a list."""

from vedette.model.findings.tag import TAGS, Tag, TagFamily
from vedette.web.page.process_columns import hits_of

SEGMENT = ("00000001-0000-0001-01d0-000000000001", 1)


def tag(family: TagFamily, name: str, report: str = "") -> Tag:
    return Tag(document=SEGMENT, family=family, name=name, time_us=1, report=report)


def test_each_feed_and_watchlist_is_counted_once() -> None:
    row = {
        TAGS: [
            tag("alliance", "z", "1"),
            tag("alliance", "z", "2"),
            tag("alliance", "a"),
            tag("watchlist", "7"),
        ]
    }
    assert hits_of(row) == (["a", "z"], ["7"])
    assert hits_of({TAGS: []}) == ([], [])

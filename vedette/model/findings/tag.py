"""What detection said of a document: the tag of a watchlist, or of a report of a feed.

A document is a process segment or a binary. Its tags are what the fields `watchlist_<id>` and
`alliance_*_<feed>` answer from. A tag is never telemetry: it changes no time and no commit number
of its document.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from msgspec import Struct

TagFamily = Literal["watchlist", "alliance"]

YARA_FEED: Final = "yara"
"""What YARA rules say of files is tagged like hits of a feed with this name, so no feed has it."""


class SegmentKey(Struct, frozen=True, gc=False):
    """A process segment by `columns.KEY`."""

    partition_ms: int
    window_ms: int
    sensor_id: int
    process_id: str
    segment_id: int


class Tag(Struct, frozen=True, kw_only=True, gc=False):
    """One tag. Of tags with the same document, family, name, report and indicator the newest
    counts; written twice it is one."""

    document: SegmentKey | str
    """A segment, or a binary by the `hash` of its rows."""
    family: TagFamily
    name: str
    """The id of the watchlist, or the internal name of the feed."""
    time_us: int
    """When the document was tagged; of a feed, when its report was updated."""
    score: int = 0
    """Of the report, -100 to 100."""
    report: str = ""
    """Id of the report."""
    ioc: str = ""
    """The indicator that was hit."""
    link: str = ""


TAG_COLUMNS: tuple[str, ...] = ("time", "score", "report", "link")
"""What a query may ask of a tag."""

TAGS = "detection_tags"
"""Name of the source of tests of tags, and of a document's tags in memory; no column is called so
(alerts and reports have `tags` of their own)."""


@dataclass(frozen=True, slots=True)
class TagSource:
    """Whose tags a field asks, and for which of `TAG_COLUMNS`."""

    family: TagFamily
    name: str
    column: str


_ALLIANCE: tuple[tuple[str, str], ...] = (
    ("alliance_score_", "score"),
    ("alliance_data_", "report"),
    ("alliance_link_", "link"),
    ("alliance_updated_", "time"),
)
"""Families of fields, one for every feed."""


def tag_source(name: str) -> TagSource | None:
    """The tags behind a field name in lower case; None for other fields."""
    prefix, _, number = name.partition("_")
    if prefix == "watchlist" and number.isdecimal() and number.isascii():
        return TagSource("watchlist", number.lstrip("0") or "0", "time")
    for family, column in _ALLIANCE:
        if name.startswith(family) and len(name) > len(family):
            return TagSource("alliance", name[len(family) :], column)
    return None


def newest(tags: Iterable[Tag]) -> list[Tag]:
    """Tags of one document without those that a newer one replaces."""
    found: dict[tuple[str, str, str, str], Tag] = {}
    for tag in tags:
        key = (tag.family, tag.name, tag.report, tag.ioc)
        known = found.get(key)
        if known is None or _said(known) < _said(tag):
            found[key] = tag
    return list(found.values())


def _said(tag: Tag) -> tuple[int, int, str]:
    return tag.time_us, tag.score, tag.link

"""Tags that detection attaches to documents: the hit of a watchlist, or of a report of a feed.

A document is a process segment or a binary. The query fields `watchlist_<id>` and
`alliance_*_<feed>` read its tags. A tag is not telemetry: it does not change times or commit
numbers of its document.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from msgspec import Struct

TagFamily = Literal["watchlist", "alliance"]

YARA_FEED: Final = "yara"
"""Reserved feed name. Hits of YARA rules are tagged like hits of a feed with this name."""


class SegmentKey(Struct, frozen=True, gc=False):
    """Key of a process segment (`columns.KEY`)."""

    partition_ms: int
    window_ms: int
    sensor_id: int
    process_id: str
    segment_id: int


class Tag(Struct, frozen=True, kw_only=True, gc=False):
    """A tag of a document. Among tags with equal document, family, name, report and indicator the
    newest applies. Writing a tag twice has no further effect."""

    document: SegmentKey | str
    """Key of a segment, or the `hash` column of a binary."""
    family: TagFamily
    name: str
    """Id of the watchlist, or internal name of the feed."""
    time_us: int
    """Time of tagging; for feeds, the time when the report was updated."""
    score: int = 0
    """Score of the report, -100 to 100."""
    report: str = ""
    """Id of the report."""
    ioc: str = ""
    """The indicator that matched."""
    link: str = ""


TAG_COLUMNS: tuple[str, ...] = ("time", "score", "report", "link")
"""Attributes of a tag that queries can search."""

TAGS = "detection_tags"
"""Source name of tag conditions, and key of the tags of a document in memory. No column may have
this name (alerts and reports have a `tags` column)."""


@dataclass(frozen=True, slots=True)
class TagSource:
    """The tags and the attribute (`TAG_COLUMNS`) that a field searches."""

    family: TagFamily
    name: str
    column: str


_ALLIANCE: tuple[tuple[str, str], ...] = (
    ("alliance_score_", "score"),
    ("alliance_data_", "report"),
    ("alliance_link_", "link"),
    ("alliance_updated_", "time"),
)
"""Prefixes of field names and their attribute. The feed name follows the prefix."""


def tag_source(name: str) -> TagSource | None:
    """Returns the tag source of a lower-case field name; None for other fields."""
    prefix, _, number = name.partition("_")
    if prefix == "watchlist" and number.isdecimal() and number.isascii():
        return TagSource("watchlist", number.lstrip("0") or "0", "time")
    for family, column in _ALLIANCE:
        if name.startswith(family) and len(name) > len(family):
            return TagSource("alliance", name[len(family) :], column)
    return None


def newest(tags: Iterable[Tag]) -> list[Tag]:
    """Returns the tags of one document without those that a newer tag replaces."""
    found: dict[tuple[str, str, str, str], Tag] = {}
    for tag in tags:
        key = (tag.family, tag.name, tag.report, tag.ioc)
        known = found.get(key)
        if known is None or _said(known) < _said(tag):
            found[key] = tag
    return list(found.values())


def _said(tag: Tag) -> tuple[int, int, str]:
    return tag.time_us, tag.score, tag.link

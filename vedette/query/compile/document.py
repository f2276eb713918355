"""Kinds of documents that a query can be compiled for.

A segment is stored as partial rows, each with some of its events; a binary as a row per sensor.
Queries see the merged document.
"""

from dataclasses import dataclass, replace

from vedette.model.alert_fields import ALERT_LISTS
from vedette.model.binary_fields import BINARY_LISTS
from vedette.model.field import DATA, is_member
from vedette.model.fields import DERIVED, EVENT_COLUMNS
from vedette.model.hit_fields import HIT_LISTS
from vedette.model.threat.report_fields import REPORT_LISTS


@dataclass(frozen=True, slots=True)
class Document:
    """A kind of document and its tables."""

    lists: frozenset[str]
    """Array columns. A test is true if it is true for any element."""
    rows: str = ""
    """Table of partial rows. An array element is always in a single row. "" if only merged
    documents can be queried."""
    key: str = ""
    """Key columns of the document of a partial row, as an SQL list. Only numbers, so that a set of
    a million keys is built quickly."""
    tagged: str = ""
    """Columns of a row that find its tags, as an SQL list: the key of its document, or of its
    process."""
    tags: str = ""
    """Table of the tags."""
    hit_key: str = ""
    """Columns of a row and of the table `hit` by which the hits of its document are found, as an
    SQL list."""
    tag_key: str = ""
    """Columns of the tag table that identify the document, including `tagged`."""

    def is_list(self, source: str) -> bool:
        """Whether all columns of a test source are arrays."""
        if is_member(source):
            return True
        return all(column in self.lists for column in DERIVED.get(source, (source,)))


SEGMENT = Document(
    EVENT_COLUMNS,
    "segment",
    "window_ms, key_hash",
    tagged="window_ms, sensor_id, key_hash",
    tags="tag",
    tag_key="window_ms, sensor_id, key_hash",
    hit_key="sensor_id, process_id, segment_id",
)
PROCESS = replace(
    SEGMENT,
    tagged="sensor_id, process_id",
    tag_key="window_ms, sensor_id, key_hash, process_id",
    hit_key="sensor_id, process_id",
)
"""A segment that has the tags and the hits of all segments of its process."""
BINARY = Document(BINARY_LISTS, tagged="hash", tags="binary_tag", tag_key="hash")
TAG = Document(frozenset())
"""A tag in memory."""
ALERT = Document(ALERT_LISTS)
REPORT = Document(REPORT_LISTS)
HIT = Document(HIT_LISTS)
LOG = Document(frozenset({DATA}))

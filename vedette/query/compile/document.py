"""The kinds of documents that a query can be compiled for.

A segment is stored as partial rows, each with some of its events; a binary as one row per sensor.
Queries see the merged document.
"""

from dataclasses import dataclass, replace

from vedette.model.alert_fields import ALERT_LISTS
from vedette.model.binary_fields import BINARY_LISTS
from vedette.model.fields import DERIVED, EVENT_COLUMNS
from vedette.model.threat.report_fields import REPORT_LISTS


@dataclass(frozen=True, slots=True)
class Document:
    """A kind of document and where its rows are."""

    lists: frozenset[str]
    """Array columns: a test is true when it is true of one element."""
    rows: str = ""
    """Table of partial rows, in which an array element is never split; "" when only merged
    documents can be queried."""
    key: str = ""
    """Columns that identify the document of a partial row, as an SQL list: numbers only, so that a
    set of a million keys is built quickly."""
    tagged: str = ""
    """Columns by which a row's tags are found, as an SQL list: those of its document, or of its
    process."""
    tags: str = ""
    """Table of the tags."""
    tag_key: str = ""
    """Columns of that table that identify the document, and `tagged`."""

    def is_list(self, source: str) -> bool:
        """Whether all columns behind a source of tests are arrays."""
        return all(column in self.lists for column in DERIVED.get(source, (source,)))


SEGMENT = Document(
    EVENT_COLUMNS,
    "segment",
    "window_ms, key_hash",
    tagged="window_ms, sensor_id, key_hash",
    tags="tag",
    tag_key="window_ms, sensor_id, key_hash",
)
PROCESS = replace(
    SEGMENT, tagged="sensor_id, process_id", tag_key="window_ms, sensor_id, key_hash, process_id"
)
"""A segment whose tags are those of all segments of its process."""
BINARY = Document(BINARY_LISTS, tagged="hash", tags="binary_tag", tag_key="hash")
TAG = Document(frozenset())
"""A tag in memory."""
ALERT = Document(ALERT_LISTS)
REPORT = Document(REPORT_LISTS)

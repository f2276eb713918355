"""The kinds of documents that a query can be compiled for.

A segment is stored as partial rows, each with some of its events; a binary as one row per sensor.
Queries see the merged document.
"""

from dataclasses import dataclass

from vedette.model.binary_fields import BINARY_LISTS
from vedette.model.fields import DERIVED, EVENT_COLUMNS


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

    def is_list(self, source: str) -> bool:
        """Whether all columns behind a source of tests are arrays."""
        return all(column in self.lists for column in DERIVED.get(source, (source,)))


SEGMENT = Document(EVENT_COLUMNS, "segment", "window_ms, key_hash")
BINARY = Document(BINARY_LISTS)

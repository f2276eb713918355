"""What the readers of a checked query have to know of a kind of document.

A segment is spread over partial rows, each with some of its events; a binary over what each
sensor saw of it. Both are asked as if they were one row: the merged document.
"""

from dataclasses import dataclass

from vedette.model.binary_fields import BINARY_LISTS
from vedette.model.fields import DERIVED, EVENT_COLUMNS


@dataclass(frozen=True, slots=True)
class Document:
    """A kind of document, by its columns."""

    lists: frozenset[str]
    """Columns that hold many values: a test is true when it is true of one."""
    rows: str = ""
    """Table of the partial rows, each of which has whole values of lists; "" when only merged
    documents can be asked."""
    key: str = ""
    """What the partial rows of one document share and those of others do not, as an SQL list:
    numbers only, so that a set of a million of them is made in a moment."""

    def is_list(self, source: str) -> bool:
        """Whether a source of tests is made of lists alone."""
        return all(column in self.lists for column in DERIVED.get(source, (source,)))


SEGMENT = Document(EVENT_COLUMNS, "segment", "window_ms, key_hash")
BINARY = Document(BINARY_LISTS)

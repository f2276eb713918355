"""Documents in memory: by column, by value, and individually.

Values repeat across documents, so a test runs once per distinct value.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from vedette.model.findings.tag import TAGS, Tag
from vedette.query.compile.document import Document
from vedette.query.match import Binaries, Prepared

Places = dict[Any, list[int]]
"""Maps value to the numbers of the documents that have it; a document may appear twice."""


class _Row(Mapping[str, Any]):
    """A document in the form that the matcher needs."""

    __slots__ = ("_at", "_columns")

    def __init__(self, columns: Mapping[str, Sequence[Any]], at: int) -> None:
        self._columns = columns
        self._at = at

    def __getitem__(self, name: str) -> Any:
        return self._columns[name][self._at]

    def get(self, name: str, default: Any = None) -> Any:
        values = self._columns.get(name)
        return default if values is None else values[self._at]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


class Batch:
    """Documents of one kind. Not safe to share between threads."""

    def __init__(
        self,
        columns: Mapping[str, Sequence[Any]],
        count: int,
        document: Document,
        binaries: Binaries,
        tags: Callable[[], Sequence[Sequence[Tag]]],
    ) -> None:
        """`columns` are parallel. `tags` reads the tags of all documents, and is called at most
        once."""
        self.count = count
        self.document = document
        self.binaries = binaries
        self._columns = dict(columns)
        self._tags = tags
        self._places: dict[str, Places] = {}
        self._prepared: dict[int, Prepared] = {}

    def changed(self, columns: Mapping[str, Sequence[Any]]) -> "Batch":
        """Returns the same documents with other values of some columns."""
        both = {**self._columns, **columns}
        return Batch(both, self.count, self.document, self.binaries, self._tags)

    def add_tags(self) -> None:
        """Reads the tags of the documents, for queries that test them."""
        if TAGS not in self._columns:
            self._columns[TAGS] = self._tags()

    def tags_of(self, at: int) -> Sequence[Tag]:
        self.add_tags()
        found: Sequence[Tag] = self._columns[TAGS][at]
        return found

    def value(self, column: str, at: int) -> Any:
        """Returns a document's value of a column; None if the column was not read."""
        values = self._columns.get(column)
        return None if values is None else values[at]

    def prepared(self, at: int) -> Prepared:
        """Returns a document for the matcher, shared by all queries."""
        found = self._prepared.get(at)
        if found is None:
            row = _Row(self._columns, at)
            found = Prepared(row, self.binaries, document=self.document)
            self._prepared[at] = found
        return found

    def places(self, column: str) -> Places:
        """Maps the distinct values of a column to the documents that have them."""
        known = self._places.get(column)
        if known is not None:
            return known
        found: Places = {}
        values = self._columns.get(column, ())
        if column in self.document.lists:
            for at, some in enumerate(values):
                for value in some:
                    found.setdefault(value, []).append(at)
        else:
            for at, value in enumerate(values):
                found.setdefault(value, []).append(at)
        self._places[column] = found
        return found

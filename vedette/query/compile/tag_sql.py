"""SQL of tags (`model/findings/tag.py`), which are in tables with the same keys as the documents.

A document may be tagged repeatedly. For a watchlist, and for an indicator of a report, the newest
tag applies, so rows are grouped before they are tested. All tags of a watchlist or feed are stored
adjacently, so a search by tags reads only those. On a cluster the tags of a segment are on its
shard; tags of binaries are on every server.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from vedette.query.compile.binder import Binder, either
from vedette.query.compile.document import Document
from vedette.query.compile.value_sql import value_sql
from vedette.query.typed import TagTest, Test, source_of

COLUMN_SQL: Final[Mapping[str, str]] = {
    "time": "newest.1",
    "score": "newest.2",
    "link": "newest.3",
    "report": "report",
}
"""SQL of the columns of a tag, on grouped rows."""


def tags_sql(tests: Sequence[Test], bind: Binder, document: Document) -> str:
    """Returns SQL that is true if a tag of the row's document satisfies one of the tests."""
    grouped: dict[tuple[str, str, str], list[Test]] = {}
    for test in tests:
        if isinstance(test, TagTest):
            by = (test.family, test.name, source_of(test.test))
            grouped.setdefault(by, []).append(test.test)
    return either(_tagged(*by, found, bind, document) for by, found in grouped.items())


def _tagged(
    family: str,
    name: str,
    column: str,
    tests: Sequence[Test],
    bind: Binder,
    document: Document,
) -> str:
    whose = f"family = {bind('String', family)} AND name = {bind('String', name)}"
    wanted = value_sql(COLUMN_SQL[column], tests, bind)
    return (
        f"({document.tagged}) IN (SELECT {document.tagged} FROM ("
        f"SELECT {document.tag_key}, report, ioc, max(said) AS newest FROM {document.tags} "
        f"WHERE {whose} GROUP BY ALL) WHERE {wanted})"
    )

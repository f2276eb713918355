"""Reads documents of the store as batches, with their tags and the binaries that they refer to."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from vedette.limits import WATCHLIST_DOCUMENTS_A_BATCH
from vedette.model.fields import JOINS
from vedette.model.findings.tag import Tag
from vedette.model.scope import Scope
from vedette.query.compile.binary_sql import BINARY_COLUMNS
from vedette.query.compile.document import BINARY, SEGMENT
from vedette.query.match import Binaries, binaries_by_hash
from vedette.store.engine.client import Engine
from vedette.store.read.detection.tags import tags_of_binaries, tags_of_segments
from vedette.store.read.detection.touched import (
    Columns,
    TouchedSegment,
    binaries_named,
    whole_binaries,
    whole_segments,
)
from vedette.watchlists.batch import Batch


def segment_batches(
    engine: Engine,
    touched: Sequence[TouchedSegment],
    columns: Iterable[str],
    scope: Scope,
    joins: Iterable[str] = (),
) -> Iterator[tuple[list[TouchedSegment], Batch]]:
    """Yields segments with `columns` in batches, each with its segments in the same order. `joins`
    are the keys of `fields.JOINS` that queries use; binaries are restricted to the scope."""
    wanted, asked = frozenset(columns), tuple(joins)
    for start in range(0, len(touched), WATCHLIST_DOCUMENTS_A_BATCH):
        some = touched[start : start + WATCHLIST_DOCUMENTS_A_BATCH]
        found, values = whole_segments(engine, some, wanted)
        yield found, _segments(engine, found, values, _binaries(engine, values, asked, scope))


def binary_batch(
    engine: Engine, hashes: Sequence[str], scope: Scope
) -> tuple[list[dict[str, Any]], Batch]:
    """Returns binaries of a scope by the `hash` of their rows."""
    rows = whole_binaries(engine, hashes, scope) if hashes else []

    def tags() -> list[Sequence[Tag]]:
        known = tags_of_binaries(engine, [row["hash"] for row in rows])
        return [known.get(row["hash"], ()) for row in rows]

    columns = {name: [row[name] for row in rows] for name in BINARY_COLUMNS}
    return rows, Batch(columns, len(rows), BINARY, binaries_by_hash(()), tags)


def changed_batch(batch: Batch, values: Sequence[Mapping[str, Any]]) -> Batch:
    """Returns the same documents with other values of some columns, the same columns for each."""
    columns = {name: [one[name] for one in values] for name in values[0]} if values else {}
    return batch.changed(columns)


def _segments(
    engine: Engine, found: Sequence[TouchedSegment], values: Columns, binaries: Binaries
) -> Batch:
    def tags() -> list[Sequence[Tag]]:
        keys = [(one.key.process_id, one.key.segment_id) for one in found]
        known = tags_of_segments(engine, keys)
        return [known.get(key, ()) for key in keys]

    return Batch(values, len(found), SEGMENT, binaries, tags)


def _binaries(engine: Engine, values: Columns, joins: Sequence[str], scope: Scope) -> Binaries:
    """Reads the binaries that the documents refer to, in one query, and returns their lookup."""
    digests: set[str] = set()
    for column in {column for join in joins for column in JOINS[join]}:
        for value in values.get(column, ()):
            digests.update([value] if isinstance(value, str) else value)
    digests.discard("")
    return binaries_by_hash(binaries_named(engine, sorted(digests), scope) if digests else ())

"""Writes tags of documents (`model/findings/tag.py`). Writing a tag again changes nothing."""

import time
from collections.abc import Sequence

import pyarrow as pa

from vedette.limits import Limit
from vedette.model.columns import KEY
from vedette.model.findings.tag import SegmentKey, Tag
from vedette.store.engine.arrow_arrays import array
from vedette.store.engine.client import Engine
from vedette.store.partitions.lifecycle import unmounted

TAG_TEXT_CHARS_MAX: Limit[int] = 2_048
"""Characters stored of a tag's report, indicator and link: links are URLs, and browsers have a
similar limit."""


def write_tags(engine: Engine, tags: Sequence[Tag]) -> int:
    """Stores tags; they are on disk on return. Omits tags of segments in unmounted partitions,
    because their rows would recreate the partition. Returns the number of tags written.

    Raises UnavailableError. Then any part may have been stored: write all of them again.
    """
    closed = unmounted(engine)
    by_partition: dict[int, list[tuple[SegmentKey, Tag]]] = {}
    of_binaries: list[tuple[str, Tag]] = []
    for tag in tags:
        if isinstance(tag.document, str):
            of_binaries.append((tag.document, tag))
        elif tag.document.partition_ms not in closed:
            by_partition.setdefault(tag.document.partition_ms, []).append((tag.document, tag))
    for found in by_partition.values():
        engine.insert_arrow("tag", _segment_tags(found))
    if of_binaries:
        engine.insert_arrow("binary_tag", _binary_tags(of_binaries))
    return sum(map(len, by_partition.values())) + len(of_binaries)


def _segment_tags(found: Sequence[tuple[SegmentKey, Tag]]) -> pa.Table:
    keys = {
        column.name: array([getattr(key, column.name) for key, _ in found], column.type)
        for column in KEY
    }
    return pa.table(keys | _said([tag for _, tag in found]))


def _binary_tags(found: Sequence[tuple[str, Tag]]) -> pa.Table:
    hashes = {"hash": array([digest for digest, _ in found], "text")}
    return pa.table(hashes | _said([tag for _, tag in found]))


def _said(tags: Sequence[Tag]) -> dict[str, pa.Array]:
    texts: dict[str, list[str]] = {
        "family": [tag.family for tag in tags],
        "name": [tag.name.lower() for tag in tags],
        "report": [tag.report[:TAG_TEXT_CHARS_MAX] for tag in tags],
        "ioc": [tag.ioc[:TAG_TEXT_CHARS_MAX] for tag in tags],
    }
    said = {
        "time": array([tag.time_us for tag in tags], "time"),
        "score": pa.array([tag.score for tag in tags], pa.int32()),
        "link": array([tag.link[:TAG_TEXT_CHARS_MAX] for tag in tags], "text"),
    }
    struct = pa.StructArray.from_arrays(list(said.values()), list(said))
    written = array([time.time_ns() // 1_000] * len(tags), "time")
    named = {name: array(values, "text") for name, values in texts.items()}
    return named | {"said": struct, "written": written}

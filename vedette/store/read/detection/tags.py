"""Reads the tags of documents (`model/findings/tag.py`), the newest of each."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from vedette.limits import TAG_BYTES, TAGS_READ_MAX
from vedette.model.findings.tag import TAGS, SegmentKey, Tag
from vedette.store.engine.client import Engine

_SEGMENT: Final = "partition_ms, window_ms, sensor_id, process_id, segment_id"
_TAG: Final = "family, name, report, ioc"
_SAID: Final = "max(said) AS newest"
_VALUES: Final = "toUnixTimestamp64Micro(newest.1), newest.2, newest.3"

SegmentId = tuple[str, int]
"""Process id and segment id."""


def tags_of_segments(engine: Engine, segments: Sequence[SegmentId]) -> dict[SegmentId, list[Tag]]:
    """The tags of some segments, at most `TAGS_READ_MAX`. Whether the caller may see the segments
    was asked before."""
    if not segments:
        return {}
    wanted = list(dict.fromkeys(segments))
    return _of_segments(
        engine,
        # The index finds processes.
        "process_id IN {processes:Array(String)} "
        "AND (process_id, segment_id) IN {segments:Array(Tuple(String, UInt64))}",
        {"processes": list({one for one, _ in wanted}), "segments": wanted},
    )


def tags_of_segment(engine: Engine, segment: SegmentId) -> list[Tag]:
    """The tags of one segment, as `tags_of_segments`. Cached, since whoever looks at a segment asks
    for it again."""
    process_id, segment_id = segment
    return engine.process_cache.get_or_load(
        process_id,
        (TAGS, segment_id),
        lambda: tags_of_segments(engine, [segment]).get(segment, []),
        _size,
    )


def tags_of_process(engine: Engine, process_id: str) -> list[Tag]:
    """The tags of all segments of a process, at most `TAGS_READ_MAX`. Whether the caller may see
    the process was asked before. Cached, since every page of a process shows them."""
    return engine.process_cache.get_or_load(
        process_id,
        TAGS,
        lambda: [
            tag
            for found in _of_segments(
                engine, "process_id = {process:String}", {"process": process_id}
            ).values()
            for tag in found
        ],
        _size,
    )


def tags_of_binaries(engine: Engine, hashes: Sequence[str]) -> dict[str, list[Tag]]:
    """The tags of binaries by the `hash` of their rows, at most `TAGS_READ_MAX`."""
    if not hashes:
        return {}
    found: dict[str, list[Tag]] = {}
    rows = engine.query(
        f"SELECT hash, {_TAG}, {_VALUES} FROM (SELECT hash, {_TAG}, {_SAID} FROM binary_tag "
        f"WHERE hash IN {{hashes:Array(String)}} GROUP BY ALL) LIMIT {TAGS_READ_MAX:d}",
        {"hashes": list(hashes)},
    ).rows
    for digest, *values in rows:
        found.setdefault(digest, []).append(_tag(digest, values))
    return found


def _size(tags: Sequence[Tag]) -> int:
    return TAG_BYTES * (1 + len(tags))


def _of_segments(engine: Engine, which: str, params: dict[str, Any]) -> dict[SegmentId, list[Tag]]:
    found: dict[SegmentId, list[Tag]] = {}
    rows = engine.query(
        f"SELECT {_SEGMENT}, {_TAG}, {_VALUES} FROM (SELECT {_SEGMENT}, {_TAG}, {_SAID} FROM tag "
        f"WHERE {which} GROUP BY ALL) LIMIT {TAGS_READ_MAX:d}",
        params,
    ).rows
    for partition_ms, window_ms, sensor_id, process_id, segment_id, *values in rows:
        key = SegmentKey(partition_ms, window_ms, sensor_id, process_id, segment_id)
        found.setdefault((process_id, segment_id), []).append(_tag(key, values))
    return found


def _tag(document: SegmentKey | str, values: Iterable[Any]) -> Tag:
    family, name, report, ioc, time_us, score, link = values
    return Tag(
        document=document,
        family=family,
        name=name,
        time_us=time_us,
        score=score,
        report=report,
        ioc=ioc,
        link=link,
    )

"""Reads the tags of documents (`model/findings/tag.py`), the newest of each."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from vedette.limits import Limit
from vedette.model.findings.tag import TAGS, SegmentKey, Tag
from vedette.store.engine.client import Engine

TAGS_READ_MAX: Limit[int] = 10_000
"""Tags of one page of results, or of one process: a document with tags from hundreds of reports is
shown with some of them."""

TAG_BYTES: Limit[int] = 512
"""Approximate size of a tag in the cache of processes."""


_SEGMENT: Final = "partition_ms, window_ms, sensor_id, process_id, segment_id"
_TAG: Final = "family, name, report, ioc"
_SAID: Final = "max(said) AS newest"
_VALUES: Final = "toUnixTimestamp64Micro(newest.1), newest.2, newest.3"

SegmentId = tuple[str, int]
"""(process id, segment id)."""


def tags_of_segments(engine: Engine, segments: Sequence[SegmentId]) -> dict[SegmentId, list[Tag]]:
    """Maps segment to its tags, at most `TAGS_READ_MAX` in total. The caller must have checked
    access to the segments."""
    if not segments:
        return {}
    wanted = list(dict.fromkeys(segments))
    return _of_segments(
        engine,
        # The index is on process ids.
        "process_id IN {processes:Array(String)} "
        "AND (process_id, segment_id) IN {segments:Array(Tuple(String, UInt64))}",
        {"processes": list({one for one, _ in wanted}), "segments": wanted},
    )


def tags_of_segment(engine: Engine, segment: SegmentId) -> list[Tag]:
    """Returns the tags of one segment, like `tags_of_segments`. Cached, because users open the same
    segment repeatedly."""
    process_id, segment_id = segment
    return engine.process_cache.get_or_load(
        process_id,
        (TAGS, segment_id),
        lambda: tags_of_segments(engine, [segment]).get(segment, []),
        _size,
    )


def tags_of_process(engine: Engine, process_id: str) -> list[Tag]:
    """Returns the tags of all segments of a process, at most `TAGS_READ_MAX`. The caller must have
    checked access to the process. Cached, because every page of a process shows them."""
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
    """Maps the `hash` of binary rows to the binary's tags, at most `TAGS_READ_MAX` in total."""
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

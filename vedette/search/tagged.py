"""Adds the tags of documents (`model/findings/tag.py`) to their rows, under `TAGS`."""

from collections.abc import Sequence
from typing import Any

from vedette.model.findings.tag import TAGS, newest
from vedette.store.engine.client import Engine
from vedette.store.read.detection.tags import (
    tags_of_binaries,
    tags_of_process,
    tags_of_segment,
    tags_of_segments,
)


def with_segment_tags(engine: Engine, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Adds the tags of each segment to its row."""
    found = tags_of_segments(engine, [(row["process_id"], row["segment_id"]) for row in rows])
    return [{**row, TAGS: found.get((row["process_id"], row["segment_id"]), [])} for row in rows]


def with_tags_of_segment(engine: Engine, row: dict[str, Any]) -> dict[str, Any]:
    """Adds the tags of one segment to its row."""
    return {**row, TAGS: tags_of_segment(engine, (row["process_id"], row["segment_id"]))}


def with_process_tags(engine: Engine, row: dict[str, Any]) -> dict[str, Any]:
    """Adds the tags of all segments of a process to its row."""
    return {**row, TAGS: newest(tags_of_process(engine, row["process_id"]))}


def with_binary_tags(engine: Engine, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Adds the tags of each binary to its row."""
    found = tags_of_binaries(engine, [row["hash"] for row in rows])
    return [{**row, TAGS: found.get(row["hash"], [])} for row in rows]

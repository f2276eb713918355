"""Gathers what the records of one batch tell, by process.

`fold` is the last pure step of the write path: values in, drafts out. It does not know
segments, windows or what was stored before; `pipeline` gives drafts their place.
"""

from typing import Any

from msgspec import Struct, field

from vedette.ingest.record import RecordError
from vedette.model.columns import EVENT_KINDS
from vedette.model.event import BinarySeen, Facts, Kept, Outcome
from vedette.model.segment import Draft

_KIND_OF = {kind.struct: kind.name for kind in EVENT_KINDS}


class KeptRecord(Struct, gc=False):
    """A record for the record table, with the keys by which a re-sent one is recognised."""

    sensor_id: int
    record: Kept
    record_key: int
    request_key: int
    is_half: bool = False
    """Whether its record makes rows of processes as well."""


class BinarySighting(Struct, gc=False):
    """A binary as one sensor of the batch saw it; several sightings merge."""

    sensor_id: int
    binary: BinarySeen
    last_seen_us: int
    paths: set[str]


class Folded(Struct):
    """Everything one batch adds."""

    drafts: dict[str, Draft] = field(default_factory=dict)
    kept: list[KeptRecord] = field(default_factory=list)
    binaries: dict[tuple[int, str], BinarySighting] = field(default_factory=dict)


def check_times(outcomes: list[Outcome], until_us: int) -> None:
    """Refuses outcomes with a time that cannot be: before 1970, or after `until_us`.

    Raises RecordError `bad_time`, before anything of the record is folded.
    """
    for outcome in outcomes:
        time_us = outcome.time_us
        if not 0 < time_us <= until_us and not (time_us == 0 and type(outcome) is Facts):
            raise RecordError("bad_time", f"the event's time is not believable: {_shown(time_us)}")


def fold(
    folded: Folded, outcomes: list[Outcome], sensor_id: int, record_key: int, request_key: int
) -> bool:
    """Adds the outcomes of one record. Returns True when any belongs to a process.

    `record_key` is 0 for a record without an id, `request_key` is used in its place. The key
    goes with the record's first process: everything of one record is stored in one insert.
    """
    keyed = False
    kept: KeptRecord | None = None
    drafts = folded.drafts
    for outcome in outcomes:
        kind = type(outcome)
        name = _KIND_OF.get(kind)
        if name is None and kind is not Facts:
            if isinstance(outcome, Kept):
                kept = KeptRecord(sensor_id, outcome, record_key, request_key)
                folded.kept.append(kept)
            elif isinstance(outcome, BinarySeen):
                _add_binary(folded.binaries, outcome, sensor_id)
            continue
        process_id = outcome.process_id  # type: ignore[union-attr]
        draft = drafts.get(process_id)
        if draft is None:
            draft = drafts[process_id] = Draft(process_id, sensor_id)
        if not keyed:
            keyed = True
            _remember(draft, record_key, request_key)
        draft.last_update_us = max(draft.last_update_us, outcome.time_us)
        if name is None:
            merge_facts(draft.facts, outcome.values)  # type: ignore[union-attr]
        elif name in draft.events:
            draft.events[name].append(outcome)
        else:
            draft.events[name] = [outcome]
    if kept is not None:
        kept.is_half = keyed
    return keyed


def merge_facts(known: dict[str, Any], told: dict[str, Any]) -> bool:
    """Merges what is told into what is known; the greater value wins, so a known value wins
    over an empty one and the order does not matter. Returns True when anything changed."""
    if not known:
        known.update({column: value for column, value in told.items() if value})
        return bool(known)
    changed = False
    for column, value in told.items():
        if value and value > known.get(column, _LEAST[type(value)]):
            known[column] = value
            changed = True
    return changed


_LEAST: dict[type, Any] = {str: "", int: 0, bytes: b"", bool: 0}


def _remember(draft: Draft, record_key: int, request_key: int) -> None:
    if record_key:
        draft.record_keys.append(record_key)
    elif request_key not in draft.request_keys[-1:]:
        draft.request_keys.append(request_key)


def _add_binary(
    binaries: dict[tuple[int, str], BinarySighting], seen: BinarySeen, sensor_id: int
) -> None:
    key = (sensor_id, seen.md5 or seen.sha256 or seen.sha1)
    known = binaries.get(key)
    if known is None:
        paths = {seen.path} if seen.path else set()
        binaries[key] = BinarySighting(sensor_id, seen, seen.time_us, paths)
        return
    known.last_seen_us = max(known.last_seen_us, seen.time_us)
    known.binary.time_us = min(known.binary.time_us, seen.time_us)
    if seen.path:
        known.paths.add(seen.path)
    merge_facts(known.binary.values, seen.values)


def _shown(time_us: int) -> str:
    return f"{time_us / 1_000_000:.3f} s since 1970"

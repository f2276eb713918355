"""Groups the outcomes of a batch by process.

`fold` is the last pure step of the write path: outcomes in, drafts out. It is independent of
segments, windows and stored rows; `pipeline` assigns drafts to segments.
"""

from msgspec import Struct, field

from vedette.ingest.record import RecordError
from vedette.model.columns import EVENT_KINDS
from vedette.model.event import BinarySeen, Facts, Kept, Outcome
from vedette.model.metadata_rank import merge_ranked, ranked
from vedette.model.segment import Draft

_KIND_OF = {kind.struct: kind.name for kind in EVENT_KINDS}


class KeptRecord(Struct, gc=False):
    """A row of the record table, with the keys that deduplicate a re-sent record."""

    sensor_id: int
    record: Kept
    record_key: int
    request_key: int
    is_half: bool = False
    """Whether the same record also produces segment rows."""


class BinarySighting(Struct, gc=False):
    """All sightings of a binary by a sensor in a batch."""

    sensor_id: int
    binary: BinarySeen
    last_seen_us: int
    paths: set[str]


class Folded(Struct):
    """The additions of a batch."""

    drafts: dict[str, Draft] = field(default_factory=dict)
    kept: list[KeptRecord] = field(default_factory=list)
    binaries: dict[tuple[int, str], BinarySighting] = field(default_factory=dict)


def check_times(outcomes: list[Outcome], until_us: int) -> None:
    """Raises RecordError `bad_time` for outcomes dated before 1970 or after `until_us`. Call it
    before any outcome of the record is folded."""
    for outcome in outcomes:
        time_us = outcome.time_us
        if not 0 < time_us <= until_us and not (time_us == 0 and type(outcome) is Facts):
            raise RecordError("bad_time", f"the event time is not plausible: {_shown(time_us)}")


def fold(
    folded: Folded, outcomes: list[Outcome], sensor_id: int, record_key: int, request_key: int
) -> bool:
    """Adds the outcomes of a record. Returns True if any belongs to a process.

    `request_key` replaces a `record_key` of 0 (a record without an id). The key is stored once,
    with the record's first process: all rows of a record are in one insert.
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
        # Every remaining kind has a process; calling `isinstance` for each event would cost more.
        process_id = outcome.process_id  # type: ignore[union-attr]
        draft = drafts.get(process_id)
        if draft is None:
            draft = drafts[process_id] = Draft(process_id, sensor_id)
        if not keyed:
            keyed = True
            _add_key(draft, record_key, request_key)
        if outcome.time_us > draft.last_update_us:  # noqa: PLR1730 - for each event, `max` is slow
            draft.last_update_us = outcome.time_us
        if name is None:
            assert isinstance(outcome, Facts)
            merge_ranked(draft.facts, ranked(outcome.values, outcome.rank, outcome.time_us))
        elif name in draft.events:
            draft.events[name].append(outcome)
        else:
            draft.events[name] = [outcome]
    if kept is not None:
        kept.is_half = keyed
    return keyed


def _merge_values(known: dict[str, str], seen: dict[str, str]) -> None:
    """Merges metadata of a binary: the greater text wins."""
    for column, value in seen.items():
        if value > known.get(column, ""):
            known[column] = value


def _add_key(draft: Draft, record_key: int, request_key: int) -> None:
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
    _merge_values(known.binary.values, seen.values)


def _shown(time_us: int) -> str:
    return f"{time_us / 1_000_000:.3f} s since 1970"

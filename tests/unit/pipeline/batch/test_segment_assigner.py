"""Drafts become partial rows of the right segments, with the metadata they lack."""

from typing import Any

import pytest
from pyroaring import BitMap

from vedette.limits import SEGMENT_WINDOW_MS
from vedette.model.event import Regmod
from vedette.model.ids import process_hash
from vedette.model.metadata_rank import Rank, ranked
from vedette.model.segment import Draft, PartialSegment
from vedette.pipeline.batch.segment_assigner import (
    SEGMENT_EVENTS_MAX,
    SegmentAssigner,
    SegmentPlace,
)
from vedette.pipeline.time_windows import TimeWindows

PROCESS = "00000001-0000-0e48-01d2-c2a397f4cfe0"
WINDOW = 1_700_000_100_000 // SEGMENT_WINDOW_MS * SEGMENT_WINDOW_MS
HOSTS = {1: {"hostname": "a.example.com"}}


class Memory:
    """A lookup over what a test says is stored."""

    def __init__(self, **stored: tuple[dict[str, Any], list[SegmentPlace]]) -> None:
        self.stored = stored

    def processes(
        self, process_ids: list[str]
    ) -> dict[str, tuple[dict[str, Any], list[SegmentPlace]]]:
        found = next(iter(self.stored.values()), None)
        return {PROCESS: found} if found and PROCESS in process_ids else {}

    def process_hashes(self) -> BitMap | None:
        return BitMap([process_hash(PROCESS)] if self.stored else [])


def draft(events: int = 1, **facts: Any) -> Draft:
    regmods = [Regmod(PROCESS, 1_000 + n, 2, r"\assigner\machine\a") for n in range(events)]
    return Draft(PROCESS, 1, facts, {"regmod": regmods} if regmods else {}, 9_000, [7], [])


def place(assigner: SegmentAssigner, windows: TimeWindows, some: Draft) -> list[PartialSegment]:
    return assigner.place({PROCESS: some}, windows, HOSTS).parts


def test_a_new_process_gets_a_segment_named_after_its_window() -> None:
    (part,) = place(SegmentAssigner(Memory(), 10), TimeWindows(WINDOW, 3), draft(path="c:\\a.exe"))
    assert (part.partition_ms, part.window_ms, part.segment_id) == (3, WINDOW, WINDOW)
    assert part.metadata["path"] == "c:\\a.exe"
    assert part.metadata["hostname"] == "a.example.com"
    assert part.record_keys == [7]


def test_a_second_row_of_a_segment_repeats_no_metadata() -> None:
    assigner, windows = SegmentAssigner(Memory(), 10), TimeWindows(WINDOW, 3)
    place(assigner, windows, draft(path="c:\\a.exe"))
    (part,) = place(assigner, windows, draft(path="c:\\a.exe"))
    assert part.metadata == {"last_update": 9_000}


def test_a_new_window_gets_everything_that_is_known() -> None:
    assigner, windows = SegmentAssigner(Memory(), 10), TimeWindows(WINDOW, 3)
    place(assigner, windows, draft(path="c:\\a.exe"))
    windows.advance((WINDOW + SEGMENT_WINDOW_MS) * 1_000)
    (part,) = place(assigner, windows, draft())
    assert part.metadata["path"] == "c:\\a.exe"
    assert part.segment_id == WINDOW + SEGMENT_WINDOW_MS


def test_better_metadata_reaches_the_earlier_segments() -> None:
    assigner, windows = SegmentAssigner(Memory(), 10), TimeWindows(WINDOW, 3)
    place(assigner, windows, draft())
    windows.advance((WINDOW + SEGMENT_WINDOW_MS) * 1_000)
    late, part = place(assigner, windows, draft(cmdline="a.exe /x"))
    assert (late.segment_id, late.events, late.record_keys) == (WINDOW, {}, [])
    assert late.metadata["cmdline"] == "a.exe /x"
    assert late.metadata["cmdline_tokens"]
    assert part.window_ms == WINDOW + SEGMENT_WINDOW_MS


def test_what_was_forgotten_is_read_back_from_the_store() -> None:
    stored = ({"path": "c:\\a.exe"}, [SegmentPlace(2, WINDOW - 600_000, WINDOW - 600_000, 4)])
    parts = place(
        SegmentAssigner(Memory(p=stored), 10), TimeWindows(WINDOW, 3), draft(username="bob")
    )
    assert [part.segment_id for part in parts] == [WINDOW - 600_000, WINDOW]
    assert parts[0].metadata == {"username": "bob", "account_rank": 1}
    assert parts[1].metadata["path"] == "c:\\a.exe"


def test_a_segment_of_the_window_goes_on_after_a_restart() -> None:
    stored: tuple[dict[str, Any], list[SegmentPlace]] = ({}, [SegmentPlace(3, WINDOW, WINDOW, 4)])
    (part,) = place(SegmentAssigner(Memory(p=stored), 10), TimeWindows(WINDOW, 3), draft())
    assert part.segment_id == WINDOW


def test_a_full_segment_is_followed_by_the_next_of_its_window() -> None:
    assigner, windows = SegmentAssigner(Memory(), 10), TimeWindows(WINDOW, 3)
    some = draft(SEGMENT_EVENTS_MAX + 5, path="c:\\a.exe")
    first, second = place(assigner, windows, some)
    assert (first.segment_id, first.event_count()) == (WINDOW, SEGMENT_EVENTS_MAX)
    assert (second.segment_id, second.event_count()) == (WINDOW + 1, 5)
    assert second.metadata["path"] == "c:\\a.exe"
    assert (first.record_keys, second.record_keys) == ([7], [])


def test_partitions_out_of_reach_get_no_late_metadata() -> None:
    stored: tuple[dict[str, Any], list[SegmentPlace]] = (
        {},
        [SegmentPlace(2, WINDOW - 600_000, WINDOW - 600_000, 4)],
    )
    assigner = SegmentAssigner(Memory(p=stored), 10)
    assigner.without_partitions([2])
    (part,) = place(assigner, TimeWindows(WINDOW, 3), draft(username="bob"))
    assert part.segment_id == WINDOW


def test_the_least_recently_used_process_is_evicted_first() -> None:
    assigner, windows = SegmentAssigner(Memory(), 0), TimeWindows(WINDOW, 3)
    place(assigner, windows, draft(path="c:\\a.exe"))
    (part,) = place(assigner, windows, draft())
    assert "path" not in part.metadata


def test_a_process_is_reported_as_entered_once_a_window() -> None:
    assigner, windows = SegmentAssigner(Memory(), 10), TimeWindows(WINDOW, 3)
    assert len(assigner.place({PROCESS: draft()}, windows, HOSTS).entered) == 1
    assert assigner.place({PROCESS: draft()}, windows, HOSTS).entered == []


def test_a_process_that_was_only_mentioned_was_last_seen_at_its_start() -> None:
    some = Draft(PROCESS, 1, {"start": 4_000}, {}, 0, [7], [])
    (part,) = place(SegmentAssigner(Memory(), 10), TimeWindows(WINDOW, 3), some)
    assert part.metadata["last_update"] == 4_000


class Asked(Memory):
    """A lookup that notes what it is asked."""

    def __init__(self, *, has_hashes: bool = True, **stored: Any) -> None:
        super().__init__(**stored)
        self.asked: list[list[str]] = []
        self.has_hashes = has_hashes
        self.loads = 0

    def processes(
        self, process_ids: list[str]
    ) -> dict[str, tuple[dict[str, Any], list[SegmentPlace]]]:
        self.asked.append(process_ids)
        return super().processes(process_ids)

    def process_hashes(self) -> BitMap | None:
        self.loads += 1
        return super().process_hashes() if self.has_hashes else None


OTHER = "00000001-0000-0e49-01d2-c2a397f4cfe0"
WINDOWS = TimeWindows(WINDOW, 3)
STORED: Any = ({"path": "c:\\a.exe"}, [SegmentPlace(3, WINDOW, WINDOW, 1)])


def met(assigner: SegmentAssigner, *process_ids: str) -> None:
    drafts = {
        process_id: Draft(process_id, 1, {}, {}, 9_000, [7], []) for process_id in process_ids
    }
    assigner.place(drafts, WINDOWS, HOSTS)


def test_a_store_that_began_empty_is_not_asked_for_processes() -> None:
    lookup = Asked()
    assigner = SegmentAssigner(lookup, 10)
    assigner.begin_empty()
    assigner.without_partitions([])
    met(assigner, PROCESS)
    assert (lookup.asked, lookup.loads) == ([], 0)


def test_a_store_that_began_empty_is_asked_about_what_was_forgotten() -> None:
    lookup = Asked()
    assigner = SegmentAssigner(lookup, 1)
    assigner.begin_empty()
    met(assigner, PROCESS)
    met(assigner, OTHER)
    met(assigner, PROCESS, "00000001-0000-0e50-01d2-c2a397f4cfe0")
    assert lookup.asked == [[PROCESS]]


def test_a_store_that_began_empty_is_asked_after_a_failed_commit() -> None:
    lookup = Asked()
    assigner = SegmentAssigner(lookup, 10)
    assigner.begin_empty()
    met(assigner, PROCESS)
    assigner.reset()
    met(assigner, PROCESS, OTHER)
    assert lookup.asked == [[PROCESS]]


def test_a_store_is_asked_about_what_it_may_know() -> None:
    lookup = Asked(p=STORED)
    assigner = SegmentAssigner(lookup, 10)
    met(assigner, OTHER)
    met(assigner, PROCESS)
    assert (lookup.asked, lookup.loads) == ([[PROCESS]], 1)
    assert assigner.facts(PROCESS) == STORED[0]


def test_a_store_that_others_write_to_is_asked_about_all() -> None:
    lookup = Asked(has_hashes=False)
    assigner = SegmentAssigner(lookup, 10)
    met(assigner, OTHER)
    met(assigner, PROCESS)
    assert (lookup.asked, lookup.loads) == ([[OTHER], [PROCESS]], 1)


def test_processes_of_remounted_partitions_are_found() -> None:
    lookup = Asked()
    assigner = SegmentAssigner(lookup, 10)
    assigner.without_partitions([3])
    met(assigner, OTHER)
    lookup.stored = {"p": STORED}
    assigner.without_partitions([])
    met(assigner, PROCESS)
    assert (lookup.asked, lookup.loads) == ([[PROCESS]], 2)


def test_of_too_many_processes_no_hashes_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vedette.pipeline.batch.process_filter.STORED_HASHES_MAX", 2)
    lookup = Asked()
    assigner = SegmentAssigner(lookup, 0)
    assigner.begin_empty()
    for number in range(4):
        met(assigner, f"00000001-0000-0e50-01d2-{number:012x}")
    assert lookup.asked == [["00000001-0000-0e50-01d2-000000000003"]]


def test_a_column_of_a_group_is_written_with_its_whole_group_and_a_greater_rank() -> None:
    assigner = SegmentAssigner(Memory(), 10)
    windows = TimeWindows(WINDOW, 3)
    claim = ranked({"path": "C:\\b.exe", "process_name": "b.exe"}, Rank.OWN, 5)
    (first,) = met_with(assigner, windows, claim)
    equal = ranked({"path": "C:\\c.exe"}, Rank.OWN, 5)
    (second,) = met_with(assigner, windows, equal)
    shown = {name: value for name, value in second.metadata.items() if name != "last_update"}
    assert shown.keys() == {"path", "identity_rank"}
    assert shown["path"] == "C:\\c.exe"
    assert shown["identity_rank"] == first.metadata["identity_rank"] + 1


def test_a_completed_parent_is_written_again_with_all_that_is_known_of_it() -> None:
    assigner = SegmentAssigner(Memory(), 10)
    windows = TimeWindows(WINDOW, 3)
    parent_id = "00000001-0000-0e50-01d2-c2a397f4cfe0"
    claim = ranked({"parent_id": parent_id, "parent_name": "a.exe"}, Rank.CREATION, 5)
    (first,) = met_with(assigner, windows, claim)
    parent = Draft(parent_id, 1, ranked({"path": "a", "process_md5": "f" * 32}, Rank.OWN, 6))
    rows = assigner.place({parent_id: parent}, windows, HOSTS).parts
    (late,) = [row for row in rows if row.process_id == PROCESS]
    assert late.metadata == {
        "parent_id": parent_id,
        "parent_name": "a.exe",
        "parent_md5": "f" * 32,
        "parent_rank": first.metadata["parent_rank"] + 1,
    }


def met_with(
    assigner: SegmentAssigner, windows: TimeWindows, claim: dict[str, Any]
) -> list[PartialSegment]:
    return assigner.place({PROCESS: Draft(PROCESS, 1, claim)}, windows, HOSTS).parts

"""Data of events whose forms the recorded story does not have."""

from typing import Any

import pytest

from vedette.model.columns import EVENT_KINDS
from vedette.model.event import ChildKind, Childproc, Crossproc, Filemod, Modload
from vedette.search.streams.stream import hashes_of
from vedette.store.read.process_events import SequencedEvent
from vedette.web.processes.analysis.stream_events_json import (
    EVENT_DATA,
    childproc_data,
    crossproc_data,
    event_records,
    filemod_data,
)

KINDS = {kind.name: kind for kind in EVENT_KINDS}


def sequenced(kind: str, event: Any) -> SequencedEvent:
    return SequencedEvent(1, KINDS[kind], event)


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        (ChildKind.FORK, "fork"),
        (ChildKind.EXEC, "exec"),
        (ChildKind.OTHER_EXEC, "other_exec"),
        (ChildKind.OTHER, None),
    ],
)
def test_a_child_says_how_it_began(kind: ChildKind, word: str | None) -> None:
    assert childproc_data(Childproc("p", 1, 1, kind, "c"))["subtype"] == word


def test_the_end_of_a_child_has_its_time_as_end() -> None:
    data = childproc_data(Childproc("p", 1_000_000, 0, 0, "c"))
    assert (data["type"], data["start"], data["end"]) == (
        "end",
        None,
        "1970-01-01T00:00:01.000000Z",
    )


def test_a_remote_thread_has_no_subtype_and_no_access() -> None:
    thread = Crossproc("p", 1, 1, "c", access=7, is_target=1, start_module="m", start_function="f")
    data = crossproc_data(thread)
    assert (data["type"], data["subtype"], data["requested_access"]) == ("RemoteThread", None, None)
    assert (data["is_target"], data["start_module"], data["start_function"]) == (True, "m", "f")


def test_text_with_pipes_stays_as_it_is() -> None:
    assert filemod_data(Filemod("p", 1, 1, "/a|b%7C"))["path"] == "/a|b%7C"


def test_the_catalogue_of_binaries_goes_before_the_event() -> None:
    reported = Modload("p", 1, "m.dll", "aa", "", "", "Unsigned", "")
    known = {"aa": ("Signed", "Vendor")}
    (record,) = event_records([sequenced("modload", reported)], known)
    assert record["binary_info"] == {"digsig_result": "Signed", "digsig_publisher": "Vendor"}
    for nothing in ({}, {"aa": ("", "")}):
        (record,) = event_records([sequenced("modload", reported)], nothing)
        assert record["binary_info"] == {"digsig_result": "Unsigned", "digsig_publisher": None}


def test_a_file_is_looked_up_by_its_best_hash() -> None:
    events = [
        sequenced("filemod", Filemod("p", 1, 8, "a", "aa", "bb")),
        sequenced("filemod", Filemod("p", 1, 8, "a", "", "cc")),
        sequenced("filemod", Filemod("p", 1, 8, "a")),
    ]
    assert hashes_of(events) == (["aa"], ["cc"])


def test_every_kind_that_is_counted_has_its_data() -> None:
    assert set(EVENT_DATA) == {kind.name for kind in EVENT_KINDS if kind.counted}

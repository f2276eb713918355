"""Process objects and what surrounds them (docs/api-objects.md#process,
docs/clients.md#ids-and-times)."""

from typing import Any

import pytest

from vedette.model.address import pack_address
from vedette.model.columns import EVENT_KINDS, KEY, METADATA
from vedette.search.partition_coverage import Coverage
from vedette.search.processes.process import Relative, Segments
from vedette.search.processes.process_columns import COUNTED
from vedette.search.processes.process_search import SearchResults
from vedette.store.engine.arrow_arrays import UNKNOWN
from vedette.store.read.process import SegmentSummary
from vedette.web.processes.models import parent_body, process_body, relative_body, segments_body
from vedette.web.processes.search_results_json import process_results_body

SELF = "00000001-0000-0e48-01d2-c2a397f4cfe0"
PARENT = "00000001-0000-0123-01d2-c2a397f4cfe1"
LATE = 1_600_000_000_000_000
API_2_1 = (
    "process_md5 process_name start last_update hostname modload_count regmod_count "
    "filemod_count netconn_count childproc_count crossproc_count processblock_count group "
    "sensor_id id segment_id unique_id os_type host_type parent_id parent_unique_id "
    "parent_name parent_md5 parent_pid process_pid cmdline path username terminated "
    "filtering_known_dlls emet_config emet_count comms_ip interface_ip last_server_update "
)


def row(**known: Any) -> dict[str, Any]:
    """A stored row of which only some columns are known."""
    values: dict[str, Any] = {column.name: UNKNOWN[column.type] for column in (*KEY, *METADATA)}
    values |= {f"{kind.name}_count": 0 for kind in EVENT_KINDS}
    values |= {"process_id": SELF, "sensor_id": 1, "segment_id": 1_500_000_000_000}
    return values | {"last_update": LATE, "last_server_update": LATE} | known


def test_a_row_of_which_nothing_is_known_has_every_field_in_its_type() -> None:
    body = process_body(row())
    assert set(API_2_1.split()) <= set(body)
    assert [name for name in API_2_1.split() if body[name] is None] == ["start"]
    assert body["username"] == ""


def test_ids_are_those_that_clients_take_apart() -> None:
    body = process_body(row(segment_id=0x15D3EF79800))
    assert body["unique_id"] == f"{SELF}-015d3ef79800"
    assert len(body["unique_id"]) == 49
    assert (body["id"], body["segment_id"]) == (SELF, 0x15D3EF79800)


def test_addresses_are_signed_numbers() -> None:
    body = process_body(row(interface_ip=pack_address("192.168.1.163")))
    assert (body["interface_ip"], body["comms_ip"]) == (-1062731357, 0)


def test_an_unknown_parent_has_stand_ins() -> None:
    body = process_body(row())
    assert body["parent_id"] == "00000001-ffff-ffff-0000-000000000000"
    assert (body["parent_pid"], body["parent_name"]) == (-1, "(unknown)")
    assert body["parent_md5"] == "0" * 30


def test_a_known_parent_is_named_by_its_first_segment() -> None:
    body = process_body(row(parent_id=PARENT, parent_pid=291, parent_name="p.exe"))
    assert body["parent_unique_id"] == f"{PARENT}-000000000001"
    assert (body["parent_pid"], body["parent_name"]) == (291, "p.exe")


@pytest.mark.parametrize(
    ("known", "start"),
    [
        ({"start": LATE}, "2020-09-13T12:26:40.000000Z"),
        ({"start": 0}, None),
        ({"start": 0, "process_id": "not hex"}, None),
    ],
)
def test_a_start_that_nobody_reported_is_null_and_not_made_from_the_id(
    known: dict[str, Any], start: str | None
) -> None:
    assert process_body(row(**known))["start"] == start


def test_what_only_this_server_knows_shows_when_it_is_known() -> None:
    body = process_body(row(original_filename="cmd.exe", end_time=LATE, terminated=1))
    assert (body["original_filename"], body["terminated"]) == ("cmd.exe", True)
    assert body["end"] == "2020-09-13T12:26:40.000000Z"
    assert "integrity_level" not in body


def test_a_parent_without_events_is_reported_by_its_child() -> None:
    body = parent_body(row(parent_id=PARENT, parent_pid=291, parent_path="c:\\p.exe"))
    assert (body["id"], body["path"], body["process_pid"]) == (PARENT, "c:\\p.exe", 291)
    assert (body["parent_pid"], body["start"], "last_update" in body) == (-1, None, False)


@pytest.mark.parametrize(
    "name",
    [
        "unique_id",
        "process_md5",
        "process_pid",
        "path",
        "start",
        "cmdline",
        "username",
        "is_suppressed",
        "terminated",
    ],
)
def test_children_have_what_clients_read(name: str) -> None:
    assert name in relative_body(Relative(row(), False))


def test_a_search_answer_has_every_member() -> None:
    found = SearchResults(
        rows=[],
        total=3,
        start=1,
        elapsed_s=0.1,
        terms=["a"],
        filtered=0,
        highlights=[],
        facets={},
        is_comprehensive=False,
        is_incomplete=False,
        is_everywhere=True,
        read=Coverage(2, 5, 1_500_000_000_000, 1, 3),
    )
    assert process_results_body(found) == {
        "terms": ["a"],
        "results": [],
        "elapsed": 0.1,
        "comprehensive_search": False,
        "all_segments": True,
        "total_results": 3,
        "highlights": [],
        "facets": {},
        "tagged_pids": {},
        "start": 1,
        "incomplete_results": False,
        "filtered": 0,
        "read": {
            "partitions": 2,
            "of_partitions": 5,
            "since": "2017-07-14T02:40:00.000000Z",
            "unmounted_partitions": 1,
            "damaged_parts": 3,
        },
    }


def test_segments_carry_counts_by_event_type() -> None:
    counts = {kind.name: 0 for kind in EVENT_KINDS} | {"filemod": 2, "dnsquery": 5}
    summary = SegmentSummary(0, 0, 1_500_000_000_000, LATE, LATE, counts)
    (segment,) = segments_body(Segments(SELF, [summary], 0.1))["process"]["segments"]
    assert set(segment["event_counts"]) == set(COUNTED)
    assert segment["event_counts"]["filemod"] == 2
    assert len(segment["unique_id"]) == 49

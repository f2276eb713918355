"""The records of a stream's events, one test a type
(docs/process-analysis-events.md)."""

from typing import Any

import pytest

from tests.api.analysis.conftest import Analysed


@pytest.fixture(scope="module")
def events(analysed: Analysed) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = analysed.stream().read(rows=100)["events"]
    return found


def only(events: list[dict[str, Any]], kind: str, number: int = 0) -> dict[str, Any]:
    return [event for event in events if event["type"] == kind][number]


def test_a_record_has_its_segment_and_nothing_of_threat_feeds(
    events: list[dict[str, Any]], analysed: Analysed
) -> None:
    for event in events:
        assert set(event) == {
            "type",
            "time",
            "data",
            "segment_id",
            "binary_info",
            "alliance_hits",
            "ondemand_feeds",
            "ondemand_classification",
        }
        assert event["segment_id"] in analysed.segments
        assert event["time"].endswith("Z")
        assert event["alliance_hits"] is None
        assert event["ondemand_feeds"] is None
        assert event["ondemand_classification"] is None


def test_a_module_load_reports_its_file_and_signature(events: list[dict[str, Any]]) -> None:
    event = only(events, "modload")
    assert event["data"] == {
        "path": "C:\\Windows\\amsi.dll",
        "md5": "ab" * 16,
        "sha256": "ab" * 32,
    }
    assert event["binary_info"] == {
        "digsig_result": "Signed",
        "digsig_publisher": "Microsoft Windows",
    }


def test_a_file_event_reports_operation_and_type(events: list[dict[str, Any]]) -> None:
    assert only(events, "filemod")["data"] == {
        "operation": 1,
        "action": "created",
        "path": "C:\\Temp\\up.exe",
        "md5": "",
        "sha256": "",
        "filetype": 1,
        "filetype_name": "PE",
        "is_tampered": False,
    }
    written = only(events, "filemod", 1)
    assert (written["data"]["operation"], written["data"]["action"]) == (8, "last_write")
    assert (written["data"]["filetype"], written["data"]["filetype_name"]) == (1, "PE")
    assert written["data"]["md5"] == "cd" * 16


def test_a_registry_event_reports_key_and_value(events: list[dict[str, Any]]) -> None:
    event = only(events, "regmod")
    assert event["data"] == {
        "operation": 2,
        "action": "first_write",
        "path": "\\registry\\machine\\SOFTWARE\\Vendor\\Run",
        "value": "up.exe",
        "is_tampered": False,
    }
    assert event["binary_info"] is None


def test_a_connection_is_the_object_of_the_fourth_event_version(
    events: list[dict[str, Any]],
) -> None:
    event = only(events, "netconn")
    assert event["data"] == {
        "timestamp": event["time"],
        "direction": "true",
        "proto": 6,
        "domain": "c2.evil.example",
        "local_ip": "10.0.0.5",
        "local_port": 50000,
        "remote_ip": "203.0.113.9",
        "remote_port": 443,
        "ja3": "",
        "ja3s": "",
    }


def test_a_child_reports_who_was_started(events: list[dict[str, Any]], analysed: Analysed) -> None:
    event = only(events, "childproc")
    sensor = analysed.id[:8]
    assert event["data"] == {
        "type": "start",
        "subtype": None,
        "start": event["time"],
        "end": None,
        "processId": sensor + analysed.child.sensor_less_id,
        "pid": 1200,
        "path": analysed.child.image,
        "md5": analysed.child.md5,
        "sha256": analysed.child.md5 * 2,
        "commandLine": "whoami /all",
        "userName": "CORP\\ann",
        "is_suppressed": False,
        "is_tampered": False,
    }


def test_an_opened_process_is_reported_with_the_access(
    events: list[dict[str, Any]], analysed: Analysed
) -> None:
    data = only(events, "crossproc")["data"]
    child = analysed.id[:8] + analysed.child.sensor_less_id
    assert data == {
        "type": "ProcessOpen",
        "processId": child,
        "unique_id": f"{child}-000000000001",
        "path": analysed.child.image,
        "md5": analysed.child.md5,
        "sha256": analysed.child.md5 * 2,
        "subtype": 1,
        "requested_access": 0x1010,
        "is_target": False,
        "start_module": "",
        "start_function": "",
        "is_tampered": False,
    }


def test_a_block_reports_what_was_blocked(events: list[dict[str, Any]]) -> None:
    assert only(events, "processblock")["data"] == {
        "block_type": 0,
        "block_event": 0,
        "block_result": None,
        "block_error": 0,
        "blocked_path": "C:\\Temp\\bad.exe",
        "blocked_cmdline": "",
        "blocked_md5": "cd" * 16,
        "blocked_sha256": "",
        "blocked_uid": "",
        "blocked_username": "",
    }

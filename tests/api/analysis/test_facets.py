"""Bulk facets, segments line by line, metadata, verify, suppression
(docs/process-analysis-facets.md#facet-fields)."""

import json
from typing import Any

import httpx
import pytest

from tests.api.analysis.conftest import Analysed
from vedette.search.processes.segment_lookup import SEGMENTS_A_LINE


def values(body: dict[str, Any], field: str) -> dict[str, int]:
    (term,) = [term for term in body["facets"]["terms"] if term["field"] == field]
    return {value["id"]: value["total"] for value in term["values"]}


def test_bulk_counts_every_kind_of_event(analysed: Analysed) -> None:
    body = analysed.get("1/bulk").json()
    assert set(body) == {"alliance_hits", "on_demand_hits", "facets", "partial_results"}
    assert (body["alliance_hits"], body["on_demand_hits"]) == ({}, {})
    assert body["partial_results"] is False
    facets = body["facets"]
    assert (facets["num_found"], facets["processed_segments"]) == (8, 3)
    assert values(body, "event_type") == {
        **{"filemod": 2, "modload": 1, "regmod": 1, "netconn": 1},
        **{"childproc": 1, "crossproc": 1, "processblock": 1},
    }


def test_bulk_counts_the_fields_of_each_kind(analysed: Analysed) -> None:
    body = analysed.get("1/bulk").json()
    assert values(body, "directory") == {
        **{"C:\\Temp\\": 3, "C:\\Windows\\": 3},
    }
    assert values(body, "filemod_action") == {"1": 1, "8": 1}
    assert values(body, "filemod_filetype") == {"1": 2}
    assert values(body, "childproc_filepath") == {analysed.child.image: 1}
    assert values(body, "childproc_md5") == {analysed.child.md5: 1}
    assert values(body, "childproc_sha256") == {analysed.child.md5 * 2: 1}
    assert values(body, "ipv4_address") == {"203.0.113.9": 1}
    assert values(body, "domain") == {"c2.evil.example": 1}
    assert values(body, "regmod_action") == {"2": 1}
    assert values(body, "regmod_hive") == {"\\registry\\machine": 1}


def test_numbers_have_names_and_the_most_frequent_stands_first(analysed: Analysed) -> None:
    terms = analysed.get("1/bulk").json()["facets"]["terms"]
    by_field = {term["field"]: term["values"] for term in terms}
    assert by_field["filemod_filetype"] == [{"id": "1", "name": "PE", "total": 2}]
    assert by_field["filemod_action"][0]["name"] == "created"
    assert by_field["event_type"][0] == {"id": "filemod", "name": "filemod", "total": 2}


def test_bulk_begins_at_its_segment_and_ends_at_end_time(analysed: Analysed) -> None:
    body = analysed.get(f"{analysed.segments[1]}/bulk").json()
    assert (body["facets"]["num_found"], body["facets"]["processed_segments"]) == (6, 2)
    events = analysed.stream().read(rows=100)["events"]
    end = events[3]["time"][:-4] + "Z"
    body = analysed.get("1/bulk", end_time=end).json()
    assert values(body, "event_type") == {"modload": 1, "filemod": 1, "netconn": 1, "regmod": 1}
    assert values(body, "directory") == {"C:\\Windows\\": 1, "C:\\Temp\\": 1}
    assert (body["facets"]["num_found"], body["partial_results"]) == (4, False)


def lines(answer: httpx.Response) -> list[dict[str, Any]]:
    return [json.loads(line) for line in answer.text.splitlines()]


def test_segments_come_line_by_line(analysed: Analysed) -> None:
    headers = {"Accept": "application/x-ndjson"}
    path = f"/api/v6/process/{analysed.id}/0/segment"
    answer = analysed.client.get(path, headers=headers)
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    (line,) = lines(answer)
    assert set(line) == {"elapsed", "process"}
    segments = line["process"]["segments"]
    assert [one["segment_id"] for one in segments] == analysed.segments
    assert segments[0]["unique_id"] == f"{analysed.id}-{analysed.segments[0]:012x}"
    assert segments[0]["event_counts"]["modload"] == 1
    assert {"last_update", "last_server_update"} < set(segments[0])


def test_segments_begin_at_the_given_one(analysed: Analysed) -> None:
    (line,) = lines(analysed.get(f"{analysed.segments[2]}/segment"))
    assert [one["segment_id"] for one in line["process"]["segments"]] == analysed.segments[2:]
    assert SEGMENTS_A_LINE > 3


def test_metadata_has_every_member(analysed: Analysed) -> None:
    found = analysed.get("metadata").json()["process_metadata"]
    assert found.pop("start").endswith("Z")
    assert found.pop("day_of_week") in range(7)
    assert found.pop("hour_of_day") in range(24)
    for name in ("last_update", "last_server_update", "server_added_timestamp"):
        assert found.pop(name).endswith("Z")
    sensor = analysed.id[:8]
    assert found.pop("parent_id").startswith(sensor)
    assert found.pop("parent_unique_id").endswith("-000000000001")
    assert found == {
        "unique_id": f"{analysed.id}-{analysed.segments[2]:012x}",
        "id": analysed.id,
        "segment_id": analysed.segments[2],
        "facet_id": 0,
        "sensor_id": int(sensor, 16),
        "hostname": "analysed.corp.example",
        "group": "Default Group",
        "os_type": "windows",
        "host_type": "workstation",
        "interface_ip": 0x0A000005,
        "comms_ip": found["comms_ip"],
        "process_pid": [1100],
        "process_md5": analysed.process.md5,
        "process_sha256": analysed.process.md5 * 2,
        "process_name": "busy.exe",
        "path": "C:\\Tools\\busy.exe",
        "cmdline": ["busy.exe --all"],
        "username": ["CORP\\ann"],
        "uid": "",
        "logon_type": found["logon_type"],
        "parent_name": "explorer.exe",
        "parent_pid": 900,
        "parent_md5": "0" * 30,
        "creation_observed": True,
        "terminated": False,
        "tampered": False,
        "filtering_known_dlls": False,
        "has_emet_event": False,
        "has_emet_config": False,
    }


def test_verify_gives_the_segment_or_the_earliest(analysed: Analysed) -> None:
    first, second, _ = analysed.segments
    for asked, answered in ((second, second), (second + 7, first), (0, first), (1, first)):
        assert analysed.get(f"{asked}/verify").json() == {"segment_id": answered}


def suppression(analysed: Analysed, child: str, **more: str) -> dict[str, Any]:
    asked = {"parent_guid": analysed.id, "childproc_guid": child, **more}
    answer = analysed.client.get("/api/v6/process/suppression_status", params=asked)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def test_a_child_with_a_document_is_not_suppressed(analysed: Analysed) -> None:
    child = analysed.id[:8] + analysed.child.sensor_less_id
    for name in (child, f"{child}-000000000001", child.upper()):
        assert suppression(analysed, name) == {"is_suppressed": False, "timeout": False}


def test_a_child_that_nobody_names_is_not_suppressed(analysed: Analysed) -> None:
    nobody = analysed.id[:-4] + "ffff"
    assert suppression(analysed, nobody)["is_suppressed"] is False


@pytest.mark.parametrize("path", ["1/bulk", "metadata", "1/verify", "1/segment"])
def test_a_unique_id_names_its_process(analysed: Analysed, path: str) -> None:
    unique = f"{analysed.id}-{analysed.segments[0]:012x}"
    assert analysed.client.get(f"/api/v6/process/{unique}/{path}").status_code == 200

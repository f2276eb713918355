"""Every member of docs/api-objects.md#process-summary, on telemetry with every kind of event
(docs/api-processes.md#searching-and-reading-processes)."""

import re
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.support.served import Server, open_group, state_of, wait_for
from tests.support.sysmon import Host, Process
from vedette.state.policy import groups

SUMMARY = (
    "process_md5",
    "sensor_id",
    "group",
    "parent_id",
    "process_name",
    "path",
    "last_update",
    "start",
    "hostname",
    "id",
    "segment_id",
    "os_type",
    "cmdline",
)
"""docs/api-objects.md#process-summary"""

CHILD = "unique_id process_md5 process_pid path start cmdline username is_suppressed terminated"
"""Members of a child in a summary that clients read."""

COUNTED = ("filemod", "modload", "regmod", "netconn", "childproc", "crossproc", "processblock")
TEXT_TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}"
JSON_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"
MD5 = "[0-9a-f]{32}"
UNIQUE = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-[0-9a-f]{12}"


@dataclass(frozen=True)
class Busy:
    """A process with events of every kind, siblings, children of which one does nothing."""

    host: Host
    busy: Process
    quiet: Process
    active: Process
    siblings: list[Process]
    group_id: int
    records: list[dict[str, Any]]


def story(name: str, group_id: int) -> Busy:
    host = Host(name)
    top = host.process(500, "C:\\top.exe")
    busy = host.process(600, "C:\\Apps\\busy.exe", "busy.exe --all needle", 5)
    quiet = host.process(700, "C:\\Apps\\quiet.exe", "quiet.exe /q", 7)
    active = host.process(800, "C:\\Apps\\active.exe", "active.exe", 8)
    siblings = [host.process(1_000 + n, "C:\\Apps\\sib.exe", f"sib {n}", 20 + n) for n in range(20)]
    target = {
        "TargetProcessGUID": active.guid,
        "TargetProcessId": active.pid,
        "TargetImage": active.image,
    }
    source = {
        "SourceProcessGUID": busy.guid,
        "SourceProcessId": busy.pid,
        "SourceImage": busy.image,
    }
    hashes = f"MD5={'AE' * 16},SHA256={'CE' * 32}"
    records = [
        host.created(busy, top),
        host.created(quiet, busy),
        host.created(active, busy),
        *(host.created(one, top) for one in siblings),
        host.of(quiet, 7, 1, ImageLoaded="C:\\q.dll", Hashes=hashes),
        host.of(quiet, 5, 2),
        host.of(active, 11, 1, TargetFilename="C:\\active.txt"),
        host.of(
            busy,
            7,
            1,
            ImageLoaded="C:\\needle.dll",
            Hashes=hashes,
            Signed="true",
            Signature="Vendor|Inc",
            SignatureStatus="Valid",
        ),
        host.of(busy, 11, 2, TargetFilename="C:\\made|it.txt"),
        host.of(busy, 15, 2, TargetFilename="C:\\x.exe:needle", Hash="MD5=" + "EF" * 16),
        host.of(busy, 23, 3, TargetFilename="C:\\gone%7C.txt", Hashes=hashes, Archived="false"),
        host.of(busy, 12, 4, EventType="CreateKey", TargetObject="HKLM\\SOFTWARE\\A"),
        host.of(busy, 13, 4, EventType="SetValue", TargetObject="HKLM\\SOFTWARE\\A\\needle"),
        host.of(busy, 12, 4, EventType="DeleteKey", TargetObject="HKLM\\SOFTWARE\\B"),
        host.of(busy, 12, 4, EventType="DeleteValue", TargetObject="HKLM\\SOFTWARE\\C"),
        host.of(
            busy,
            3,
            5,
            Protocol="tcp",
            Initiated="true",
            SourceIp="10.0.0.5",
            SourcePort=50_000,
            DestinationIp="203.0.113.9",
            DestinationPort=443,
            DestinationHostname="needle.example",
        ),
        host.of(
            busy,
            3,
            6,
            Protocol="udp",
            Initiated="true",
            SourceIp="fe80::5",
            SourcePort=50_001,
            DestinationIp="2001:db8::9",
            DestinationPort=53,
        ),
        host.record(
            10, busy.started_s + 7, GrantedAccess="0x1010", CallTrace="x", **source, **target
        ),
        host.record(8, busy.started_s + 8, StartModule="C:\\k.dll", **source, **target),
        host.of(busy, 27, 9, TargetFilename="C:\\stopped.exe", Hashes=hashes, User="CORP\\ann"),
        *(host.of(busy, 11, 10 + n, TargetFilename=f"C:\\many\\{n}.txt") for n in range(40)),
        host.of(busy, 11, 60, TargetFilename="C:\\late\\needle.txt"),
    ]
    return Busy(host, busy, quiet, active, siblings, group_id, records)


@pytest.fixture(scope="module")
def sent_story(server: Server) -> Busy:
    group_id, secret = open_group(server, "shapes")
    tale = story("shapes.corp.example", group_id)
    with server.client(Authorization=f"Bearer {secret}") as client:
        answer = client.post("/api/v1/ingest", json=tale.records)
    assert answer.json()["rejected"] == 0, answer.text
    return tale


@pytest.fixture(scope="module")
def found(analyst: httpx.Client, sent_story: Busy) -> dict[str, Any]:
    query = f"process_name:busy.exe hostname:{sent_story.host.name}"
    (one,) = analyst.get("/api/v1/process", params={"q": query}).json()["results"]
    return dict(one)


def get(client: httpx.Client, path: str, **parameters: Any) -> dict[str, Any]:
    answer = client.get(path, params=parameters)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


# --- summaries (2.4) --------------------------------------------------------------------


def test_a_summary_has_process_parent_siblings_and_children(
    analyst: httpx.Client, found: dict[str, Any], sent_story: Busy
) -> None:
    body = get(analyst, f"/api/v1/process/{found['id']}/0")
    assert set(body) == {"process", "parent", "siblings", "children"}
    for one in (body["process"], body["parent"], *body["siblings"], *body["children"]):
        assert set(SUMMARY) <= set(one)
        assert not [name for name in SUMMARY if one[name] is None]
    for one in (*body["siblings"], *body["children"]):
        assert set(CHILD.split()) <= set(one)
    assert [one["cmdline"] for one in body["children"]] == ["quiet.exe /q", "active.exe"]
    assert [one["cmdline"] for one in body["siblings"]] == [f"sib {n}" for n in range(15)]
    assert body["parent"]["process_name"] == "top.exe"


def test_children_are_as_many_as_are_asked_for(
    analyst: httpx.Client, found: dict[str, Any]
) -> None:
    top = found["parent_id"]
    asked = [({}, 15), ({"children": 3}, 3), ({"children": 0}, 0), ({"children": 50}, 21)]
    for parameters, count in asked:
        assert len(get(analyst, f"/api/v1/process/{top}/0", **parameters)["children"]) == count


def test_the_flat_summary_sums_the_counts_of_all_segments(
    analyst: httpx.Client, found: dict[str, Any]
) -> None:
    whole = get(analyst, f"/api/v2/process/{found['id']}/0")
    assert set(SUMMARY) <= set(whole)
    assert {kind: whole[f"{kind}_count"] for kind in COUNTED} == {
        "filemod": 45,
        "modload": 1,
        "regmod": 4,
        "netconn": 2,
        "childproc": 3,
        "crossproc": 2,
        "processblock": 1,
    }
    parts = get(analyst, f"/api/v1/process/{found['id']}/segment")["process"]["segments"]
    assert {kind: sum(one["event_counts"][kind] for one in parts) for kind in COUNTED} == {
        kind: whole[f"{kind}_count"] for kind in COUNTED
    }


# --- segments (2.5) ---------------------------------------------------------------------


def test_segments_have_times_counts_and_readable_ids(
    analyst: httpx.Client, found: dict[str, Any]
) -> None:
    body = get(analyst, f"/api/v1/process/{found['id']}/segment")
    assert set(body) == {"process", "elapsed"}
    assert isinstance(body["elapsed"], float)
    for one in body["process"]["segments"]:
        assert {"last_server_update", "event_counts", "unique_id", "last_update"} <= set(one)
        assert re.fullmatch(JSON_TIME, one["last_update"])
        assert re.fullmatch(JSON_TIME, one["last_server_update"])
        assert (len(one["unique_id"]), one["unique_id"][:36]) == (49, found["id"])
        assert int(one["unique_id"][37:], 16) == one["segment_id"]
        assert set(one["event_counts"]) == set(COUNTED)


# --- events (2.6) -----------------------------------------------------------------------

FORMS = {
    "filemod": rf"[1248]\|{TEXT_TIME}\|[^|]+\|({MD5})?\|\d*\|(true|false)",
    "modload": rf"{TEXT_TIME}\|{MD5}\|[^|]+",
    "regmod": rf"[1248]\|{TEXT_TIME}\|[^|]+\|(true|false)",
    "netconn": rf"{TEXT_TIME}\|-?\d+\|\d+\|(6|17)\|[^|]*\|(true|false)",
    "childproc": rf"{TEXT_TIME}\|{UNIQUE}\|({MD5})?\|[^|]*\|\d+\|(true|false)\|(true|false)",
    "crossproc": rf"(RemoteThread|ProcessOpen)\|{TEXT_TIME}\|{UNIQUE}\|({MD5})?\|[^|]*"
    r"\|[12]?\|\d*\|(true|false)\|(true|false)",
}
"""docs/api-objects.md#process-events and docs/clients.md#event-lists: what stands between the pipes
of a string."""


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_every_string_has_its_fields(
    analyst: httpx.Client, found: dict[str, Any], version: int
) -> None:
    body = get(analyst, f"/api/v{version}/process/{found['id']}/0/event")
    assert set(body) == {"process", "elapsed", "total_events", "incomplete_events"}
    process = body["process"]
    assert set(SUMMARY) <= set(process)
    assert (process["block_type"], process["os_type"]) == (0, "windows")
    for kind in COUNTED:
        entries = process[f"{kind}_complete"]
        assert len(entries) == process[f"{kind}_count"] > 0
        for entry in entries:
            if isinstance(entry, str) and kind in FORMS:
                assert re.fullmatch(FORMS[kind], entry), entry
    strings = {kind for kind in COUNTED if isinstance(process[f"{kind}_complete"][0], str)}
    objects = {2: {"netconn"}, 3: {"netconn", "childproc"}, 4: {"netconn", "childproc"}}
    assert set(COUNTED) - strings == objects.get(version, set())


def test_connections_are_objects_with_every_member(
    analyst: httpx.Client, found: dict[str, Any]
) -> None:
    path = "/api/v{}/process/" + found["id"] + "/0/event"
    second, fourth = (
        get(analyst, path.format(version))["process"]["netconn_complete"] for version in (2, 4)
    )
    members = {
        "domain",
        "proto",
        "local_port",
        "timestamp",
        "local_ip",
        "direction",
        "remote_port",
        "remote_ip",
    }
    assert all(set(one) == members for one in (*second, *fourth))
    assert [one["remote_ip"] for one in second] == [-889_163_511, 0]
    assert [one["remote_ip"] for one in fourth] == ["203.0.113.9", "2001:db8::9"]
    assert [(one["proto"], one["direction"]) for one in fourth] == [(6, "true"), (17, "true")]


def test_children_are_objects_with_every_member(
    analyst: httpx.Client, found: dict[str, Any]
) -> None:
    children = get(analyst, f"/api/v4/process/{found['id']}/0/event")["process"][
        "childproc_complete"
    ]
    members = {
        "userName",
        "processId",
        "start",
        "end",
        "commandLine",
        "pid",
        "is_suppressed",
        "is_tampered",
        "path",
        "type",
        "md5",
    }
    assert all(set(one) == members for one in children)
    assert sorted((one["type"], one["pid"]) for one in children) == [
        ("end", 700),
        ("start", 700),
        ("start", 800),
    ]
    assert {(one["commandLine"], one["userName"]) for one in children} == {("", "")}
    for one in children:
        assert re.fullmatch(JSON_TIME, one[one["type"]])


def test_signatures_of_modules_come_with_the_events(
    analyst: httpx.Client, found: dict[str, Any]
) -> None:
    process = get(analyst, f"/api/v4/process/{found['id']}/0/event")["process"]
    assert process["binaries"] == {
        "AE" * 16: {"digsig_result": "Signed", "digsig_publisher": "Vendor|Inc"}
    }


def test_pipes_inside_values_never_make_a_field(
    analyst: httpx.Client, found: dict[str, Any]
) -> None:
    process = get(analyst, f"/api/v1/process/{found['id']}/0/event")["process"]
    paths = {one.split("|")[2] for one in process["filemod_complete"]}
    assert {r"C:\made%7Cit.txt", r"C:\gone%257C.txt"} <= paths


# --- suppressed children ----------------------------------------------------------------


def test_a_group_that_suppresses_shows_idle_children_with_user_and_command_line(
    analyst: httpx.Client, server: Server, found: dict[str, Any], sent_story: Busy
) -> None:
    def children(version: int) -> list[Any]:
        path = f"/api/v{version}/process/{found['id']}/0/event"
        return list(get(analyst, path)["process"]["childproc_complete"])

    plain, texts = children(3), children(2)
    with state_of(server) as database:
        groups.suppress_children(database, sent_story.group_id, True)
    try:
        marked = children(3)
        quiet = [one for one in marked if one["is_suppressed"]]
        assert {one["pid"] for one in quiet} == {sent_story.quiet.pid}
        assert {(one["commandLine"], one["userName"]) for one in quiet} == {
            ("quiet.exe /q", "CORP\\ann")
        }
        assert [one for one in marked if not one["is_suppressed"]] == [
            one for one in plain if one["pid"] != sent_story.quiet.pid
        ]
        assert children(2) == texts
        summary = get(analyst, f"/api/v1/process/{found['id']}/0")
        assert [one["is_suppressed"] for one in summary["children"]] == [True, False]
        for child in summary["children"]:
            asked = {
                "parent_guid": found["id"],
                "childproc_guid": child["id"],
                "childproc_md5": child["process_md5"],
            }
            status = get(analyst, "/api/v6/process/suppression_status", **asked)
            assert status == {"is_suppressed": child["is_suppressed"], "timeout": False}
    finally:
        with state_of(server) as database:
            groups.suppress_children(database, sent_story.group_id, False)
    assert wait_for(lambda: children(3), plain) == plain


# --- preview (2.7) ----------------------------------------------------------------------

PREVIEW = (
    "process_md5",
    "sensor_id",
    "group",
    "process_name",
    "path",
    "last_update",
    "start",
    "hostname",
    "id",
    "segment_id",
    "unique_id",
    "cmdline",
    "parent_name",
    "segment",
    "os_type",
)


def test_a_preview_has_totals_and_some_of_each_list(
    analyst: httpx.Client, found: dict[str, Any]
) -> None:
    body = get(analyst, f"/api/v1/process/{found['id']}/0/preview")
    assert set(PREVIEW) <= set(body)
    assert "PREPREPRE" not in str(body)
    for kind in COUNTED:
        assert isinstance(body[f"{kind}_count"], int)
        shown = body[f"{kind}_complete"]
        assert len(shown) == min(body[f"{kind}_count"], 30)
        assert all(re.fullmatch(FORMS.get(kind, ".*"), one) for one in shown)


def test_what_a_query_finds_comes_first_and_is_marked(
    analyst: httpx.Client, found: dict[str, Any]
) -> None:
    body = get(analyst, f"/api/v1/process/{found['id']}/{found['segment_id']}/preview", q="needle*")
    mark = "PREPREPREneedle"
    assert body["cmdline"].startswith(r"busy.exe --all PREPREPRE")
    assert [mark in one for one in body["filemod_complete"]].count(True) == 1
    assert "late" in next(one for one in body["filemod_complete"] if mark in one)
    assert len(body["filemod_complete"]) == 30
    assert mark in body["modload_complete"][0]
    assert [mark in one for one in body["regmod_complete"]].count(True) == 1
    assert any(mark in one for one in body["netconn_complete"])
    assert (body["filemod_count"], body["id"]) == (45, found["id"])


def test_a_field_is_marked_where_it_was_asked_for(
    analyst: httpx.Client, found: dict[str, Any]
) -> None:
    path = f"/api/v1/process/{found['id']}/1/preview"
    body = get(analyst, path, q="filemod:needle.txt -regmod:needle netconn_count:[1 TO *]")
    (only,) = [one for one in body["filemod_complete"] if "PREPREPRE" in one]
    assert "PREPREPREneedle.txtPOSTPOSTPOST" in only
    assert "PREPREPRE" not in str(body["regmod_complete"])


@pytest.mark.parametrize("query", ["(", "no_such_field:x", "start:[zzz TO *]"])
def test_a_preview_refuses_what_a_search_refuses(
    analyst: httpx.Client, found: dict[str, Any], query: str
) -> None:
    answer = analyst.get(f"/api/v1/process/{found['id']}/0/preview", params={"q": query})
    assert (answer.status_code, answer.json()["reason"]) == (400, "query_malformed_syntax")


# --- the rest of 4.1 --------------------------------------------------------------------


def test_feeds_know_nothing_yet(analyst: httpx.Client, found: dict[str, Any]) -> None:
    body = get(analyst, f"/api/v1/process/{found['id']}/1/threat_intel_hits")
    assert (body["alliance_hits"], set(body)) == ({}, {"alliance_hits", "elapsed"})
    assert analyst.get(f"/api/v1/process/{found['id']}/7/threat_intel_hits").status_code == 404


def test_how_common_a_program_is_has_three_numbers(
    analyst: httpx.Client, found: dict[str, Any]
) -> None:
    asked = {"cb.freqver": 1, "name": "md5", "md5": found["process_md5"]}
    body = get(analyst, "/api/v1/process/host/count", **asked)
    assert set(body) == {"hostCount", "globalCount", "numDocs"}
    assert (body["hostCount"], body["globalCount"]) == (1, 1)
    assert body["numDocs"] > 1

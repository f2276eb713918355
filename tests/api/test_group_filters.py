"""Options of a sensor group that leave telemetry out: `event_exclusions`, `filter_known_dlls`."""

import itertools
import json
from typing import Any

import httpx
import pytest

from tests.support.sensor import enrol, secret_of
from tests.support.served import Server, open_group, wait_for
from tests.support.sysmon import Host

Json = dict[str, Any]
SYSTEM = "C:\\Windows\\System32\\"
BUILD, TOOL = "C:\\build\\cc.exe", "C:\\tools\\run.exe"


@pytest.fixture
def group(server: Server, request: pytest.FixtureRequest) -> tuple[int, str]:
    return open_group(server, f"leaves out: {request.node.name}")


_numbers = itertools.count(1)


class Windows:
    """A host of a group with a build and another tool, of which each event is told anew."""

    def __init__(self, server: Server, analyst: httpx.Client, token: str) -> None:
        self.host = Host(f"leaves-out-{next(_numbers)}.example")
        self.server, self.analyst, self.token = server, analyst, token
        self.parent = self.host.process(900, "C:\\Windows\\explorer.exe")

    def tells(self, image: str, pid: int) -> Json:
        """The process as it is found after it did one thing of each kind."""
        process = self.host.process(pid, image, after_s=1)
        events = [
            self.host.created(process, self.parent),
            self.host.of(process, 11, 2, TargetFilename="C:\\out\\a.docx"),
            self.host.of(process, 11, 2, TargetFilename="C:\\out\\a.exe"),
            self.host.of(process, 7, 3, ImageLoaded=f"{SYSTEM}kernel32.dll"),
            self.host.of(process, 7, 3, ImageLoaded=f"{SYSTEM}amsi.dll"),
            self.host.of(process, 7, 3, ImageLoaded="C:\\build\\kernel32.dll"),
            self.host.of(process, 13, 4, TargetObject="HKLM\\Software\\x", Details="1"),
            self.host.of(
                process,
                3,
                5,
                Protocol="tcp",
                Initiated="true",
                SourceIp="10.0.0.5",
                SourcePort=50_000 + pid,
                DestinationIp="203.0.113.9",
                DestinationPort=443,
            ),
        ]
        with self.server.client(Authorization=f"Bearer {self.token}") as sender:
            answer = sender.post("/api/v1/ingest", json=events).json()
        assert answer["rejected"] == 0, answer
        query = f"hostname:{self.host.name} process_pid:{pid}"
        (found,) = self.analyst.get("/api/v1/process", params={"q": query}).json()["results"]
        return dict(found)

    def counts(self, image: str, pid: int) -> tuple[int, int, int, int]:
        found = self.tells(image, pid)
        kinds = ("filemod", "modload", "regmod", "netconn")
        files, modules, keys, connections = (found[f"{kind}_count"] for kind in kinds)
        return files, modules, keys, connections


def put(analyst: httpx.Client, group_id: int, **options: Any) -> httpx.Response:
    return analyst.put(f"/api/v1/group/{group_id}", json=options)


@pytest.mark.parametrize(
    ("ignored", "counts"),
    [
        (["regmod"], (2, 3, 0, 1)),
        (["modload", "netconn"], (2, 0, 1, 0)),
        (["filemod"], (0, 3, 1, 1)),
        (["filemod-non-binary"], (1, 3, 1, 1)),
    ],
)
def test_events_that_a_group_excludes_of_programs_at_paths_are_left_out(
    server: Server,
    analyst: httpx.Client,
    group: tuple[int, str],
    ignored: list[str],
    counts: tuple[int, ...],
) -> None:
    group_id, token = group
    host = Windows(server, analyst, token)
    assert host.counts(BUILD, 1_001) == (2, 3, 1, 1)
    exclusions = [{"eventsToIgnore": ignored, "paths": ["c:\\BUILD\\*"]}]
    assert "warnings" not in put(analyst, group_id, event_exclusions=exclusions).json()
    assert host.counts(BUILD, 1_002) == counts
    assert host.counts(TOOL, 1_003) == (2, 3, 1, 1)
    other = Windows(server, analyst, server.ingest_token)
    assert other.counts(BUILD, 1_004) == (2, 3, 1, 1)
    put(analyst, group_id, event_exclusions=[])
    assert host.counts(BUILD, 1_005) == (2, 3, 1, 1)


def test_known_dlls_are_left_out_and_processes_say_so(
    server: Server, analyst: httpx.Client, group: tuple[int, str]
) -> None:
    group_id, token = group
    host = Windows(server, analyst, token)
    before = host.tells(TOOL, 1_101)
    assert (before["modload_count"], before["filtering_known_dlls"]) == (3, False)
    assert "warnings" not in put(analyst, group_id, filter_known_dlls=True).json()
    after = host.tells(TOOL, 1_102)
    assert (after["modload_count"], after["filtering_known_dlls"]) == (2, True)
    events = analyst.get(f"/api/v4/process/{after['id']}/0/event").json()["process"]
    paths = {text.split("|")[2] for text in events["modload_complete"]}
    assert paths == {f"{SYSTEM}amsi.dll", "C:\\build\\kernel32.dll"}
    metadata = analyst.get(f"/api/v6/process/{after['id']}/metadata").json()["process_metadata"]
    assert metadata["filtering_known_dlls"] is True
    query = f"hostname:{host.host.name} filtering_known_dlls:"
    for value, found in (("true", after), ("false", before)):
        results = analyst.get("/api/v1/process", params={"q": query + value}).json()["results"]
        assert found["id"] in {one["id"] for one in results}
        assert {one["filtering_known_dlls"] for one in results} == {found["filtering_known_dlls"]}
    put(analyst, group_id, filter_known_dlls=False)
    again = host.tells(TOOL, 1_103)
    assert (again["modload_count"], again["filtering_known_dlls"]) == (3, False)


def test_a_sensor_is_told_what_its_group_excludes(
    server: Server, analyst: httpx.Client, group: tuple[int, str]
) -> None:
    group_id, _ = group
    exclusions = [{"eventsToIgnore": ["filemod", "process-info"], "paths": ["/usr/bin/make"]}]
    (warning,) = put(analyst, group_id, event_exclusions=exclusions).json()["warnings"]
    assert warning.startswith("event_exclusions of process-info: ")
    with server.client() as client:
        sensor = enrol(client, "excludes.example", secret_of(server, group_id))
        (reported,) = sensor.check_in().json()["filters"]["filters"]
        assert (reported["path_filters"], reported["filter_all_events"]) == (
            ["/usr/bin/make"],
            False,
        )
        assert reported["filemod_filters"]
        assert not reported["netconn_filters"]
        version = sensor.check_in().json()["filters"]["version"]
        put(analyst, group_id, event_exclusions=[])

        def filters() -> Any:
            return sensor.check_in(filter_version=version).json()["filters"]

        assert wait_for(lambda: (filters() or {}).get("filters"), []) == []
    listed = analyst.get("/api/v1/ingress_approvedlist").json()
    assert not [one for one in listed if one["id"].startswith(f"group-{group_id}.")]


@pytest.mark.parametrize("path", ["", "^/usr", "regex:.*", "/x$", "a\nb", 7])
def test_what_is_no_path_is_refused_with_its_place(
    analyst: httpx.Client, group: tuple[int, str], path: Any
) -> None:
    exclusions = [{"eventsToIgnore": ["netconn"], "paths": [path]}]
    text = json.dumps({"event_exclusions": exclusions})
    answer = analyst.put(f"/api/v1/group/{group[0]}", content=text)
    assert (answer.status_code, "paths" in answer.json()["message"]) == (400, True)


def test_an_exclusion_without_paths_or_events_leaves_nothing_out(
    server: Server, analyst: httpx.Client, group: tuple[int, str]
) -> None:
    group_id, token = group
    exclusions = [{"eventsToIgnore": ["netconn"], "paths": []}, {"paths": ["*"]}]
    assert put(analyst, group_id, event_exclusions=exclusions).status_code == 200
    assert Windows(server, analyst, token).counts(BUILD, 1_201) == (2, 3, 1, 1)


def test_more_paths_than_a_group_may_have_are_refused(
    analyst: httpx.Client, group: tuple[int, str]
) -> None:
    exclusions = [{"eventsToIgnore": ["netconn"], "paths": ["/a/b"] * 501}] * 2
    assert put(analyst, group[0], event_exclusions=exclusions).status_code == 400


def test_how_critical_a_group_is_has_an_effect_and_no_warning(
    analyst: httpx.Client, group: tuple[int, str]
) -> None:
    assert "warnings" not in put(analyst, group[0], alert_criticality=5).json()

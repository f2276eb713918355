"""Reports of sources about their host in the answers of a running server: blocks and their
outcomes, suppressed children, tampering, file types, and one connection in two logs."""

import json
from typing import Any

import httpx
import pytest

from tests.support.sensor import Event, PlayedSensor, enrol, event, secret_of
from tests.support.served import Server
from tests.support.sysmon import Host, Process
from vedette.clock import SystemClock
from vedette.model.fields import BLOCK_STATUSES

Json = dict[str, Any]
PID = 700


@pytest.fixture(scope="module")
def base_us() -> int:
    """When the shell of every host here began."""
    return SystemClock().now_us() - 60_000_000


@pytest.fixture(scope="module")
def plain(server: Server) -> Any:
    with server.client() as client:
        yield client


class Shell:
    """A sensor with a shell, of which its events tell."""

    def __init__(self, client: httpx.Client, server: Server, name: str, base_us: int) -> None:
        self.sensor: PlayedSensor = enrol(client, name, secret_of(server))
        self.base_us = base_us
        self.begun = self.of("start", 0, path="/bin/bash", cmdline="bash -l")

    def of(self, kind: str, after_us: int, **members: Any) -> Event:
        return event(kind, self.base_us + after_us, PID, self.base_us, **members)

    def child(self, kind: str, after_us: int, **members: Any) -> Event:
        """An event of a child that began a second after the shell."""
        child_us = self.base_us + 1_000_000
        parent = {"ppid": PID, "parent_start_us": self.base_us, "parent_path": "/bin/bash"}
        return event(kind, child_us + after_us, PID + 1, child_us, **parent, **members)

    def report(self, *events: Event) -> None:
        answer = self.sensor.send([self.begun, *events])
        assert (answer.status_code, answer.json()["rejected"]) == (200, []), answer.text


def search(analyst: httpx.Client, query: str) -> list[Json]:
    answer = analyst.get("/api/v1/process", params={"q": query})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["results"])


def one(analyst: httpx.Client, query: str) -> Json:
    (found,) = search(analyst, query)
    return found


def events_of(analyst: httpx.Client, process: Json, version: int = 4) -> Json:
    answer = analyst.get(f"/api/v{version}/process/{process['id']}/0/event")
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["process"])


@pytest.mark.parametrize(("number", "status"), list(enumerate(BLOCK_STATUSES)))
def test_each_outcome_of_a_block_is_shown_and_searched_for(
    analyst: httpx.Client,
    plain: httpx.Client,
    server: Server,
    base_us: int,
    number: int,
    status: str,
) -> None:
    name = f"outcome-{number}.example"
    shell = Shell(plain, server, name, base_us)
    reported = {"path": "/opt/evil", "md5": "9b" * 16, "result": status, "error": number}
    shell.report(shell.of("block", 5_000_000, **reported))
    found = one(analyst, f"hostname:{name} blocked_status:{status}")
    (text,) = events_of(analyst, found)["processblock_complete"]
    block = json.loads(text)
    assert (block["block_result"], block["block_error"]) == (number, number)
    assert block["blocked_path"] == "/opt/evil"
    others = [other for other in BLOCK_STATUSES if other != status]
    assert not search(
        analyst, f"hostname:{name} ({' OR '.join(f'blocked_status:{one}' for one in others)})"
    )


def test_where_nobody_tells_what_became_of_a_block_there_is_no_outcome(
    analyst: httpx.Client, plain: httpx.Client, server: Server, base_us: int
) -> None:
    shell = Shell(plain, server, "no-outcome.example", base_us)
    ends = {"local_ip": "10.0.0.5", "local_port": 4, "remote_ip": "203.0.113.7", "remote_port": 80}
    shell.report(shell.of("net", 9, direction="out", proto=6, blocked=True, **ends))
    (text,) = events_of(analyst, one(analyst, "hostname:no-outcome.example processblock_count:1"))[
        "processblock_complete"
    ]
    assert json.loads(text)["block_result"] is None
    assert not search(analyst, "hostname:no-outcome.example blocked_status:*")


def test_a_child_that_its_sensor_suppressed_is_shown_with_its_parent_alone(
    analyst: httpx.Client, plain: httpx.Client, server: Server, base_us: int
) -> None:
    shell = Shell(plain, server, "suppressing.example", base_us)
    shell.report(
        shell.child(
            "start",
            0,
            path="/bin/true",
            cmdline="true --quiet",
            user="ann",
            md5="ab" * 16,
            suppressed=True,
        ),
        shell.child("end", 9_000, suppressed=True),
    )
    parent = one(analyst, "hostname:suppressing.example")  # and no other process
    assert parent["process_name"] == "bash"
    begin, end = events_of(analyst, parent)["childproc_complete"]
    assert (begin["is_suppressed"], end["is_suppressed"]) == (True, True)
    assert (begin["commandLine"], begin["userName"]) == ("true --quiet", "ann")
    summary = analyst.get(f"/api/v1/process/{parent['id']}/0").json()
    (child,) = summary["children"]
    assert (child["is_suppressed"], child["path"]) == (True, "/bin/true")
    assert analyst.get(f"/api/v1/process/{child['id']}/0").status_code == 404
    (node,) = analyst.get(f"/api/v1/process/{parent['id']}/tree").json()["nodes"][1:]
    assert (node["missing"], node["is_suppressed"]) == ("suppressed", True)


def test_tampering_that_a_sensor_tells_is_shown_with_the_event(
    analyst: httpx.Client, plain: httpx.Client, server: Server, base_us: int
) -> None:
    shell = Shell(plain, server, "tampered.example", base_us)
    agent = {"pid": 9, "start_us": base_us - 5, "path": "/usr/bin/vedette-sensor"}
    path = "/var/lib/vedette-sensor/bans.json"
    shell.report(
        shell.of("file", 10, action="delete", path=path, tamper=True),
        shell.of("file", 20, action="delete", path="/tmp/x"),
        shell.of("proc", 30, action="kill", target=agent, tamper=True),
    )
    events = events_of(analyst, one(analyst, "hostname:tampered.example process_name:bash"))
    by_path = {text.split("|")[2]: text.split("|")[5] for text in events["filemod_complete"]}
    assert by_path == {path: "true", "/tmp/x": "false"}
    (opened,) = events["crossproc_complete"]
    assert opened.split("|")[7] == "true"


@pytest.mark.parametrize(
    ("path", "file_type"),
    [
        ("/home/ann/plan.docx", "17"),
        ("/home/ann/plan.PDF", "48"),
        ("/home/ann/all.zip", "64"),
        ("/home/ann/x", ""),
    ],
)
def test_the_type_of_a_file_is_that_of_its_ending(
    analyst: httpx.Client,
    plain: httpx.Client,
    server: Server,
    base_us: int,
    path: str,
    file_type: str,
) -> None:
    name = f"ending-{path[-3:].strip('/n').lower()}.example"
    shell = Shell(plain, server, name, base_us)
    shell.report(shell.of("file", 10, action="create", path=path))
    (text,) = events_of(analyst, one(analyst, f"hostname:{name}"))["filemod_complete"]
    assert text.split("|")[4] == file_type


def connection_of_security(host: Host, process: Process, at_s: float) -> Json:
    record = host.record(
        5156,
        process.started_s + at_s,
        ProcessID=process.pid,
        Direction="%%14593",
        Protocol=6,
        Application="\\device\\harddiskvolume2\\tool.exe",
        SourceAddress="10.0.0.5",
        SourcePort=50_000,
        DestAddress="203.0.113.9",
        DestPort=443,
    )
    record["winlog"] |= {
        "channel": "Security",
        "provider_name": "Microsoft-Windows-Security-Auditing",
    }
    return record


@pytest.mark.parametrize("is_first", [True, False])
def test_one_connection_that_two_logs_tell_in_two_requests_counts_once(
    analyst: httpx.Client, sender: httpx.Client, is_first: bool
) -> None:
    host = Host(f"two-logs-{is_first}.example".lower())
    tool = host.process(4_660, "C:\\tool.exe", after_s=1)
    created = host.created(tool, host.process(900, "C:\\Windows\\explorer.exe"))
    reported = [
        host.of(
            tool,
            3,
            10.2,
            Protocol="tcp",
            Initiated="true",
            SourceIp="10.0.0.5",
            SourcePort=50_000,
            DestinationIp="203.0.113.9",
            DestinationPort=443,
        ),
        connection_of_security(host, tool, 10),
    ]
    for record in [created, *(reported if is_first else reversed(reported))]:
        assert sender.post("/api/v1/ingest", json=[record]).json()["stored"] == 1
    found = one(analyst, f"hostname:{host.name} process_name:tool.exe")
    assert found["netconn_count"] == 1
    (connection,) = events_of(analyst, found)["netconn_complete"]
    assert (connection["remote_ip"], connection["remote_port"]) == ("203.0.113.9", 443)
    assert search(analyst, f"hostname:{host.name} netconn_count:2") == []

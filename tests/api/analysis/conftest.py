"""A server of its own with one process in three segments, with events of every kind.

Rolling the time partition ends a window, so that segments need not be waited for.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.served import Server, start_server
from tests.support.sysmon import Host, Process

Json = dict[str, Any]

KEY = "HKLM\\SOFTWARE\\Vendor\\Run"


@dataclass(frozen=True)
class Analysed:
    """The process, and who reads it."""

    server: Server
    client: httpx.Client
    host: Host
    process: Process
    child: Process
    id: str
    segments: list[int]

    def send(self, *records: Json) -> None:
        with self.server.sender() as sender:
            answer = sender.post("/api/v1/ingest", json=list(records))
        assert answer.json()["rejected"] == 0, answer.text

    def stream(self, segment: int | str = 1, **body: Any) -> "Stream":
        asked = {"process_id": self.id, "segment_id": segment, **body}
        answer = self.client.post("/api/v6/process/stream", json=asked)
        assert answer.status_code == 200, answer.text
        return Stream(self.client, answer.json())

    def get(self, rest: str, **query: Any) -> httpx.Response:
        return self.client.get(f"/api/v6/process/{self.id}/{rest}", params=query)


@dataclass
class Stream:
    """A stream as a client holds it: `body` is the newest answer."""

    client: httpx.Client
    body: Json

    @property
    def path(self) -> str:
        return f"/api/v6/process/stream/{self.body['stream_id']}"

    def read(self, **query: Any) -> Json:
        answer = self.client.get(self.path, params=query)
        assert answer.status_code == 200, answer.text
        self.body = answer.json()
        return self.body

    def filter(self, criteria: Json, **query: Any) -> Json:
        answer = self.client.patch(self.path, params=query, json={"criteria": criteria})
        assert answer.status_code == 200, answer.text
        self.body = answer.json()
        return self.body

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.body["events"]]

    @property
    def status(self) -> tuple[str, str]:
        return self.body["status_fw"], self.body["status_bw"]


def records_by_segment(host: Host, process: Process, child: Process) -> list[list[Json]]:
    """The records of each segment."""
    md5 = f"MD5={'AB' * 16},SHA256={'AB' * 32}"
    return [
        [
            host.created(process, host.process(900, "C:\\Windows\\explorer.exe")),
            host.of(
                process,
                7,
                1,
                ImageLoaded="C:\\Windows\\amsi.dll",
                Signed="true",
                Signature="Microsoft Windows",
                SignatureStatus="Valid",
                Hashes=md5,
            ),
            host.of(process, 11, 2, TargetFilename="C:\\Temp\\up.exe"),
        ],
        [
            host.of(
                process,
                3,
                10,
                Protocol="tcp",
                Initiated="true",
                SourceIp="10.0.0.5",
                SourcePort=50000,
                DestinationIp="203.0.113.9",
                DestinationPort=443,
                DestinationHostname="c2.evil.example",
            ),
            host.of(process, 13, 11, EventType="SetValue", TargetObject=KEY, Details="up.exe"),
            host.created(child, process),
        ],
        [
            host.of(process, 27, 70, TargetFilename="C:\\Temp\\bad.exe", Hashes=f"MD5={'CD' * 16}"),
            host.record(
                10,
                process.started_s + 80,
                SourceProcessGUID=process.guid,
                SourceProcessId=process.pid,
                SourceImage=process.image,
                TargetProcessGUID=child.guid,
                TargetProcessId=child.pid,
                TargetImage=child.image,
                GrantedAccess="0x1010",
            ),
        ],
    ]


def launch_analysed(data: Path, *flags: str) -> Iterator[Analysed]:
    for server in start_server(data, *flags):
        with server.sender() as sender, server.analyst() as client:
            host = Host("analysed.corp.example")
            process = host.process(1100, "C:\\Tools\\busy.exe", "busy.exe --all", 20)
            child = host.process(1200, "C:\\Windows\\whoami.exe", "whoami /all", 40)
            for number, records in enumerate(records_by_segment(host, process, child)):
                if number:
                    rolled = client.post("/api/v1/storage/events/new_partition")
                    assert rolled.status_code == 200
                answer = sender.post("/api/v1/ingest", json=records)
                assert answer.json()["rejected"] == 0, answer.text
            query = {"q": "process_name:busy.exe", "sort": "last_server_update asc"}
            rows = client.get("/api/v1/process", params=query).json()["results"]
            segments = sorted(row["segment_id"] for row in rows)
            assert len(segments) == 3
            yield Analysed(server, client, host, process, child, rows[0]["id"], segments)


@pytest.fixture(scope="package")
def analysed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Analysed]:
    """Read by all tests, changed by none."""
    yield from launch_analysed(tmp_path_factory.mktemp("analysed"))


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Analysed]:
    """For tests that send more, or wait."""
    yield from launch_analysed(tmp_path, "--set", "stream_ttl_s=3")

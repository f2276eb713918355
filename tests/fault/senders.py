"""Senders that keep what is not acknowledged, and send it again until it is."""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import httpx

from tests.support.served import Server, open_group
from tests.support.sysmon import Host, Process
from tests.support.threads import at_work

RECORDS_PER_BATCH = 40
PAUSE_S = 0.05
FIRST_ANSWER_S = 180


@dataclass
class Sender:
    """Reports what one process of one host does, batch by batch: files it writes and, last in
    each batch, a service it installs (which makes rows in two tables).

    With `numbered` off the records have no number, so only the whole request can be recognised.
    """

    name: str
    numbered: bool
    batch: int = 0
    """The batch that is under way; all before it are acknowledged."""
    sent_again: int = 0
    refused: list[str] = field(default_factory=list)
    """Answers that no sender should get."""

    def __post_init__(self) -> None:
        self.host = Host(self.name)
        self.process: Process = self.host.process(4_000, "C:\\writer.exe")
        self.body = self._body()

    def paths(self) -> list[str]:
        """Returns the paths of the files in acknowledged batches."""
        return [path for batch in range(self.batch) for path in self._paths(batch)]

    def deliver(self, client: httpx.Client) -> httpx.Response:
        """Sends the batch that is under way; goes on to the next when it was taken."""
        try:
            answer = client.post("/_bulk", content=self.body)
        except httpx.HTTPError:
            self.sent_again += 1
            raise
        if answer.status_code == 200 and not answer.json()["errors"]:
            self.batch += 1
            self.body = self._body()
        elif answer.status_code in (429, 503) and "retry-after" in answer.headers:
            self.sent_again += 1
        else:
            self.refused.append(f"{answer.status_code} {answer.text[:500]}")
        return answer

    def _paths(self, batch: int) -> list[str]:
        return [f"C:\\{self.name}\\{batch}-{n}.txt" for n in range(RECORDS_PER_BATCH)]

    def _body(self) -> bytes:
        records = [
            self.host.of(self.process, 11, number / 100, TargetFilename=path)
            for number, path in enumerate(self._paths(self.batch))
        ]
        records.append(self._service())
        if not self.numbered:
            for record in records:
                del record["winlog"]["record_id"]
        return b"".join(b'{"create":{}}\n' + json.dumps(one).encode() + b"\n" for one in records)

    def _service(self) -> dict[str, Any]:
        made = self.host.record(
            4697,
            self.process.started_s + 1,
            ServiceName=f"service-{self.batch}",
            ServiceFileName="C:\\evil.exe",
        )
        made["winlog"] |= {
            "channel": "Security",
            "provider_name": "Microsoft-Windows-Security-Auditing",
        }
        return made


def lasting_token(server: Server) -> str:
    """An ingest token that outlives the server; that of `server.json` does not."""
    return open_group(server, "Faults")[1]


@contextmanager
def sending(senders: list[Sender], server: Server, pause_s: float = 0.0) -> Iterator[None]:
    """All senders at work, each in its thread, until the block ends or the server does. The
    block begins once each has been answered. Without a pause after each batch they take all of
    the machine that they get."""
    answered = threading.Barrier(len(senders) + 1)

    def work(sender: Sender, stop: threading.Event) -> None:
        with server.sender() as client:
            while not _was_answered(sender, client) and not stop.is_set():
                stop.wait(PAUSE_S)
            answered.wait(FIRST_ANSWER_S)
            while not stop.is_set():
                try:
                    sender.deliver(client)
                    stop.wait(pause_s)
                except httpx.HTTPError:
                    stop.wait(PAUSE_S)

    with at_work(partial(work, sender) for sender in senders):
        answered.wait(FIRST_ANSWER_S)
        yield


def _was_answered(sender: Sender, client: httpx.Client) -> bool:
    """Whether there is an answer; on a busy machine the first may take longer than a client
    waits."""
    try:
        sender.deliver(client)
    except httpx.HTTPError:
        return False
    return True


def drain(senders: list[Sender], server: Server) -> None:
    """Every sender delivers the batch that is under way."""
    with server.sender() as client:
        for sender in senders:
            batch = sender.batch
            while sender.batch == batch and not sender.refused:
                sender.deliver(client)


def check_stored_once(senders: list[Sender], server: Server) -> None:
    """Everything acknowledged is there, and nothing twice, as the API reports it."""
    with server.analyst() as client:
        for sender in senders:
            assert sender.refused == []
            services = [f"service-{batch}" for batch in range(sender.batch)]
            _compare(f"files of {sender.name}", stored_paths(client, sender), sender.paths())
            _compare(f"services of {sender.name}", stored_services(client, sender), services)


def _compare(what: str, stored: list[str], expected: list[str]) -> None:
    have, want = Counter(stored), Counter(expected)
    lost, doubled = sorted((want - have).elements()), sorted((have - want).elements())
    assert (lost, doubled) == ([], []), f"{what}: lost {lost[:9]}, too many {doubled[:9]}"


def stored_paths(client: httpx.Client, sender: Sender) -> list[str]:
    process = process_of(client, f"hostname:{sender.name} process_name:writer.exe")
    return [line.split("|")[2] for line in _events(client, process, "filemod")]


def stored_services(client: httpx.Client, sender: Sender) -> list[str]:
    process = process_of(client, f"hostname:{sender.name} process_name:services.exe")
    return [line.split("|")[2].split("\\")[-2] for line in _events(client, process, "regmod")]


def process_of(client: httpx.Client, query: str) -> str:
    """The one process that a query finds, over however many segments."""
    answer = client.get("/api/v1/process", params={"q": query, "rows": 1000})
    assert answer.status_code == 200, answer.text
    ids = {row["id"] for row in answer.json()["results"]}
    assert len(ids) == 1, answer.text
    found: str = ids.pop()
    return found


def _events(client: httpx.Client, process: str, kind: str) -> list[str]:
    lines: list[str] = []
    while True:
        window = {"svc.event_start": len(lines), "svc.event_count": 10_000}
        answer = client.get(f"/api/v1/process/{process}/0/event", params=window)
        found = answer.json()["process"][f"{kind}_complete"]
        lines += found
        if not found:
            return lines

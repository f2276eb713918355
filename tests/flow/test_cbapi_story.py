"""The whole story of processes through the public client: what it counts is what the files hold.

Once for a recorded attack, where the recorded sets are present, and once for what the simulated
fleet sends. The other side of each comparison is the independent reader of the recorded tests.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.recorded.event_table import LISTS
from tests.recorded.expected import Expected, expect
from tests.recorded.lives import Key
from tests.recorded.raw import Raw, read_set
from tests.recorded.sets import NEEDED, archive
from tests.support.commands import done
from tests.support.served import Server, start_server
from vedette.simulate.day import iter_batches
from vedette.simulate.fleet import build_fleet

# cbapi 2.0 was written for older urllib3, attrdict and Python: what it warns of is its own.
pytestmark = pytest.mark.filterwarnings("ignore")

RECORDED = "m15_wmic_xsl"
START_US = 1_770_000_000_000_000
PROCESSES_MAX = 12
"""The client asks anew for everything that it does not find: some dozen requests a process."""


@dataclass(frozen=True)
class SentStory:
    """Records of one host, and the client of a server that received them."""

    cb: Any
    records: list[Raw]
    expected: Expected
    host: str
    sensor_id: int

    def processes(self) -> list[Key]:
        """Processes with a ProcessGuid, those with the most events first."""
        lists = self.expected.lists[self.host]
        named = [key for key in self.expected.processes[self.host] if key[0] == "guid"]
        return sorted(named, key=lambda key: (-lists[key].total(), key))

    def process(self, key: Key) -> Any:
        from cbapi.response import Process

        name = f"{self.sensor_id:08x}{key[1][8:]}"
        return self.cb.select(Process, name, max_children=1_000)

    def name(self, key: Key) -> str:
        return f"{self.sensor_id:08x}{key[1][8:]}"

    def lineage(self, key: Key) -> list[str]:
        """Ids of the ancestors, by the records of creations."""
        found: list[str] = []
        parents = self.expected.parents[self.host]
        while (above := parents.get(key)) is not None:
            found.append(self.name(above))
            key = above
        return found

    def offspring(self, key: Key) -> list[str]:
        """Ids of all descendants."""
        parents = self.expected.parents[self.host]
        below = [child for child, parent in parents.items() if parent == key]
        return [name for one in below for name in (self.name(one), *self.offspring(one))]


@pytest.fixture(scope="module", params=["generated", pytest.param("recorded", marks=NEEDED)])
def sent_story(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SentStory]:
    from cbapi.response import CbResponseAPI

    data = tmp_path_factory.mktemp("story")
    for server in start_server(data):
        records = _recorded(server) if request.param == "recorded" else _generated(server)
        certificate = str(server.certificate)
        cb = CbResponseAPI(url=server.url, token=server.token, ssl_cert_file=certificate)
        with server.analyst() as client:
            sensors = {
                one["computer_dns_name"].lower(): one["id"]
                for one in client.get("/api/v1/sensor").json()
            }
        expected = expect(records)
        host = max(expected.parents, key=lambda name: len(expected.parents[name]))
        yield SentStory(cb, records, expected, host, sensors[host])
        cb.session.session.close()


def _recorded(server: Server) -> list[Raw]:
    path = archive(RECORDED)
    _import(server.data, path)
    return list(read_set(path))


def _import(data: Path, path: Path) -> None:
    done("import", path, "--data", data)


def _generated(server: Server) -> list[Raw]:
    """An hour of a small fleet; only what Sysmon logs on Windows."""
    found: list[Raw] = []
    lines: list[bytes] = []
    fleet = build_fleet(1, 3)
    for batch in iter_batches(fleet, START_US, hours=1, events=6_000, stories=()):
        for line in batch.body.split(b"\n"):
            document = orjson.loads(line) if b'"winlog"' in line else {}
            log = document.get("winlog", {})
            if "Sysmon" in log.get("channel", ""):
                found.append(_raw(document, log))
                lines.append(line)
    with server.sender() as client:
        answer = client.post("/api/v1/ingest", content=b"\n".join(lines))
    assert answer.json()["rejected"] == 0, answer.text
    return found


def _raw(document: dict[str, Any], log: dict[str, Any]) -> Raw:
    return Raw(
        log["computer_name"].lower(),
        log["channel"],
        int(log["event_id"]),
        int(log["record_id"]),
        document["@timestamp"],
        0,
        log["event_data"],
        "",
    )


def test_every_list_of_every_process_has_the_events_of_the_file(sent_story: SentStory) -> None:
    total = 0
    for key in sent_story.processes()[:PROCESSES_MAX]:
        process = sent_story.process(key)
        counted = Counter(
            {
                "modload": len(list(process.all_modloads())),
                "filemod": len(list(process.all_filemods())),
                "regmod": len(list(process.all_regmods())),
                "netconn": len(list(process.netconns)),
                "crossproc": len(list(process.crossprocs)),
                "childproc": len(list(process.childprocs)),
            }
        )
        wanted = sent_story.expected.lists[sent_story.host][key]
        assert counted == Counter({name: wanted[name] for name in LISTS}), key
        total += counted.total()
    assert total > 300


class Walk:
    """Callback of the client for each process of a walk."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    def __call__(self, process: Any, depth: int) -> None:
        assert depth >= 0
        self.ids.append(process.id)


def test_parents_are_walked_to_the_top(sent_story: SentStory) -> None:
    walks = 0
    for key in sent_story.processes():
        wanted = sent_story.lineage(key)
        if not wanted or walks == PROCESSES_MAX:
            continue
        process = sent_story.process(key)
        assert [parent.id for parent in process.parents] == wanted
        walk = Walk()
        process.walk_parents(walk)
        assert walk.ids == wanted
        # The client counts the unknown process above the topmost one.
        assert process.depth == len(wanted) + 1
        walks += 1
    assert walks > 3


def test_children_are_walked_to_the_leaves(sent_story: SentStory) -> None:
    walks = 0
    for key in sent_story.processes():
        wanted = sent_story.offspring(key)
        if not wanted or walks == PROCESSES_MAX:
            continue
        walk = Walk()
        sent_story.process(key).walk_children(walk)
        assert sorted(walk.ids) == sorted(wanted)
        walks += 1
    assert walks > 3


def test_the_binary_of_a_process_is_the_file_it_ran(sent_story: SentStory) -> None:
    created = [
        record
        for record in sent_story.records
        if record.host == sent_story.host and record.event_id == 1 and "Sysmon" in record.channel
    ]
    assert created
    for record in created[:PROCESSES_MAX]:
        hashes = dict(part.split("=") for part in record.data["Hashes"].split(","))
        guid = str(record.data["ProcessGuid"]).strip("{}").lower()
        process = sent_story.process(("guid", guid))
        assert process.process_md5 == hashes["MD5"].lower()
        assert process.binary.md5 == hashes["MD5"].upper()


def test_the_tree_has_the_processes_that_the_client_walks(sent_story: SentStory) -> None:
    for key in sent_story.processes()[:PROCESSES_MAX]:
        body = sent_story.cb.get_object(f"/api/v1/process/{sent_story.name(key)}/tree")
        assert sorted(node["id"] for node in body["nodes"][1:]) == sorted(sent_story.offspring(key))
        assert {node["missing"] for node in body["nodes"]} == {None}
        known = [node["id"] for node in body["ancestors"] if node["missing"] is None]
        assert known == sent_story.lineage(key)


def test_the_timeline_has_the_events_that_the_client_lists(sent_story: SentStory) -> None:
    for key in sent_story.processes()[:PROCESSES_MAX]:
        body = sent_story.cb.get_object(f"/api/v1/process/{sent_story.name(key)}/timeline")
        wanted = sent_story.expected.lists[sent_story.host][key]
        reported_of = {name: body["event_counts"].get(name, 0) for name in LISTS}
        assert reported_of == {name: wanted[name] for name in LISTS}

"""Every read returns acknowledged records immediately, regardless of the order in which records
arrived.

Sysmon event 10 (process access) has the image and user that the source assumed at that time; event
1 (process creation) has the correct values. The values of event 10 are greater than those of event
1 in every column, so a merge by the greatest value keeps the wrong values.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import httpx
import pytest

from tests.support.served import Server
from tests.support.sysmon import Host, Process

CREATION, ACCESS, FILE, CONNECTION = 1, 10, 11, 3
ORDERS = list(permutations((CREATION, ACCESS, FILE)))
"""Every order of the records that disagree; each is a post of its own. A connection follows."""

IMAGE = "C:\\Users\\ann\\akagi64.exe"
USER = "CORP\\ann"
OTHER_IMAGE = "C:\\Windows\\explorer.exe"
OTHER_USER = "CORP\\zoe"


def rule(host: str, user: str) -> str:
    """A Sigma rule on the creation of the process, for one host and one user."""
    return f"""title: Akagi
id: 5f3c2a10-0000-4000-8000-0000000acac1
level: low
logsource: {{product: windows, category: process_creation}}
detection:
  one: {{Image|endswith: akagi64.exe, CommandLine|contains: {host}, User|contains: {user}}}
  condition: one
"""


@dataclass
class Sent:
    """The process of one order, on a host of its own."""

    order: tuple[int, ...]
    host: Host
    process: Process
    wrong: list[str] = field(default_factory=list)
    """Reads whose answer was not what was acknowledged."""

    def check(self, read: str, found: object, wanted: object) -> None:
        if found != wanted:
            self.wrong.append(f"{self.order} {read}: {found!r}, not {wanted!r}")

    def query(self, text: str = "") -> str:
        return f"hostname:{self.host.name} process_pid:{self.process.pid} {text}".strip()


def records(host: Host, process: Process) -> dict[int, dict[str, Any]]:
    parent = host.process(900, "C:\\Windows\\System32\\cmd.exe", "cmd.exe /k")
    lsass = host.process(600, "C:\\Windows\\System32\\lsass.exe")
    return {
        CREATION: host.created(process, parent),
        ACCESS: host.record(
            ACCESS,
            process.started_s + 0.5,
            SourceProcessGUID=process.guid,
            SourceProcessId=process.pid,
            SourceImage=OTHER_IMAGE,
            SourceUser=OTHER_USER,
            TargetProcessGUID=lsass.guid,
            TargetProcessId=lsass.pid,
            TargetImage=lsass.image,
            GrantedAccess="0x1010",
        ),
        FILE: host.record(
            FILE,
            process.started_s + 1,
            ProcessGuid=process.guid,
            ProcessId=process.pid,
            Image=OTHER_IMAGE,
            User=OTHER_USER,
            TargetFilename="C:\\Windows\\Temp\\fubuki.dll",
        ),
        CONNECTION: host.of(
            process,
            CONNECTION,
            2,
            Protocol="tcp",
            Initiated="true",
            SourceIp="10.0.0.5",
            SourcePort=50000,
            DestinationIp="203.0.113.9",
            DestinationPort=443,
        ),
    }


def sent(sender: httpx.Client, order: tuple[int, ...], name: str) -> Sent:
    host = Host(f"{name}.order.example")
    found = Sent(order, host, host.process(4_000, IMAGE, f"akagi64.exe 23 {host.name}", 10))
    made = records(host, found.process)
    for event_id in (*order, CONNECTION):
        answer = sender.post("/api/v1/ingest", json=[made[event_id]])
        assert answer.status_code == 200, answer.text
        assert answer.json()["rejected"] == 0, answer.text
    return found


TRUE = {
    "process_name": "akagi64.exe",
    "path": IMAGE.lower(),
    "username": USER,
    "parent_name": "cmd.exe",
}
FINDS = (
    "process_name:akagi64.exe",
    "username:ann",
    "path:users\\ann\\akagi64.exe",
    "cmdline:akagi64.exe",
    "parent_name:cmd.exe",
    "filemod:fubuki.dll",
    "ipport:443",
    "crossproc_name:lsass.exe",
    "process_name:akagi64.exe username:ann filemod:fubuki.dll",
    "-process_name:explorer.exe",
    "-username:zoe",
    "akagi64.exe",
)
MISSES = ("process_name:explorer.exe", "username:zoe", "path:windows\\explorer.exe", "explorer.exe")
WAYS: tuple[dict[str, str], ...] = (
    {},
    {"svc.group": "id"},
    {"svc.comprehensive_search": "true"},
    {"svc.group": "id", "svc.comprehensive_search": "true"},
)
FACETS = {
    "process_name": "akagi64.exe",
    "path_full": IMAGE.lower(),
    "username_full": USER,
    "parent_name": "cmd.exe",
}


def shown(body: dict[str, Any]) -> dict[str, Any]:
    """The metadata of a process object, as `TRUE` has it."""
    found = {name: body.get(name) for name in TRUE if name in body}
    for name, value in found.items():
        found[name] = value[0] if isinstance(value, list) and len(value) == 1 else value
    if isinstance(found.get("path"), str):
        found["path"] = found["path"].lower()
    return found


def check_object(one: Sent, read: str, body: dict[str, Any]) -> None:
    found = shown(body)
    one.check(read, found, {name: TRUE[name] for name in found})
    one.check(f"{read} has a name", "process_name" in found, True)
    if "cmdline" in body:
        line = body["cmdline"]
        line = line[0] if isinstance(line, list) else line
        one.check(f"{read} command line", line, one.process.command_line)


def check_searches(client: httpx.Client, one: Sent) -> None:
    counts = [*((text, 1) for text in FINDS), *((text, 0) for text in MISSES)]
    for way in WAYS:
        for text, count in counts if not way else (counts[0], counts[1], counts[-1]):
            asked = {"q": one.query(text), "rows": 5, **way}
            body = client.get("/api/v1/process", params=asked).json()
            one.check(f"search {text} {way}", body["total_results"], count)
            one.check(f"rows of {text} {way}", len(body["results"]), count)
            for row in body["results"]:
                check_object(one, f"row of {text} {way}", row)
        posted = client.post("/api/v1/process", json={"q": one.query(FINDS[0]), **way}).json()
        one.check(f"posted search {way}", posted["total_results"], 1)


def check_facets(client: httpx.Client, one: Sent) -> None:
    for way in WAYS:
        asked = {"q": one.query(), "rows": 0, "facet": "true", "facet.field": list(FACETS), **way}
        facets = client.get("/api/v1/process", params=asked).json()["facets"]
        for name, value in FACETS.items():
            found = [(entry["name"].lower(), entry["value"]) for entry in facets[name]]
            one.check(f"facet {name} {way}", found, [(value.lower(), 1)])


def check_objects(client: httpx.Client, one: Sent) -> None:
    asked = {"q": one.query(), "rows": 1}
    (row,) = client.get("/api/v1/process", params=asked).json()["results"]
    process_id, segment_id = row["id"], row["segment_id"]
    for segment in (0, segment_id):
        at = f"/api/v1/process/{process_id}/{segment}"
        v1 = client.get(at).json()
        check_object(one, f"summary v1 {segment}", v1["process"])
        one.check(f"parent of v1 {segment}", v1["parent"].get("process_name"), "cmd.exe")
        check_object(one, f"summary v2 {segment}", client.get(at.replace("v1", "v2")).json())
        for version in (1, 2, 3, 4):
            events = client.get(f"{at.replace('v1', f'v{version}')}/event").json()["process"]
            check_object(one, f"events v{version} {segment}", events)
            for kind in ("filemod_complete", "netconn_complete", "crossproc_complete"):
                one.check(f"{kind} v{version} {segment}", len(events.get(kind, ())), 1)
        for query in ("", "akagi64.exe"):
            preview = client.get(f"{at}/preview", params={"q": query}).json()
            for name, value in preview.items():
                if isinstance(value, str):
                    preview[name] = value.replace("PREPREPRE", "").replace("POSTPOSTPOST", "")
            check_object(one, f"preview {segment} {query}", preview)
    metadata = client.get(f"/api/v6/process/{process_id}/metadata").json()["process_metadata"]
    check_object(one, "metadata v6", metadata)
    listed = client.get(f"/api/v1/process/{process_id}/segment").json()["process"]["segments"]
    one.check("segments", len(listed), 1)
    tree = client.get(f"/api/v1/process/{process_id}/tree").text
    one.check("tree", ("akagi64" in tree, "zoe" in tree), (True, False))
    found = client.get("/api/v1/lookup", params={"value": "akagi64.exe"})
    one.check("lookup", found.status_code, 200)


def check_stored_queries(client: httpx.Client, one: Sent) -> None:
    """Watchlists and rules, by what they would have hit until now."""
    for text, count in ((FINDS[0], 1), (FINDS[1], 1), (MISSES[0], 0), (MISSES[1], 0)):
        body = {"search_query": one.query(text), "index_type": "events", "from": "-2h"}
        found = client.post("/api/v1/watchlist/preview", json=body).json()
        one.check(f"watchlist {text}", found.get("total_hits", found), count)

    for user, count in (("ann", 1), ("zoe", 0)):
        body = {"text": rule(one.host.name, user), "from": "-2h"}
        tried = client.post("/api/v1/sigma/test", json=body).json()
        one.check(f"rule {user}", tried.get("total_hits", tried), count)


CHECKS: tuple[Callable[[httpx.Client, Sent], None], ...] = (
    check_searches,
    check_facets,
    check_objects,
    check_stored_queries,
)


def wrong_reads(
    sender: httpx.Client, client: httpx.Client, orders: list[tuple[int, ...]], name: str
) -> list[str]:
    """Every group of reads goes right after its own posts: nothing repairs rows in between."""
    found: list[str] = []
    for number, order in enumerate(orders):
        for check in CHECKS:
            one = sent(sender, order, f"{name}-{number}-{check.__name__.replace('_', '-')}")
            check(client, one)
            found += one.wrong
    return found


@pytest.fixture(scope="module")
def reader(server: Server) -> Iterator[httpx.Client]:
    with server.analyst() as client:
        yield client


def test_a_creation_that_comes_first_is_read_at_once(
    sender: httpx.Client, reader: httpx.Client
) -> None:
    orders = [order for order in ORDERS if order[0] == CREATION]
    wrong = wrong_reads(sender, reader, orders, "first")
    assert not wrong, "\n".join(wrong)


def test_a_creation_that_comes_later_is_read_at_once(
    sender: httpx.Client, reader: httpx.Client
) -> None:
    orders = [order for order in ORDERS if order[0] != CREATION]
    wrong = wrong_reads(sender, reader, orders, "later")
    assert not wrong, "\n".join(wrong)

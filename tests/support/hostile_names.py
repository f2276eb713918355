"""Names and texts that would be markup, script, addresses or commands, wherever senders and users
can write."""

import json
import shutil
from pathlib import Path
from typing import Any

import httpx

from tests.api.test_binary_reading import sent
from tests.support.code_signing import CODE_SIGNING, identity, signed
from tests.support.pe_file import pe_file
from tests.support.sensor import PlayedSensor, enrol, secret_of
from tests.support.served import Server, wait_for
from tests.support.sysmon import Host

STRINGS: list[str] = json.loads(
    (Path(__file__).parents[1] / "corpus" / "hostile_strings.json").read_text()
)
MARK = "<img src=x onerror=alert(1)>'\"><svg onload=alert(2)>{{7*7}}\u202egnp"
PRINTABLE = MARK.replace("\u202e", "")
"""For names that may have no other characters."""
HOST = "hostile.example"
RULE_ID = "0b1c9f3a-5d1e-4a53-9d3d-1d2f5a6b7c8d"
RULE = """title: {title}
id: {id}
description: {title}
level: high
logsource: {{product: windows, category: process_creation}}
detection:
  it: {{CommandLine|contains: never-there}}
  condition: it
"""


def write_everywhere(server: Server) -> dict[str, str]:
    """Writes hostile names into all objects, and returns the names of the objects."""
    send_telemetry(server)
    with server.client() as client:
        sensor = enrol(client, "sensor.example", secret_of(server))
        sensor.check_in(health_status=1, health_message=MARK)
    with server.analyst() as client:
        query = {"q": f"process_pid:900 hostname:{HOST}", "rows": 1}
        (row,) = must(client.get("/api/v1/process", params=query))["results"]
        made = write_names(server, client, sensor.id, MARK, PRINTABLE, "bob")
        (host,) = must(client.get("/api/v1/sensor", params={"hostname": HOST}))
    names = {"process": row["id"], "md5": row["process_md5"], "sensor": sensor.id}
    return {name: str(value) for name, value in (names | made | {"host": host["id"]}).items()}


def must(answer: httpx.Response) -> Any:
    assert answer.is_success, answer.text
    return answer.json() if answer.content else None


def send_telemetry(server: Server) -> None:
    host = Host(HOST)
    image = "C:\\Users\\photo_\u202egnp.exe"
    parent, shell = host.process(900, image, image), host.process(880, "C:\\Windows\\explorer.exe")
    children = [
        host.process(1_000 + at, f"C:\\t{at}.exe", text, 10) for at, text in enumerate(STRINGS)
    ]
    records = [host.created(parent, shell), *(host.created(one, parent) for one in children)]
    for at, text in enumerate(STRINGS):
        data = {"TargetFilename": f"C:\\x\\{text}", "CreationUtcTime": ""}
        records.append(host.of(parent, 11, 30 + at, **data))
        records.append(
            host.of(parent, 13, 30 + at, EventType="SetValue", TargetObject=f"HKLM\\{text}")
        )
        records.append(host.of(parent, 22, 30 + at, QueryName=text, QueryResults="203.0.113.9;"))
        child = host.process(3_000 + at, f"C:\\d{at}\\{text}", "x", 10)
        named = host.created(child, parent)
        named["winlog"]["event_data"]["User"] = text
        records.append(named)
    body = "".join(f'{{"create":{{}}}}\n{json.dumps(one)}\n' for one in records)
    with server.sender() as sender:
        kind = {"Content-Type": "application/x-ndjson"}
        assert not must(sender.post("/_bulk", content=body, headers=kind))["errors"]


def write_names(
    server: Server, client: httpx.Client, sensor: int, text: str, name: str, username: str
) -> dict[str, Any]:
    """A text and a name, which may have printable characters alone, wherever users can write."""
    must(client.put(f"/api/v1/sensor/{sensor}", json={"notes": text}))
    must(client.post("/api/v1/banning/bannedlist", json={"md5hash": "ab" * 16, "text": text}))
    watch = {
        "name": text,
        "search_query": f'q=cmdline:"{text.replace(chr(34), "")}"',
        "description": text,
    }
    watchlist = must(client.post("/api/v1/watchlist", json=watch))["id"]
    rule = RULE.format(title=json.dumps(text), id=RULE_ID)
    must(client.post("/api/v1/sigma", json={"text": rule}))
    feed = write_feed(server, client, text)
    drop = {
        "name": text,
        "path_filters": ["c:\\\\never\\\\there.exe"],
        "enabled": False,
        "global": True,
    }
    must(client.post("/api/v1/ingress_approvedlist", json=[drop]))
    must(
        client.post("/api/v1/saved_search", json={"name": name, "view": "process", "params": "q=x"})
    )
    must(client.post("/api/v1/token", json={"name": name, "scope": "read"}))
    user = {
        "username": username,
        "first_name": name,
        "last_name": name,
        "email": "b@example.com",
        "password": "a long enough passphrase 1",
    }
    must(client.post("/api/user", json=user))
    must(client.post("/api/team", json={"name": name[:60], "group_access": []}))
    return {"watchlist": watchlist, "feed": feed, "rule": RULE_ID}


def write_feed(server: Server, client: httpx.Client, text: str) -> int:
    folder = Path(server.data) / "feeds"
    folder.mkdir(exist_ok=True)
    document = folder / "written.json"
    document.write_text(json.dumps(feed_document(text)))
    made = client.post("/api/v1/feed", json={"feed_url": document.as_uri(), "enabled": True})
    feed = int(must(made)["id"])
    must(client.post(f"/api/v1/feed/{feed}/synchronize", json={"full_sync": True}))
    wait_for(lambda: len(client.get(f"/api/v1/feed/{feed}/report").json()) > 0, True, 60)
    return feed


def send_programs(sensor: PlayedSensor, folder: Path) -> dict[str, str]:
    """Programs that name themselves so, in their version resource and in the certificate of their
    signature where that can be made; their MD5s. A library's signer is what its host says."""
    names = dict.fromkeys(("FileDescription", "ProductName", "CompanyName", "FileVersion"), MARK)
    described = pe_file(version=names)
    found = {"described": sent(sensor, described, f"c:\\{PRINTABLE[:28]}.exe")}
    if shutil.which("osslsigncode"):
        signer = identity(folder, PRINTABLE, usage=CODE_SIGNING)
        content = signed(folder, described + bytes(8), signer, name=PRINTABLE)
        found["signed"] = sent(sensor, content, "c:\\signed.exe")
    return found


def send_long(server: Server, text: str) -> None:
    """A process with a long command line, pid 5000."""
    host = Host(HOST)
    shell = host.process(880, "C:\\Windows\\explorer.exe")
    record = host.created(host.process(5_000, "C:\\long.exe", text, 40), shell)
    with server.sender() as sender:
        must(sender.post("/api/v1/ingest", json=[record]))


def feed_document(text: str) -> dict[str, Any]:
    names = {"name": "written", "display_name": text, "summary": text, "tech_data": text}
    report = {"id": "r1", "title": text, "link": "javascript:alert(1)", "score": 9, "timestamp": 1}
    return {
        "feedinfo": names | {"provider_url": "https://example.com/"},
        "reports": [report | {"iocs": {"dns": ["evil.example"]}}],
    }

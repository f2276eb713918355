"""Hosts that do what rules, a feed and a watchlist find, and what has to come of it."""

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx

from tests.fault.senders import Sender
from tests.support.commands import program
from tests.support.receivers import HttpReceiver
from tests.support.served import Server, wait_for
from tests.support.sysmon import Host

ASKED_FOR = "c2.kill.example"
PACE_S = 0.4
"""Between two batches of a sender. Each is of another host: more of one were a storm."""

TIMEOUT_S = 120.0
RULES = """title: A shell of the test starts
id: 11111111-1111-4111-8111-111111111111
logsource: {product: windows, category: process_creation}
detection:
  a:
    Image|endswith: \\shell.exe
    ParentImage|endswith: \\writer.exe
  condition: a
---
title: A group of the test is listed
id: 22222222-2222-4222-8222-222222222222
name: group_listed
logsource: {product: windows, service: security}
detection:
  a:
    EventID: 4799
  condition: a
---
title: Many groups of the test are listed
id: 33333333-3333-4333-8333-333333333333
correlation:
  type: event_count
  rules: [group_listed]
  group-by: [TargetUserName]
  timespan: 1d
  condition:
    gte: 2
"""
DUE = Counter(
    {
        ("rule", "11111111", "watchlist.hit.query.process"): 1,
        ("rule", "33333333", "watchlist.hit.ingress.host"): 1,
        ("watchlist", "", "watchlist.hit.query.process"): 1,
        ("feed", "", "watchlist.hit.ingress.process"): 1,
    }
)
"""Alerts of every host: source, rule, type. One of each source: more in an hour were a storm."""

_ALERTS = """
import json, sys
from pathlib import Path
from vedette.store.engine.open import open_engine
engine = open_engine(Path(sys.argv[1]))
rows = engine.query(
    "SELECT id, source_kind, source_id, alert_type, hostname FROM alert FINAL"
).rows
print(json.dumps([list(row) for row in rows]))
engine.close()
"""


class Starter(Sender):
    """Each batch is a host that starts one shell, and lists the groups of one account twice."""

    def deliver(self, client: httpx.Client) -> httpx.Response:
        time.sleep(PACE_S)
        return super().deliver(client)

    def _body(self) -> bytes:
        host = Host(self.host_of(self.batch))
        writer = host.process(4_000, "C:\\writer.exe")
        shell = host.process(5_000, "C:\\shell.exe", "shell", self.batch)
        asked = host.of(shell, 22, 1, QueryName=ASKED_FOR, QueryStatus=0, QueryResults="")
        records = [host.created(shell, writer), asked]
        for _ in range(2):
            listed = host.record(4799, shell.started_s, TargetUserName=self.host_of(self.batch))
            listed["winlog"] |= {
                "channel": "Security",
                "provider_name": "Microsoft-Windows-Security-Auditing",
            }
            records.append(listed)
        return b"".join(b'{"create":{}}\n' + json.dumps(one).encode() + b"\n" for one in records)

    def host_of(self, batch: int) -> str:
        return f"{self.name}-{batch}.example"


def publish_feed(data: Path) -> None:
    """A file of a feed that names the host that each shell asks for."""
    report = {"id": "shell", "title": "shell", "link": "", "timestamp": 1_700_000_000, "score": 60}
    info = dict.fromkeys(("display_name", "provider_url", "summary", "tech_data"), "kill")
    body = {
        "feedinfo": info | {"name": "kill"},
        "reports": [report | {"iocs": {"dns": [ASKED_FOR]}}],
    }
    (data / "feeds").mkdir(mode=0o700)
    (data / "feeds" / "kill.json").write_text(json.dumps(body))


def watch(server: Server, receiver: HttpReceiver) -> None:
    """Rules, a watchlist and the feed, which alert and post to the receiver."""
    with server.analyst() as client:
        answer = client.post("/api/v1/sigma", json={"text": RULES})
        assert [one["change"] for one in answer.json()["results"]] == ["added"] * 3, answer.text
        url = f"file://{server.data}/feeds/kill.json"
        feed = client.post("/api/v1/feed", json={"feed_url": url, "enabled": True}).json()["id"]
        body = {"name": "shells", "search_query": "q=process_name:shell.exe"}
        watchlist = client.post("/api/v1/watchlist", json=body).json()["id"]
        post: dict[str, Any] = {"enabled": True, "url": receiver.url}
        for path in ("sigma/*", f"feed/{feed}", f"watchlist/{watchlist}"):
            for action, given in (("alert", {"enabled": True}), ("http", post)):
                answer = client.put(f"/api/v1/{path}/action_type/{action}", json=given)
                assert answer.status_code == 200, answer.text
        ready = wait_for(
            lambda: client.get(f"/api/v1/feed/{feed}").json()["report_count"], 1, TIMEOUT_S
        )
        assert ready == 1


def wait_until_reported(server: Server, expected: int) -> None:
    """Until there are so many alerts, and nothing waits in the outbox."""
    with server.analyst() as client:

        def state() -> tuple[int, int]:
            found = client.get("/api/v2/alert", params={"rows": 0}).json()["total_results"]
            return found, sum(one["waiting"] for one in client.get("/api/v1/outbox").json())

        assert wait_for(state, (expected, 0), TIMEOUT_S) == (expected, 0)


def stored_alerts(data: Path) -> dict[str, tuple[str, str, str, str]]:
    """Source, rule, type and host of each alert in the store of a stopped server, by id."""
    reported = program(_ALERTS, data / "telemetry")
    return {
        alert_id: (kind, source[:8] if kind == "rule" else "", alert_type, host)
        for alert_id, kind, source, alert_type, host in json.loads(reported)
    }


def received_ids(receiver: HttpReceiver) -> Counter[str]:
    return Counter(json.loads(one.body)["id"] for one in receiver.posts)

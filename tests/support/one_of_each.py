"""A server with one of everything that has a page in the console: a host with its processes and
their alerts, a ban, a filter, a rule of two texts, a watchlist."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.api.test_alerts import RULE, hit
from tests.support.served import Server, open_group
from tests.support.sysmon import story
from tests.support.written_detections import alerted_server
from vedette.model.findings.detection import Detection

HOST = "reach.example"
BANNED = "ab" * 16
SIGMA_ID = "5f3c2a10-0000-4000-8000-00000000abce"
SIGMA = f"""title: Reach
id: {SIGMA_ID}
level: low
logsource: {{product: windows, category: process_creation}}
detection: {{one: {{Image: c:\\none.exe}}, condition: one}}
"""


def server_with_alerts(data: Path) -> Iterator[Server]:
    """Yields a server with alerts of one host, in its own sensor group."""

    def detect(server: Server) -> list[Detection]:
        _, secret = open_group(server, "Reach")
        with server.client(Authorization=f"Bearer {secret}") as client:
            assert client.post("/api/v1/ingest", json=story(HOST).records).status_code == 200
        return [hit(row, RULE, "why it fired") for row in processes(server)]

    with alerted_server(data, detect) as server:
        yield server


def processes(server: Server) -> list[dict[str, Any]]:
    with server.analyst() as client:
        query = {"q": f"hostname:{HOST}", "rows": "50"}
        return list(client.get("/api/v1/process", params=query).json()["results"])


def named(server: Server) -> dict[str, str]:
    """Maps kind to the id in the address of each page. Creates the objects that are not
    telemetry."""
    row = next(one for one in processes(server) if one["process_name"] == "powershell.exe")
    names = {"process": row["id"], "md5": row["process_md5"], "sensor": row["sensor_id"]}
    return {name: str(value) for name, value in (names | _made(server)).items()}


def _made(server: Server) -> dict[str, Any]:
    with server.analyst() as client:
        ban = {"md5hash": BANNED, "text": "of a test"}
        assert client.post("/api/v1/banning/bannedlist", json=ban).is_success
        body = {"id": "reach", "name": "Reach", "path_filters": ["*none.exe"], "enabled": False}
        assert client.post("/api/v1/ingress_approvedlist", json=body).is_success
        for text in (SIGMA, SIGMA.replace("low", "high")):
            assert client.post("/api/v1/sigma", json={"text": text}).is_success
        body = {"name": "w", "search_query": "q=process_name:none.exe"}
        watchlist = client.post("/api/v1/watchlist", json=body).json()["id"]
    return {"ban": BANNED, "filter": "reach", "rule": SIGMA_ID, "watchlist": watchlist}

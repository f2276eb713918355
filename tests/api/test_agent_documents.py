"""Documents of agents and exports of collectors become searchable processes by every way in."""

import json
from typing import Any

import httpx
import pytest

from tests.support import windows_events, winlog_modules
from tests.support.windows_events import EVENTS
from tests.support.wire_records import RECORDS

_NDJSON = {"Content-Type": "application/x-ndjson"}
_STARTS = {
    "elastic defend": "cmd.exe",
    "auditbeat": "sh",
    "auditbeat audit": "sh",
    "wazuh windows": "cmd.exe",
    "wazuh audit": "sh",
    "defender": "cmd.exe",
    "evtxecmd": "cmd.exe",
}


def _of(host: str, name: str) -> dict[str, Any]:
    renamed: dict[str, Any] = json.loads(json.dumps(RECORDS[name]).replace('"ws1"', f'"{host}"'))
    return renamed


def _names(analyst: httpx.Client, host: str) -> set[str]:
    found = analyst.get("/api/v1/process", params={"q": f"hostname:{host}", "rows": 50}).json()
    return {one["process_name"] for one in found["results"]}


@pytest.mark.parametrize("name", _STARTS)
@pytest.mark.parametrize("way", ["ingest", "bulk"])
def test_a_document_is_a_process_by_either_route(
    sender: httpx.Client, analyst: httpx.Client, name: str, way: str
) -> None:
    host = f"{name.replace(' ', '-')}-{way}.example"
    record = _of(host, name)
    if way == "bulk":
        body = f'{{"create":{{}}}}\n{json.dumps(record)}\n'
        answer = sender.post("/_bulk", content=body, headers=_NDJSON).json()
        assert [item["create"]["status"] for item in answer["items"]] == [201]
    else:
        answer = sender.post("/api/v1/ingest", content=json.dumps(record)).json()
        assert (answer["stored"], answer["rejected"]) == (1, 0)
    assert _STARTS[name] in _names(analyst, host)


def test_a_start_that_a_module_took_apart_is_found_with_its_command_line_and_parent(
    sender: httpx.Client, analyst: httpx.Client
) -> None:
    host, time = "module-7.example", "2024-01-02T03:04:05.678Z"
    raw = windows_events.winlogbeat(EVENTS["Security 4688"], host, time)
    body = f'{{"create":{{}}}}\n{json.dumps(winlog_modules.module_7(raw))}\n'
    assert sender.post("/_bulk", content=body, headers=_NDJSON).status_code == 200
    query = f'hostname:{host} process_name:vssadmin.exe cmdline:"list shadows"'
    (found,) = analyst.get("/api/v1/process", params={"q": query}).json()["results"]
    assert (found["process_pid"], found["parent_pid"]) == (5124, 4000)
    assert (found["parent_name"], found["username"]) == ("cmd.exe", "NORTHWIND\\mira")


def test_a_table_and_a_container_report_bad_records_by_position(
    sender: httpx.Client, analyst: httpx.Client
) -> None:
    host = "table.example"
    time = "2024-01-02T03:04:05.678Z"
    table = windows_events.evtxecmd_csv(EVENTS["Security 4688"], host, time)
    bad = table.splitlines()[1].replace("2024-01-02 03", "soon")
    answer = sender.post("/api/v1/ingest", content=f"{table}{bad}\r\n").json()
    assert (answer["stored"], answer["rejected"]) == (1, 1)
    assert [(one["position"], one["reason"]) for one in answer["errors"]] == [(1, "bad_time")]
    assert "vssadmin.exe" in _names(analyst, host)

    host = "container.example"
    records = [_of(host, "defender"), {"category": "AdvancedHunting-X"}, _of(host, "defender")]
    answer = sender.post("/api/v1/ingest", content=json.dumps({"records": records})).json()
    assert [(one["position"], one["reason"]) for one in answer["errors"]] == [(1, "unknown_format")]
    assert (answer["read"], answer["rejected"]) == (3, 1)
    assert "cmd.exe" in _names(analyst, host)

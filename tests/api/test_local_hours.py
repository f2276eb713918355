"""`hour_of_day` and `day_of_week` are by the clock of the host, whoever reports its time zone."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.support.sysmon import Host, Process


def sent(sender: httpx.Client, records: list[dict[str, Any]]) -> None:
    answer = sender.post("/api/v1/ingest", json=records)
    assert answer.json()["rejected"] == 0, answer.text


def begun(name: str) -> tuple[Host, Process, dict[str, Any]]:
    host = Host(name)
    process = host.process(70, "C:\\local.exe")
    return host, process, host.created(process, host.process(4, "C:\\parent.exe"))


def found(client: httpx.Client, query: str) -> int:
    answer = client.get("/api/v1/process", params={"q": query, "rows": 0})
    return int(answer.json()["total_results"])


@pytest.mark.parametrize("minutes", [-300, 330, 0, 840, -720])
@pytest.mark.parametrize("is_late", [False, True], ids=["with the first record", "later"])
def test_the_zone_of_a_shipper_decides(
    sender: httpx.Client, analyst: httpx.Client, minutes: int, is_late: bool
) -> None:
    host, process, record = begun(f"zone-{minutes}-{is_late}.hours.example".lower())
    sign, ahead = "-" if minutes < 0 else "+", abs(minutes)
    zone = {"event": {"timezone": f"{sign}{ahead // 60:02d}:{ahead % 60:02d}"}}
    if is_late:
        sent(sender, [record])
        sent(sender, [host.of(process, 11, 1, TargetFilename="C:\\a.txt") | zone])
    else:
        sent(sender, [record | zone])
    local = datetime.fromtimestamp(process.started_s, UTC) + timedelta(minutes=minutes)
    hour, day = local.hour, local.isoweekday() % 7
    one = f"hostname:{host.name} process_name:local.exe"
    assert found(analyst, f"{one} hour_of_day:{hour} day_of_week:{day}") == 1
    assert found(analyst, f"{one} hour_of_day:{(hour + 12) % 24}") == 0
    asked = {"q": one, "facet": "true", "facet.field": ["hour_of_day", "day_of_week"], "rows": 1}
    body = analyst.get("/api/v1/process", params=asked).json()
    shown = {name: body["facets"][name][0]["name"] for name in ("hour_of_day", "day_of_week")}
    assert shown == {"hour_of_day": str(hour), "day_of_week": str(day)}
    process_id = body["results"][0]["id"]
    known = analyst.get(f"/api/v6/process/{process_id}/metadata").json()["process_metadata"]
    assert (known["hour_of_day"], known["day_of_week"]) == (hour, day)


def test_the_zone_of_a_collector_decides_nothing(
    sender: httpx.Client, analyst: httpx.Client
) -> None:
    host, process, record = begun("forwarded.hours.example")
    foreign = {"event": {"timezone": "+11:00"}, "host": {"name": "collector.hours.example"}}
    sent(sender, [record | foreign])
    hour = datetime.fromtimestamp(process.started_s, UTC).hour
    assert found(analyst, f"hostname:{host.name} process_name:local.exe hour_of_day:{hour}") == 1

"""The SID of a host, from what its Security log says of accounts that only this host knows."""

from itertools import count
from typing import Any

import httpx

from tests.support.sensor import enrol, secret_of
from tests.support.served import Server, wait_for

SID = "S-1-5-21-1004336348-1177238915-682003330"
_NUMBERS = count(1)


def security(host: str, event_id: int, data: dict[str, str]) -> dict[str, Any]:
    """A document of Winlogbeat."""
    number = next(_NUMBERS)
    return {
        "@timestamp": "2026-01-05T09:30:00.000Z",
        "winlog": {
            "channel": "Security",
            "provider_name": "Microsoft-Windows-Security-Auditing",
            "computer_name": host,
            "event_id": str(event_id),
            "record_id": number,
            "event_data": data,
        },
    }


def started(host: str, domain: str, sid: str, who: str = "Subject") -> dict[str, Any]:
    """A start of a program (4688) by an account."""
    account = {f"{who}UserSid": sid, f"{who}UserName": "x", f"{who}DomainName": domain}
    process = {"NewProcessId": "0x4d2", "NewProcessName": "C:\\x.exe", "ProcessId": "0x10"}
    return security(host, 4688, account | process)


def logged_on(host: str, domain: str, sid: str) -> dict[str, Any]:
    account = {"TargetUserSid": sid, "TargetUserName": "x", "TargetDomainName": domain}
    return security(host, 4624, account | {"TargetLogonId": "0x7", "LogonType": "2"})


def sid_of(analyst: httpx.Client, host: str) -> Any:
    (found,) = analyst.get("/api/v1/sensor", params={"hostname": host}).json()
    return found["computer_sid"]


RECORDS: dict[str, Any] = {
    "sid-start": lambda host: started(host, "SID-START", f"{SID}-1001"),
    "sid-target": lambda host: started(host, "sid-target", f"{SID}-500", "Target"),
    "sid-logon": lambda host: logged_on(host, "SID-LOGON", f"{SID}-1001"),
    # NetBIOS names have fifteen characters.
    "sid-of-a-long-name": lambda host: logged_on(host, "SID-OF-A-LONG-N", f"{SID}-1001"),
}


def test_an_account_of_the_host_itself_shows_the_sid_of_the_host(
    sender: httpx.Client, analyst: httpx.Client
) -> None:
    hosts = {f"{name}.corp.example": made for name, made in RECORDS.items()}
    records = [made(host) for host, made in hosts.items()]
    assert sender.post("/api/v1/ingest", json=records).status_code == 200
    shown = wait_for(lambda: [sid_of(analyst, host) for host in hosts], [SID] * len(hosts))
    assert shown == [SID] * len(hosts)


def test_accounts_of_others_and_malformed_sids_show_nothing(
    sender: httpx.Client, analyst: httpx.Client
) -> None:
    host, own = "sid-none.corp.example", "SID-NONE"
    records = [
        started(host, "CORP", f"{SID}-1104"),
        started(host, own, "S-1-5-18"),
        started(host, own, SID),
        started(host, own, f"{SID}-x"),
        started(host, own, f"{SID}-1-2"),
        started(host, own, "S-1-5-21-" + "9" * 60_000 + "-1-2-3"),
        started(host, own, "S-1-5-21-\u0661-\u0661-\u0661-\u0661"),
        logged_on(host, "", f"{SID}-1001"),
    ]
    after = started("sid-after.corp.example", "SID-AFTER", f"{SID}-1001")
    assert sender.post("/api/v1/ingest", json=[*records, after]).status_code == 200
    assert wait_for(lambda: sid_of(analyst, "sid-after.corp.example"), SID) == SID
    assert sid_of(analyst, host) == ""


def test_an_enrolled_host_keeps_the_sid_that_it_reported(
    server: Server, sender: httpx.Client, analyst: httpx.Client
) -> None:
    host, own = "sid-own.corp.example", f"{SID[:-1]}9"
    with server.client() as client:
        enrol(client, host, secret_of(server), os_type="windows", computer_sid=own)
    records = [
        started(host, "SID-OWN", f"{SID}-1001"),
        started("sid-later.corp.example", "SID-LATER", f"{SID}-1001"),
    ]
    assert sender.post("/api/v1/ingest", json=records).status_code == 200
    assert wait_for(lambda: sid_of(analyst, "sid-later.corp.example"), SID) == SID
    assert sid_of(analyst, host) == own

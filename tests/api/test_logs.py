"""Search of stored event records (docs/logs.md): fields, pages, facets, errors, and what another
group's user sees."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.support.served import Server, hire, open_group, wait_for
from tests.support.windows_events import EVENTS
from vedette.model.principal import Role
from vedette.store.read.logs.log_facets import FACETS

HOST = "logs-api.corp.example"
OTHER = "logs-hidden.corp.example"
START_US = 1_767_225_600_000_000
NAMES = ("Security 4624", "Security 4625", "Security 4672", "Security 4648")


def records(host: str, first: int = 1) -> list[dict[str, Any]]:
    """Logons as the native format has them, a second after one another."""
    return [
        {
            "vedette_record": "windows",
            "host": host,
            "time_us": START_US + number * 1_000_000,
            "channel": EVENTS[name].channel,
            "event_id": EVENTS[name].event_id,
            "record_id": first + number,
            "provider": EVENTS[name].provider,
            "data": EVENTS[name].data,
            "level": 4,
        }
        for number, name in enumerate(NAMES)
    ]


@dataclass(frozen=True)
class Divided:
    """Two groups with a host each; `client` is a user who sees the first one only."""

    client: httpx.Client
    everything: httpx.Client


@pytest.fixture(scope="module")
def divided(server: Server, analyst: httpx.Client) -> Iterator[Divided]:
    group_id, secret = open_group(server, "logs-mine")
    _, other_secret = open_group(server, "logs-theirs")
    for host, token in ((HOST, secret), (OTHER, other_secret)):
        with server.client(Authorization=f"Bearer {token}") as client:
            answer = client.post("/api/v1/ingest", json=records(host))
            assert answer.status_code == 200, answer.text
            assert answer.json()["rejected"] == 0, answer.text
    token = hire(server, "logs-reader", {group_id: Role.VIEWER})
    with server.client(**{"X-Auth-Token": token}) as client:
        # Which sensors a group has is believed for a second.
        assert wait_for(lambda: len(client.get("/api/v1/sensor").json()), 1) == 1
        yield Divided(client, analyst)


def found(client: httpx.Client, query: str, **parameters: Any) -> dict[str, Any]:
    answer = client.get("/api/v1/log", params={"q": query, **parameters})
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def test_a_record_is_found_with_all_its_values(divided: Divided) -> None:
    body = found(divided.client, f"host:{HOST} event_id:4625")
    (row,) = body["results"]
    assert (body["total_results"], body["exact_total"]) == (1, True)
    assert not body["incomplete_results"]
    assert row["time"] == "2026-01-01T00:00:01.000000Z"
    assert (row["hostname"], row["channel"], row["level"]) == (HOST, "Security", "information")
    assert (row["user"], row["target_user"]) == ("NORTHWIND\\mira", "NORTHWIND\\svc-ledger")
    assert (row["src_ip"], row["logon_type"], row["workstation"]) == ("10.20.30.40", 3, "DESK-31")
    assert row["data"]["FailureReason"] == "%%2313"


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("", [4648, 4672, 4625, 4624]),
        ("EventID:4624", [4624]),
        ("event.code:[4624 TO 4625]", [4625, 4624]),
        ("logon_type:10", [4624]),
        ("source.ip:10.20.0.0/16", [4648, 4625, 4624]),
        ("target_user:svc-ledger", [4648, 4625, 4624]),
        ("user.name:northwind\\mira", [4648, 4672, 4625, 4624]),
        ("data.Status:0xC000006D", [4625]),
        ("data.substatus:*", [4625]),
        ("-data.substatus:* logon_type:[1 TO *]", [4624]),
        ("SeDebugPrivilege", [4672]),
        ("files.northwind.example OR logon_id:0x77f01", [4648, 4624]),
        ("time:[2026-01-01T00:00:02Z TO *]", [4648, 4672]),
        ("log.level:Information channel:sec*", [4648, 4672, 4625, 4624]),
        ("threat:*", []),
    ],
)
def test_fields_have_the_names_of_records_rules_and_ecs(
    divided: Divided, query: str, numbers: list[int]
) -> None:
    body = found(divided.client, query)
    assert [row["event_id"] for row in body["results"]] == numbers
    assert body["total_results"] == len(numbers)


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("event_id:4624 logon_kind:3", 14, 24),
        ("winlog.nothing:x", 0, 14),
        ("data.Status:[1 TO 2]", 0, 20),
        ("event_id:x", 0, 10),
    ],
)
def test_a_query_that_cannot_be_read_is_answered_with_its_place(
    divided: Divided, query: str, start: int, end: int
) -> None:
    answer = divided.client.get("/api/v1/log", params={"q": query})
    assert answer.status_code == 400
    body = answer.json()
    assert body["reason"] == "query_malformed_syntax"
    assert (body["start"], body["end"]) == (start, end)


def test_pages_have_each_record_once_newest_first(divided: Divided) -> None:
    pages = [found(divided.client, "", rows=1, start=start) for start in range(5)]
    assert [row["event_id"] for page in pages for row in page["results"]] == [
        4648,
        4672,
        4625,
        4624,
    ]
    assert {page["total_results"] for page in pages} == {4}
    oldest = found(divided.client, "", sort="time asc", rows=1)
    assert oldest["results"][0]["event_id"] == 4624


def test_parameters_may_be_posted(divided: Divided) -> None:
    body = {"q": ["event_id:4624", "logon_type:10"], "rows": 1, "svc.fq.src_ip": "10.20.30.40"}
    answer = divided.client.post("/api/v1/log", json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["total_results"] == 1


def test_facets_and_histogram_count_the_whole_result(divided: Divided) -> None:
    asked = {"facet": "true", "facet.field": list(FACETS), "rows": 0, "svc.histogram": "time"}
    body = found(divided.client, "", **asked)
    counts = {
        name: {entry["name"]: entry["value"] for entry in entries}
        for name, entries in body["facets"].items()
    }
    assert set(counts) == set(FACETS)
    assert counts["event_id"] == {"4624": 1, "4625": 1, "4648": 1, "4672": 1}
    assert counts["src_ip"] == {"10.20.30.40": 3}
    assert counts["logon_type"] == {"3": 1, "10": 1}
    assert counts["time"] == {"2026-01-01T00:00:00Z": 4}
    assert sum(bucket["count"] for bucket in body["histogram"]["buckets"]) == 4
    for name, entries in counts.items():
        for value, count in entries.items():
            query = f'{name}:"{value}"'
            assert found(divided.client, query)["total_results"] == count, query


@pytest.mark.parametrize(
    "parameters",
    [
        {"sort": "src_ip desc"},
        {"sort": "data.Status"},
        {"facet": "true", "facet.field": "data.Status"},
        {"svc.histogram": "level"},
        {"rows": "x"},
    ],
)
def test_what_cannot_be_sorted_or_counted_is_refused(
    divided: Divided, parameters: dict[str, str]
) -> None:
    answer = divided.client.get("/api/v1/log", params=parameters)
    assert answer.status_code == 400, answer.text


def test_hosts_of_other_groups_are_hidden_everywhere(divided: Divided) -> None:
    asked = {"facet": "true", "rows": 100, "svc.histogram": "time"}
    mine = found(divided.client, "src_ip:10.20.30.40", **asked)
    assert (mine["total_results"], mine["filtered"]) == (3, 0)
    assert OTHER not in str(mine)
    assert sum(bucket["count"] for bucket in mine["histogram"]["buckets"]) == 3
    hidden = found(divided.client, f"host:{OTHER}", **asked)
    assert (hidden["total_results"], hidden["results"]) == (0, [])
    assert not any(hidden["facets"].values())
    explained = divided.client.get("/api/v1/log/explain", params={"q": f"host:{OTHER}"}).json()
    assert (explained["total_results"], explained["records"]) == (0, 4)
    assert found(divided.everything, f"host:{OTHER}")["total_results"] == 4


def test_an_explanation_says_what_each_term_reads(divided: Divided) -> None:
    query = "mira -logon_type:10 data.Status:*6d"
    body = divided.client.get("/api/v1/log/explain", params={"q": query}).json()
    assert [(one["term"], one["records"], one["reads"]) for one in body["terms"]] == [
        ("mira", 4, "index"),
        ("logon_type:10", 1, "all records"),
        ("data.status:*6d", 1, "all records"),
    ]
    assert (body["total_results"], body["records"]) == (1, 4)
    assert body["terms"][2]["hints"] == ["begins with a wildcard: cannot use an index"]


def test_a_process_leads_to_its_logon(divided: Divided, analyst: httpx.Client) -> None:
    logged_on = EVENTS["Security 4624"].data["TargetLogonId"]
    started = {
        "NewProcessId": "0x1a2b",
        "NewProcessName": "C:\\Windows\\System32\\whoami.exe",
        "ProcessId": "0x44",
        "TargetUserName": "svc-ledger",
        "TargetDomainName": "NORTHWIND",
        "TargetLogonId": logged_on,
        "CommandLine": "whoami /all",
    }
    base = records(HOST)[0]
    event = {"event_id": 4688, "record_id": 900, "time_us": START_US + 9_000_000, "data": started}
    lone = event | {
        "record_id": 901,
        "data": started | {"NewProcessId": "0x1", "TargetLogonId": "0x9"},
    }
    sent = analyst.post("/api/v1/ingest", json=[base | event, base | lone])
    assert sent.json()["rejected"] == 0, sent.text
    found = divided.client.get("/api/v1/process", params={"q": f"hostname:{HOST} logon_id:*"})
    by_logon = {row["process_pid"]: row["id"] for row in found.json()["results"]}
    path = "/api/v1/process/{}/logon"
    body = divided.client.get(path.format(by_logon[0x1A2B])).json()
    assert (body["logon_id"], body["logon"]["event_id"]) == (logged_on, 4624)
    logon = body["logon"]
    assert (logon["logon_type"], logon["src_ip"], logon["workstation"]) == (
        10,
        "10.20.30.40",
        "DESK-31",
    )
    assert divided.client.get(path.format(by_logon[1])).json()["logon"] is None
    unknown = "0000ffff-0000-0000-0000-000000000000"
    assert divided.client.get(path.format(unknown)).status_code == 404

"""Addresses that Winlogbeat tells of its host reach the sensor's record."""

from typing import Any

import httpx

from tests.support.sensor import enrol, secret_of
from tests.support.served import Server, wait_for
from tests.support.sysmon import story

HOST = {"ip": ["fe80::1", "10.7.0.5"], "mac": ["00-15-5D-01-02-03"]}
ADAPTERS = "10.7.0.5,00155d010203|"


def reported(name: str, host: dict[str, Any]) -> list[dict[str, Any]]:
    return [record | {"host": host} for record in story(name).records]


def adapters_of(analyst: httpx.Client, name: str) -> str:
    (found,) = analyst.get("/api/v1/sensor", params={"hostname": name}).json()
    return str(found["network_adapters"])


def test_they_are_the_adapters_of_its_sensor(analyst: httpx.Client, sender: httpx.Client) -> None:
    name = "beats.corp.example"
    sender.post("/api/v1/ingest", json=reported(name, HOST | {"name": "beats"})).raise_for_status()
    assert wait_for(lambda: adapters_of(analyst, name), ADAPTERS, 15) == ADAPTERS
    found = analyst.get("/api/v1/sensor", params={"ip": "10.7.0.5"}).json()
    assert name in [one["computer_dns_name"] for one in found]
    processes = analyst.get("/api/v1/process", params={"q": f"hostname:{name}"}).json()["results"]
    assert {one["interface_ip"] for one in processes} == {(10 << 24) + (7 << 16) + 5}


def test_those_of_a_collector_are_nobodys(analyst: httpx.Client, sender: httpx.Client) -> None:
    name = "forwarded.corp.example"
    records = reported(name, HOST | {"name": "collector.corp.example"})
    sender.post("/api/v1/ingest", json=records).raise_for_status()
    assert wait_for(lambda: ADAPTERS in adapters_of(analyst, name), True, 7) is False


def test_an_enrolled_host_keeps_what_its_own_program_says(
    server: Server, analyst: httpx.Client, sender: httpx.Client
) -> None:
    name = "enrolled-beats.example"
    with server.client() as client:
        enrol(client, name, secret_of(server))
    sender.post("/api/v1/ingest", json=reported(name, HOST | {"name": name})).raise_for_status()
    assert wait_for(lambda: adapters_of(analyst, name) == ADAPTERS, True, 7) is False

"""Addresses of the host that Winlogbeat tells (add_host_metadata)."""

import json
from typing import Any

import pytest

from vedette.ingest.decode import decode

MAC, OTHER_MAC = "00-15-5D-01-02-03", "00:15:5d:0a:0b:0c"


def adapters(host: dict[str, Any], **log: Any) -> str:
    document = {
        "@timestamp": "2023-11-02T13:04:05.678Z",
        "winlog": {
            "channel": "Security",
            "provider_name": "Microsoft-Windows-Security-Auditing",
            "event_id": "4634",
            "record_id": 7,
            "computer_name": "PC1.corp.example",
            "event_data": {"TargetLogonId": "0x1"},
            **log,
        },
        "host": host,
    }
    (record,) = decode(json.dumps(document).encode())
    return record.adapters


@pytest.mark.parametrize("log", [{}, {"event_id": 4634, "version": [1], "process": None}])
@pytest.mark.parametrize("name", ["PC1.corp.example", "pc1", "PC1"])
def test_one_card_has_all_addresses(log: dict[str, Any], name: str) -> None:
    host = {"name": name, "ip": ["10.0.0.5", "fe80::1", "2001:db8::5", "127.0.0.1"], "mac": [MAC]}
    assert adapters(host, **log) == "10.0.0.5,00155d010203|2001:db8::5,00155d010203|"


def test_as_many_cards_as_addresses_go_together_in_order() -> None:
    host = {"name": "pc1", "ip": ["10.0.0.5", "fe80::1", "10.1.0.5"], "mac": [MAC, OTHER_MAC]}
    assert adapters(host) == "10.0.0.5,00155d010203|10.1.0.5,00155d0a0b0c|"


def test_what_goes_together_is_not_guessed() -> None:
    host = {"name": "pc1", "ip": ["10.0.0.5", "10.1.0.5", "10.2.0.5"], "mac": [MAC, OTHER_MAC]}
    assert adapters(host) == "".join(f"10.{number}.0.5,000000000000|" for number in range(3))


def test_text_in_place_of_a_list_is_one_value() -> None:
    assert adapters({"name": "pc1", "ip": "10.0.0.5", "mac": MAC}) == "10.0.0.5,00155d010203|"


@pytest.mark.parametrize("name", ["collector.corp.example", "pc1.other.example", "pc10", "", None])
def test_addresses_of_a_collector_are_not_the_hosts(name: str | None) -> None:
    assert adapters({"name": name, "ip": ["10.0.0.5"], "mac": [MAC]}) == ""


@pytest.mark.parametrize(
    "host",
    [
        {"name": "pc1"},
        {"name": "pc1", "ip": None, "mac": 5},
        {"name": "pc1", "ip": ["nonsense", 5, None, "10.0.0.5|x", "fe80::1%3"], "mac": [MAC]},
        {"name": "pc1", "ip": [], "mac": [MAC]},
        {"name": ["pc1"], "ip": ["10.0.0.5"], "mac": [MAC]},
    ],
)
def test_nonsense_is_nothing_and_costs_no_record(host: dict[str, Any]) -> None:
    assert adapters(host) == ""


def test_the_list_is_bounded() -> None:
    host = {"name": "pc1", "ip": [f"10.0.{n // 250}.{n % 250 + 1}" for n in range(5_000)]}
    assert adapters(host).count("|") == 64


@pytest.mark.parametrize("text", ["x" * 100_000, "10.0.0.5", "<b>,|", "10.0.0.5,zz|"])
def test_a_native_record_with_other_text_has_none(text: str) -> None:
    native = {
        "vedette_record": "windows",
        "host": "pc1",
        "time_us": 1_700_000_000_000_000,
        "channel": "Security",
        "event_id": 1,
        "adapters": text,
    }
    (record,) = decode(json.dumps(native).encode())
    assert record.adapters == ""

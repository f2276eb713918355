"""Ingress filters are checked by a call of its own, over the last day and on one event."""

import json
from typing import Any

import httpx
import pytest

from tests.support.served import Server, hire
from tests.support.sysmon import story
from vedette.model.principal import Role
from vedette.web.policy.filters_json import INGRESS_SAMPLE_CHARS_MAX

BASE = "/api/v1/ingress_approvedlist"
GCC = {"id": "gcc", "path_filters": ["/usr/lib/gcc/*"], "cmdline_filters": ["-O2"]}


@pytest.mark.parametrize("base", [BASE, "/api/v1/ingress_whitelist"])
def test_a_check_says_what_a_dry_run_says_and_stores_nothing(
    analyst: httpx.Client, base: str
) -> None:
    found = analyst.post(f"{base}/check", json={"filters": [GCC]}).json()
    dry = analyst.post(BASE, params={"dry_run": "true"}, json=[GCC]).json()
    assert found.keys() == dry.keys() == {"dry_run", "filters", "blinded"}
    assert found["filters"][0].keys() == dry["filters"][0].keys()
    assert analyst.get(f"{BASE}/gcc").status_code == 404


def test_a_check_says_of_what_the_dropped_events_are(
    analyst: httpx.Client, sender: httpx.Client
) -> None:
    tale = story("split.corp.example")
    assert sender.post("/api/v1/ingest", json=tale.records).is_success
    wanted = {"cmdline_filters": [f"SQBFAFgA {tale.host.name}"]}
    for progress in ({}, {"progress": "true"}):
        answer = analyst.post(f"{BASE}/check", params=progress, json={"filters": [wanted]})
        last = json.loads(answer.text.strip().rpartition("\n")[2])
        (trial,) = last["filters"]
        by = trial["dropped_by"]
        assert sum(one["events"] for one in by["kind"]) == trial["events_dropped"] == 7
        (host,) = by["host"]
        assert (host["hostname"], host["events"]) == (tale.host.name.lower(), 7)
        assert by["path"][0]["path"].endswith("powershell.exe")
        assert (trial["dropped_hosts"], trial["dropped_paths"]) == (1, 1)


def test_a_sample_says_which_entries_fit_and_what_is_dropped(analyst: httpx.Client) -> None:
    sample = {"path": "/usr/lib/gcc/cc1", "cmdline": "cc1 -O2", "kind": "filemod", "value": "/x"}
    body = {"filters": [GCC, GCC | {"id": "b", "path_filters": ["/b"]}], "sample": sample}
    first, second = analyst.post(f"{BASE}/check", json=body).json()["samples"]
    assert (first["id"], first["dropped"], first["means_process"]) == ("gcc", "process", True)
    assert first["lists"] == [
        {"name": "path_filters", "entry": "/usr/lib/gcc/*"},
        {"name": "cmdline_filters", "entry": "-O2"},
    ]
    assert (second["dropped"], second["lists"][0]["entry"]) == ("", None)


@pytest.mark.parametrize(
    "body",
    [
        None,
        [GCC],
        {"filters": []},
        {"sample": {}},
        {"filters": [GCC], "other": 1},
        {"filters": [GCC], "sample": None},
        {"filters": [GCC], "sample": {"path": 1}},
        {"filters": [GCC], "sample": {"host": "x"}},
        {"filters": [GCC], "sample": {"kind": "childproc"}},
        {"filters": [GCC | {"path_filters": ["^("]}], "sample": {}},
        {"filters": [GCC], "sample": {"path": "x" * (INGRESS_SAMPLE_CHARS_MAX + 1)}},
    ],
    ids=lambda body: str(body)[:60],
)
def test_a_check_that_cannot_be_understood_is_400(analyst: httpx.Client, body: Any) -> None:
    assert analyst.post(f"{BASE}/check", json=body).status_code == 400


def test_a_sample_may_be_as_long_as_the_limit(analyst: httpx.Client) -> None:
    sample = {"cmdline": "x" * (INGRESS_SAMPLE_CHARS_MAX - 3) + "-O2"}
    answer = analyst.post(f"{BASE}/check", json={"filters": [GCC], "sample": sample})
    assert answer.json()["samples"][0]["lists"][1]["entry"] == "-O2"


def test_only_global_administrators_check(server: Server) -> None:
    token = hire(server, "filter-checker", {1: Role.ADMINISTRATOR})
    with server.client(**{"X-Auth-Token": token}) as client:
        assert client.post(f"{BASE}/check", json={"filters": [GCC]}).status_code == 403

"""Search and reading of binaries, and joins, as they are on the wire
(docs/api-objects.md#binary)."""

from typing import Any

import httpx
import pytest

from tests.support.served import Server
from tests.support.sysmon import Host, Story

AMSI = "AB" * 16
"""Loaded by the story's powershell, signed."""
NO_MD5 = "0" * 32

PARTS = ["", "/summary", "/icon", "/usage"]


def search(client: httpx.Client, **parameters: Any) -> dict[str, Any]:
    answer = client.get("/api/v1/binary", params=parameters)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def found(client: httpx.Client, query: str) -> list[str]:
    return sorted(one["md5"] for one in search(client, q=query, rows=100)["results"])


def processes(client: httpx.Client, sent_story: Story, query: str) -> list[str]:
    asked = {"q": f"hostname:{sent_story.host.name} ({query})"}
    answer = client.get("/api/v1/process", params=asked)
    assert answer.status_code == 200, answer.text
    return sorted(one["process_name"].lower() for one in answer.json()["results"])


def test_a_search_has_every_member_that_clients_read(
    analyst: httpx.Client, sent_story: Story
) -> None:
    body = search(analyst, q=f"md5:{AMSI}")
    assert (body["total_results"], body["start"], body["terms"]) == (1, 0, [f"md5:{AMSI}"])
    assert body["facets"] == {}
    assert body["elapsed"] >= 0


def test_a_binary_has_its_members_with_their_types(
    analyst: httpx.Client, sent_story: Story
) -> None:
    (one,) = search(analyst, q=f"md5:{AMSI}")["results"]
    assert one["md5"] == AMSI
    assert one["signed"] == one["digsig_result"] == "Signed"
    assert one["digsig_publisher"] == "Microsoft Windows"
    assert one["observed_filename"] == ["C:\\Windows\\System32\\amsi.dll"]
    assert (one["is_executable_image"], one["is_64bit"]) == (True, None)
    assert (one["orig_mod_len"], one["copied_mod_len"]) == (0, 0)
    assert one["os_type"] == "Windows"
    assert one["host_count"] == len(one["endpoint"]) >= 1
    host, _, sensor_id = next(e for e in one["endpoint"] if sent_story.host.name in e).partition(
        "|"
    )
    assert (host, sensor_id.isdecimal()) == (sent_story.host.name, True)
    assert one["group"]
    assert one["timestamp"] == one["server_added_timestamp"]
    assert "product_name" not in one


def test_the_newest_binary_stands_first(analyst: httpx.Client, sent_story: Story) -> None:
    results = search(analyst, rows=50)["results"]
    added = [one["server_added_timestamp"] for one in results]
    assert len(added) >= 4
    assert added == sorted(added, reverse=True)
    oldest = search(analyst, rows=50, sort="server_added_timestamp asc")["results"]
    assert [one["server_added_timestamp"] for one in oldest] == sorted(added)


def test_pages_meet_every_binary_once(analyst: httpx.Client, sent_story: Story) -> None:
    total = search(analyst, rows=0)["total_results"]
    pages = [search(analyst, rows=2, start=start)["results"] for start in range(0, total + 2, 2)]
    met = [one["md5"] for page in pages for one in page]
    assert len(met) == len(set(met)) == total


def test_fields_exact_filters_and_bodies_are_as_for_processes(
    analyst: httpx.Client, sent_story: Story
) -> None:
    asked = {"q": "", "cb.q.digsig_result": "signed", "cb.fq.md5": AMSI.lower(), "cb.urlver": "1"}
    assert [one["md5"] for one in search(analyst, **asked)["results"]] == [AMSI]
    body = {"q": [f"md5:{AMSI}", "-digsig_result:Unsigned"], "rows": 10, "facet": ["true", "true"]}
    posted = analyst.post("/api/v1/binary", json=body).json()
    assert [one["md5"] for one in posted["results"]] == [AMSI]


@pytest.mark.parametrize(
    ("query", "is_found"),
    [
        ("observed_filename:system32\\amsi.dll", True),
        ('digsig_publisher:"microsoft windows"', True),
        ("is_executable_image:true host_count:[1 TO *]", True),
        ("amsi.dll", True),
        ("-alliance_score_virustotal:*", True),
        ("server_added_timestamp:-1h", True),
        ("-digsig_result:Signed", False),
        ("watchlist_3:*", False),
    ],
)
def test_a_query_finds_by_what_is_known(
    analyst: httpx.Client, sent_story: Story, query: str, is_found: bool
) -> None:
    assert (AMSI in found(analyst, query)) is is_found


def test_highlights_mark_what_was_found(analyst: httpx.Client, sent_story: Story) -> None:
    highlights = search(analyst, q=f"md5:{AMSI} amsi.dll")["highlights"]
    marked = "C:\\Windows\\System32\\PREPREPREamsi.dllPOSTPOSTPOST"
    assert {"name": marked, "ids": [AMSI]} in highlights


def test_facets_have_the_forms_that_clients_parse(analyst: httpx.Client, sent_story: Story) -> None:
    names = ("digsig_result", "observed_filename_facet", "host_count", "server_added_timestamp")
    names = (*names, "hostname", "group", "product_name_facet", "alliance_score_srs")
    asked = {"q": f"md5:{AMSI}", "facet": "true", "facet.field": list(names), "rows": 0}
    facets = search(analyst, **asked)["facets"]
    assert set(facets) == set(names)
    (signed,) = facets["digsig_result"]
    assert (signed["name"], signed["value"], signed["percent"]) == ("Signed", 1, 100.0)
    assert float(signed["ratio"]) == 100.0
    assert sent_story.host.name in {one["name"] for one in facets["hostname"]}
    (day,) = facets["server_added_timestamp"]
    assert AMSI in found(analyst, f"server_added_timestamp:{day['name']}")
    assert facets["product_name_facet"] == facets["alliance_score_srs"] == []


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"q": "process_name:x"}, "query_malformed_syntax"),
        ({"q": "host_count:many"}, "query_malformed_syntax"),
        ({"sort": "observed_filename asc"}, "bad_request"),
        ({"sort": "no_such desc"}, "bad_request"),
        ({"facet": "true", "facet.field": "no_such"}, "bad_request"),
    ],
)
def test_what_cannot_be_understood_is_400_with_a_word(
    analyst: httpx.Client, parameters: dict[str, str], reason: str
) -> None:
    answer = analyst.get("/api/v1/binary", params=parameters)
    assert (answer.status_code, answer.json()["reason"]) == (400, reason)


@pytest.mark.parametrize("digest", [AMSI, AMSI.lower()])
def test_a_summary_takes_either_case(analyst: httpx.Client, sent_story: Story, digest: str) -> None:
    body = analyst.get(f"/api/v1/binary/{digest}/summary").json()
    assert (body["md5"], body["digsig_result"]) == (AMSI, "Signed")
    assert body["observed_filename_facet"] == body["observed_filename"]


@pytest.mark.parametrize("digest", ["fe" * 16, NO_MD5, "fe" * 32])
@pytest.mark.parametrize("part", PARTS)
def test_an_unknown_binary_is_404(analyst: httpx.Client, digest: str, part: str) -> None:
    assert analyst.get(f"/api/v1/binary/{digest}{part}").status_code == 404


@pytest.mark.parametrize("digest", ["xyz", "f" * 31, "f" * 33, "g" * 32, "f" * 4_000, "%00" * 32])
@pytest.mark.parametrize("part", PARTS)
def test_what_is_no_hash_is_400_and_says_so(analyst: httpx.Client, digest: str, part: str) -> None:
    answer = analyst.get(f"/api/v1/binary/{digest}{part}")
    assert (answer.status_code, answer.json()["reason"]) == (400, "bad_request")
    assert "is not an MD5 or SHA-256" in answer.json()["message"]


@pytest.mark.parametrize("digest", ["%2F" * 32, "ab%2F..%2F..%2Fsensor%2F1", "..%2F" + "f" * 29])
@pytest.mark.parametrize("part", PARTS)
def test_a_slash_in_a_hash_leads_nowhere(analyst: httpx.Client, digest: str, part: str) -> None:
    answer = analyst.get(f"/api/v1/binary/{digest}{part}")
    assert answer.status_code in (400, 404)
    assert answer.json()["reason"] in ("bad_request", "not_found")


def test_the_bytes_of_a_binary_are_not_there_and_the_answer_says_so(
    analyst: httpx.Client, sent_story: Story
) -> None:
    answer = analyst.get(f"/api/v1/binary/{AMSI}")
    assert (answer.status_code, answer.json()["reason"]) == (404, "not_found")
    assert "not stored" in answer.json()["message"]


def test_frequency_counts_hosts_and_processes(analyst: httpx.Client, sent_story: Story) -> None:
    asked = {"cb.freqver": "1", "name": "md5", "md5": sent_story.whoami.md5.upper()}
    body = analyst.get("/api/v1/process/host/count", params=asked).json()
    assert set(body) == {"hostCount", "globalCount", "numDocs"}
    # Hosts are of all times, processes of the partitions that are mounted.
    assert body["hostCount"] >= 1
    assert 1 <= body["globalCount"] <= body["numDocs"]
    segments = analyst.get("/api/v1/process", params={"rows": 0}).json()["total_results"]
    assert body["numDocs"] == segments
    asked["md5"] = "fe" * 16
    assert analyst.get("/api/v1/process/host/count", params=asked).json()["hostCount"] == 0


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ({}, "md5"),
        ({"md5": "zz" * 16}, "md5"),
        ({"name": "md5"}, "md5"),
        ({"name": "sha256", "sha256": "ab"}, "sha256"),
        ({"name": "path"}, "name"),
    ],
)
def test_a_frequency_that_cannot_be_counted_is_400_with_the_name(
    analyst: httpx.Client, asked: dict[str, str], name: str
) -> None:
    answer = analyst.get("/api/v1/process/host/count", params=asked)
    assert (answer.status_code, answer.json()["reason"]) == (400, "bad_request")
    assert answer.json()["message"].startswith(f"{name}: ")


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("digsig_result_modload:Signed", ["powershell.exe"]),
        ("digsig_result_modload:Unsigned", []),
        ("observed_filename:whoami.exe", ["whoami.exe"]),
        ("observed_filename_parent:winword.exe", ["powershell.exe"]),
        ("observed_filename_child:whoami.exe", ["powershell.exe"]),
    ],
)
def test_a_process_is_found_by_its_binaries(
    analyst: httpx.Client, sent_story: Story, query: str, names: list[str]
) -> None:
    assert processes(analyst, sent_story, query) == names


def test_a_binary_without_md5_is_found_and_keeps_clients_alive(
    server: Server, analyst: httpx.Client
) -> None:
    host = Host("sha256-host.corp.example")
    parent = host.process(900, "C:\\Windows\\explorer.exe")
    program = host.process(901, "C:\\x\\only256.exe", after_s=5)
    record = host.created(program, parent)
    record["winlog"]["event_data"]["Hashes"] = f"SHA256={'C0' * 32}"
    with server.sender() as client:
        assert client.post("/api/v1/ingest", json=[record]).status_code == 200
    (one,) = search(analyst, q="observed_filename:only256.exe")["results"]
    assert (one["md5"], one["sha256"]) == (NO_MD5, "C0" * 32)
    assert analyst.get(f"/api/v1/binary/{'c0' * 32}/summary").json()["sha256"] == "C0" * 32
    asked = {"q": "hostname:sha256-host.corp.example observed_filename:only256.exe"}
    assert analyst.get("/api/v1/process", params=asked).json()["total_results"] == 1


def test_the_usage_of_a_program_names_hosts_and_parents(
    analyst: httpx.Client, sent_story: Story
) -> None:
    body = analyst.get(f"/api/v1/binary/{sent_story.whoami.md5}/usage").json()
    assert body["md5"] == sent_story.whoami.md5.upper()
    assert sent_story.host.name in {one["hostname"] for one in body["hosts"]}
    assert body["host_count"] == len(body["hosts"])
    assert "powershell.exe" in {one["name"].lower() for one in body["parents"]}
    assert sum(one["runs"] for one in body["days"]) == body["run_count"] >= 1
    assert analyst.get(f"/api/v1/binary/{'fe' * 16}/usage").status_code == 404

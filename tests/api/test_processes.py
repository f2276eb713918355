"""Search and reading of processes, as they are on the wire
(docs/api-processes.md#searching-and-reading-processes, docs/clients.md)."""

from typing import Any

import httpx
import pytest

from tests.support.sysmon import Story

NOBODY = "00000001-0000-0000-0000-000000000000"


def search(client: httpx.Client, **parameters: Any) -> dict[str, Any]:
    answer = client.get("/api/v1/process", params=parameters)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


@pytest.fixture(scope="module")
def shell(analyst: httpx.Client, sent_story: Story) -> dict[str, Any]:
    """The story's powershell, as a search shows it."""
    query = f"process_name:powershell.exe hostname:{sent_story.host.name}"
    (found,) = search(analyst, q=query)["results"]
    return dict(found)


def names(body: dict[str, Any]) -> list[str]:
    return sorted(one["process_name"].lower() for one in body["results"])


ALL = ["explorer.exe", "powershell.exe", "whoami.exe", "winword.exe"]


def test_a_search_without_a_query_finds_everything(
    analyst: httpx.Client, sent_story: Story
) -> None:
    assert search(analyst)["total_results"] == search(analyst, q="")["total_results"] > 0


def test_rows_start_and_sort_cut_a_page(analyst: httpx.Client, sent_story: Story) -> None:
    asked = {
        "q": f"hostname:{sent_story.host.name} -process_name:explorer.exe",
        "sort": "start asc",
    }
    body = search(analyst, **asked, rows=1, start=1)
    assert (body["total_results"], body["start"]) == (3, 1)
    assert names(body) == ["powershell.exe"]


def test_no_rows_is_a_count(analyst: httpx.Client, sent_story: Story) -> None:
    body = search(analyst, q=f"hostname:{sent_story.host.name}", rows=0)
    assert (body["results"], body["total_results"]) == ([], 4)


def test_terms_are_the_words_as_parsed(analyst: httpx.Client, sent_story: Story) -> None:
    assert search(analyst, q="process_name:a.exe or b")["terms"] == ["process_name:a.exe", "b"]


@pytest.mark.parametrize("prefix", ["svc", "cb"])
def test_field_parameters_are_anded(analyst: httpx.Client, sent_story: Story, prefix: str) -> None:
    asked = {
        f"{prefix}.q.process_name": "whoami.exe",
        f"{prefix}.fq.hostname": sent_story.host.name,
        f"{prefix}.urlver": "1",
        "params": "start desc",
        "unknown": "x",
    }
    assert names(search(analyst, q="", **asked)) == ["whoami.exe"]


def test_an_exact_filter_does_not_take_a_part(analyst: httpx.Client, sent_story: Story) -> None:
    assert search(analyst, **{"cb.fq.hostname": "api-host"})["total_results"] == 0


def test_a_posted_search_answers_like_one_in_the_url(
    analyst: httpx.Client, sent_story: Story
) -> None:
    body = {
        "params": "server_added_timestamp desc",
        "start": 0,
        "rows": 10,
        "facet": ["true", "true"],
        "cb.urlver": ["1"],
        "q": [f"hostname:{sent_story.host.name}", "process_name:whoami.exe"],
    }
    answer = analyst.post("/api/v1/process", json=body)
    assert answer.status_code == 200
    assert names(answer.json()) == ["whoami.exe"]


def test_a_body_on_get_is_ignored(analyst: httpx.Client, sent_story: Story) -> None:
    asked = {"q": f"hostname:{sent_story.host.name}"}
    answer = analyst.request("GET", "/api/v1/process", params=asked, content=b"{nonsense")
    assert answer.json()["total_results"] == 4


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"q": "(a"}, "query_malformed_syntax"),
        ({"q": "no_such_field:x"}, "query_malformed_syntax"),
        ({"q": "start:[zzz TO *]"}, "query_malformed_syntax"),
        ({"rows": "-1"}, "bad_request"),
        ({"start": "x"}, "bad_request"),
        ({"sort": "no_such_field desc"}, "bad_request"),
    ],
)
def test_what_cannot_be_understood_is_400_with_a_word(
    analyst: httpx.Client, parameters: dict[str, str], reason: str
) -> None:
    answer = analyst.get("/api/v1/process", params=parameters)
    assert (answer.status_code, answer.json()["reason"]) == (400, reason)
    assert answer.json()["message"]


def test_a_query_error_points_into_the_query(analyst: httpx.Client) -> None:
    body = analyst.get("/api/v1/process", params={"q": "a no_such_field:x"}).json()
    assert "no_such_field" in "a no_such_field:x"[body["start"] : body["end"]]


def test_a_query_of_45_kilobytes_fits_into_the_url(analyst: httpx.Client) -> None:
    query = " OR ".join(f"process_name:some-name-{n}.exe" for n in range(1_300))
    assert len(query) > 40_000
    assert search(analyst, q=query)["total_results"] == 0


def test_a_result_names_process_parent_and_host(shell: dict[str, Any], sent_story: Story) -> None:
    assert shell["id"].endswith(sent_story.powershell.sensor_less_id)
    assert shell["parent_id"].endswith(sent_story.word.sensor_less_id)
    assert shell["parent_unique_id"] == shell["parent_id"] + "-000000000001"
    assert (shell["parent_name"].upper(), shell["parent_pid"]) == ("WINWORD.EXE", 1000)
    assert (shell["hostname"], shell["os_type"]) == (sent_story.host.name, "windows")
    assert (shell["process_pid"], shell["process_md5"]) == (1100, sent_story.powershell.md5)
    assert shell["start"].endswith("Z")


def test_a_result_counts_its_events_and_no_dns_queries(shell: dict[str, Any]) -> None:
    counts = {name: value for name, value in shell.items() if name.endswith("_count") and value}
    assert counts == {
        "filemod_count": 1,
        "modload_count": 1,
        "netconn_count": 1,
        "regmod_count": 1,
        "childproc_count": 2,
    }


@pytest.mark.parametrize("segment", ["0", "1", "own"])
def test_the_summary_has_process_parent_siblings_and_children(
    analyst: httpx.Client, shell: dict[str, Any], sent_story: Story, segment: str
) -> None:
    segment = str(shell["segment_id"]) if segment == "own" else segment
    body = analyst.get(f"/api/v1/process/{shell['id']}/{segment}").json()
    assert body["process"]["cmdline"] == sent_story.powershell.command_line
    assert body["parent"]["cmdline"] == sent_story.word.command_line
    assert [child["cmdline"] for child in body["children"]] == ["whoami /all"]
    assert body["siblings"] == []


def test_children_can_be_cut(analyst: httpx.Client, shell: dict[str, Any]) -> None:
    body = analyst.get(f"/api/v1/process/{shell['id']}/0", params={"children": 0}).json()
    assert body["children"] == []


def test_the_top_of_a_tree_has_no_parent_and_stand_ins_for_its_names(
    analyst: httpx.Client, sent_story: Story
) -> None:
    query = f"process_name:explorer.exe hostname:{sent_story.host.name}"
    (top,) = search(analyst, q=query)["results"]
    body = analyst.get(f"/api/v1/process/{top['id']}/0").json()
    assert (body["parent"], body["siblings"]) == ({}, [])
    process = body["process"]
    assert (process["parent_pid"], process["parent_name"]) == (-1, "(unknown)")


def test_the_second_summary_is_flat(analyst: httpx.Client, shell: dict[str, Any]) -> None:
    body = analyst.get(f"/api/v2/process/{shell['id']}/0").json()
    assert (body["id"], body["netconn_count"]) == (shell["id"], 1)


def test_segments_list_what_the_search_found(analyst: httpx.Client, shell: dict[str, Any]) -> None:
    body = analyst.get(f"/api/v1/process/{shell['id']}/segment").json()
    assert [one["unique_id"] for one in body["process"]["segments"]] == [shell["unique_id"]]
    assert body["process"]["segments"][0]["event_counts"]["filemod"] == 1


LISTS = ["filemod", "modload", "regmod", "netconn", "childproc", "crossproc", "processblock"]


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_events_come_in_the_form_of_their_version(
    analyst: httpx.Client, shell: dict[str, Any], version: int
) -> None:
    body = analyst.get(f"/api/v{version}/process/{shell['id']}/0/event").json()["process"]
    assert {name: len(body[f"{name}_complete"]) for name in LISTS} == {
        "filemod": 1,
        "modload": 1,
        "regmod": 1,
        "netconn": 1,
        "childproc": 2,
        "crossproc": 0,
        "processblock": 0,
    }
    (connection,) = body["netconn_complete"]
    assert isinstance(connection, str if version == 1 else dict)
    assert all(isinstance(one, str if version < 3 else dict) for one in body["childproc_complete"])
    if version > 1:
        remote = "203.0.113.9" if version == 4 else -889_163_511
        assert (connection["remote_ip"], connection["direction"]) == (remote, "true")
    assert body["cmdline"] == shell["cmdline"]


def test_windows_of_events_meet_every_event_once(
    analyst: httpx.Client, shell: dict[str, Any]
) -> None:
    path = f"/api/v4/process/{shell['id']}/0/event"
    whole = analyst.get(path).json()["process"]
    gathered: dict[str, list[Any]] = {name: [] for name in LISTS}
    for start in range(7):
        window = {"cb.event_start": start, "svc.event_count": 1}
        answer = analyst.get(path, params=window).json()
        assert (answer["total_events"], answer["incomplete_events"]) == (6, start < 5)
        page = answer["process"]
        assert sum(len(page[f"{name}_complete"]) for name in LISTS) == (1 if start < 6 else 0)
        for name in LISTS:
            gathered[name] += page[f"{name}_complete"]
    assert gathered == {name: whole[f"{name}_complete"] for name in LISTS}


@pytest.mark.parametrize(
    "path",
    [
        f"/api/v1/process/{NOBODY}/0",
        f"/api/v1/process/{NOBODY}/1",
        f"/api/v1/process/{NOBODY}/1500000000000",
        f"/api/v2/process/{NOBODY}/0",
        f"/api/v1/process/{NOBODY}/segment",
        f"/api/v4/process/{NOBODY}/0/event",
        f"/api/v5/process/{NOBODY}/0/event",
    ],
)
def test_what_does_not_exist_is_404(analyst: httpx.Client, path: str) -> None:
    answer = analyst.get(path)
    assert (answer.status_code, answer.json()["reason"]) == (404, "not_found")


def test_a_missing_segment_is_distinguished_from_a_missing_process(
    analyst: httpx.Client, shell: dict[str, Any]
) -> None:
    for path in ("/api/v1/process/{}/77", "/api/v2/process/{}/77", "/api/v4/process/{}/77/event"):
        process = analyst.get(path.format(NOBODY))
        segment = analyst.get(path.format(shell["id"]))
        assert (process.status_code, segment.status_code) == (404, 404)
        assert f"process '{NOBODY}' not found" in process.json()["message"]
        assert f"process '{shell['id']}' has no segment 77" in segment.json()["message"]


@pytest.mark.parametrize(
    "process", ["not-an-id", "1", NOBODY[:-1], NOBODY + "0", NOBODY.replace("0", "g"), "%F0%9F"]
)
@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/process/{}/0",
        "/api/v2/process/{}/0",
        "/api/v1/process/{}/segment",
        "/api/v3/process/{}/0/event",
        "/api/v1/process/{}/0/preview",
        "/api/v1/process/{}/0/threat_intel_hits",
        "/api/v1/process/{}/tree",
        "/api/v1/process/{}/timeline",
    ],
)
def test_what_is_no_process_id_is_400_and_named(
    analyst: httpx.Client, path: str, process: str
) -> None:
    answer = analyst.get(path.format(process))
    assert (answer.status_code, answer.json()["reason"]) == (400, "bad_request")
    assert answer.json()["message"].startswith("process_id: ")


@pytest.mark.parametrize("children", ["x", "-1", "1.5", "10001"])
def test_a_bad_number_of_children_is_400_and_named(analyst: httpx.Client, children: str) -> None:
    answer = analyst.get(f"/api/v1/process/{NOBODY}/0", params={"children": children})
    assert answer.status_code == 400
    assert answer.json()["message"].startswith("children: ")


@pytest.mark.parametrize("segment", ["x", "-1", "99999999999999999999"])
def test_a_segment_is_a_number(analyst: httpx.Client, segment: str) -> None:
    assert analyst.get(f"/api/v1/process/{NOBODY}/{segment}").status_code == 400

"""The tree and the timeline of a process, as they are on the wire."""

from collections import Counter
from typing import Any

import httpx
import pytest

from tests.support.served import Server
from tests.support.sysmon import Story

NOBODY = "00000001-0000-0000-0000-000000000000"


def found(client: httpx.Client, sent_story: Story, name: str) -> dict[str, Any]:
    query = f"process_name:{name} hostname:{sent_story.host.name}"
    (one,) = client.get("/api/v1/process", params={"q": query}).json()["results"]
    return dict(one)


def get(client: httpx.Client, path: str, **parameters: Any) -> dict[str, Any]:
    answer = client.get(path, params=parameters)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def names(nodes: list[dict[str, Any]]) -> list[str]:
    return [node["label"]["process_name"].lower() for node in nodes]


NODE = {
    "id",
    "unique_id",
    "segment_id",
    "parent_id",
    "depth",
    "relation",
    "reported_by",
    "label",
    "now",
    "process_pid",
    "process_md5",
    "process_sha256",
    "username",
    "start",
    "end",
    "terminated",
    "event_counts",
    "alerts",
    "is_suppressed",
    "missing",
    "has_more_children",
}


def test_a_tree_reaches_up_and_down(analyst: httpx.Client, sent_story: Story) -> None:
    word = found(analyst, sent_story, "winword.exe")
    body = get(analyst, f"/api/v1/process/{word['id']}/tree")
    assert names(body["ancestors"]) == ["explorer.exe"]
    assert names(body["nodes"]) == ["winword.exe", "powershell.exe", "whoami.exe"]
    assert [node["depth"] for node in body["nodes"]] == [0, 1, 2]
    assert all(set(node) >= NODE for node in (*body["ancestors"], *body["nodes"]))
    assert {node["missing"] for node in body["nodes"]} == {None}
    shell, whoami = body["nodes"][1:]
    assert shell["label"]["cmdline"] == sent_story.powershell.command_line
    assert (shell["event_counts"]["netconn"], shell["hostname"]) == (1, sent_story.host.name)
    assert whoami["terminated"] is True
    assert (whoami["end"] > whoami["start"], whoami["username"]) == (True, "CORP\\ann")
    assert (body["is_complete"], body["continue"], body["process_id"]) == (True, None, word["id"])


def test_a_large_tree_goes_on_with_its_token(analyst: httpx.Client, sent_story: Story) -> None:
    word = found(analyst, sent_story, "winword.exe")
    path = f"/api/v1/process/{word['id']}/tree"
    first = get(analyst, path, max_nodes=1)
    assert (names(first["nodes"]), first["is_complete"]) == (
        ["winword.exe", "powershell.exe"],
        False,
    )
    rest = get(analyst, path, **{"max_nodes": 1, "continue": first["continue"]})
    assert (names(rest["nodes"]), rest["continue"]) == (["whoami.exe"], None)


@pytest.mark.parametrize(
    ("route", "parameters"),
    [
        ("tree", {"depth": "-1"}),
        ("tree", {"depth": "65"}),
        ("tree", {"depth": "x"}),
        ("tree", {"max_nodes": "0"}),
        ("tree", {"max_nodes": "10001"}),
        ("tree", {"max_nodes": "1e3"}),
        ("tree", {"continue": "nonsense"}),
        ("timeline", {"interval": "0"}),
        ("timeline", {"interval": "2d"}),
        ("timeline", {"interval": "fortnight"}),
        ("timeline", {"start": "yesterday"}),
        ("timeline", {"end": "2026-13-01"}),
        ("timeline", {"start": "2026-01-02", "end": "2026-01-01"}),
    ],
)
def test_a_bad_parameter_is_400_and_named(
    analyst: httpx.Client, sent_story: Story, route: str, parameters: dict[str, str]
) -> None:
    word = found(analyst, sent_story, "winword.exe")
    answer = analyst.get(f"/api/v1/process/{word['id']}/{route}", params=parameters)
    assert (answer.status_code, answer.json()["reason"]) == (400, "bad_request")
    assert answer.json()["message"].startswith(f"{next(iter(parameters))}: ")


def test_the_token_of_another_tree_is_refused(analyst: httpx.Client, sent_story: Story) -> None:
    word, shell = (found(analyst, sent_story, name) for name in ("winword.exe", "powershell.exe"))
    token = get(analyst, f"/api/v1/process/{word['id']}/tree", max_nodes=1)["continue"]
    answer = analyst.get(f"/api/v1/process/{shell['id']}/tree", params={"continue": token})
    assert answer.status_code == 400


@pytest.mark.parametrize("route", ["tree", "timeline"])
def test_an_unknown_process_is_404_and_named(analyst: httpx.Client, route: str) -> None:
    answer = analyst.get(f"/api/v1/process/{NOBODY}/{route}")
    assert answer.status_code == 404
    assert NOBODY in answer.json()["message"]


def test_a_timeline_counts_every_event_once(analyst: httpx.Client, sent_story: Story) -> None:
    shell = found(analyst, sent_story, "powershell.exe")
    path = f"/api/v1/process/{shell['id']}/timeline"
    for asked in ({}, {"interval": "1s"}, {"interval": "minute"}, {"interval": "1d"}):
        body = get(analyst, path, **asked)
        counted: Counter[str] = Counter()
        for bucket in body["buckets"]:
            counted.update(bucket["event_counts"])
        assert dict(counted) == body["event_counts"]
        assert body["event_counts"] == {
            "modload": 1,
            "netconn": 1,
            "filemod": 1,
            "regmod": 1,
            "childproc": 2,
            "dnsquery": 1,
        }
    second = get(analyst, path, interval="1s")
    assert (second["interval"], len(second["buckets"])) == (1, 7)
    starts = [bucket["start"] for bucket in second["buckets"]]
    assert starts == sorted(starts)
    assert second["first_event"] >= starts[0]


def test_a_timeline_can_be_cut(analyst: httpx.Client, sent_story: Story) -> None:
    shell = found(analyst, sent_story, "powershell.exe")
    path = f"/api/v1/process/{shell['id']}/timeline"
    whole = get(analyst, path)
    only = get(analyst, path, start=whole["first_event"], end=whole["first_event"])
    assert only["event_counts"] == {"modload": 1}
    never = get(analyst, path, start="2100-01-01", interval="1h")
    assert (never["buckets"], never["event_counts"], never["first_event"]) == ([], {}, None)


def test_too_many_intervals_are_refused_with_a_way_out(
    analyst: httpx.Client, sender: httpx.Client, sent_story: Story
) -> None:
    from tests.support.sysmon import Host

    host = Host("long-lived.corp.example")
    process = host.process(5, "C:\\long.exe")
    records = [host.of(process, 11, -after, TargetFilename="C:\\x") for after in (0, 20 * 86_400)]
    assert sender.post("/api/v1/ingest", json=records).json()["rejected"] == 0
    query = "hostname:long-lived.corp.example"
    (one,) = analyst.get("/api/v1/process", params={"q": query}).json()["results"]
    path = f"/api/v1/process/{one['id']}/timeline"
    answer = analyst.get(path, params={"interval": "1s"})
    assert answer.status_code == 400
    assert answer.json()["message"].startswith("interval: 1s makes 1728001 intervals")
    assert len(get(analyst, path)["buckets"]) == 2
    last = get(analyst, path)["last_event"]
    assert get(analyst, path, interval="1s", start=last)["event_counts"] == {"filemod": 1}


def test_a_process_knows_its_parent_by_the_parents_own_records(
    server: Server, analyst: httpx.Client, sent_story: Story
) -> None:
    shell = found(analyst, sent_story, "powershell.exe")
    for path in ("/api/v2/process/{}/0", "/api/v4/process/{}/0/event"):
        body = get(analyst, path.format(shell["id"]))
        body = body.get("process", body)
        assert body["parent_md5"] == sent_story.word.md5
        assert body["parent_username"] == sent_story.word.user

"""Sigma rules over HTTPS: rule in, event in, alert out; who may change them; bad input."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from tests.support.served import Server, hire, open_group, wait_for
from tests.support.sysmon import story
from vedette.cli.rules.sigma import app
from vedette.model.principal import Role

SIGMA = "/api/v1/sigma"
RULE = """title: A document of Office starts a shell
id: 5c1f0a52-4a3e-4a56-9a33-0000000000{number:02}
level: {level}
tags: [attack.execution, attack.t1059.001]
falsepositives: [macros of the finance department]
logsource:
  product: windows
  category: process_creation
detection:
  selection:
    ParentImage|endswith: \\\\WINWORD.EXE
    CommandLine|contains: ' {host}'
  condition: selection
"""


def rule(number: int, host: str, level: str = "high") -> str:
    return RULE.format(number=number, host=host, level=level).replace("\\\\", "\\")


def texts_of(analyst: httpx.Client) -> list[tuple[str, int, bool]]:
    """All rules with which of their texts they have; not what they count meanwhile."""
    found = analyst.get(SIGMA, params={"rows": 1_000}).json()["results"]
    return [(one["id"], one["revision"], one["enabled"]) for one in found]


def alerted(server: Server) -> float:
    """Returns the number of hits that became alerts, from the server's metrics."""
    with server.analyst() as client:
        lines = client.get("/metrics").text.splitlines()
    counts = [line.split()[1] for line in lines if line.startswith("vedette_rule_hits_total")]
    return float(counts[0])


def test_a_rule_that_is_added_fires_on_the_next_event_and_makes_an_alert(
    server: Server, analyst: httpx.Client, sender: httpx.Client
) -> None:
    before = alerted(server)
    answer = analyst.post(SIGMA, json={"text": rule(1, "seen.corp.example")})
    assert answer.status_code == 200, answer.text
    [added] = answer.json()["results"]
    assert (added["change"], added["place"], added["reason"]) == ("added", "document#1", "")
    assert sender.post("/api/v1/ingest", json=story("seen.corp.example").records).is_success
    assert wait_for(lambda: alerted(server) - before, 1.0) == 1.0
    url = f"{SIGMA}/{added['id']}"
    assert wait_for(lambda: analyst.get(url).json()["hits"], 1) == 1
    shown = analyst.get(url).json()
    assert (shown["state"], shown["enabled"], shown["revision"]) == ("in_force", True, 1)
    assert shown["text"].startswith("title: A document of Office")
    assert shown["last_hit"] is not None
    found = analyst.get("/api/v2/alert", params={"q": "hostname:seen.corp.example"}).json()
    [alert] = found["results"]
    assert alert["watchlist_name"] == shown["title"] or alert["title"] == shown["title"]
    in_force = analyst.get(SIGMA).json()["in_force"]
    assert in_force["generation"] >= shown["generation"]
    assert wait_for(lambda: analyst.get(SIGMA).json()["in_force"]["seq"] > 0, True)


def test_a_rule_says_whether_events_of_its_log_source_arrive(
    server: Server, analyst: httpx.Client, sender: httpx.Client
) -> None:
    silent = rule(91, "x").replace("process_creation", "clipboard_capture")
    answer = analyst.post(SIGMA, json={"text": f"{rule(90, 'x')}---\n{silent}"})
    read, silent_id = (one["id"] for one in answer.json()["results"])
    assert sender.post("/api/v1/ingest", json=story("source.corp.example").records).is_success

    def source(rule_id: str) -> dict[str, Any]:
        found: dict[str, Any] = analyst.get(f"{SIGMA}/{rule_id}").json()["log_source"]
        return found

    assert wait_for(lambda: source(read)["state"], "arrives") == "arrives"
    assert source(read)["first_event"] <= source(read)["last_event"]
    never = {"state": "never", "first_event": None, "last_event": None}
    assert source(silent_id) == never


def test_a_rule_that_is_switched_off_or_deleted_fires_no_more(
    server: Server, analyst: httpx.Client, sender: httpx.Client
) -> None:
    rules = [rule(2, "off.corp.example"), rule(3, "off.corp.example")]
    answer = analyst.post(SIGMA, json={"text": "---\n".join(rules)})
    first, second = (one["id"] for one in answer.json()["results"])
    assert analyst.put(f"{SIGMA}/{first}", json={"enabled": False}).json()["result"] == "success"
    assert analyst.delete(f"{SIGMA}/{second}").json()["result"] == "success"
    assert analyst.get(f"{SIGMA}/{second}").status_code == 404
    assert analyst.delete(f"{SIGMA}/{second}").status_code == 404
    before = alerted(server)
    tale = story("off.corp.example")
    sender.post("/api/v1/ingest", json=tale.records)
    analyst.put(SIGMA, json={"ids": [first], "enabled": True})
    sender.post("/api/v1/ingest", json=tale.records)
    tale.host.record_id += 1_000
    later = tale.host.process(1101, tale.powershell.image, "powershell.exe off.corp.example", 40)
    sender.post("/api/v1/ingest", json=[tale.host.created(later, tale.word)])
    assert wait_for(lambda: alerted(server) - before, 1.0) == 1.0
    assert analyst.get(f"{SIGMA}/{first}").json()["hits"] <= 1


def test_each_document_has_its_own_answer(analyst: httpx.Client) -> None:
    text = "---\n".join(
        [
            rule(4, "a"),
            "title: no log source\ndetection: {a: {b: c}, condition: a}\n",
            rule(4, "b"),
            rule(5, "a", "low"),
            "x: [\n",
        ]
    )
    found = analyst.post(SIGMA, json={"text": text, "origin": "of the tests"}).json()["results"]
    assert [one["change"] for one in found] == ["added", "added", "duplicate", "added", "added"]
    assert [one["reason"] for one in found] == ["", "malformed", "", "", "not_yaml"]
    listed = analyst.get(SIGMA, params={"origin": "OF THE", "rows": 2}).json()
    assert (listed["total_results"], len(listed["results"])) == (4, 2)
    assert "text" not in listed["results"][0]
    states = {
        state: analyst.get(SIGMA, params={"origin": "of the", "state": state}).json()
        for state in ("in_force", "disabled", "unsupported")
    }
    assert {state: one["total_results"] for state, one in states.items()} == {
        "in_force": 1,
        "disabled": 1,
        "unsupported": 2,
    }
    assert listed["reasons"]["malformed"] >= 1
    again = analyst.post(SIGMA, json={"text": rule(4, "a"), "origin": "of the tests"}).json()
    assert again["results"][0]["change"] == "unchanged"
    changed = analyst.post(SIGMA, json={"text": rule(5, "other", "low")}).json()
    assert changed["results"][0]["change"] == "changed"
    shown = analyst.get(f"{SIGMA}/{changed['results'][0]['id']}").json()
    assert (shown["revision"], shown["enabled"], shown["state"]) == (2, False, "disabled")


def test_the_rules_of_a_global_document_are_stored_one_by_one(analyst: httpx.Client) -> None:
    shared = "5c1f0a52-4a3e-4a56-9a33-000000000071"
    old = "5c1f0a52-4a3e-4a56-9a33-000000000001"
    head = (
        f"action: global\ntitle: Shared\nid: {shared}\nlogsource: {{product: windows}}\n"
        f"related: [{{id: {old}, type: obsoletes}}]\n"
    )
    rules = [
        f"logsource:\n  service: {name}\ndetection: {{a: {{EventID: 1}}, condition: a}}\n"
        for name in ("security", "system")
    ]
    text = "---\n".join([head, *rules])
    found = analyst.post(SIGMA, json={"text": text}).json()["results"]
    assert [(one["reason"], one["title"], one["line"]) for one in found] == [
        ("", "Shared", 7),
        ("", "Shared", 11),
    ]
    assert found[0]["id"] == shared != found[1]["id"]
    again = analyst.post(SIGMA, json={"text": text}).json()["results"]
    assert [one["change"] for one in again] == ["unchanged", "unchanged"]
    for one in found:
        kept = analyst.get(f"{SIGMA}/{one['id']}").json()
        assert kept["obsoletes"] == [old]
        resent = analyst.post(SIGMA, json={"text": kept["text"]}).json()["results"]
        assert [(each["id"], each["change"]) for each in resent] == [(one["id"], "unchanged")]
        assert old in analyst.get(f"/ui/sigma/{one['id']}").text


def test_a_rule_is_tried_on_events_without_keeping_anything(analyst: httpx.Client) -> None:
    tale = story("tried.corp.example")
    body = {"text": rule(6, "tried.corp.example"), "events": [*tale.records, "{", {"a": 1}]}
    answer = analyst.post(f"{SIGMA}/test", json=body)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    [hit] = found["hits"]
    assert hit["hostname"] == "tried.corp.example"
    assert hit["process_id"].endswith(tale.powershell.sensor_less_id)
    assert hit["matched"]["ParentImage"] == tale.word.image
    assert sum(found["rejected"].values()) == 2
    assert analyst.get(f"{SIGMA}/{found['documents'][0]['id']}").status_code == 404
    assert not analyst.get("/api/v1/process", params={"q": "hostname:tried.corp.example"}).json()[
        "results"
    ]


def test_a_rule_is_tried_on_the_stored_past_before_it_is_on(
    server: Server, analyst: httpx.Client, sender: httpx.Client
) -> None:
    host = "past.corp.example"
    assert sender.post("/api/v1/ingest", json=story(host).records).is_success
    answer = analyst.post(f"{SIGMA}/test", json={"text": rule(30, host), "from": "-24h"})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert (found["total_hits"], found["expected_alerts"], found["total_hosts"]) == (1, 1, 1)
    assert [one["hostname"] for one in found["hosts"]] == [host]
    assert found["samples"][0]["matched"]["ParentImage"].endswith("WINWORD.EXE")
    assert [one["hits"] for one in found["rules"]] == [1]
    assert sum(one["hits"] for one in found["hits_per_day"]) == 1
    assert not found["incomplete_results"]
    rule_id = found["documents"][0]["id"]
    assert analyst.get(f"{SIGMA}/{rule_id}").status_code == 404
    assert not analyst.get("/api/v2/alert", params={"q": f"hostname:{host}"}).json()["results"]
    kept = analyst.post(SIGMA, json={"text": rule(31, host), "enabled": False}).json()["results"]
    again = analyst.post(f"{SIGMA}/test", json={"ids": [kept[0]["id"]]}).json()
    assert again["total_hits"] == 1
    group, secret = open_group(server, "of a stored past")
    token = hire(server, "past-analyst", {group: Role.ANALYST})
    with server.client(**{"X-Auth-Token": token}) as other:
        hidden = other.post(f"{SIGMA}/test", json={"text": rule(30, host)}).json()
        assert (hidden["total_hits"], hidden["hosts"], hidden["samples"]) == (0, [], [])
        with server.client(Authorization=f"Bearer {secret}") as their:
            their.post("/api/v1/ingest", json=story("tried-by-theirs.corp.example").records)
        asked = {"text": rule(32, "tried-by-theirs.corp.example")}
        found = wait_for(lambda: other.post(f"{SIGMA}/test", json=asked).json()["total_hits"], 1)
        assert found == 1


@pytest.mark.parametrize(
    "body",
    [
        {"ids": []},
        {"text": rule(33, "x"), "from": "yesterday-ish"},
        {"text": rule(33, "x"), "from": "now", "to": "-1h"},
        {"text": rule(33, "x"), "by": "moon"},
        {"files": [{"name": "a.yml", "text": 7}]},
    ],
)
def test_a_trial_on_the_past_that_cannot_be_read_is_refused(
    analyst: httpx.Client, body: dict[str, object]
) -> None:
    assert analyst.post(f"{SIGMA}/test", json=body).status_code == 400


def test_a_filter_that_would_hide_hits_names_the_rule(
    analyst: httpx.Client, sender: httpx.Client
) -> None:
    host = "blind-rule.corp.example"
    whole = rule(40, host)
    file = (
        "title: by file\nid: 5c1f0a52-4a3e-4a56-9a33-000000000041\nlevel: high\n"
        "logsource: {product: windows, category: file_event}\n"
        f"detection: {{a: {{TargetFilename|endswith: up.exe, CommandLine|contains: {host}}},"
        " condition: a}\n"
    )
    added = analyst.post(SIGMA, json={"text": "---\n".join((whole, file))}).json()["results"]
    by_start, by_file = (one["id"] for one in added)
    assert sender.post("/api/v1/ingest", json=story(host).records).is_success
    meant = {"cmdline_filters": [f"SQBFAFgA {host}"]}

    def blinded(**members: object) -> dict[str, int]:
        body = [{"id": "blind-rule", **meant, **members}]
        answer = analyst.post("/api/v1/ingress_approvedlist", params={"dry_run": "true"}, json=body)
        assert answer.status_code == 200, answer.text
        mine = (by_start, by_file)
        named = [one for one in answer.json()["blinded"] if one["kind"] == "rule"]
        return {one["id"]: one["hits"] for one in named if one["id"] in mine}

    assert blinded(filter_all_events=True) == {by_start: 1, by_file: 1}
    assert blinded(filter_all_events=False, filemod_filters=["up.exe"]) == {by_file: 1}
    assert blinded(filter_all_events=False, filemod_filters=["other.exe"]) == {}


BAD = [
    {},
    {"text": 7},
    {"text": ""},
    {"text": rule(7, "x"), "enabled": "yes"},
    {"text": rule(7, "x"), "origin": 7},
]


@pytest.mark.parametrize("body", BAD, ids=range(len(BAD)))
def test_bad_requests_are_refused_with_the_member(
    body: dict[str, object], analyst: httpx.Client
) -> None:
    answer = analyst.post(SIGMA, json=body)
    assert answer.status_code == 400
    assert answer.json()["reason"]
    assert analyst.get(SIGMA, params={"q": "x" * 2_000}).status_code == 400
    assert analyst.get(SIGMA, params={"state": "great"}).status_code == 400


def test_yaml_that_takes_any_time_or_memory_costs_only_itself(analyst: httpx.Client) -> None:
    nested = "a: " + "[" * 200_000
    bomb = "a: &a [x]\nb: [*a, *a]\n"
    wide = rule(8, "x").replace(
        "condition: selection",
        "many:\n    CommandLine|contains: [" + ", ".join(f"w{n}" for n in range(30_000)) + "]\n"
        "  condition: selection and many",
    )
    for text in (nested, bomb, wide):
        answer = analyst.post(SIGMA, json={"text": text})
        assert answer.status_code == 200, answer.text[:300]
        [one] = answer.json()["results"]
        assert one["reason"] in ("not_yaml", "too_costly", "too_large"), one


def test_viewers_read_and_only_global_administrators_change(server: Server) -> None:
    token = hire(server, "sigma-viewer", {1: Role.VIEWER})
    analyst = hire(server, "sigma-analyst", {1: Role.ADMINISTRATOR})
    with (
        server.client(**{"X-Auth-Token": token}) as viewer,
        server.client(**{"X-Auth-Token": analyst}) as administrator,
    ):
        assert viewer.get(SIGMA).status_code == 200
        body = {"text": rule(9, "x"), "events": []}
        assert viewer.post(f"{SIGMA}/test", json=body).status_code == 403
        assert administrator.post(f"{SIGMA}/test", json=body).status_code == 200
        for client in (viewer, administrator):
            assert client.post(SIGMA, json=body).status_code == 403
            assert client.put(SIGMA, json={"ids": ["x"], "enabled": True}).status_code == 403
            assert client.delete(f"{SIGMA}/x").status_code == 403


def test_the_command_tries_rules_on_what_the_server_has_stored(
    server: Server, sender: httpx.Client, tmp_path: Path
) -> None:
    host = "past-command.corp.example"
    assert sender.post("/api/v1/ingest", json=story(host).records).is_success
    file = tmp_path / "rule.yml"
    file.write_text(rule(50, host))
    done = CliRunner().invoke(app, ["test", str(file), "--data", str(server.data), "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    assert (found["total_hits"], found["samples"][0]["hostname"]) == (1, host)
    shown = CliRunner().invoke(app, ["test", str(file), "--data", str(server.data), "--days", "1"])
    assert "A document of Office starts a shell" in shown.output


def test_the_command_tries_a_tree_that_no_single_file_could_hold(
    server: Server, sender: httpx.Client, tmp_path: Path
) -> None:
    host = "past-tree.corp.example"
    assert sender.post("/api/v1/ingest", json=story(host).records).is_success
    comment = "# " + "x" * 9_000 + "\n"
    for number in range(130):
        text = rule(51, host).replace("5c1f0a52", f"{number:08x}")
        (tmp_path / f"{number}.yml").write_text(comment + text)
    done = CliRunner().invoke(app, ["test", str(tmp_path), "--data", str(server.data), "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    assert (found["total_hits"], found["total_hosts"], len(found["rules"])) == (130, 1, 130)


def test_an_import_is_tried_dry_and_keeps_nothing(analyst: httpx.Client) -> None:
    known, other = rule(41, "dry"), rule(42, "dry")
    for text in (known, other):
        assert analyst.post(SIGMA, json={"text": text, "origin": "dry"}).is_success
    bad = "title: no source at all\ndetection: {a: {b: c}, condition: a}\n"
    parts = [known, rule(42, "else"), rule(43, "dry", "low"), bad, rule(43, "dry"), "x: [\n"]
    before = texts_of(analyst)
    url = f"{SIGMA}?dry_run=true"
    answer = analyst.post(url, json={"text": "---\n".join(parts), "origin": "dry"})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    kinds = ["unchanged", "changed", "added", "added", "duplicate", "added"]
    assert [one["change"] for one in found["results"]] == kinds
    assert [one["reason"] for one in found["results"]] == ["", "", "", "malformed", "", "not_yaml"]
    height = known.count("\n") + 1
    lines = [1, 1 + height, 1 + 2 * height, 1 + 3 * height, 4 + 3 * height, 4 + 4 * height + 1]
    assert [one["line"] for one in found["results"]] == lines
    assert found["counts"] == {
        **{"added": 1, "changed": 1, "unchanged": 1, "duplicate": 1, "refused": 2}
    }
    assert texts_of(analyst) == before
    assert analyst.get(f"{SIGMA}/5c1f0a52-4a3e-4a56-9a33-000000000043").status_code == 404
    switched = analyst.post(url, json={"text": known, "enabled": False}).json()["results"]
    assert [one["change"] for one in switched] == ["changed"]
    assert analyst.post(f"{SIGMA}?dry_run=perhaps", json={"text": known}).status_code == 400


def test_a_dry_run_needs_the_right_of_the_import(server: Server) -> None:
    token = hire(server, "dry-analyst", {1: Role.ADMINISTRATOR})
    with server.client(**{"X-Auth-Token": token}) as client:
        answer = client.post(f"{SIGMA}?dry_run=true", json={"text": rule(44, "dry")})
        assert answer.status_code == 403


def test_files_are_tried_and_added_together_each_with_its_own_places(
    analyst: httpx.Client,
) -> None:
    files = [
        {"name": "office/first.yml", "text": rule(61, "a") + "---\n" + rule(62, "b")},
        {"name": "<b>\u202egnp.yml", "text": "title: broken\nlevel: high\n"},
        {"name": "again.yml", "text": rule(61, "a")},
        {"name": "empty.yml", "text": ""},
    ]
    tried = analyst.post(SIGMA, params={"dry_run": "true"}, json={"files": files})
    assert tried.status_code == 200, tried.text
    places = [(one["place"], one["line"]) for one in tried.json()["results"]]
    assert places[:2] == [("office/first.yml#1", 1), ("office/first.yml#2", 15)]
    assert places[2:] == [("<b>\u202egnp.yml#1", 1), ("again.yml#1", 1)]
    counts = tried.json()["counts"]
    assert (counts["added"], counts["refused"], counts["duplicate"]) == (2, 1, 1)
    assert (
        analyst.get(SIGMA, params={"q": rule(61, "a").splitlines()[1][4:]}).json()["results"] == []
    )
    added = analyst.post(SIGMA, json={"files": files}).json()["results"]
    assert [one["change"] for one in added] == ["added", "added", "added", "duplicate"]
    assert analyst.get(f"{SIGMA}/{added[0]['id']}").json()["origin"] == "office/first.yml"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"files": []}, "files: must be a list of 1 to 5,000 files"),
        ({"files": [{}] * 5_001}, "files: must be a list of 1 to 5,000 files"),
        ({"files": ["a"]}, "files[0]: must be an object with name and text"),
        ({"files": [{"name": "", "text": "a"}]}, "files[0].name: must have 1 to"),
        ({"files": [{"name": "a", "text": 1}]}, "files[0].text: must be a string"),
        ({"files": [{"name": "a", "text": "b"}], "text": "c"}, "text: cannot be combined"),
    ],
)
def test_files_are_bounded_and_have_names(
    analyst: httpx.Client, body: dict[str, object], said: str
) -> None:
    answer = analyst.post(SIGMA, params={"dry_run": "true"}, json=body)
    assert answer.status_code == 400
    assert said in answer.text


def test_a_line_of_an_access_log_fires_a_rule_and_is_stored(
    analyst: httpx.Client, sender: httpx.Client
) -> None:
    text = (
        "title: A scan of a gateway\nid: 5c1f0a52-4a3e-4a56-9a33-000000000072\nlevel: high\n"
        "logsource:\n  category: webserver\ndetection:\n  a:\n    cs-method: GET\n"
        "    cs-uri-query|contains: /vpns/\n  condition: a\n"
    )
    [added] = analyst.post(SIGMA, json={"text": text}).json()["results"]
    assert added["reason"] == ""
    line = '10.0.0.9 - - [30/Nov/2026:08:00:00 +0000] "GET /x/../vpns/ HTTP/1.1" 200 5 "-" "c {}"'
    answer = sender.post(
        "/api/v1/ingest",
        content=json.dumps({"hostname": "gateway.corp.example", "message": line}),
    )
    assert answer.is_success, answer.text
    url = f"{SIGMA}/{added['id']}"
    assert wait_for(lambda: analyst.get(url).json()["hits"], 1) == 1
    query = {"q": "hostname:gateway.corp.example"}
    alerts = "/api/v2/alert"
    assert wait_for(lambda: analyst.get(alerts, params=query).json()["total_results"], 1) == 1
    logs = analyst.get("/api/v1/log", params={"q": "channel:web_access"}).json()
    assert [one["hostname"] for one in logs["results"]] == ["gateway.corp.example"]
